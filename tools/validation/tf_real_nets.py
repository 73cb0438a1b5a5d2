#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Predicts steps of real networks on real TensorFlow clusters, from a profile taken at one link rate without an order.

usage: tools/validation/tf_real_nets.py prepare FOLDER [--kept RESULTS]
                                                          begins the study, or goes on with what is in RESULTS
       tools/validation/tf_real_nets.py measure FOLDER [--seconds S] [--redo CORES] [--only PART]
                                                          profiles each network, then measures set-ups that are not
                                                          measured yet, as root; and anew those in which others kept
                                                          more than CORES busy; --only: those with PART in their names
       tools/validation/tf_real_nets.py keep FOLDER RESULTS
                                                          keeps what was measured, and the profiles as workloads
       tools/validation/tf_real_nets.py table RESULTS [--write] [--only PART]
                                                          predicts all that is kept, and compares

One server, one worker, tf_slim's networks computed on the processor, links shaped to a rate. Each set-up (a network at
a rate) has one cluster, in which its policies are measured one after the other. At the rate of the profile it is
measured several times, each in new processes: what its cells differ by is what no prediction can be better than.

`measure` begins no set-up that would end after S seconds, judged by the longest so far; given again, it goes on.
"""
import collections
import gzip
import json
import statistics
import subprocess
import sys
import tempfile
import typing

import common
import tf_study
from tf_study import percent, read_json

TRACES = 5
PROFILED = '1 Gbit/s'
TIMES = 3  # that the set-ups at the rate of the profile are measured, at most


class Net(typing.NamedTuple):
    batch: int
    rates: tuple
    steps: int  # measured, after two


NETS = {'inception_v1': Net(4, ('200 Mbit/s', '500 Mbit/s', '1 Gbit/s'), 10),
        'resnet_50_v1': Net(2, ('500 Mbit/s', '1 Gbit/s', '2 Gbit/s'), 7),
        'alexnet_v2': Net(4, ('1 Gbit/s', '2 Gbit/s'), 6)}
WARM_UP = 2
POLICIES = {'none': 'random',
            'tac, window 1': '{tac: {discipline: window, window: 1}}',
            'reverse, window 1': '{reverse: {discipline: window, window: 1}}'}


class Setup(typing.NamedTuple):
    net: str
    rate: str
    time: int  # which of those at one rate

    @property
    def name(self):
        again = f'_{self.time}' if self.time > 1 else ''
        return f'{self.net}_{self.rate.split("/")[0].replace(" ", "").lower()}{again}'


# Those at the rate of the profile first, the slowest rates last.
SETUPS = tuple(sorted((Setup(net, rate, time) for net, row in NETS.items() for rate in row.rates
                       for time in range(1, TIMES + 1) if time == 1 or rate == PROFILED),
                      key=lambda setup: (setup.time, setup.rate != PROFILED, 'Mbit' in setup.rate)))

NOTE = [
    '# Steps of real networks on real TensorFlow clusters, predicted from a profile at another rate', '',
    'Made by `tools/validation/tf_real_nets.py table results/validation/tf_cluster/real_nets --write` from the cells '
    'and profiles beside it; `manifest.json` has all commands, versions and hashes.',
    f'One server and one worker, processes in network namespaces with shaped links, gRPC; the step of a network of '
    f'tf_slim is computed on the two cores that all of these share. Each network was traced for {TRACES} steps at '
    f'{PROFILED} without any order, and the mean time of each op taken. From that profile all cells are predicted: '
    'other rates, and orders that were enforced. Nothing was fitted: the costs are those of '
    '`configs/clusters/local_tensorflow.yaml`, the device is `{kind: cpu, cores: 2}` for every network, rate and '
    'order.',
    "Orders: none (TensorFlow's own, drawn at random in the prediction), TAC and reversed order of first use. Set-ups "
    f'at {PROFILED} were measured several times, each time in new processes.']


def experiment(setup, folder):
    return f"""stretto: 1
name: {setup.name}
workload: {{file: {folder}/{setup.net}.workload.json.gz}}
cluster:
  include: {common.ROOT}/configs/clusters/local_tensorflow.yaml
  workers: {{count: 1, nic: {setup.rate}, device: {{kind: cpu, cores: 2}}}}
  servers: {{count: 1, nic: {setup.rate}}}
training: {{synchronization: sync, barrier: true}}
policies: [{', '.join(POLICIES.values())}]
runs: {{iterations: 12, warm_up: 2, replications: 20, seed: 1}}
"""


def prepare(arguments):
    arguments.folder.mkdir(parents=True, exist_ok=True)
    for setup in SETUPS:
        (arguments.folder / setup.name).mkdir(exist_ok=True)
        tf_study.take(arguments, setup)
    for net in NETS if arguments.kept else ():
        kept, path = (folder / f'{net}.workload.json.gz' for folder in (arguments.kept, arguments.folder))
        if kept.exists() and not path.exists():
            path.write_bytes(kept.read_bytes())


def profile(arguments, net):
    """FOLDER/NET.workload.json.gz, if it is not there."""
    path = arguments.folder / f'{net}.workload.json.gz'
    if path.exists():
        return
    bits = {'M': 10**6, 'G': 10**9}[PROFILED.split()[1][0]] * int(PROFILED.split()[0])
    bundle = {'format': 'stretto-bundle', 'version': 1, 'name': f'{net} profile',
              'model': {'name': net, 'batch': NETS[net].batch},
              'cluster': {'servers': 1, 'workers': 1, 'server_bps': bits, 'worker_bps': bits, 'network': 'namespaces'},
              'transfers': [], 'policies': [{'name': 'none'}], 'warm_up': WARM_UP}
    folder = arguments.folder / f'{net}_profile'
    folder.mkdir(exist_ok=True)
    common.write(folder / 'bundle.json', json.dumps(bundle))
    tf_study.run(common.ROOT / 'harness/stretto-tf', 'profile', folder / 'bundle.json', '-o', folder, '--traces',
                 TRACES)
    part = path.with_suffix('.part')
    part.write_bytes(gzip.compress(json.dumps(mean_workload(arguments, net, folder)).encode(), mtime=0))
    part.replace(path)


def mean_workload(arguments, net, folder):
    """The profile with the mean time of each op over the traced steps: of these the mean step is made."""
    def imported(name):
        tf_study.run(arguments.stretto, 'import', folder / f'{name}.pb.gz', '--graph', folder / 'graph.pb.gz',
                     '--batch', NETS[net].batch, '-o', folder / f'{name}.workload.json', stderr=subprocess.DEVNULL)
        return read_json(folder / f'{name}.workload.json')
    times = collections.defaultdict(list)
    for number in range(TRACES):
        for op in imported(f'trace_{number}')['ops']:
            times[op['name']].append(op['time_ps'])
    merged = imported('step')  # has all ops, each with its least time
    for op in merged['ops']:
        if op['name'] in times:
            op['time_ps'] = round(statistics.mean(times[op['name']]))
    return merged


def chosen(arguments):
    return [setup for setup in SETUPS if arguments.only in setup.name]


def measure(arguments):
    def one(setup, folder):
        profile(arguments, setup.net)
        common.write(folder / 'cell.yaml', experiment(setup, arguments.folder))
        tf_study.run(arguments.stretto, 'validate', 'cell.yaml', '--real', setup.net, '--bundle', 'bundle.json',
                     '--steps', NETS[setup.net].steps, '--warm-up', WARM_UP, '--network', 'namespaces', '--quiet',
                     '--set', 'runs.iterations=3', '--set', 'runs.replications=1', cwd=folder)
        tf_study.harness(folder)
    tf_study.measure(arguments, chosen(arguments), one)


def keep(arguments):
    def strip(content):
        for cell in content['cells']:
            for key in ('order', 'push_order', 'bytes', 'server_of'):
                cell.pop(key, None)
            for step in cell['steps']:
                for worker in step:
                    worker.update(pull_arrival_ms=[], push_arrival_ms=[], compute_ms=[])
    tf_study.keep(arguments, SETUPS, strip)
    for net in NETS:
        path = arguments.folder / f'{net}.workload.json.gz'
        if path.exists():
            (arguments.results / path.name).write_bytes(path.read_bytes())


def compare(arguments, setup):
    """Rows as `stretto validate` writes them, by the names of POLICIES, and the measurement."""
    path = arguments.results / f'{setup.name}.json'
    with tempfile.NamedTemporaryFile('w', suffix='.yaml', encoding='utf-8') as file:
        file.write(experiment(setup, arguments.results))
        file.flush()
        done = subprocess.run([arguments.stretto, 'validate', file.name, '--real', setup.net, '--measured', path,
                               '--format', 'json', '--quiet'], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f'stretto validate ended with {done.returncode}:\n{done.stderr}')
    content = read_json(path)
    return [Row(setup, name, row, cell) for name, row, cell in
            zip(POLICIES, json.loads(done.stdout)['policies'], content['cells'], strict=True)]


class Row(typing.NamedTuple):
    setup: Setup
    order: str
    compared: dict
    cell: dict

    @property
    def measured(self):
        return self.compared['measured_s']['mean']

    @property
    def predicted(self):
        return self.compared['predicted_s']['mean']

    @property
    def error(self):
        return self.compared['error']


def steps(rows):
    lines = ['', '## Steps', '', '| network | rate | time | order | measured ms | sd | predicted ms | error | '
             'inversions | own cores | other cores |', '|---' * 11 + '|']
    for row in rows:
        lines.append(f'| {row.setup.net} | {row.setup.rate} | {row.setup.time} | {row.order} | '
                     f'{1e3 * row.measured:.1f} | {1e3 * row.compared["measured_sd_s"]:.1f} | '
                     f'{1e3 * row.predicted:.1f} | {percent(row.error)} | {tf_study.inversions(row.cell)} | '
                     f'{tf_study.cores(row.cell)} |')
    return lines


def summary(rows):
    lines = ['', '## Errors', '', f'- All: {tf_study.errors([row.error for row in rows])}.']
    for what, group in [(net, [row for row in rows if row.setup.net == net]) for net in NETS] + [
            (f'Without an order at {PROFILED}, as profiled',
             [r for r in rows if r.setup.rate == PROFILED and r.order == 'none']),
            (f'Enforced orders at {PROFILED}', [r for r in rows if r.setup.rate == PROFILED and r.order != 'none']),
            ('Other rates', [r for r in rows if r.setup.rate != PROFILED])]:
        if group:
            lines.append(f'- {what}: {tf_study.errors([row.error for row in group])}.')
    held = [row.cell for row in rows if 'window 1' in row.order]
    lines.append(f'- Inversions: {sum(c["summary"]["inversions_mean"] for c in held):g} in the {len(held)} cells that '
                 'were held by window 1.')
    return lines


def noise(rows):
    """What the means of one cell differ by between processes."""
    lines = ['', '## Noise', '',
             f'Means of one cell at {PROFILED}, each time in a new cluster of new processes. Spread: largest less '
             'smallest over their mean; farthest: from their mean; error: of the prediction, from it.', '',
             '| network | order | means, ms | spread | farthest | error |', '|---' * 6 + '|']
    spreads, apart = [], []
    for net in NETS:
        for order in POLICIES:
            group = [r for r in rows if (r.setup.net, r.setup.rate, r.order) == (net, PROFILED, order)]
            if len(group) < 2:
                continue
            means = [row.measured for row in group]
            middle = statistics.mean(means)
            spreads.append((max(means) - min(means)) / middle)
            apart.append(max(abs(mean / middle - 1) for mean in means))
            lines.append(f'| {net} | {order} | {", ".join(f"{1e3 * mean:.1f}" for mean in means)} | '
                         f'{100 * spreads[-1]:.1f} % | {100 * apart[-1]:.1f} % | '
                         f'{percent(group[0].predicted / middle - 1)} |')
    if spreads:
        lines += ['', f'- Spread: {100 * statistics.mean(spreads):.1f} % on average, {100 * max(spreads):.1f} % at '
                  f'most; farthest: {100 * statistics.mean(apart):.1f} % on average, {100 * max(apart):.1f} % at most.']
    return lines if spreads else []


def gains(rows):
    lines = ['', '## Gains and spread of steps', '', 'Gain of an enforced order in step rate, over none. sd: standard '
             'deviation of the step, without an order and with this one.', '',
             '| order | network | rate | time | predicted | measured | sd of none | of this order |', '|---' * 8 + '|']
    large, right, apart, falls, count = 0, 0, [], 0, 0
    bases = {row.setup: row for row in rows if row.order == 'none'}
    for row in rows:
        if row.order == 'none':
            continue
        predicted, measured = row.compared['gain_predicted'], row.compared['gain_measured']
        apart.append(abs(predicted - measured))
        if abs(predicted) > 0.03:
            large += 1
            right += (predicted > 0) == (measured > 0)
        sd, base = row.compared['measured_sd_s'], bases[row.setup].compared['measured_sd_s']
        if row.order.startswith('tac'):
            count += 1
            falls += sd < base
        lines.append(f'| {row.order} | {row.setup.net} | {row.setup.rate} | {row.setup.time} | {percent(predicted)} | '
                     f'{percent(measured)} | {1e3 * base:.1f} ms | {1e3 * sd:.1f} ms |')
    return lines + [
        '', f'- Sign: {right} of {large} gains that are predicted above 3 % have the predicted sign.',
        f'- Predicted and measured gains are {100 * statistics.mean(apart):.1f} points apart on average, '
        f'{100 * max(apart):.1f} at most.',
        f'- The standard deviation of the step is less under TAC than without an order in {falls} of {count} cells.']


def table(arguments):
    measured = [setup for setup in chosen(arguments) if (arguments.results / f'{setup.name}.json').exists()]
    if not measured:
        sys.exit(f'no cells in {arguments.results}')
    rows = []
    for setup in sorted(measured, key=lambda s: (list(NETS).index(s.net), NETS[s.net].rates.index(s.rate), s.time)):
        rows += compare(arguments, setup)
    text = '\n'.join([*NOTE, *summary(rows), *steps(rows), *noise(rows), *gains(rows)]) + '\n'
    sys.stdout.write(text)
    if arguments.write:
        common.write(arguments.results / 'README.md', text)
        profiles = [arguments.results / f'{net}.workload.json.gz' for net in NETS]
        tf_study.write_manifest(
            arguments, 'tf_real_nets.py',
            ('prepare FOLDER', 'measure FOLDER', 'keep FOLDER results/validation/tf_cluster/real_nets',
             'table results/validation/tf_cluster/real_nets --write'),
            [arguments.results / f'{setup.name}.json' for setup in measured],
            profiles=[{'file': path.name, 'sha256': tf_study.sha256(path)} for path in profiles if path.exists()])


def extend(name, command):
    if name in ('measure', 'table'):
        command.add_argument('--only', default='', metavar='PART', help='set-ups with PART in their names')


if __name__ == '__main__':
    tf_study.main(__doc__, (prepare, measure, keep, table), extend)
