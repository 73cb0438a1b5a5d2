#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Predicts the knee of Inception-v3 between 64 and 128 GPUs from the sizes of its variables and where they lie.

usage: tools/validation/cscs_tf.py [--stretto PROGRAM] [--nic GB/S] [--most GPUS] MEASURED.csv VARIABLES.json
                                   [-o TABLE.md]

MEASURED.csv holds images per second by number of GPUs and of parameter servers; the rows of variables on parameter
servers and synthetic data are used. VARIABLES.json holds the variables of inception_v3 in order of creation.

The compute time of a step is that of the one-GPU row. The network's rate is not given: one NIC rate is fitted on the
row with the most GPUs, for whole variables dealt by size, and the other rows and placements are predicted with it.
--nic takes a rate instead, --most leaves out rows with more GPUs.
"""
import argparse
import csv
import json
import pathlib
import tempfile

import common

BATCH = 64
CLASSES = 1001
# Column: placement, order of pulls.
CASES = {'by size': ('by size', 'fifo'), 'by size, pulled in random order': ('by size', 'random'),
         'in turn': ('in turn', 'fifo'), 'split evenly': ('even', 'fifo')}
START = 2.3e9  # bytes/s, of the search for the NIC's rate
NOTE = [
    '# Inception-v3 on up to 128 GPUs: the knee that variable sizes make', '',
    'Made by `tools/validation/cscs_tf.py MEASURED.csv VARIABLES.json -o results/validation/cscs_tf.md`. '
    'Measured: TensorFlow 1.1.0 on Piz Daint, batch 64, one P100 a node, parameter servers on the nodes of '
    'workers, August 2017 (github.com/e-bug/distributed-tensorflow-benchmarks); the rows of variables on '
    'parameter servers and synthetic data.',
    'Compute is that of the one-GPU row, in equal layers. Servers share the NICs of workers. tf_cnn_benchmarks '
    "deals whole variables by size (TensorFlow's greedy strategy). The largest, 2048 x 1001 numbers, lies on one "
    'server, which sends it to every worker, however many servers there are: that is the knee. Bytes split evenly'
    ' have none. Dealt in turn, four variables a layer, kernels would lie on one of two servers, or on every '
    'fourth, which the figures contradict.',
    'Pulls are assumed to go in order of first use, in which the graph of a server holds them; in a random order '
    'they overlap less with the forward pass, and all rows but the last come out too slow. Not explained: 20 ms '
    'of a step at 2 GPUs, 40 to 50 ms at 8 to 32; the figures tell no cause.']


def measured_rows(path):
    """[(gpus, servers, images per second)]."""
    with open(path, encoding='utf-8') as f:
        return [(int(row['gpus']), int(row['num_ps']), float(row['images_per_sec'])) for row in csv.DictReader(f)
                if row['variable_update'] == 'parameter_server' and row['data'] == 'synthetic']


def variables(path):
    """[(name, bytes)] of the benchmark: without the auxiliary head, 1001 classes, with moving statistics."""
    rows = []
    for name, size in json.loads(path.read_text(encoding='utf-8'))['inception_v3']:
        if 'AuxLogits' not in name:
            rows.append((name, size // 1000 * CLASSES if '/Logits/' in name else size))
            if name.endswith('/BatchNorm/beta'):
                rows += [(name[:-len('beta')] + moving, size) for moving in ('moving_mean', 'moving_variance')]
    return rows


def deal(rows, servers, how):
    """[(bytes, server)] in order of creation. All variables are dealt; only kernels, 99.8 % of the bytes, are kept."""
    total = sum(size for _, size in rows)
    if how == 'even':
        n = servers * -(-len([name for name, _ in rows if name.endswith('/weights')]) // servers)
        return [(total // n, i % servers) for i in range(n)]
    loads, dealt = [0] * servers, []
    for i, (name, size) in enumerate(rows):
        server = i % servers if how == 'in turn' else loads.index(min(loads))
        loads[server] += size
        if name.endswith('/weights'):
            dealt.append((size, server))
    return dealt


def workload(sizes, step):
    """Equal layers of one variable each that compute for `step` seconds, a third of it forward."""
    n = len(sizes)
    forward = round(step * 1e12 / (3 * n))
    ops = [{'name': f'f{i}', 'phase': 'forward', 'time_ps': forward, 'inputs': [f'f{i - 1}'] if i else [],
            'reads': [f'v{i}']} for i in range(n)]
    ops += [{'name': f'b{i}', 'phase': 'backward', 'time_ps': 2 * forward,
             'inputs': [f'b{i + 1}' if i + 1 < n else f'f{n - 1}']} for i in reversed(range(n))]
    return {'format': 'stretto-workload', 'version': 1, 'name': 'inception_v3', 'batch': BATCH,
            'source': 'variables and one-GPU rate', 'ops': ops,
            'parameters': [{'name': f'v{i}', 'bytes': size, 'gradient': f'b{i}'} for i, size in enumerate(sizes)]}


class Predictor:
    def __init__(self, program, folder, rows, alone):
        self.program, self.folder, self.rows, self.step = program, folder, rows, BATCH / alone

    def rates(self, gpus, servers, nic, placement):
        """Policy -> images per second of one step between barriers; `nic` in bytes/s, each way."""
        dealt = deal(self.rows, servers, placement)
        graph = workload([size for size, _ in dealt], self.step)
        (self.folder / 'inception.workload.json').write_text(json.dumps(graph), encoding='utf-8')
        places = json.dumps({f'v{i}': server for i, (_, server) in enumerate(dealt)})
        (self.folder / 'case.yaml').write_text(f"""stretto: 1
workload: {{file: inception.workload.json}}
cluster:
  workers: {{count: {gpus}, nic: {8e-9 * nic:.4f} Gbit/s}}
  servers: {{count: {servers}, colocated: true, placement: {{by_name: {places}}}}}
policies: [random, fifo]
runs: {{iterations: 1, warm_up: 0, replications: 1, seed: 1}}
""", encoding='utf-8')
        return {row['policy']: row['samples_per_s'] for row in common.run_json(self.program, 'case.yaml', self.folder)}


def fit_nic(predictor, gpus, servers, measured):
    """The NIC rate at which the row comes out within half a percent; NICs set its step, so that time is as 1 / rate."""
    nic, predicted = START, 0
    while abs(predicted / measured - 1) > 0.005:
        predicted = predictor.rates(gpus, servers, nic, 'by size')['fifo']
        if abs(predicted / measured - 1) > 0.005:
            nic *= measured / predicted
    return nic


def report(nic, fitted, measured, results):
    source = f'Fitted on the row of {fitted} GPUs' if fitted else 'Given'
    lines = [*NOTE, '', f'{source}: {nic / 1e9:.2f} GB/s for each NIC and direction.', '']
    for case, rates in results.items():
        errors = [abs(p / m - 1) for (g, _, m), p in zip(measured, rates, strict=True)
                  if g > 1 and not (case.startswith('by size') and g == fitted)]
        lines.append(f'- {case}: {len(errors)} predicted cells: mean error {100 * sum(errors) / len(errors):.1f} %, '
                     f'worst {100 * max(errors):.1f} %.')
    lines += ['', '| GPUs | servers | measured images/s | ' + ' | '.join(f'{case} | error' for case in results) + ' |',
              '|---' * (3 + 2 * len(results)) + '|']
    for (gpus, servers, images), *rates in zip(measured, *results.values(), strict=True):
        cells = [f'{rate:.0f} | {100 * (rate / images - 1):+.1f} %' for rate in rates]
        lines.append(f'| {gpus} | {servers} | {images:.0f} | {" | ".join(cells)} |')
    return '\n'.join(lines) + '\n'


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('measured', type=pathlib.Path)
    parser.add_argument('variables', type=pathlib.Path)
    parser.add_argument('--stretto', type=pathlib.Path, default=common.ROOT / 'build/app/stretto')
    parser.add_argument('--nic', type=float, help='GB/s')
    parser.add_argument('--most', type=int, default=10**6)
    parser.add_argument('-o', '--output')
    args = parser.parse_args()
    measured = measured_rows(args.measured)
    with tempfile.TemporaryDirectory() as folder:
        predictor = Predictor(args.stretto.resolve(), pathlib.Path(folder), variables(args.variables), measured[0][2])
        nic = args.nic * 1e9 if args.nic else fit_nic(predictor, *measured[-1])
        fitted = None if args.nic else measured[-1][0]
        measured = [row for row in measured if row[0] <= args.most]
        rates = {placement: [predictor.rates(gpus, servers, nic, placement) for gpus, servers, _ in measured]
                 for placement in dict.fromkeys(placement for placement, _ in CASES.values())}
    results = {case: [row[policy] for row in rates[placement]] for case, (placement, policy) in CASES.items()}
    common.finish(report(nic, fitted, measured, results), args.output)


if __name__ == '__main__':
    main()
