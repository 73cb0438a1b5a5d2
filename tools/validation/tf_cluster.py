#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures steps of real TensorFlow clusters with emulated compute, in pieces, and predicts them after calibration.

usage: tools/validation/tf_cluster.py prepare FOLDER    writes what is to be measured, one folder per set-up
       tools/validation/tf_cluster.py measure FOLDER [--seconds S] [--redo CORES]
                                                        measures set-ups that are not measured yet, as root; and anew
                                                        those in which other processes kept more than CORES busy
       tools/validation/tf_cluster.py keep FOLDER RESULTS
                                                        keeps what was measured: cells without their transfers and ops
       tools/validation/tf_cluster.py table RESULTS [--write | --costs FILE]
                                                        fits the costs to a quarter of the set-ups and predicts the
                                                        rest; or only predicts, with given costs

12 set-ups over 1 and 2 servers, 1 to 3 workers, three link rates and three workloads (tf_cluster_models.py), each under
four policies: TensorFlow's own order, TAC held by window 1, the best order that `stretto search` finds, reversed order.
A set-up that was begun is measured anew as a whole: its policies meet the same processes. `measure` begins no set-up
that would end after S seconds, judged by the longest so far; given again, it goes on.

What others do on the machine shows: packets between namespaces are handled by the kernel, which shares the processors
with them. Cells with more than QUIET other cores are counted apart.
"""
import argparse
import hashlib
import json
import pathlib
import statistics
import subprocess
import sys
import time

import common
import tf_cluster_models as models

STEPS, WARM_UP = 20, 2
SEARCH_BUDGET = 1000
QUIET = 0.5  # cores
NAMES = {'random': 'none', 'tac': 'tac', 'schedule': 'searched', 'reverse': 'reverse'}  # policies, as tables say them

NOTE = [
    '# Steps of real TensorFlow clusters, predicted after a calibration on others', '',
    'Made by `tools/validation/tf_cluster.py table results/validation/tf_cluster --write` from the cells beside it; '
    '`manifest.json` has all commands, versions and hashes, `costs.yaml` the fitted costs.',
    'TensorFlow processes in network namespaces with shaped links, gRPC, emulated compute; 20 steps after 2, with a '
    'barrier. Set-ups are `SERVERSsWORKERSw_RATE_WORKLOAD` of `tools/validation/tf_cluster_models.py`. Orders: none '
    "(TensorFlow's own), TAC and its reverse and what `stretto search` found, all held by window 1. Where the search "
    'found the order of TAC, the two rows are one cell measured twice, in the same processes.',
    'The costs, one set for all cells, are fitted to the cells of three set-ups, one of each workload, less those '
    'measured while others kept more than half a core busy; no step of the others is used. Other cores: kept busy by '
    'other processes of the machine (2 cores) while the cell was measured; the tasks run at a higher priority '
    '(nice -15), but the kernel, which moves their packets, does not.']


def run(*command, **more):
    done = subprocess.run([str(word) for word in command], check=False, **more)
    if done.returncode != 0:
        sys.exit(f'{" ".join(map(str, command))} ended with {done.returncode}')


def experiment(setup, policies):
    return f"""stretto: 1
name: {setup.name}
workload: {{file: layers.workload.json}}
cluster:
  include: {common.ROOT}/configs/clusters/local_tensorflow.yaml
  workers: {{count: {setup.workers}, nic: {setup.rate}}}
  servers: {{count: {setup.servers}, nic: {setup.rate}, placement: greedy}}
training: {{synchronization: sync, barrier: true}}
policies: [{policies}]
runs: {{iterations: 3, warm_up: 1, replications: 2, seed: 1}}
"""


def prepare(arguments):
    for setup in models.SETUPS:
        folder = arguments.folder / setup.name
        folder.mkdir(parents=True, exist_ok=True)
        if (folder / 'bundle.json').exists():
            continue
        (folder / 'layers.workload.json').write_text(json.dumps(models.workload(setup)), encoding='utf-8')
        (folder / 'search.yaml').write_text(experiment(setup, 'tac, fifo'), encoding='utf-8')
        run(arguments.stretto, 'search', 'search.yaml', '--budget', SEARCH_BUDGET, '--quiet', '-o',
            'best.schedule.json', cwd=folder, stdout=subprocess.DEVNULL)
        (folder / 'cell.yaml').write_text(
            experiment(setup, 'random, tac, {schedule: best.schedule.json}, reverse'), encoding='utf-8')
        run(arguments.stretto, 'validate', 'cell.yaml', '--bundle', 'bundle.json', '--steps', STEPS, '--warm-up',
            WARM_UP, '--network', 'namespaces', '--quiet', cwd=folder)


def too_loaded(path, most):
    cells = json.loads(path.read_text(encoding='utf-8'))['cells']
    return most is not None and max(cell['load']['other_cores'] for cell in cells) > most


def mean_load(path):
    return statistics.mean(c['load']['other_cores'] for c in json.loads(path.read_text(encoding='utf-8'))['cells'])


def measure(arguments):
    begin, longest = time.monotonic(), 0.0
    for setup in models.SETUPS:
        folder = arguments.folder / setup.name
        if (folder / 'measurement.json').exists() and not too_loaded(folder / 'measurement.json', arguments.redo):
            continue
        now = time.monotonic()
        if longest and arguments.seconds and now - begin + longest > arguments.seconds:
            break
        run(common.ROOT / 'harness/stretto-tf', 'run', folder / 'bundle.json', '-o', folder / 'measurement.json')
        longest = max(longest, time.monotonic() - now)
    missing = sum(not (arguments.folder / setup.name / 'measurement.json').exists() for setup in models.SETUPS)
    print(f'{len(models.SETUPS) - missing} of {len(models.SETUPS)} set-ups measured')


def keep(arguments):
    arguments.results.mkdir(parents=True, exist_ok=True)
    for setup in models.SETUPS:
        path = arguments.folder / setup.name / 'measurement.json'
        if not path.exists():
            continue
        content = json.loads(path.read_text(encoding='utf-8'))
        for cell in content['cells']:
            cell['steps'] = [[{'step_ms': worker['step_ms']} for worker in step] for step in cell['steps']]
            cell['policy'] = cell['order_name'] = NAMES[cell['policy'].split('(')[0]]
        common.write(arguments.results / f'{setup.name}.json', json.dumps(content, separators=(',', ':')) + '\n')


def calibrate(arguments, output):
    """(cells that were fitted to, the others, costs), rows as `stretto calibrate` writes them."""
    files = {setup: arguments.results / f'{setup.name}.json' for setup in models.SETUPS}
    measured = [setup for setup in models.SETUPS if files[setup].exists()]
    used = [s for s in measured if s in models.FITTED and mean_load(files[s]) <= QUIET]
    fitted = [files[s].name for s in used]
    others = [files[s].name for s in measured if s not in used]
    words = [*fitted, '--predict', *others, '--quiet', '--format', 'json', *output]
    if arguments.costs:
        words += ['--cluster', arguments.costs, '--fit', 'none', '--replications', '5']
    done = subprocess.run([str(w) for w in (arguments.stretto, 'calibrate', *words)], cwd=arguments.results,
                          capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f'stretto calibrate ended with {done.returncode}:\n{done.stderr}')
    content = json.loads(done.stdout)
    return content['fitted'], content['predicted'], content['costs']


def percent(value):
    return f'{100 * value:+.1f} %'


def errors(rows):
    values = [abs(row['simulated_s'] / row['measured_s'] - 1) for row in rows]
    return (f'{len(values)} cells: mean error {100 * statistics.mean(values):.2f} %, '
            f'worst {100 * max(values):.2f} %') if values else 'no cells'


def quiet(cell):
    return cell['load']['other_cores'] <= QUIET


def report(arguments, fitted, others, costs):
    rows = {row['cell']: row for row in fitted + others}
    cells = {}
    for path in sorted(arguments.results.glob('*s*w_*.json')):
        for cell in json.loads(path.read_text(encoding='utf-8'))['cells']:
            cells[f'{path.stem} {cell["policy"]}'] = cell
    names = [s.name for s in models.SETUPS if f'{s.name} none' in cells]
    lines = [*NOTE, '', '## Costs', '', '| cost | value | half of the 95 % interval |', '|---|---|---|']
    for cost in costs:
        half = 'not told by these cells' if cost['ci95_half'] is None else f'{cost["ci95_half"]:.3g}'
        lines.append(f'| {cost["name"]} | {cost["text"]} | {half} |')
    lines += ['', 'Intervals in s, ps per byte, or as a share.', '', f'- Fitted to {errors(fitted)}.']
    for what, group in (('with at most', [r for r in others if quiet(cells[r['cell']])]),
                        ('with more than', [r for r in others if not quiet(cells[r['cell']])])):
        lines.append(f'- Predicted, measured {what} {QUIET} other cores: {errors(group)}.')
    enforced = [c for c in cells.values() if c['mode'] != 'none']
    lines.append(f'- Inversions: {sum(c["summary"]["inversions_mean"] for c in enforced):g} in the {len(enforced)} '
                 'enforced cells.')
    lines += ['', '## Steps', '', '| set-up | order | | measured ms | sd | predicted ms | error | inversions | '
              'other cores |', '|---' * 9 + '|']
    for name in names:
        for policy in NAMES.values():
            key = f'{name} {policy}'
            cell, row = cells[key], rows[key]
            summary = cell['summary']
            pairs = f'{summary["inversions_mean"]:.1f} of {summary["pairs"]}' if cell['mode'] != 'none' else ''
            lines.append(f'| {name} | {policy} | {"fitted" if row in fitted else ""} | {1e3 * row["measured_s"]:.1f} | '
                         f'{summary["sd_ms"]:.1f} | {1e3 * row["simulated_s"]:.1f} | '
                         f'{percent(row["simulated_s"] / row["measured_s"] - 1)} | {pairs} | '
                         f'{cell["load"]["other_cores"]:.1f} |')
    return '\n'.join(lines + gains(names, cells, rows)) + '\n'


def gains(names, cells, rows):
    still = [name for name in names if all(quiet(cells[f'{name} {policy}']) for policy in ('none', 'tac', 'reverse'))]
    lines = ['', '## Gains and spread', '', 'Gain of the best order (`tac`) in step rate: over no order, over the '
             'reversed one. sd: standard deviation of the step, under no order and under `tac`.', '',
             '| set-up | over none: predicted | measured | over reverse: predicted | measured | sd of none | of tac |',
             '|---' * 7 + '|']
    apart, still_apart, wrong, large, falls = [], [], 0, 0, 0
    for name in names:
        shown = []
        for base in ('none', 'reverse'):
            predicted, measured = (rows[f'{name} {base}'][key] / rows[f'{name} tac'][key] - 1
                                   for key in ('simulated_s', 'measured_s'))
            shown += [percent(predicted), percent(measured)]
            apart.append(abs(predicted - measured))
            still_apart += [apart[-1]] * (name in still)
            if abs(predicted) > 0.03:
                large += 1
                wrong += (predicted > 0) != (measured > 0)
        none, tac = (cells[f'{name} {policy}']['summary']['sd_ms'] for policy in ('none', 'tac'))
        falls += tac < none
        lines.append(f'| {name} | {" | ".join(shown)} | {none:.1f} ms | {tac:.1f} ms |')
    lines += ['', f'- Sign: {large - wrong} of {large} gains that are predicted above 3 % have the predicted sign.',
              f'- Predicted and measured gains are {100 * statistics.mean(apart):.1f} points apart on average, '
              f'{100 * max(apart):.1f} at most' + (f'; in the {len(still)} set-ups measured with at most {QUIET} other '
              f'cores, {100 * statistics.mean(still_apart):.1f} on average.' if still else '.'),
              f'- The standard deviation of the step is less under `tac` in {falls} of {len(names)} set-ups.']
    return lines


def table(arguments):
    output = ['-o', 'costs.yaml'] if arguments.write else []
    fitted, others, costs = calibrate(arguments, output)
    text = report(arguments, fitted, others, costs)
    sys.stdout.write(text)
    if not arguments.write:
        return
    common.write(arguments.results / 'README.md', text)
    files = sorted(arguments.results.glob('*s*w_*.json'))
    contents = [json.loads(path.read_text(encoding='utf-8')) for path in files]
    version = subprocess.run([arguments.stretto, '--version'], capture_output=True, text=True, check=True)
    manifest = {
        'stretto': version.stdout.strip(),
        'commands': [f'tools/validation/tf_cluster.py {words}' for words in
                     ('prepare FOLDER', 'measure FOLDER', 'keep FOLDER results/validation/tf_cluster',
                      'table results/validation/tf_cluster --write')],
        'tensorflow': sorted({c['tensorflow'] for c in contents}),
        'machine': contents[0]['machine'],
        'network': {key: contents[0]['network'].get(key) for key in ('kind', 'burst', 'congestion_control')},
        'inputs': [{'file': path.name, 'when': content['when'],
                    'sha256': hashlib.sha256(path.read_bytes()).hexdigest()}
                   for path, content in zip(files, contents, strict=True)]}
    common.write(arguments.results / 'manifest.json', json.dumps(manifest, indent=1) + '\n')


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--stretto', type=pathlib.Path, default=common.ROOT / 'stretto', help='default: ./stretto')
    commands = parser.add_subparsers(required=True)
    for call in (prepare, measure, keep, table):
        command = commands.add_parser(call.__name__)
        if call is not table:
            command.add_argument('folder', type=lambda text: pathlib.Path(text).resolve())
        if call in (keep, table):
            command.add_argument('results', type=lambda text: pathlib.Path(text).resolve())
        command.set_defaults(call=call)
        if call is measure:
            command.add_argument('--seconds', type=float)
            command.add_argument('--redo', type=float, metavar='CORES')
        if call is table:
            command.add_argument('--write', action='store_true', help='README.md, costs.yaml and manifest.json')
            command.add_argument('--costs', type=lambda text: pathlib.Path(text).resolve(), help='cluster file')
    arguments = parser.parse_args()
    arguments.stretto = arguments.stretto.resolve()
    arguments.call(arguments)


if __name__ == '__main__':
    main()
