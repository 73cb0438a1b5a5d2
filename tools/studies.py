#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Straggler studies: run configs/studies/, write tables and plots to results/studies/README.md.

usage: tools/studies.py [--stretto PROGRAM] [--cells DIR] [--threads N] [-o DIR]
       tools/studies.py --render [-o DIR]

What was simulated is kept in --cells (default: build/study_cells). --render writes page and plots from
DIR/studies.json.
"""
import argparse
import json
import os
import pathlib

import svg_plot
from runs import ROOT, call, number, percent, rounded, swept, table
from svg_plot import COLOURS, Axis, Panel

POLICIES = ('random', 'fixed_random', 'reverse', 'tac')
CAUSES = ('order', 'links', 'servers', 'slow_workers', 'noise')


def sweep(program, cells, threads, name, store, *sets):
    return swept(program, f'configs/studies/{name}.yaml', cells / f'{store}.sqlite', threads,
                 *(w for s in sets for w in ('--set', s)))


def figures(row):
    return {'step_s': rounded(row['step_time_s']), 'low': rounded(row['step_time_ci95_low_s']),
            'high': rounded(row['step_time_ci95_high_s']), 'samples_per_s': rounded(row['samples_per_s']),
            'straggler': rounded(row['straggler_effect']), 'dropped': rounded(row['dropped_gradients']),
            'staleness': rounded(row['staleness_mean']), 'most_stale': rounded(row['staleness_max'])}


def mode_name(text):
    """'{synchronization: ssp, staleness: 4}' as the experiment says it."""
    words = dict(w.split(': ') for w in text.strip('{}').replace('"', '').split(', '))
    return words['synchronization'] + (f' {words["staleness"]}' if 'staleness' in words else '')


def run(program, cells, threads):
    fifo = [r for r in sweep(program, cells, threads, 'backup_workers', 'backup') if r['policy'] == 'fifo']
    data = {'format': 'stretto-studies', 'version': 1, 'program': call(program, '--version').split('\n')[0],
            'backup': [{'backups': int(r['training.backups']), **figures(r)} for r in fifo], 'spare': []}
    for b in [r['backups'] for r in data['backup']]:
        rows = sweep(program, cells, threads, 'backup_workers', f'spare_{b}', f'cluster.workers.count={50 + b}',
                     f'vary={{training.backups: [{b}]}}')
        data['spare'] += [{'backups': b, **figures(r)} for r in rows if r['policy'] == 'fifo']
    data['lead'] = [{'mode': mode_name(r['training']), **figures(r)}
                    for r in sweep(program, cells, threads, 'bounded_lead', 'lead') if r['policy'] == 'fifo']
    data['order'] = [{'mode': r['workload.mode'], 'cv': r['noise.compute_cv'], 'policy': r['policy'], **figures(r)}
                     for r in sweep(program, cells, threads, 'order_as_cause', 'order') if r['policy'] in POLICIES]
    found = json.loads(call(program, 'attribute', 'configs/studies/one_slow_worker.yaml', '--policy', 'random',
                            '--policy', 'tac', '--format', 'json'))
    data['causes'] = [{'policy': r['policy'], 'step_s': r['step_s']['mean'],
                       'share': {c['cause']: [rounded(c['share'][k]) for k in ('mean', 'ci95_low', 'ci95_high')]
                                 for c in r['causes']},
                       'alone': {c['cause']: rounded(c['alone']['mean']) for c in r['causes']}}
                      for r in found['results']]
    return data


def seconds(row):
    return f'{row["step_s"]:.3f} ± {(row["high"] - row["low"]) / 2:.3f}'


def backup_lines(data):
    best = max(data['backup'], key=lambda r: r['samples_per_s'])
    least = min(data['spare'], key=lambda r: r['step_s'])
    last, none = data['spare'][-1], data['spare'][0]
    cells = [[b['backups'], seconds(b), f'{b["samples_per_s"]:.0f}', percent(b['dropped'] or 0), seconds(s),
              f'{s["samples_per_s"]:.0f}', percent(s['dropped'] or 0)] for b, s in zip(data['backup'], data['spare'],
                                                                                       strict=True)]
    return ['## Backup workers', '', '`configs/studies/backup_workers.yaml`: 50 workers on 10 servers, ResNet-50; '
                                     'each worker is three '
            'times slower in 3 % of the time, for 1 s on average. On average 1.5 of 50 are '
            'slow.', '', '![backup workers](backup.svg)',
            '', *table(['b', '50 workers, 50 - b count: step, '
                             's', 'samples/s', 'dropped, %', '50 + b workers, 50 count: step, s',
                        'samples/s', 'dropped, %'], cells),
            f'- Of 50 workers, samples/s are most with b = {best["backups"]} '
            f'({percent(best["samples_per_s"] / data["backup"][0]["samples_per_s"] - 1)} % above none): few enough '
            'slow workers are '
            'let go to lose their tail, and each further one loses 2 % of the samples.',
            f'- With spare workers the step is shortest with b = {least["backups"]} '
            f'({percent(1 - least["step_s"] / none["step_s"])} % '
            f'shorter than with none) and {percent(last["step_s"] / least["step_s"] - 1)} % longer again with '
            f'{last["backups"]}: every spare '
            'pulls and pushes like the others, and the servers\' NICs are what the step waits for then.',
            '- The tails are assumed, not fitted: put measured factors in with `noise.distribution: empirical`.', '']


def lead_lines(data):
    by = {r['mode']: r for r in data['lead']}
    base = by['sync']['samples_per_s']
    cells = [[r['mode'], seconds(r), f'{r["samples_per_s"]:.0f}', f'{r["samples_per_s"] / base:.2f} x',
              '-' if r['staleness'] is None else f'{r["staleness"]:.1f}',
              '-' if r['most_stale'] is None else f'{r["most_stale"]:.0f}'] for r in data['lead']]
    free = by['async']['samples_per_s']
    half = next(r['mode'] for r in data['lead'] if r['mode'].startswith('ssp')
                and r['samples_per_s'] >= base + 0.9 * (free - base))
    return ['## Bounded lead under workers that are slow in '
            'turn', '', '`configs/studies/bounded_lead.yaml`: eight workers, each three '
            'times slower for 4 s on average, every 24 s. A step is eight '
            'arrivals.', '', '![bounded lead](lead.svg)', '',
            *table(['mode', 'step, s', 'samples/s', 'over sync', 'mean staleness', 'most'], cells),
            f'Async gains {free / base:.2f} x; {half} already has nine tenths of what async gains over sync, since a '
            'lead of that many steps '
            'outlasts most slow times. ssp 0 differs from sync by its eight updates in place of one. What staleness '
            'does to the '
            'number of steps that training needs is not simulated.', '']


def order_lines(data):
    lines = ['## Order as a cause of stragglers', '', '`configs/studies/order_as_cause.yaml`: eight equal workers, '
                                                      'ResNet-50 v2, two servers. '
             'Straggler effect (first to last arrival over step time), %:', '', '![order as a cause](order.svg)', '']
    cells = []
    for mode in ('inference', 'training'):
        for cv in dict.fromkeys(r['cv'] for r in data['order']):
            mine = {r['policy']: r for r in data['order'] if (r['mode'], r['cv']) == (mode, cv)}
            cells.append([mode, cv, *(percent(mine[p]['straggler'], 2) for p in POLICIES),
                          *(f'{mine[p]["step_s"]:.3f}' for p in ('random', 'tac'))])
    lines += table(['mode', 'op times vary by', *POLICIES, 'step, random, s', 'step, TAC, s'], cells)
    still = [r for r in data['order'] if number(r['cv']) == 0]
    random = [r['straggler'] for r in still if r['policy'] == 'random']
    other = max(r['straggler'] for r in still if r['policy'] != 'random')
    lines += [f'With nothing else that varies, random order alone makes stragglers of {percent(min(random))} and '
              f'{percent(max(random))} % of '
              'the step; under any order that all workers share, also the worst, they are at most '
              f'{percent(other, 2)} %. It is not the good order that '
              'removes stragglers, but the common one.', '', '### Beside one slow worker', '',
              '`stretto attribute configs/studies/one_slow_worker.yaml`: worker 7 of eight computes 10 % slower. '
              'Shares of the step, % with 95 % '
              'intervals, and what goes if a cause alone goes:', '']
    lines += table(['order', 'step, s', *(c.replace('_', ' ') for c in CAUSES)],
                   [[r['policy'], f'{r["step_s"]:.3f}',
                     *(f'{percent(r["share"][c][0])} ({percent(r["share"][c][1])} to {percent(r["share"][c][2])}); '
                       'alone '
                       f'{percent(r["alone"][c])}' for c in CAUSES)] for r in data['causes']])
    return lines


def backup_plot(data):
    panels = []
    for key, title, figure, label in (('backup', '50 workers, 50 - b count', 'samples_per_s', 'samples/s'),
                                      ('spare', '50 + b workers, 50 count', 'step_s', 'step time, s')):
        values = [r[figure] for r in data[key]] + ([v for r in data[key] for v in (r['low'], r['high'])]
                                                   if figure == 'step_s' else [])
        panel = Panel(title, Axis('backup workers b', [0, 16], (0, 4, 8, 12, 16)), Axis(label, values), 380, 260)
        panel.left = 62
        panel.add_line([(r['backups'], r[figure], *((r['low'], r['high']) if figure == 'step_s' else ()))
                        for r in data[key]], COLOURS[0])
        panels.append(panel)
    return svg_plot.figure('Backup workers, each worker slow in 3 % of the time', panels, 2)


def lead_plot(data):
    ssp = [(int(r['mode'].split()[1]), r['samples_per_s']) for r in data['lead'] if r['mode'].startswith('ssp')]
    ends = {r['mode']: r['samples_per_s'] for r in data['lead']}
    x = Axis('steps of lead + 1', (1, 65), (1, 2, 3, 5, 9, 17, 65), log=True)
    panel = Panel('', x, Axis('samples/s', [v for _, v in ssp] + [ends['sync'], ends['async']]), 520, 280)
    panel.left = 62
    panel.add_line([(s + 1, v) for s, v in ssp], COLOURS[0])
    for name, colour in (('sync', COLOURS[1]), ('async', COLOURS[2])):
        panel.add_line([(1, ends[name]), (65, ends[name])], colour, '5 3', dots=False)
    return svg_plot.figure('Bounded lead, workers slow in turn', [panel], 1,
                           [('ssp', COLOURS[0], ''), ('sync', COLOURS[1], '5 3'), ('async', COLOURS[2], '5 3')])


def order_plot(data):
    panels = []
    for mode in ('inference', 'training'):
        rows = [r for r in data['order'] if r['mode'] == mode]
        xs = sorted({100 * number(r['cv']) for r in rows})
        y = Axis('straggler effect, %', [0, *(100 * r['straggler'] for r in rows)])
        panel = Panel(mode, Axis('variation of each op, %', xs, xs), y, 400, 260)
        for policy, colour in zip(POLICIES, COLOURS[1::-1] + COLOURS[2:4]):
            mine = [r for r in rows if r['policy'] == policy]
            panel.add_line(sorted((100 * number(r['cv']), 100 * r['straggler']) for r in mine), colour)
        panels.append(panel)
    return svg_plot.figure('Straggler effect by order, eight equal workers', panels, 2,
                           [(p, c, '') for p, c in zip(POLICIES, COLOURS[1::-1] + COLOURS[2:4])])


def write(data, folder):
    text = ['# Straggler studies', '', 'Made by `tools/studies.py` from `configs/studies/` '
                                       '(' + data['program'] + '); figures: `studies.json`. '
            'What stragglers of a traced job cost: `stretto '
            'stragglers`.', '', *backup_lines(data), *lead_lines(data), *order_lines(data)]
    (folder / 'README.md').write_text('\n'.join(text).rstrip('\n') + '\n', encoding='utf-8')
    for name, draw in (('backup', backup_plot), ('lead', lead_plot), ('order', order_plot)):
        (folder / f'{name}.svg').write_text(draw(data), encoding='utf-8')


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--stretto', type=pathlib.Path, default=ROOT / 'stretto', help='default: ./stretto')
    parser.add_argument('--cells', type=pathlib.Path, default=ROOT / 'build' / 'study_cells')
    parser.add_argument('--threads', type=int, default=os.cpu_count())
    parser.add_argument('--render', action='store_true')
    parser.add_argument('-o', '--output', type=pathlib.Path, default=ROOT / 'results' / 'studies')
    arguments = parser.parse_args()
    arguments.output.mkdir(parents=True, exist_ok=True)
    file = arguments.output / 'studies.json'
    if not arguments.render:
        cells = arguments.cells.resolve()
        cells.mkdir(parents=True, exist_ok=True)
        data = run(arguments.stretto.resolve(), cells, arguments.threads)
        text = json.dumps(data, separators=(',', ':')).replace('},{', '},\n{') + '\n'
        file.write_text(text, encoding='utf-8')
    write(json.loads(file.read_text(encoding='utf-8')), arguments.output)


if __name__ == '__main__':
    main()
