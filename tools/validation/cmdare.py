#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fits the cost of a TensorFlow parameter server on asynchronous clusters and predicts others of them.

usage: tools/validation/cmdare.py [--stretto PROGRAM] FOLDER [-o TABLE.md]

FOLDER holds speed_and_cluster_size.csv (global steps per second of asynchronous clusters of 1 to 8 workers, by GPU,
servers and model) and single_worker_speed_vs_model.csv (one worker: steps per second by GPU and model).

Fitted, on two models with one server and P100 workers, all numbers of workers: the server's time per message and per
byte (sending and receiving alike, on one thread), and the compute time of each of the two models. Compute times of the
others come from their single-worker rows, given the two costs. Tensors of a model are taken to be equal: the data give
their number and sum. Networks are unlimited. The measured rate of a run is steps over time after its first quarter.
"""
import argparse
import collections
import csv
import json
import math
import pathlib
import tempfile

import common

# Parameters and tensors of each model, from the data's description.
MODELS = {'resnet15': (693_818, 50), 'resnet32': (1_857_722, 104), 'shake_shake_small': (2_926_986, 216),
          'shake_shake_big': (26_204_362, 216)}
SINGLE = {'resnet15': 'Res15', 'resnet32': 'Res32', 'shake_shake_small': 'shakesmall', 'shake_shake_big': 'shakebig'}
FITTED = ('resnet15', 'shake_shake_big')
WORKERS = range(1, 9)


def measured_rates(folder):
    """(gpu, servers, model) -> {workers: steps per second}."""
    runs = collections.defaultdict(list)
    with open(folder / 'speed_and_cluster_size.csv', encoding='utf-8') as f:
        for row in csv.DictReader(f):
            key = row['gpu'], int(row['num_ps']), row['model'], int(row['num_workers'])
            runs[key].append((int(row['step']), float(row['wall_time_s'])))
    rates = collections.defaultdict(dict)
    for (gpu, servers, model, workers), points in runs.items():
        points.sort()
        first, last = points[len(points) // 4], points[-1]
        rates[gpu, servers, model][workers] = (last[0] - first[0]) / (last[1] - first[1])
    return rates


def single_rates(folder):
    """(gpu, model) -> mean steps per second of one worker."""
    rows = collections.defaultdict(list)
    with open(folder / 'single_worker_speed_vs_model.csv', encoding='utf-8') as f:
        for row in csv.DictReader(f):
            rows[row['GPU (temp)'].lower(), row['Model (temp)']].append(float(row['Speed (steps/sec)']))
    return {(gpu, model): sum(rows[gpu, name]) / len(rows[gpu, name])
            for gpu in ('k80', 'p100') for model, name in SINGLE.items()}


def workload(model):
    """A chain of equal layers that computes for one second, a third of it forward."""
    parameters, n = MODELS[model]
    ops = [{'name': f'f{i}', 'phase': 'forward', 'time_ps': 10**12 // (3 * n), 'inputs': [f'f{i - 1}'] if i else [],
            'reads': [f'v{i}']} for i in range(n)]
    ops += [{'name': f'b{i}', 'phase': 'backward', 'time_ps': 2 * 10**12 // (3 * n),
             'inputs': [f'b{i + 1}' if i + 1 < n else f'f{n - 1}'], 'reads': []} for i in reversed(range(n))]
    return {'format': 'stretto-workload', 'version': 1, 'name': model, 'source': 'number and sum of tensors',
            'batch': 1, 'ops': ops,
            'parameters': [{'name': f'v{i}', 'bytes': 4 * parameters // n, 'trainable': True, 'gradient': f'b{i}'}
                           for i in range(n)]}


class Predictor:
    """Steps per second by stretto, for costs (seconds per message, seconds per byte)."""

    def __init__(self, program, folder):
        self.program, self.folder, self.runs = program, folder, 0
        for model in MODELS:
            (folder / f'{model}.workload.json').write_text(json.dumps(workload(model)), encoding='utf-8')

    def rates(self, model, servers, compute, costs, workers):
        """{workers: steps per second}."""
        cost = f'{{per_message: {costs[0] * 1e9:.0f} ns, per_byte: {costs[1] * 1e12:.3f} ps/B}}'
        counts = list(workers)
        (self.folder / 'case.yaml').write_text(f"""stretto: 1
workload: {{file: {model}.workload.json}}
cluster:
  workers: {{count: 1, device: {{speed: {1 / compute!r}}}}}
  servers: {{count: {servers}, threads: 1, send: {cost}, receive: {cost}}}
training: {{synchronization: async}}
policies: [fifo]
runs: {{iterations: 16, warm_up: 6, replications: 1, seed: 1}}
vary: {{cluster.workers.count: {counts}}}
""", encoding='utf-8')
        self.runs += 1
        rows = [r for r in common.run_json(self.program, 'case.yaml', self.folder) if r['policy'] == 'random']
        return {w: r['samples_per_s'] for w, r in zip(counts, rows, strict=True)}

    def compute(self, model, costs, rate):
        """Compute time at which one worker with one server has the given rate."""
        compute = 1 / rate
        for _ in range(6):
            compute = max(compute + 1 / rate - 1 / self.rates(model, 1, compute, costs, [1])[1], 1e-4)
        return compute


def minimise(f, start, step, evaluations):
    """Nelder and Mead's simplex."""
    points = [(f(start), start)]
    for i in range(len(start)):
        x = list(start)
        x[i] += step
        points.append((f(x), x))
    for _ in range(evaluations):
        points.sort()
        worst = points[-1]
        centre = [sum(p[1][i] for p in points[:-1]) / len(start) for i in range(len(start))]

        def along(t, centre=centre, worst=worst):
            x = [c + t * (c - w) for c, w in zip(centre, worst[1], strict=True)]
            return f(x), x
        new = along(1)
        if new < points[0]:
            new = min(new, along(2))
        elif new >= points[-2]:
            new = along(-0.5)
        if new < worst:
            points[-1] = new
        else:
            best = points[0][1]
            points = [points[0]] + [(f(x), x) for x in
                                    ([(a + b) / 2 for a, b in zip(p[1], best, strict=True)] for p in points[1:])]
    return min(points)


def fit(predictor, rates):
    """Costs and compute times, by least squares of the logarithms of rates."""
    def loss(x):
        total = 0
        for i, model in enumerate(FITTED):
            predicted = predictor.rates(model, 1, math.exp(x[2 + i]), (math.exp(x[0]), math.exp(x[1])), WORKERS)
            total += sum(math.log(predicted[w] / rates['p100', 1, model][w])**2 for w in WORKERS)
        return total
    start = [math.log(v) for v in (1e-4, 6e-10, 0.03, 0.4)]
    _, x = minimise(loss, start, 0.2, 60)
    return (math.exp(x[0]), math.exp(x[1])), dict(zip(FITTED, map(math.exp, x[2:]), strict=True))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('folder', type=pathlib.Path)
    parser.add_argument('--stretto', type=pathlib.Path, default=common.ROOT / 'build/app/stretto')
    parser.add_argument('-o', '--output')
    args = parser.parse_args()
    rates, single = measured_rates(args.folder), single_rates(args.folder)
    with tempfile.TemporaryDirectory() as folder:
        predictor = Predictor(args.stretto.resolve(), pathlib.Path(folder))
        costs, fitted = fit(predictor, rates)
        rows = []
        for gpu, servers, model in sorted(rates):
            own = gpu == 'p100' and model in fitted
            compute = fitted[model] if own else predictor.compute(model, costs, single[gpu, model])
            predicted = predictor.rates(model, servers, compute, costs, WORKERS)
            role = 'fitted' if own and servers == 1 else 'predicted'
            rows += [(role, gpu, servers, model, w, rates[gpu, servers, model][w], predicted[w]) for w in WORKERS]
    common.finish(report(costs, fitted, rows), args.output)


def summary(rows):
    errors = [abs(r[-1] / r[-2] - 1) for r in rows]
    return f'{len(rows)} cells: mean error {100 * sum(errors) / len(errors):.1f} %, worst {100 * max(errors):.1f} %'


def report(costs, fitted, rows):
    lines = ['# Asynchronous TensorFlow clusters in a cloud, fitted and predicted', '',
             'Made by `tools/validation/cmdare.py FOLDER -o results/validation/cmdare.md`, from the tables '
             'of CM-DARE (Li, '
             'Walls and Guo, ICDCS 2020).',
             f'Fitted on {" and ".join(FITTED)} with one server and P100 workers: {costs[0] * 1e6:.0f} us '
             f'per message and '
             f'{costs[1] * 1e9:.3f} ns per byte on the one thread of a server, each way; compute '
             + ' and '.join(f'{1e3 * t:.1f} ms' for t in fitted.values()) + '. Compute of the others is from their '
             'single-worker rows.',
             'Which variables lay on which of two servers is not in the data: equal tensors dealt in turn '
             'are assumed, so '
             'that two servers halve every load. The measured shake_shake models gain little from a second '
             'server, which '
             'an even split does not give; what held them back cannot be told from these figures.', '',
             '| | GPU | servers | model | workers | measured steps/s | stretto | error |',
             '|---|---|---|---|---|---|---|---|']
    for *cells, measured, predicted in rows:
        lines.append(f'| {" | ".join(map(str, cells))} | {measured:.2f} | {predicted:.2f} | '
                     f'{100 * (predicted / measured - 1):+.1f} % |')
    lines.append('')
    groups = collections.defaultdict(list)
    for row in rows:
        groups[row[:3]].append(row)
    for (role, gpu, servers), group in sorted(groups.items()):
        lines.append(f'- {role}, {gpu}, {servers} server{"s" if servers > 1 else ""}: {summary(group)}.')
    lines.append(f'- all predicted: {summary([r for r in rows if r[0] == "predicted"])}.')
    return '\n'.join(lines) + '\n'


if __name__ == '__main__':
    main()
