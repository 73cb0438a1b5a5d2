#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reproduce the TicTac paper (arXiv 1803.03288): run configs/paper/, write tables, plots and results/paper/README.md.

usage: tools/paper.py [--stretto PROGRAM] [--cells DIR] [--threads N] [--only PART...] [-o DIR]
       tools/paper.py --render [-o DIR]

Everything that was simulated is kept in --cells (default: build/paper_cells) and not simulated again, so that the
command can be ended at any moment and goes on where it stopped; --only runs some parts and writes no page. --render
writes the pages and plots anew from DIR/paper.json.
"""
import argparse
import concurrent.futures
import csv
import functools
import hashlib
import json
import os
import pathlib
import statistics
import tempfile
import time

import paper_page
from runs import ROOT, call, number, rounded, swept

CONFIGS = ROOT / 'configs' / 'paper'
SWEEPS = ('workers', 'sixteen', 'servers', 'ratio', 'stragglers', 'weight_decay', 'bound')
PARTS = (*SWEEPS, 'orders', 'search')
BUDGET = 2000  # evaluations of a search
SHOWN = 120  # orders of a network that paper.json keeps for the plot

# Columns of the page's rows, by field of the experiment: its value in a row where the file does not vary it.
FIELDS = {'workload.model': 'model', 'workload.mode': 'mode', 'cluster.workers.count': 'workers',
          'cluster.servers.count': 'servers', 'cluster.network.comm_compute_ratio': 'ratio', 'noise.compute_cv': 'cv'}
FIXED = {'workers': {'servers': '1'}, 'sixteen': {'workers': '16', 'servers': '4'}, 'servers': {'workers': '8'},
         'ratio': {}, 'stragglers': {}, 'weight_decay': {}, 'bound': {'cv': '0'}}
COMMON = {'workers': '4', 'servers': '1', 'ratio': '0.25', 'cv': '5 %'}
FIGURES = ('step_time_s', 'step_time_ci95_low_s', 'step_time_ci95_high_s', 'gain_over_random',
           'gain_over_random_ci95_low', 'gain_over_random_ci95_high', 'straggler_effect', 'ordering_efficiency', 'gap')


def sweep(program, name, cells, threads):
    rows = []
    for row in swept(program, f'configs/paper/{name}.yaml', cells / f'{name}.sqlite', threads):
        known = {**COMMON, 'mode': 'training', **FIXED[name],
                 **{short: row[path] for path, short in FIELDS.items() if path in row}}
        rows.append({'model': known['model'].removeprefix('slim_'), 'mode': known['mode'],
                     'workers': int(known['workers']), 'servers': int(known['servers']),
                     'ratio': rounded(number(known['ratio']) * int(known['workers']) / int(known['servers'])),
                     'cv': number(known['cv']), 'policy': row['policy'],
                     **{figure: rounded(row[figure]) for figure in FIGURES}})
    return rows


def key_of(program, *files):
    digest = hashlib.sha256(call(program, '--version').encode())
    for file in files:
        digest.update(pathlib.Path(file).read_bytes())
    return digest.hexdigest()[:16]


def cached(cells, name, make):
    """The JSON of cells/name, made where it is not there."""
    file = cells / name
    if not file.exists():
        value = make()
        part = file.with_suffix('.part')
        part.write_text(json.dumps(value), encoding='utf-8')
        part.replace(file)
    return json.loads(file.read_text(encoding='utf-8'))


def network(model):
    return ROOT / f'configs/workloads/slim_{model}.workload.json.gz'


def inputs(name, model):
    return (CONFIGS / f'{name}.yaml', CONFIGS / 'base.yaml', ROOT / 'configs/devices/k80_roofline.yaml',
            network(model))


def orders(program, cells, model, mode):
    """1000 steps in random orders: efficiency against time."""
    def make():
        with tempfile.TemporaryDirectory() as folder:
            call(program, 'run', 'configs/paper/orders.yaml', '--quiet', '--out', folder, '--set', 'vary={}', '--set',
                 f'workload.model=slim_{model}', '--set', f'workload.mode={mode}')
            with open(pathlib.Path(folder) / 'steps.csv', encoding='utf-8') as f:
                steps = [s for s in csv.DictReader(f) if s['policy'] == 'random']
        times = [float(s['time_s']) for s in steps]
        efficiency = [float(s['ordering_efficiency']) for s in steps]
        slope, intercept = statistics.linear_regression(efficiency, times)
        return {'model': model, 'mode': mode, 'steps': len(steps), 'distinct': len({s['pull_order'] for s in steps}),
                'r2': rounded(statistics.correlation(efficiency, times) ** 2), 'slope': rounded(slope),
                'intercept': rounded(intercept), 'time': [rounded(f(times)) for f in (min, statistics.mean, max)],
                'efficiency': [rounded(f(efficiency)) for f in (min, statistics.mean, max)],
                'points': [[rounded(e), rounded(t)] for e, t in list(zip(efficiency, times))[:SHOWN]]}
    return cached(cells, f'orders_{model}_{mode}_{key_of(program, *inputs("orders", model))}.json', make)


def search(program, cells, model, mode, workers):
    """The best order that `stretto search` finds, and what TIC and TAC are behind."""
    def make():
        found = json.loads(call(program, 'search', 'configs/paper/bound.yaml', '--quiet', '--format', 'json',
                                '--budget', BUDGET, '--set', 'vary={}', '--set', f'workload.model=slim_{model}',
                                '--set', f'workload.mode={mode}', '--set', f'cluster.workers.count={workers}'))
        return {'model': model, 'mode': mode, 'workers': workers, 'step_s': rounded(found['step_time_s']['mean']),
                'bound_s': rounded(found['lower_bound_s']), 'bound': found['lower_bound_name'],
                'gap': rounded(found['gap']), 'optimal': found['optimal'], 'found_by': found['found_by'],
                'evaluations': found['evaluations'],
                'gains': {p['policy']: rounded(p['gain']['mean']) for p in found['policies']}}
    return cached(cells, f'search_{model}_{mode}_{workers}_{key_of(program, *inputs("bound", model))}.json', make)


def seconds(cells, name, more):
    """Adds to the time that a part took, this run and those before; of all parts without a name."""
    file = cells / 'seconds.json'
    took = json.loads(file.read_text(encoding='utf-8')) if file.exists() else {}
    if name:
        took[name] = took.get(name, 0) + more
        file.write_text(json.dumps(took), encoding='utf-8')
    return took[name] if name else sum(took.values())


def manifest(program, threads, took):
    files = sorted({*CONFIGS.glob('*.yaml'), ROOT / 'configs/devices/k80_roofline.yaml',
                    *map(network, paper_page.MODELS)})
    return {'format': 'stretto-paper-manifest', 'version': 1, 'command': 'tools/paper.py',
            'program': call(program, '--version').split('\n')[0], 'threads': threads, 'seconds': round(took),
            'inputs': {str(f.relative_to(ROOT)): hashlib.sha256(f.read_bytes()).hexdigest() for f in files}}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--stretto', type=pathlib.Path, default=ROOT / 'stretto', help='default: ./stretto')
    parser.add_argument('--cells', type=pathlib.Path, default=ROOT / 'build' / 'paper_cells')
    parser.add_argument('--threads', type=int, default=os.cpu_count())
    parser.add_argument('--only', nargs='+', choices=PARTS, default=[])
    parser.add_argument('--render', action='store_true')
    parser.add_argument('-o', '--output', type=pathlib.Path, default=ROOT / 'results' / 'paper')
    arguments = parser.parse_args()
    arguments.output.mkdir(parents=True, exist_ok=True)
    if arguments.render:
        data = json.loads((arguments.output / 'paper.json').read_text(encoding='utf-8'))
        paper_page.write(data, arguments.output)
        return
    program = arguments.stretto.resolve()
    cells = arguments.cells.resolve()
    cells.mkdir(parents=True, exist_ok=True)
    data = {'format': 'stretto-paper', 'version': 1}
    cases = [(m, k) for m in paper_page.MODELS for k in paper_page.MODES]
    makers = {name: functools.partial(sweep, program, name, cells, arguments.threads) for name in SWEEPS}
    pool = concurrent.futures.ThreadPoolExecutor(arguments.threads)
    makers['orders'] = lambda: list(pool.map(lambda c: orders(program, cells, *c), cases))
    makers['search'] = lambda: list(pool.map(lambda c: search(program, cells, *c),
                                             [(*c, w) for c in cases for w in (1, 4)]))
    for name in arguments.only or PARTS:
        begin = time.monotonic()
        data[name] = makers[name]()
        took = seconds(cells, name, time.monotonic() - begin)
        print(f'{name}: {len(data[name])} rows, {took:.0f} s with what was made before', flush=True)
    if arguments.only:
        return
    paper_page.save(data, arguments.output)
    made = json.dumps(manifest(program, arguments.threads, seconds(cells, None, 0)), indent=1)
    (arguments.output / 'manifest.json').write_text(made + '\n', encoding='utf-8')
    paper_page.write(json.loads((arguments.output / 'paper.json').read_text(encoding='utf-8')), arguments.output)


if __name__ == '__main__':
    main()
