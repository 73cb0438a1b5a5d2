# SPDX-License-Identifier: Apache-2.0
"""The study of backup workers: step times by their number, under variations of a worker's step from several sources."""
import csv
import gzip
import statistics

import svg_plot
from runs import ROOT, percent, rounded, table
from svg_plot import COLOURS, Axis, Panel

EXPERIMENT = 'configs/studies/backup_workers.yaml'
FACTORS = 'configs/studies/st_worker_steps.txt'
COUNTED = 50
SPARES = (0, 1, 2, 3, 4, 5, 6, 8, 10)
FEW = (0, 1, 2, 3, 4, 6)
FITS = (0.1, 0.2, 0.3, 0.4)
# Abadi et al., TensorFlow, OSDI 2016, figure 8, medians: least with 4; t(0) / t(b) * 50 / (50 + b) largest with 3.
PUBLISHED = {'least': 4, 'least_s': 1.93, 'best': 3, 'gain': 0.095}


def varying(cv):
    return f'{{drawn_per: step, compute_cv: {cv}}}'


CLOUD = varying('18.2 %')
SOURCES = (('st', 'ST', f'{{distribution: empirical, drawn_per: step, factors: {FACTORS}}}'),
           ('piz_daint', 'Piz Daint, 6.0 %', varying('6.0 %')), ('cm_dare', 'CM-DARE, 18.2 %', CLOUD))
V100 = 'cluster.workers.device={include: configs/devices/v100_roofline.yaml}'


def step_factors(trace):
    """Of the compute of a worker in a step: over the median of its stage, and this over the median of its step."""
    compute = {}
    with gzip.open(trace, 'rt', encoding='utf-8', newline='') as file:
        for row in csv.DictReader(file):
            if row['optype'] in ('forward-compute', 'backward-compute'):
                key = (row['dp_rank'], row['stage'], row['step'])
                compute[key] = compute.get(key, 0) + float(row['duration'])

    def over_median(values, part):
        groups = {}
        for key, value in values.items():
            groups.setdefault(key[part], []).append(value)
        return {key: value / statistics.median(groups[key[part]]) for key, value in values.items()}
    return sorted(over_median(over_median(compute, 1), 2).values())


def write_factors(trace):
    factors = step_factors(trace)
    words = ' '.join(f'{f:.4f}' for f in factors).split(' ')
    out = ['# Compute of a worker in a step over what is usual: job ST of StragglerAnalysis (ByteDance-Seed,',
           f'# Apache-2.0), {len(factors)} steps of workers on 8 GPUs; over the median of the pipeline stage, and this',
           '# over the median of the step; by size. Made by tools/studies.py --factors TRACE.']
    out += [' '.join(words[i:i + 16]) for i in range(0, len(words), 16)]
    (ROOT / FACTORS).write_text('\n'.join(out) + '\n', encoding='utf-8')


def measured(sweep, name, workers, backups, noises, *words):
    """Steps of random orders under each of the noises."""
    rows = sweep('backup_workers', f'backup_{name}_{workers}', f'cluster.workers.count={workers}',
                 f'training.backups={backups}', f'vary={{noise: [{", ".join(noises)}]}}', *words)
    random = sorted((int(r['point']), r) for r in rows if r['policy'] == 'random')
    return [{'backups': backups, 'step_s': rounded(r['step_time_s']), 'low': rounded(r['step_time_ci95_low_s']),
             'high': rounded(r['step_time_ci95_high_s']), 'samples_per_s': rounded(r['samples_per_s']),
             'dropped': rounded(r['dropped_gradients'])} for _, r in random]


def speedup(rows, b):
    """Of b spares, discounted by their share of the workers, as in the paper."""
    by = times_of(rows)
    return by[0] / by[b] * COUNTED / (COUNTED + b) - 1


def run(sweep):
    def curves(name, noises, spares, *words):
        by_spares = [measured(sweep, name, COUNTED + b, b, noises, *words) for b in spares]
        return [list(curve) for curve in zip(*by_spares, strict=True)]
    found = curves('sources', [noise for _, _, noise in SOURCES], SPARES)
    data = {'sources': [{'key': key, 'name': name, 'rows': rows} for (key, name, _), rows in zip(SOURCES, found)],
            'none': curves('none', ['{}'], (0, SPARES[-1]))[0]}
    # The variation at which the published best number of spares gains what it gained.
    best = PUBLISHED['best']
    gains = [speedup(rows, best) for rows in curves('fit', [varying(cv) for cv in FITS], (0, best))]
    data['fit'] = [[cv, rounded(gain)] for cv, gain in zip(FITS, gains)]
    for (a, low), (b, high) in zip(data['fit'], data['fit'][1:]):
        if low <= PUBLISHED['gain'] <= high:
            cv = round(a + (b - a) * (PUBLISHED['gain'] - low) / (high - low), 3)
            data['sources'].append({'key': 'published', 'name': f'the paper, {100 * cv:.1f} %',
                                    'rows': curves(f'paper_{cv}', [varying(cv)], SPARES)[0]})
            break
    data['v100'] = curves('v100', [CLOUD], FEW, V100)[0]
    data['of_50'] = [measured(sweep, f'of_{b}', COUNTED, b, [CLOUD])[0] for b in FEW]
    return data


def least(rows):
    """Number of spares with the shortest step."""
    return min(rows, key=lambda r: r['step_s'])['backups']


def least_text(rows):
    return f'{least(rows)} or more' if least(rows) == SPARES[-1] else str(least(rows))


def enough(rows):
    """The fewest spares with a step at most 1 % longer than the shortest."""
    shortest = min(r['step_s'] for r in rows)
    return min(r['backups'] for r in rows if r['step_s'] <= 1.01 * shortest)


def best(rows):
    return max(rows, key=lambda r: speedup(rows, r['backups']))['backups']


def source_rows(data):
    rows = []
    for source in data['sources']:
        by, at = times_of(source['rows']), best(source['rows'])
        rows.append([source['name'], f'{by[0]:.3f}', f'{min(by.values()):.3f}', least_text(source['rows']),
                     enough(source['rows']),
                     f'{at} ({percent(speedup(source["rows"], at))} %)'])
    rows.append(['measured by the paper (medians)', '-', f'{PUBLISHED["least_s"]:.2f}', PUBLISHED['least'], '-',
                 f'{PUBLISHED["best"]} ({percent(PUBLISHED["gain"])} %)'])
    return rows


def answer(data):
    return ('For 50, by how much a worker\'s step varies: ' +
            ', '.join(f'{least_text(s["rows"])} ({s["name"]})' for s in data['sources']) + '.')


def times_of(rows):
    return {r['backups']: r['step_s'] for r in rows}


def described(data):
    """What is studied, and where each variation comes from."""
    out = ['## Backup workers', '',
           f'`{EXPERIMENT}`: Inception-v3 on 50 + b workers and 17 servers, as in figure 8 of Abadi et al. '
           '(TensorFlow, OSDI 2016). A step takes the first 50 gradients; later ones cross the network and are '
           'dropped. Which b is best depends on how much the compute of a worker\'s step varies. It is taken from', '',
           f'- *ST*: {sum(1 for _ in factor_values())} steps of workers of a traced job on 8 GPUs (StragglerAnalysis), '
           f'as they are (`{FACTORS}`);',
           '- *Piz Daint*: lognormal, fitted to synchronous Inception-v3 on 8 P100 of a supercomputer '
           '([cscs_tf](../validation/README.md#cscs_tf));',
           '- *CM-DARE*: lognormal, fitted to asynchronous training on virtual machines of a cloud '
           '([cmdare](../validation/README.md#cmdare));']
    if any(s['key'] == 'published' for s in data['sources']):
        out += [f'- *the paper*: lognormal, so that 3 backup workers gain the {percent(PUBLISHED["gain"])} % that they '
                'gained there. Where the least lies is not fitted.']
    return [*out, '']


def against_the_paper(data):
    found = [s['rows'] for s in data['sources'] if s['key'] == 'published']
    if not found:
        return []
    by = times_of(found[0])
    return ['- Against the paper\'s figure: with a variation that gains as much as there, the best discounted number '
            f'is {best(found[0])} (there {PUBLISHED["best"]}), but the step with {PUBLISHED["least"]} is '
            f'{by[PUBLISHED["least"]]:.2f} s (there {PUBLISHED["least_s"]:.2f}), and more backup workers go on '
            'shortening it, where there a fifth made it longer. A lognormal has some slow workers of every degree. '
            'Few, very slow ones would end the gain sooner, and so would servers that a spare loads more; the paper '
            'tells neither.']


def findings(data):
    cloud = times_of(next(s['rows'] for s in data['sources'] if s['key'] == 'cm_dare'))
    none, v100, of_50 = times_of(data['none']), times_of(data['v100']), data['of_50']
    load = (none[SPARES[-1]] - none[0]) / SPARES[-1]
    most = max(of_50, key=lambda r: r['samples_per_s'])
    return ['- The least lies where one more spare takes as much from the wait for the slowest as it adds to the load '
            f'of the servers: {1000 * load:.0f} ms here, {percent(load / none[0])} % of a step in which nothing '
            'varies, since each pulls and pushes all variables. The wait falls ever slower, so that the least is flat.',
            '- The more a step varies, the further out it lies. A cluster with hardly any variation needs no backup '
            'workers.', *against_the_paper(data),
            '- Fast GPUs hide stragglers behind the network: under CM-DARE\'s variation, 4 backup workers make the '
            f'step {percent(1 - cloud[4] / cloud[0])} % shorter with K80, but {percent(v100[4] / v100[0] - 1)} % '
            'longer with V100 and the same servers. Who computes late then finds idle servers and pushes alone, while '
            'the others shared them.',
            f'- Where 50 - b of 50 workers count, samples/s are most with b = {most["backups"]} '
            f'({percent(most["samples_per_s"] / of_50[0]["samples_per_s"] - 1)} % above none, CM-DARE\'s variation): '
            'each further one loses 2 % of the samples.', '']


def lines(data):
    cells = [[b, *(f'{times_of(s["rows"])[b]:.3f}' for s in data['sources'])] for b in SPARES]
    of_50 = [[r['backups'], f'{r["step_s"]:.3f} ± {(r["high"] - r["low"]) / 2:.3f}', f'{r["samples_per_s"]:.0f}',
              percent(r['dropped'] or 0)] for r in data['of_50']]
    return [*described(data), '![backup workers](backup.svg)', '', 'Mean step, s, with b backup workers:', '',
            *table(['b', *(s['name'] for s in data['sources'])], cells),
            'With t(b) that mean, the speed-up discounted by the machines is t(0) / t(b) x 50 / (50 + b) - 1:', '',
            *table(['a worker\'s step varies as', 't(0), s', 'least t, s', 'at b', 'within 1 % of it from b',
                    'b of the best discounted speed-up'], source_rows(data)),
            *findings(data), '50 workers of which 50 - b count:', '',
            *table(['b', 'mean step, s', 'samples/s', 'dropped, %'], of_50),
            'Left out: workers that stay slow for several steps, servers that vary, what a lost gradient costs '
            'training.', '']


def factor_values():
    for line in (ROOT / FACTORS).read_text(encoding='utf-8').splitlines():
        yield from line.split('#')[0].split()


def plot(data):
    def panel(title, label, curves):
        made = Panel(title, Axis('backup workers b', SPARES, (0, 2, 4, 6, 8, 10)),
                     Axis(label, [v for curve in curves for _, v in curve]), 420, 280)
        made.left = 62
        for curve, colour in zip(curves, COLOURS):
            made.add_line(curve, colour)
        return made
    rows = [s['rows'] for s in data['sources']]
    panels = [panel('50 of 50 + b count', 'step over that without backup workers',
                    [[(r['backups'], r['step_s'] / found[0]['step_s']) for r in found] for found in rows]),
              panel('discounted by the machines', 'speed-up, %',
                    [[(r['backups'], 100 * speedup(found, r['backups'])) for r in found] for found in rows])]
    return svg_plot.figure('Backup workers, by how much a worker\'s step varies', panels, 2,
                           [(s['name'], c, '') for s, c in zip(data['sources'], COLOURS)])
