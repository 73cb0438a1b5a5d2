# SPDX-License-Identifier: Apache-2.0
"""Scoreboard: data-parallel steps from the one-GPU step and the time that a placement's all-reduce takes (Pollux,
Gavel).

Backward ops end one after the other; each starts the all-reduce of an equal share of the gradients, one at a time. The
exchange takes C in all and hides behind `overlap` of the compute; the rest is exposed. A GPU that is slower than the
others by `slowest` makes all of them wait. C is of a model and placement, overlap and slowest are of a model. Batch
sizes are numbered in order from 0; those with numbers 3 i + 1 are predicted, the others fitted.
"""
import collections
import csv
import statistics

import score_base
from score_base import Row, Source, by_group

BUCKETS = 10  # all-reduces of a step
SIZE = 10 << 20  # bytes of each; only C matters, from which the rate follows
OVERLAPS = (0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)
SLOWEST = (0, 0.02, 0.04, 0.07, 0.1, 0.15, 0.2)


def exposed(exchange, compute, overlap, slowest):
    """Step time less compute, in closed form: what the simulation of `simulate` gives.

    The first or the last bucket is critical: ready after 1/k or all of the backward ops, k or 1 all-reduces to go."""
    hidden = overlap * compute * (1 + slowest) * (1 - 1 / BUCKETS)
    return max(exchange - hidden, exchange / BUCKETS) + slowest * compute


def best_exchange(samples, overlap, slowest):
    """(loss, C) of the C of least sum of |error of the exposed time| / step; samples: (exposed, compute, step)."""
    tried = set()
    for measured, compute, _ in samples:  # one of the C at which a sample is met is best, or one where a line bends
        hidden = overlap * compute * (1 + slowest) * (1 - 1 / BUCKETS)
        rest = max(measured - slowest * compute, 0)
        tried |= {min(rest + hidden, BUCKETS * rest), overlap * compute * (1 + slowest)}
    return min((sum(abs(exposed(c, compute, overlap, slowest) - measured) / step
                    for measured, compute, step in samples), c) for c in tried | {1e-6} if c > 0)


def simulate(run, gpus, exchange, overlap, slowest, computes):
    """Step times for compute times of a GPU."""
    nic = 2 * (gpus - 1) / gpus * BUCKETS * SIZE / exchange
    experiment = {'cluster': {'workers': {'count': gpus, 'nic': f'{8e-9 * nic:.9g} Gbit/s'}},
                  'training': {'exchange': 'all_reduce'}, 'runs': score_base.ONE_STEP,
                  'vary': {'cluster.workers.device.speed': [1 / compute for compute in computes]}}
    if slowest > 0:
        experiment['noise'] = {'slow_workers': [{'worker': 0, 'slowdown': 1 + slowest}]}
    return run.steps(score_base.pipeline(BUCKETS, overlap, SIZE), experiment)


class Exchange(Source):
    """Keys of rows: (model, placement, GPUs, batch, one-GPU step in s, step in s)."""
    unit = 's'

    def excess(self, row):
        """What the exchange adds to the step."""
        return max(row.key[5] - row.key[4], 0)

    def fit(self, _, rows):
        """By model [overlap, slowest], by model and placement C."""
        models = collections.defaultdict(lambda: collections.defaultdict(list))
        for row in rows:
            models[row.key[0]][row.key[1]].append((self.excess(row), row.key[4], row.key[5]))
        found = {}
        for model, placements in sorted(models.items()):
            best = None
            for overlap in OVERLAPS:
                for slowest in SLOWEST:
                    exchange = {p: best_exchange(samples, overlap, slowest) for p, samples in placements.items()}
                    loss = sum(value for value, _ in exchange.values())
                    if best is None or loss < best[0]:
                        best = loss, overlap, slowest, exchange
            found[model] = [best[1], best[2]]
            found.update({f'{model} {p}': c for p, (_, c) in best[3].items()})
        return found

    def predicted(self, step, row):
        """The row's figure where a simulated step takes this long."""
        return step

    def predict(self, run, parameters, rows):
        def figures(key, group):
            model, placement, gpus = key
            steps = simulate(run, gpus, parameters[f'{model} {placement}'], *parameters[model],
                             [row.key[4] for row in group])
            return [self.predicted(step, row) for step, row in zip(steps, group, strict=True)]
        return by_group(rows, lambda row: row.key[:3], figures)


def role(batches, batch):
    return 'predicted' if sorted(batches).index(batch) % 3 == 1 else 'fitted'


POLLUX = ('bert', 'cifar10', 'deepspeech2', 'imagenet', 'ncf', 'yolov3')


def pollux_rows(data):
    """(model, placement, GPUs, batch, one-GPU step, step), sync time, role."""
    for model in POLLUX:
        with open(data / f'pollux/{model}.placements.csv', encoding='utf-8') as f:
            lines = [(r['placement'], sum(map(int, r['placement'])), r) for r in csv.DictReader(f)]
        with open(data / f'pollux/{model}.scalability.csv', encoding='utf-8') as f:
            lines += [(f'{r["num_nodes"]} nodes', int(r['num_replicas']), r) for r in csv.DictReader(f)]
        alone = {int(r['local_bsz']): float(r['step_time']) for placement, _, r in lines if placement == '1'}
        for placement, gpus, r in lines:
            batch = int(r['local_bsz'])
            if gpus > 1 and batch in alone:
                yield ((model, f'{placement} {gpus}', gpus, batch, alone[batch], float(r['step_time'])),
                       float(r['sync_time']), role(alone, batch))


class PolluxSteps(Exchange):
    name = 'pollux_steps'
    title = 'Steps of six networks on 2 to 64 GPUs, PyTorch, ring all-reduce over a cloud\'s network (Pollux)'
    fitted = ('For each network the share of compute that hides the exchange and what the slowest GPU takes longer; '
              'for each network and placement the time of the exchange. On two of three batch sizes; the others are '
              'predicted. The one-GPU step at the same batch size is given.')
    left_out = 'One-GPU rows, which are given; batch sizes that one GPU was not measured at.'

    def rows(self):
        return [Row(key, part, key[5]) for key, _, part in pollux_rows(self.data)]


def repeated(rows):
    """How well the measurement repeats itself: NCF computes as long at each of these batches, and so should wait."""
    waits = collections.defaultdict(list)
    for row in rows:
        if row.key[0] == 'ncf' and row.key[3] <= 513:
            waits[row.key[1]].append(row.measured)
    errors = [abs(statistics.median(values[:i] + values[i + 1:]) / value - 1)
              for values in waits.values() if len(values) > 2 for i, value in enumerate(values)]
    return ('Repetition: ncf computes 7 ms at each batch from 32 to 513; its waits there differ from the median of the '
            f'placement\'s others by {100 * statistics.mean(errors):.1f} % on average.')


LEAST = (0.25, 0.5)  # shares of the step; exposed times above them are worth an error of their own


class PolluxExposed(Exchange):
    name = 'pollux_exposed'
    title = 'The part of these steps that waits for gradients (Pollux); errors relative to the step'
    fitted = 'As the steps, on the measured waits.'
    left_out = 'As of the steps.'

    def rows(self):
        return [Row(key, part, wait, key[5]) for key, wait, part in pollux_rows(self.data)]

    def notes(self, rows, predicted):
        """Errors relative to the exposed time itself."""
        out = []
        for least in LEAST:
            errors = [abs(p / row.measured - 1) for row, p in zip(rows, predicted, strict=True)
                      if row.role == 'predicted' and row.measured > least * row.key[5]]
            found = score_base.summary(errors)
            out.append(f'Relative to the exposed time itself, where it is more than {100 * least:.0f} % of the step: '
                       f'{found["n"]} rows, mean error {100 * found["mean"]:.1f} %, median '
                       f'{100 * found["median"]:.1f} %.')
        return [*out, repeated(rows)]

    def excess(self, row):
        return row.measured

    def predicted(self, step, row):
        return step - row.key[4]


class Gavel(Exchange):
    name = 'gavel'
    title = 'Steps of four networks on 2 to 8 K80, P100 or V100, PyTorch, unknown network (Gavel, measured file)'
    fitted = ('As the steps of Pollux, for each network and GPU; a placement is a number of GPUs, packed or spread.')
    left_out = ('One-GPU rows, which are given; A3C, CycleGAN and Recommendation, which only one GPU ran; packed V100, '
                'of which many are slower than spread ones or faster than without any exchange; the simulation file, '
                'whose figures are scaled copies of these. Its publishers do not describe the network.')

    def rows(self):
        with open(self.data / 'gavel/isolated_throughputs_physical.csv', encoding='utf-8') as f:
            lines = [(f'{r["model"]} {r["gpu"]}', r['consolidated'], int(r['num_workers']), int(r['batch_size'] or 0),
                      float(r['steps_per_s'])) for r in csv.DictReader(f)]
        alone = {(name, batch): 1 / rate for name, packed, n, batch, rate in lines
                 if n == 1 and packed == '1' and rate > 0}
        out = []
        for name, packed, gpus, batch, rate in lines:
            if gpus > 1 and rate > 0 and not (packed == '1' and name.endswith('v100')):
                step = gpus / rate
                batches = [b for n, b in alone if n == name]
                out.append(Row((name, f'{"packed" if packed == "1" else "spread"} {gpus}', gpus, batch,
                                alone[name, batch], step), role(batches, batch), step))
        return out
