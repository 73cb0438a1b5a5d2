# SPDX-License-Identifier: Apache-2.0
"""The pages and plots of results/paper/ from paper.json; tools/paper.py makes that file and calls this."""
import json
import pathlib
import statistics

from paper_plots import PLOTS, SIZES, of_eight, pick, sized
from runs import percent, table

MODELS = ('alexnet_v2', 'inception_v1', 'inception_v2', 'inception_v3', 'resnet_50_v1', 'resnet_101_v1', 'resnet_50_v2',
          'resnet_101_v2', 'vgg_16', 'vgg_19')
MODES = ('inference', 'training')
TABLES = ('workers', 'sixteen', 'servers', 'ratio', 'stragglers', 'weight_decay', 'bound')


def save(data, folder):
    """Rows as lists under one head, so that the file stays small."""
    out = dict(data)
    for name in TABLES:
        columns = list(data[name][0])
        out[name] = {'columns': columns, 'rows': [[row[c] for c in columns] for row in data[name]]}
    text = json.dumps(out, separators=(',', ':')).replace('],[', '],\n[').replace('},{', '},\n{')
    (folder / 'paper.json').write_text(text + '\n', encoding='utf-8')


def load(data):
    return {name: [dict(zip(value['columns'], row)) for row in value['rows']] if name in TABLES else value
            for name, value in data.items()}


def one(rows, **values):
    [row] = pick(rows, **values)
    return row


def gain(row):
    value, low, high = (row[f'gain_over_random{end}'] for end in ('', '_ci95_low', '_ci95_high'))
    return f'{100 * value:+.1f} ± {50 * (high - low):.1f}'


def enforced(rows):
    return [r for r in rows if r['policy'] in ('tic', 'tac')]


def straggler_quotient(rows):
    """Straggler effect under random orders over that under TAC, of one cell's rows."""
    return one(rows, policy='random')['straggler_effect'] / one(rows, policy='tac')['straggler_effect']


def gains(rows, key, values, title):
    lines = []
    for mode in MODES:
        for policy in ('tic', 'tac'):
            lines += [f'{policy.upper()} over random, {mode}, %:', '']
            lines += table(['network', *(f'{title} {v:g}' for v in values)],
                           [[m, *(gain(one(rows, model=m, mode=mode, policy=policy, **{key: v})) for v in values)]
                            for m in MODELS])
    return lines


def question_1(data):
    return ['## 1. Gain of TIC and TAC, 1 to 16 workers', '',
            'Four workers a server from 4 workers on; one server for fewer, whose NIC then has room. 95 % intervals, '
            'paired.',
            '', '![gain against workers](workers.svg)', '',
            *gains(sized(data), 'workers', [w for w, _ in SIZES], 'workers:')]


def question_2(data):
    return ['## 2. The same with 1, 2 and 4 servers, 8 workers', '',
            'The NICs are those of question 1, so that the ratio of transfers to compute is 2, 1 and 0.5. Variables '
            'go to the '
            'server with the fewest bytes (greedy): fc6 alone is 74 % of VGG-16, so that more servers change little '
            'there.',
            '', '![gain against servers](servers.svg)', '', *gains(of_eight(data), 'servers', [1, 2, 4], 'servers:')]


def ratios(data):
    return sorted({r['ratio'] for r in data['ratio']})


def question_3(data):
    lines = ['## 3. Gain against transfers / compute', '',
             'Four workers, one server. The ratio r is the time in which the server can send all four workers their '
             'pulls, over '
             'the forward pass. No order can gain more than r for r < 1 or 1 / r for r > 1 over one that overlaps '
             'nothing in '
             'inference: what is not the larger of the two can be hidden, and no more. In training the step also has '
             'the '
             'backward pass (twice the forward pass) and the pushes, which no order of pulls shortens.', '',
             '![gain against ratio](ratio.svg)', '']
    return lines + gains(data['ratio'], 'ratio', ratios(data), 'r =')


def straggler_row(rows, policies):
    return [percent(one(rows, policy=p)['straggler_effect'], 2) for p in policies]


def question_4(data):
    policies = ('random', 'fixed_random', 'tic', 'tac')
    lines = ['## 4. Straggler effect', '',
             'Time from the first to the last arrival at the barrier over the step time, mean over steps, %. '
             '`fixed_random` is one '
             'arbitrary order for all workers and steps. Op times vary by 5 %, each op by itself.', '',
             '![straggler effect](stragglers.svg)', '']
    for workers, servers in ((4, 1), (16, 4)):
        for mode in MODES:
            rows = pick(sized(data), workers=workers, servers=servers, mode=mode)
            cells = []
            for m in MODELS:
                mine = pick(rows, model=m)
                cells.append([m, *straggler_row(mine, policies), f'{straggler_quotient(mine):.1f}'])
            lines += [f'{workers} workers, {mode}:', '', *table(['network', *policies, 'random / TAC'], cells)]
    lines += ['The same with other variation of op times, 4 workers, mean over the ten networks. With none, all '
              'workers under an '
              'enforced order are equal:', '']
    cells = []
    for mode in MODES:
        for cv in (0, 0.02, 0.05, 0.2):
            source = data['stragglers'] if cv != 0.05 else pick(data['workers'], workers=4)
            rows = pick(source, mode=mode, cv=cv)
            means = [statistics.mean(r['straggler_effect'] for r in pick(rows, policy=p)) for p in policies]
            quotient = f'{means[0] / means[3]:.1f}' if means[3] > 0 else 'no limit'
            cells.append([mode, f'{100 * cv:g} %', *(percent(v, 2) for v in means), quotient])
    return lines + table(['mode', 'variation of an op', *policies, 'random / TAC'], cells)


def question_5(data):
    lines = ['## 5. Ordering efficiency against step time', '',
             '1000 steps of one worker, each in a fresh random order, transfers as long as the forward pass. E = (U - '
             'm) / (U - L), '
             'U and L from the realised op times of each step, which vary by 5 %. Without that variation U and L are '
             'the same '
             'in every step and the points lie on a line by '
             'definition.', '', '![E against step time](efficiency.svg)', '']
    return lines + table(
        ['network', 'mode', 'R²', 'E, least / mean / most', 'step time, s, least / mean / most', 'distinct orders'],
        [[o['model'], o['mode'], f'{o["r2"]:.4f}', ' / '.join(f'{e:.2f}' for e in o['efficiency']),
          ' / '.join(f'{t:.4g}' for t in o['time']), f'{o["distinct"]} of {o["steps"]}'] for o in data['orders']])


def question_6(data):
    lines = ['## 6. Distance from the best possible', '',
             'Without variation of op times: mean step time over the proven lower bound of any order with this '
             'placement, - 1, in %. '
             '*Search* is the best order that `stretto search` finds with 2000 evaluations; *proven* says that no '
             'order is better. '
             'Random is a distribution; its mean.', '', '![gap to the bound](gap.svg)', '']
    cells = []
    for mode in MODES:
        for workers in (1, 4):
            for m in MODELS:
                rows = pick(data['bound'], model=m, mode=mode, workers=workers)
                found = one(data['search'], model=m, mode=mode, workers=workers)
                cells.append([m, mode, str(workers), *(percent(max(0, one(rows, policy=p)['gap']), 3)
                                                       for p in ('random', 'fifo', 'tic', 'tac')),
                              percent(max(0, found['gap']), 3), 'proven' if found['optimal'] else 'bound not met',
                              found['bound']])
    return lines + table(['network', 'mode', 'workers', 'random', 'fifo', 'TIC', 'TAC', 'search', 'best', 'bound'],
                         cells)


def decay(data):
    lines = ['## Weight decay on the worker', '',
             'TensorFlow 1 places the losses of regularizers beside their variables; TensorFlow 2, which made these '
             'graphs, places '
             'them on the worker. Each such loss needs one weight and nothing else: TAC, which asks for the compute '
             'that a transfer '
             'alone makes possible, then sorts by losses in place of layers, and its gain is gone. TIC and the order '
             'of first use '
             'do not mind. Four workers, one server, gain over random, %:', '']
    cells = []
    for mode in MODES:
        for m in MODELS:
            rows = pick(data['weight_decay'], model=m, mode=mode)
            without = pick(data['workers'], model=m, mode=mode, workers=4)
            cells.append([m, mode, *(gain(one(rows, policy=p)) for p in ('fifo', 'tic', 'tac')),
                          gain(one(without, policy='tac'))])
    return lines + table(['network', 'mode', 'fifo', 'TIC', 'TAC', 'TAC without weight decay'], cells)


def top(rows):
    """The row of the largest gain of TIC or TAC."""
    return max(enforced(rows), key=lambda r: r['gain_over_random'])


def where(row):
    return f'{row["model"]}, {row["workers"]} workers, {row["servers"]} server{"s" if row["servers"] > 1 else ""}'


def mean_gain(data, mode, ratio):
    return statistics.mean(r['gain_over_random'] for r in pick(data['ratio'], mode=mode, ratio=ratio, policy='tac'))


def crossings(data, mode, claim):
    """Ratios at which the mean gain over the networks is that of a claim."""
    points = [(r, mean_gain(data, mode, r)) for r in ratios(data)]
    found = []
    for (r0, g0), (r1, g1) in zip(points, points[1:]):
        if (g0 - claim) * (g1 - claim) < 0:
            found.append(r0 * (r1 / r0) ** ((claim - g0) / (g1 - g0)))
    return ' and '.join(f'{r:.2g}' for r in found) or 'none'


def tic_over_tac(rows, row):
    """Step time of TIC over that of TAC in the cell of a row, - 1."""
    cell = {k: row[k] for k in ('model', 'mode', 'workers', 'servers', 'ratio')}
    return one(rows, policy='tic', **cell)['step_time_s'] / one(rows, policy='tac', **cell)['step_time_s'] - 1


def claims(data):
    set_up = sized(data) + of_eight(data)
    best = {mode: top(pick(set_up, mode=mode)) for mode in MODES}
    quotient = {}
    for workers, servers in SIZES[1:]:
        for mode in MODES:
            for m in MODELS:
                rows = pick(sized(data), workers=workers, servers=servers, mode=mode, model=m)
                quotient[m, mode, workers] = straggler_quotient(rows)
    most = max(quotient, key=quotient.get)
    noisy = []
    for m in MODELS:
        for mode in MODES:
            rows = pick(data['stragglers'], model=m, mode=mode, cv=0.2)
            noisy.append(straggler_quotient(rows))
    r2 = {mode: [o['r2'] for o in pick(data['orders'], mode=mode)] for mode in MODES}
    least = min(enforced(set_up), key=lambda r: r['gain_over_random'])
    low = min(enforced(data['ratio']), key=lambda r: r['gain_over_random'])
    apart = max(abs(tic_over_tac(sized(data), r)) for r in pick(sized(data), policy='tic'))
    further = max((r for r in data['ratio'] if r['policy'] == 'tic'), key=lambda r: abs(tic_over_tac(data['ratio'], r)))
    vgg = one(data['orders'], model='vgg_16', mode='inference')
    rows = [
        ['gain in inference, at most', '82 %', '37.7 %', f'{percent(best["inference"]["gain_over_random"])} % '
         f'({where(best["inference"])})',
         'The ratio of transfers to compute, which the paper does not give per network. Our mean gain is 82 % at '
         'ratios '
         f'{crossings(data, "inference", 0.82)} and 37.7 % at {crossings(data, "inference", 0.377)}: both claims lie '
         'on '
         'the curve of question 3.'],
        ['gain in training, at most', '20 %', '19.2 %', f'{percent(best["training"]["gain_over_random"])} % '
         f'({where(best["training"])})',
         f'The same: 20 % at ratios {crossings(data, "training", 0.2)}. Besides, our pushes hide behind the backward '
         'pass as '
         'well as full-duplex links allow, and messages cost the servers no CPU time, so that the forward pass is a '
         'larger share of the step than in a real cluster.'],
        ['straggler effect lower by, at most', '2.8 x', '2.3 x', f'{min(quotient.values()):.1f} to '
         f'{quotient[most]:.0f} x ({most[0]}, {most[1]}, {most[2]} workers)',
         'How much else varies. An enforced order leaves only the variation of op times: with 5 % per op the quotient '
         'is '
         f'{statistics.median(quotient.values()):.1f} in the middle, with 20 % {statistics.median(noisy):.1f}, with '
         'none it '
         'has no limit. Real workers vary more than by independent ops (shared hosts, input, network).'],
        ['worst loss', '-', '4.2 %', f'none: at least {percent(least["gain_over_random"])} % ({least["mode"]}, '
                                    f'{where(least)}); over all ratios at least {percent(low["gain_over_random"])} % '
                                    f'({low["model"]}, {low["mode"]}, ratio {low["ratio"]:g})',
         'Holding transfers back costs nothing here; in TensorFlow the counter at the server and late requests do.'],
        ['TIC nearly as good as TAC', 'yes', 'yes', f'yes: step times of question 1 differ by at most '
         f'{percent(apart, 2)} %',
         f'Far from the ratio 1 they can: {further["model"]}, {further["mode"]}, at ratio {further["ratio"]:g}, TIC '
         f'{100 * tic_over_tac(data["ratio"], further):+.1f} % against TAC. With weight decay on the worker TAC loses '
         'all of '
         'its gain.'],
        ['E against step time, R²', '0.98', '0.98',
         f'{min(r2["inference"]):.3f} to {max(r2["inference"]):.3f} in inference, {min(r2["training"]):.3f} to '
         f'{max(r2["training"]):.3f} in training', 'Nothing to explain; the variation of op times sets what is not 1.'],
        ['distinct orders in 1000 steps', '1000, VGG-16 493', '-', f'{min(o["distinct"] for o in data["orders"])} to '
         f'{max(o["distinct"] for o in data["orders"])}, VGG-16 {vgg["distinct"]}',
         'We draw every order with the same probability; in TensorFlow some tensors tend to come last (the policy '
         '`recorded` '
         'replays measured orders). 493 of 1000 cannot come from even draws of 32!.'],
    ]
    return table(['claim', 'v1', 'v2', 'here', 'what decides the difference'], rows)


def summary(data):
    ratio = {mode: max(ratios(data), key=lambda r: mean_gain(data, mode, r)) for mode in MODES}
    at = {mode: {r: percent(mean_gain(data, mode, r)) for r in ratios(data)} for mode in MODES}
    gaps = [r['gap'] for r in enforced(data['bound'])]
    aux = one(data['ratio'], model='inception_v3', mode='training', policy='tic', ratio=100)
    proven = sum(s['optimal'] for s in data['search'])
    return [
        '- **Where it helps.** The gain is largest where transfers take as long as compute (mean over the networks in '
        'inference '
        f'{at["inference"][ratio["inference"]]} % at ratio {ratio["inference"]:g}, in training '
        f'{at["training"][ratio["training"]]} % '
        f'at {ratio["training"]:g}) and vanishes on both sides: inference {at["inference"][0.1]} % at 0.1 and '
        f'{at["inference"][10]} % at 10, {at["inference"][0.01]} % and {at["inference"][100]} % at 0.01 and 100; '
        'training '
        f'{at["training"][0.1]} % and {at["training"][10]} % at 0.1 and 10. The exception is inception_v3 in '
        f'training, which keeps {percent(aux["gain_over_random"])} % with TIC at 100: the gradients of its '
        'auxiliary head do not need the main loss, so that with its variables first their pushes run beside the pulls '
        'that are left.',
        f'- **How far from the best.** TIC and TAC are at most {percent(max(gaps), 3)} % above the proven bound in all '
        f'{len(gaps)} cells; in {proven} of {len(data["search"])} cells the search proves its order optimal. The '
        'order of first '
        'use is as good: what gains is a fixed sensible order, not the heuristic.',
        '- **What is fragile.** With weight decay on the worker TAC gains nothing on the networks with batch '
        'normalisation '
        '([tables](tables.md#weight-decay-on-the-worker)).', '']


def readme(data):
    return '\n'.join([
        '# The TicTac paper, reproduced', '',
        'Hashemi, Jyothi, Campbell, *Communication Scheduling as a First-Class Citizen in Distributed Machine '
        'Learning Systems*, '
        'arXiv 1803.03288 v1, and *TicTac*, MLSys 2019 (v2): their claims beside what the simulation says. '
        'Made by `tools/paper.py` from `configs/paper/`; all tables: [tables.md](tables.md), figures: `paper.json`, '
        'what was run: '
        '`manifest.json`.', '', *claims(data), '## What else it shows', '', *summary(data),
        '## Set-up', '',
        'TF-Slim\'s ten networks (`slim_*`), batch 32, op times of half a K80 (`configs/devices/k80_roofline.yaml`, '
        'fitted on '
        'public one-GPU rates, not on the paper), varied by 5 % per op. One network for each model, the same in all '
        'cells: a NIC '
        'at which four workers\' pulls from one server take as long as the forward pass, the ratio at which the '
        'paper\'s '
        'repository sets its batches; latency 50 us. Synchronous, barrier, greedy placement, pulls ordered, pushes '
        'when '
        'ready. Random: a fresh uniform order for each worker and step. Nothing was tuned to a claim.', '',
        'Not in the model, and in the paper\'s clusters: CPU time of messages, gRPC\'s own reordering after the '
        'hand-over, '
        'variation beyond op times, other tenants. Claims quoted "at most" are the best cell of a set-up that we '
        'cannot see.', ''])


def tables(data):
    return '\n'.join(['# Tables of the paper\'s '
                      'reproduction', '', 'Made by `tools/paper.py`; [README.md](README.md) says what for.',
                      '', *question_1(data), *question_2(data), *question_3(data), *question_4(data), *question_5(data),
                      *question_6(data), *decay(data)])


def write(data, folder):
    data = load(data)
    folder = pathlib.Path(folder)
    (folder / 'README.md').write_text(readme(data), encoding='utf-8')
    (folder / 'tables.md').write_text(tables(data).rstrip('\n') + '\n', encoding='utf-8')
    for name, draw in PLOTS.items():
        (folder / f'{name}.svg').write_text(draw(data), encoding='utf-8')
