#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fits the cost of a TensorFlow parameter server on asynchronous clusters and predicts others of them.

usage: tools/validation/cmdare.py [--stretto PROGRAM] [--fitted TABLE.md] [--workers N...] FOLDER [-o TABLE.md]

FOLDER holds speed_and_cluster_size.csv (global steps per second of asynchronous clusters of 1 to 8 workers, by GPU,
servers and model) and single_worker_speed_vs_model.csv (one worker: steps per second by GPU and model).

Fitted, on the models with the fewest and the most bytes, with one server and P100 workers, all numbers of workers: the
server's time per message and per byte (sending and receiving alike, on one thread), the variation of a worker's compute
from step to step, and the compute time of each of the two models. Compute times of the others come from their
single-worker rows, given the costs. Networks are unlimited. The measured rate of a run is steps over time after its
first quarter. What is sent, and from which server, is that of cmdare_models.py. --fitted takes what was fitted from a
table made before; --workers predicts these numbers of workers only.
"""
import argparse
import collections
import csv
import json
import math
import pathlib
import re
import sys
import tempfile
import typing

import cmdare_models
import common

MODELS = cmdare_models.MODELS
SINGLE = {'resnet15': 'Res15', 'resnet32': 'Res32', 'shake_shake_small': 'shakesmall', 'shake_shake_big': 'shakebig'}
FITTED = ('resnet15', 'shake_shake_big')
WORKERS = range(1, 9)

NOTE = [
    '# Asynchronous TensorFlow clusters in a cloud, fitted and predicted', '',
    'Made by `tools/validation/cmdare.py FOLDER -o results/validation/cmdare.md`, from the tables of CM-DARE (Li,'
    ' Walls and Guo, ICDCS 2020).',
    'Fitted on the models with the fewest and the most bytes, resnet15 and shake_shake_big, with one server and '
    'P100 workers: time per message and per byte on the one thread of a server, each way; the variation of each '
    'of the two ops of a step; compute of the two models. Compute of the others is from their single-worker rows.',
    'Variables, their servers and the messages of a step are read from the sources of Tensor2Tensor '
    '(`tools/validation/cmdare_models.py`): the numbers and sums of trainable variables that follow are those of '
    'the table, exactly. TensorFlow deals variables in turn; a layer of shake-shake creates 6, so that with two '
    'servers all its kernels lie on the same one and the second server halves the messages, not the bytes. A '
    'layer of resnet creates 5, so that its kernels alternate.',
    'A worker computes between its last pull and its first push: its transfers and its compute do not overlap. The '
    'time per message is that of all a server does for one, and takes in what is not modelled: the threads of its '
    'four virtual CPUs, the session of each step and the update.',
    'Which messages a step has was read from the sources with the other rates in sight: counts that leave out weight '
    'decay, updates or moving statistics gave, in a smaller stand-in of the model, mean errors of 3.9 to 4.1 % and '
    'worst ones of 13 to 16 %.',
    'One worker with one server was measured in both tables: the two figures differ by up to 17 % (resnet15 on P100). '
    'Not explained: one worker of resnet32 gains less from the second server than the half of its server time; the '
    'fitted run of 7 workers of shake_shake_big jumps between two rates.']


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


class Fit(typing.NamedTuple):
    per_message: float  # s
    per_byte: float  # s
    variation: float  # coefficient of variation of each of a step's two ops
    compute: dict  # model -> s


class Predictor:
    """Steps per second by stretto."""

    def __init__(self, program, folder):
        self.program, self.folder = program, folder
        for model in MODELS:
            (folder / f'{model}.workload.json').write_text(json.dumps(cmdare_models.workload(model)), encoding='utf-8')

    def rate(self, fit, model, servers, compute, workers):
        """Mean over about 320 steps of a worker; without variation, over 2."""
        cost = f'{{per_message: {fit.per_message * 1e9:.0f} ns, per_byte: {fit.per_byte * 1e12:.3f} ps/B}}'
        steps = max(30, 320 // workers) if fit.variation else 2
        (self.folder / 'case.yaml').write_text(f"""stretto: 1
workload: {{file: {model}.workload.json}}
cluster:
  workers: {{count: {workers}, device: {{speed: {1 / compute!r}}}}}
  servers:
    count: {servers}
    threads: 1
    send: {cost}
    receive: {cost}
    placement: {{by_name: {json.dumps(cmdare_models.placement(model, servers))}}}
training: {{synchronization: async}}
policies: [random]
noise: {{compute_cv: {fit.variation!r}}}
runs: {{iterations: {steps + 8}, warm_up: 8, replications: 1, seed: 1}}
""", encoding='utf-8')
        rows = common.run_json(self.program, 'case.yaml', self.folder)
        return next(row['samples_per_s'] for row in rows if row['policy'] == 'random')

    def rates(self, fit, model, servers, compute, numbers=WORKERS):
        return {w: self.rate(fit, model, servers, compute, w) for w in numbers}

    def compute(self, fit, model, rate):
        """Compute time at which one worker with one server has the given rate: what its transfers leave."""
        alone = self.rate(fit._replace(variation=0), model, 1, 1.0, 1)
        return max(1 / rate - (1 / alone - 1), 1e-4)


def solve(a, b):
    """The x of a x = b, by elimination."""
    rows = [[*row, value] for row, value in zip(a, b, strict=True)]
    for i, row in enumerate(rows):
        pivot = max(range(i, len(rows)), key=lambda r, i=i: abs(rows[r][i]))
        rows[i], rows[pivot] = rows[pivot], row
        rows = [r if k == i else [v - r[i] / rows[i][i] * p for v, p in zip(r, rows[i], strict=True)]
                for k, r in enumerate(rows)]
    return [row[-1] / row[i] for i, row in enumerate(rows)]


def least_squares(f, x, rounds=8, step=0.05):
    """The x at which the sum of f(x)^2 is least: Levenberg and Marquardt's damped steps, of at most 0.4 in each."""
    at, damping = f(x), 1e-3
    for _ in range(rounds):
        slopes = [[(b - a) / step for a, b in zip(at, f([v + step * (i == j) for i, v in enumerate(x)]), strict=True)]
                  for j in range(len(x))]
        for _ in range(3):
            normal = [[sum(p * q for p, q in zip(a, b, strict=True)) * (1 + damping * (i == j))
                       for j, b in enumerate(slopes)] for i, a in enumerate(slopes)]
            move = solve(normal, [-sum(p * q for p, q in zip(a, at, strict=True)) for a in slopes])
            new = [v + max(-0.4, min(0.4, m)) for v, m in zip(x, move, strict=True)]
            there = f(new)
            if sum(v * v for v in there) < sum(v * v for v in at):
                x, at, damping = new, there, damping / 3
                break
            damping = max(10 * damping, 0.01)
        else:
            break
    return x


def fit_costs(predictor, rates, single):
    """The fit by least squares of the logarithms of rates."""
    start = Fit(30e-6, 0.6e-9, 0.3, {})
    start = start._replace(compute={m: predictor.compute(start, m, single['p100', m]) for m in FITTED})

    def fit_at(x):
        *costs, first, second = map(math.exp, x)
        return Fit(*costs, dict(zip(FITTED, (first, second), strict=True)))

    known = {}

    def residuals(x):
        fit, out = fit_at(x), []
        for model in FITTED:
            key = (model, *fit[:3], fit.compute[model])
            if key not in known:
                known[key] = predictor.rates(fit, model, 1, fit.compute[model])
            out += [math.log(known[key][w] / rates['p100', 1, model][w]) for w in WORKERS]
        return out
    return fit_at(least_squares(residuals, [math.log(v) for v in (*start[:3], *start.compute.values())]))


FIT_LINE = re.compile(r'Fitted: ([0-9.]+) us per message, ([0-9.]+) ns per byte, variation ([0-9.]+), '
                      r'compute ([0-9.]+) ms and ([0-9.]+) ms\.')


def fit_line(fit):
    return (f'Fitted: {fit.per_message * 1e6:.3f} us per message, {fit.per_byte * 1e9:.4f} ns per byte, '
            f'variation {fit.variation:.4f}, compute '
            + ' and '.join(f'{1e3 * fit.compute[m]:.3f} ms' for m in FITTED) + '.')


def read_fit(text):
    """The fit as its line says it, rounded."""
    found = FIT_LINE.search(text)
    if not found:
        sys.exit('the table tells of no fit')
    message, byte, variation, *compute = map(float, found.groups())
    return Fit(message * 1e-6, byte * 1e-9, variation, dict(zip(FITTED, (t * 1e-3 for t in compute), strict=True)))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('folder', type=pathlib.Path)
    parser.add_argument('--stretto', type=pathlib.Path, default=common.ROOT / 'build/app/stretto')
    parser.add_argument('--fitted', type=pathlib.Path)
    parser.add_argument('--workers', type=int, nargs='+', default=WORKERS)
    parser.add_argument('-o', '--output')
    args = parser.parse_args()
    rates, single = measured_rates(args.folder), single_rates(args.folder)
    with tempfile.TemporaryDirectory() as folder:
        predictor = Predictor(args.stretto.resolve(), pathlib.Path(folder))
        said = args.fitted.read_text(encoding='utf-8') if args.fitted else fit_line(fit_costs(predictor, rates, single))
        fit = read_fit(said)
        rows = []
        for gpu, servers, model in sorted(rates):
            own = gpu == 'p100' and model in FITTED
            compute = fit.compute[model] if own else predictor.compute(fit, model, single[gpu, model])
            predicted = predictor.rates(fit, model, servers, compute, args.workers)
            role = 'fitted' if own and servers == 1 else 'predicted'
            rows += [(role, gpu, servers, model, w, rates[gpu, servers, model][w], predicted[w])
                     for w in args.workers]
    common.finish(report(fit, rows), args.output)


def summary(rows):
    errors = [abs(r[-1] / r[-2] - 1) for r in rows]
    return f'{len(rows)} cells: mean error {100 * sum(errors) / len(errors):.1f} %, worst {100 * max(errors):.1f} %'


def report(fit, rows):
    groups = collections.defaultdict(list)
    for row in rows:
        groups[row[:3]].append(row)
    lines = [*NOTE, '', fit_line(fit), '',
             f'- all predicted: {summary([r for r in rows if r[0] == "predicted"])}.']
    lines += [f'- {role}, {gpu}, {servers} server{"s" if servers > 1 else ""}: {summary(group)}.'
              for (role, gpu, servers), group in sorted(groups.items())]
    lines += ['', '| | GPU | servers | model | workers | measured steps/s | stretto | error |',
              '|---|---|---|---|---|---|---|---|']
    for *cells, measured, predicted in rows:
        lines.append(f'| {" | ".join(map(str, cells))} | {measured:.2f} | {predicted:.2f} | '
                     f'{100 * (predicted / measured - 1):+.1f} % |')
    return '\n'.join(lines) + '\n'


if __name__ == '__main__':
    main()
