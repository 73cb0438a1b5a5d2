#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures steps of real TensorFlow clusters with emulated compute, in pieces, and predicts them after calibration.

usage: tools/validation/tf_cluster.py prepare FOLDER [--kept RESULTS]
                                                        writes what is to be measured, one folder per set-up; what is
                                                        in RESULTS counts as measured
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
import json
import statistics
import subprocess
import sys

import common
import tf_cluster_models as models
import tf_study
from tf_study import QUIET, errors, percent, quiet, run

STEPS, WARM_UP = 20, 2
SEARCH_BUDGET = 1000
# All that are fitted by default but the efficiency: it is known, as the payload's share of the packets that are shaped.
COSTS = 'per_message,per_byte,latency,step_overhead,update_rate'
NAMES = {'random': 'none', 'tac': 'tac', 'schedule': 'searched', 'reverse': 'reverse'}  # policies, as tables say them


def name_of(policy):
    """As tables say it, of a policy as measured or as kept."""
    return NAMES.get(policy.split('(')[0], policy)


NOTE = [
    '# Steps of real TensorFlow clusters, predicted after a calibration on others', '',
    'Made by `tools/validation/tf_cluster.py table results/validation/tf_cluster --write` from the cells beside it; '
    '`manifest.json` has all commands, versions and hashes, `costs.yaml` the fitted costs.',
    'TensorFlow processes in network namespaces with shaped links, gRPC, emulated compute; 20 steps after 2, with a '
    'barrier. Set-ups are `SERVERSsWORKERSw_RATE_WORKLOAD` of `tools/validation/tf_cluster_models.py`. Orders: none '
    "(TensorFlow's own), TAC and its reverse and what `stretto search` found, all held by window 1. Where the search "
    'found the order of TAC, the two rows are one cell measured twice, in the same processes.',
    'The costs, one set for all cells, are fitted to the cells of three set-ups, one of each workload, less those '
    'measured while others kept more than half a core busy; no step of the others is used. The efficiency of links is '
    'not fitted: the shaper counts 1514 bytes for 1448 of payload. Other cores: kept busy by '
    'other processes of the machine (2 cores) while the cell was measured; the tasks run at a higher priority '
    '(nice -15), but the kernel, which moves their packets, does not.']


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
        tf_study.take(arguments, setup)
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


def measure(arguments):
    tf_study.measure(arguments, models.SETUPS, lambda _, folder: tf_study.harness(folder))


def keep(arguments):
    def strip(content):
        for cell in content['cells']:
            cell['steps'] = [[{'step_ms': worker['step_ms']} for worker in step] for step in cell['steps']]
            cell['policy'] = cell['order_name'] = name_of(cell['policy'])
    tf_study.keep(arguments, models.SETUPS, strip)


def calibrate(arguments, output):
    """(cells that were fitted to, the others, costs), rows as `stretto calibrate` writes them."""
    files = {setup: arguments.results / f'{setup.name}.json' for setup in models.SETUPS}
    measured = [setup for setup in models.SETUPS if files[setup].exists()]
    used = [s for s in measured if s in models.FITTED and tf_study.mean_load(files[s]) <= QUIET]
    fitted = [files[s].name for s in used]
    others = [files[s].name for s in measured if s not in used]
    words = [*fitted, '--predict', *others, '--quiet', '--format', 'json', *output]
    if arguments.costs:
        words += ['--cluster', arguments.costs, '--fit', 'none', '--replications', '5']
    else:
        words += ['--fit', COSTS]
    done = subprocess.run([str(w) for w in (arguments.stretto, 'calibrate', *words)], cwd=arguments.results,
                          capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f'stretto calibrate ended with {done.returncode}:\n{done.stderr}')
    content = json.loads(done.stdout)
    return content['fitted'], content['predicted'], content['costs']


def row_error(row):
    return row['simulated_s'] / row['measured_s'] - 1


def errors_of(rows):
    return errors([row_error(row) for row in rows])


def report(arguments, fitted, others, costs):
    rows = {row['cell']: row for row in fitted + others}
    cells = {}
    for path in sorted(arguments.results.glob('*s*w_*.json')):
        for cell in tf_study.read_json(path)['cells']:
            cells[f'{path.stem} {cell["policy"]}'] = cell
    names = [s.name for s in models.SETUPS if f'{s.name} none' in cells]
    lines = [*NOTE, '', '## Costs', '', '| cost | value | half of the 95 % interval |', '|---|---|---|']
    for cost in costs:
        half = 'not told by these cells' if cost['ci95_half'] is None else f'{cost["ci95_half"]:.3g}'
        lines.append(f'| {cost["name"]} | {cost["text"]} | {half} |')
    lines += ['', 'Intervals in s, ps per byte, or as a share.', '', f'- Fitted to {errors_of(fitted)}.']
    for what, group in (('with at most', [r for r in others if quiet(cells[r['cell']])]),
                        ('with more than', [r for r in others if not quiet(cells[r['cell']])])):
        lines.append(f'- Predicted, measured {what} {QUIET} other cores: {errors_of(group)}.')
    enforced = [c for c in cells.values() if c['mode'] != 'none']
    lines.append(f'- Inversions: {sum(c["summary"]["inversions_mean"] for c in enforced):g} in the {len(enforced)} '
                 'enforced cells.')
    lines += ['', '## Steps', '', '| set-up | order | | measured ms | sd | predicted ms | error | inversions | '
              'own cores | other cores |', '|---' * 10 + '|']
    for name in names:
        for policy in NAMES.values():
            key = f'{name} {policy}'
            cell, row = cells[key], rows[key]
            summary = cell['summary']
            lines.append(f'| {name} | {policy} | {"fitted" if row in fitted else ""} | {1e3 * row["measured_s"]:.1f} | '
                         f'{summary["sd_ms"]:.1f} | {1e3 * row["simulated_s"]:.1f} | '
                         f'{percent(row_error(row))} | {tf_study.inversions(cell)} | '
                         f'{tf_study.cores(cell)} |')
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
    tf_study.write_manifest(
        arguments, 'tf_cluster.py', ('prepare FOLDER', 'measure FOLDER', 'keep FOLDER results/validation/tf_cluster',
                                     'table results/validation/tf_cluster --write'),
        sorted(arguments.results.glob('*s*w_*.json')))


def extend(name, command):
    if name == 'table':
        command.add_argument('--costs', type=tf_study.resolved, help='cluster file')


if __name__ == '__main__':
    tf_study.main(__doc__, (prepare, measure, keep, table), extend)
