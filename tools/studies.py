#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Straggler studies: run configs/studies/, write tables and plots to results/studies/README.md.

usage: tools/studies.py [--stretto PROGRAM] [--cells DIR] [--threads N] [-o DIR]
       tools/studies.py --render [-o DIR]
       tools/studies.py --factors TRACE

What was simulated is kept in --cells (default: build/study_cells). --render writes page and plots from
DIR/studies.json. --factors writes the factors of a study from trace-ST.csv.gz of StragglerAnalysis.
"""
import argparse
import functools
import json
import os
import pathlib

import studies_backup
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
    data = {'format': 'stretto-studies', 'version': 2, 'program': call(program, '--version').split('\n')[0],
            'backup': studies_backup.run(functools.partial(sweep, program, cells, threads))}
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


def enough_lead(data):
    """The least lead with nine tenths of what async gains over sync."""
    rate = {r['mode']: r['samples_per_s'] for r in data['lead']}
    enough = rate['sync'] + 0.9 * (rate['async'] - rate['sync'])
    return next(mode for mode, found in rate.items() if mode.startswith('ssp') and found >= enough)


def lead_lines(data):
    by = {r['mode']: r for r in data['lead']}
    base = by['sync']['samples_per_s']
    cells = [[r['mode'], seconds(r), f'{r["samples_per_s"]:.0f}', f'{r["samples_per_s"] / base:.2f} x',
              '-' if r['staleness'] is None else f'{r["staleness"]:.1f}',
              '-' if r['most_stale'] is None else f'{r["most_stale"]:.0f}'] for r in data['lead']]
    free = by['async']['samples_per_s']
    return ['## Bounded lead under workers that are slow in '
            'turn', '', '`configs/studies/bounded_lead.yaml`: eight workers, each three '
            'times slower for 4 s on average, every 24 s. A step is eight '
            'arrivals.', '', '![bounded lead](lead.svg)', '',
            *table(['mode', 'step, s', 'samples/s', 'over sync', 'mean staleness', 'most'], cells),
            f'Async gains {free / base:.2f} x; {enough_lead(data)} already has nine tenths of what async gains over '
            'sync, since a lead of that many steps '
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


def head(data):
    lead = {r['mode']: r['samples_per_s'] for r in data['lead']}
    random = [r['straggler'] for r in data['order'] if r['policy'] == 'random' and number(r['cv']) == 0]
    return ['# Straggler studies', '', 'Made by `tools/studies.py` from `configs/studies/` (' + data['program'] + '); '
            'figures: `studies.json`.', '',
            '- What do stragglers of a traced job cost, and which ones? [`stretto stragglers`]'
            '(../../docs/reference/stragglers.md) replays the trace; for the published job ST every figure agrees with '
            'StragglerAnalysis.',
            '- [How many backup workers?](#backup-workers) ' + studies_backup.answer(data['backup']),
            '- [Synchronous, bounded lead or asynchronous?](#bounded-lead-under-workers-that-are-slow-in-turn) Where '
            f'workers are slow in turn, asynchronous steps are {lead["async"] / lead["sync"]:.2f} x as fast; '
            f'{enough_lead(data)} is the least lead tried that gains nine tenths of that.',
            '- [Can the order of transfers make stragglers?](#order-as-a-cause-of-stragglers) Yes: among equal '
            f'workers, each with a random order of its own, {percent(min(random))} to {percent(max(random))} % of the '
            'step; none where all share one.', '']


def write(data, folder):
    text = [*head(data), *studies_backup.lines(data['backup']), *lead_lines(data), *order_lines(data)]
    (folder / 'README.md').write_text('\n'.join(text).rstrip('\n') + '\n', encoding='utf-8')
    for name, draw in (('backup', lambda d: studies_backup.plot(d['backup'])), ('lead', lead_plot),
                       ('order', order_plot)):
        (folder / f'{name}.svg').write_text(draw(data), encoding='utf-8')


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--stretto', type=pathlib.Path, default=ROOT / 'stretto', help='default: ./stretto')
    parser.add_argument('--cells', type=pathlib.Path, default=ROOT / 'build' / 'study_cells')
    parser.add_argument('--threads', type=int, default=os.cpu_count())
    parser.add_argument('--render', action='store_true')
    parser.add_argument('--factors', type=pathlib.Path, metavar='TRACE')
    parser.add_argument('-o', '--output', type=pathlib.Path, default=ROOT / 'results' / 'studies')
    arguments = parser.parse_args()
    if arguments.factors:
        studies_backup.write_factors(arguments.factors)
        return
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
