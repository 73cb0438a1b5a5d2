# SPDX-License-Identifier: Apache-2.0
"""Scoreboard: all-reduces alone. NCCL in one node (vTrain's tables), OpenMPI over 10 Gbit/s Ethernet (B-Caffe)."""
import csv
import math
import re

import devices
import score_base
from score_base import Row, Source, by_group, grouped


def ring(count, size, per_round, per_byte):
    """Time alone, the closed form of docs/model.md section 8; per_byte: s for one byte of a message."""
    return 2 * (count - 1) * (per_round + size / count * per_byte)


def by_stretto(run, count, sizes, per_round, per_byte, launch=0.0):
    """The same by simulation, for all `sizes` at once; launch: of the whole."""
    largest = max(sizes)
    workload = score_base.pipeline(1, 0.5, largest)
    for op in workload['ops']:
        op['time_ps'] = 1000  # an op must have a time; it is taken off again
    experiment = {
        'cluster': {'workers': {'count': count, 'nic': f'{8e-9 / per_byte:.9g} Gbit/s'},
                    'step_overhead': f'{launch * 1e9:.3f} ns'},
        'training': {'exchange': 'all_reduce'},
        'all_reduce': {'algorithm': 'ring', 'per_round': f'{per_round * 1e9:.3f} ns'},
        'runs': score_base.ONE_STEP, 'vary': {'workload.transfers.ratio': [size / largest for size in sizes]}}
    return [step - 2e-9 for step in run.steps(workload, experiment)]


def fit_logarithms(f, samples, start):
    """The positive parameters x at which f(x, key) meets (key, measured) best: least squares of logarithms."""
    def loss(x):
        values = list(map(math.exp, x))
        return sum(math.log(f(values, key) / measured)**2 for key, measured in samples)
    return list(map(math.exp, devices.minimise(loss, list(map(math.log, start)))))


class Nccl(Source):
    name = 'vtrain_all_reduce'
    title = 'NCCL all-reduce of 1 to 1024 MiB between 2, 4 and 8 A100 or V100 of one node (vTrain)'
    unit = 's'
    fitted = ('For each GPU and number of GPUs a start-up time per round and a rate of links, on the 11 sizes that are '
              'powers of two. Ring.')
    left_out = ('The times in place, which repeat those out of place. Not explained: A100 come near their rate at ever '
                'larger sizes; NCCL changes its protocol or algorithm between 4 and 24 MiB, where the worst rows are.')

    def rows(self):
        out = []
        for gpu in ('a100', 'v100'):
            for count in (2, 4, 8):
                with open(self.data / f'vtrain/allreduce_lut/{gpu}_{count}gpu.csv', encoding='utf-8') as f:
                    for cells in list(csv.reader(f))[1:]:
                        size = int(cells[0])
                        out.append(Row((gpu, count, size), 'predicted' if size & (size - 1) else 'fitted',
                                       float(cells[3]) * 1e-9))
        return out

    def group(self, row):
        return f'{row.key[1]} {row.key[0].upper()}'

    def fit(self, _, rows):
        found = {}
        for (gpu, count), group in grouped(rows, lambda row: row.key[:2]).items():
            samples = [(row.key[2], row.measured) for _, row in group]
            rate = samples[-1][1] * count / (2 * (count - 1) * samples[-1][0])
            found[f'{gpu} {count}'] = fit_logarithms(lambda x, size, n=count: ring(n, size, *x), samples, (1e-5, rate))
        return found

    def predict(self, run, parameters, rows):
        def times(key, group):
            gpu, count = key
            return by_stretto(run, count, [row.key[2] for row in group], *parameters[f'{gpu} {count}'])
        return by_group(rows, lambda row: row.key[:2], times)


# NVLinks that a GPU has to others of the set: a DGX-1's quad and cube; to a switch that all A100 share.
LINKS = {'v100': {2: 1, 4: 4, 8: 6}, 'a100': {2: 12, 4: 12, 8: 12}}


class NcclCounts(Nccl):
    name = 'vtrain_four_from_two_and_eight'
    title = 'The same all-reduces between 4 GPUs, from those between 2 and 8'
    fitted = ('For each GPU a launch time, a start-up time per round and the rate of one NVLink, on the powers of two '
              'of 2 and 8 GPUs. A GPU\'s links to the others of the set set its rate: 1, 4 and 6 of a V100 (DGX-1), 12 '
              'of an A100.')
    left_out = 'Nothing.'

    def rows(self):
        return [row._replace(role='predicted' if row.key[1] == 4 else 'fitted') for row in super().rows()
                if row.key[1] == 4 or row.key[2] & (row.key[2] - 1) == 0]

    def fit(self, _, rows):
        found = {}
        for (gpu,), group in grouped(rows, lambda row: row.key[:1]).items():
            links = LINKS[gpu]
            samples = [(row.key[1:], row.measured) for _, row in group]
            found[gpu] = fit_logarithms(lambda x, key, links=links: x[2] + ring(*key, x[0], x[1] / links[key[0]]),
                                        samples, (5e-6, 5e-11, 2e-5))
        return found

    def predict(self, run, parameters, rows):
        def times(key, group):
            gpu, count = key
            per_round, per_byte, launch = parameters[gpu]
            return by_stretto(run, count, [row.key[2] for row in group], per_round, per_byte / LINKS[gpu][count],
                              launch)
        return by_group(rows, lambda row: row.key[:2], times)


RENDEZVOUS = 65536  # bytes of a message from which OpenMPI's TCP transport asks before it sends (btl_tcp_eager_limit)


class OpenMpi(Source):
    name = 'bcaffe_all_reduce'
    title = 'OpenMPI all-reduce between 2, 4 and 8 nodes on 10 Gbit/s Ethernet (B-Caffe, OSU benchmark)'
    unit = 's'
    fitted = ('For each number of nodes a start-up time per round and a rate, and for all a handshake for messages '
              'from 64 KiB on (the transport\'s default limit of eager sending), on the sizes from 16 KiB on that are '
              'powers of two. Ring.')
    left_out = ('Sizes below 12 KiB (12 rows of each table): OpenMPI sends whole buffers between partners there, '
                'recursive doubling, which stretto does not have.')

    def rows(self):
        out = []
        for count in (2, 4, 8):
            for line in (self.data / f'bcaffe_mgwfbp/allreduce{count}.log').read_text(encoding='utf-8').splitlines():
                match = re.match(r'(?:\d,)?(\d+)\s+([\d.]+)', line)
                if match and int(match[1]) >= 12288:
                    size = int(match[1])
                    out.append(Row((count, size), 'predicted' if size & (size - 1) else 'fitted',
                                   float(match[2]) * 1e-6))
        return out

    def group(self, row):
        return f'{row.key[0]} nodes'

    @staticmethod
    def per_round(parameters, count, size):
        return parameters[0] + (parameters[-1] if size >= RENDEZVOUS * count else 0)

    def fit(self, _, rows):
        counts = (2, 4, 8)

        def time(x, key):
            i = counts.index(key[0])
            return ring(*key, self.per_round((x[2 * i], x[-1]), *key), x[2 * i + 1])
        x = fit_logarithms(time, [(row.key, row.measured) for row in rows], (5e-5, 1e-9) * 3 + (5e-5,))
        return {f'{n} nodes': [x[2 * i], x[2 * i + 1], x[-1]] for i, n in enumerate(counts)}

    def predict(self, run, parameters, rows):
        def times(key, group):
            count, late = key
            x = parameters[f'{count} nodes']
            start = self.per_round(x, count, RENDEZVOUS * count if late else 0)
            return by_stretto(run, count, [row.key[1] for row in group], start, x[1])
        return by_group(rows, lambda row: (row.key[0], row.key[1] >= RENDEZVOUS * row.key[0]), times)


class Layers(Source):
    name = 'bcaffe_layers'
    title = 'All-reduces of GoogLeNet\'s variables in training, 2, 4 and 8 nodes (B-Caffe, one step each)'
    unit = 's'
    fitted = ('For each log a start-up time per round and a rate, on every second variable by size. The prediction is '
              'the all-reduce alone.')
    left_out = ('tmpcomm.log, which names no number of nodes; variables sent with their neighbour (time 0); the '
                'merged times, which do not say what was merged. Single times of one step, in which a node also waits '
                'for the others: variables of 256 B took 0.1 to 3 ms.')
    LOGS = (('tmp2comm', 2), ('tmp4comm', 4), ('tmp4ocomm', 4), ('tmp8comm', 8), ('tmp8ocomm', 8))

    def rows(self):
        out = []
        for log, count in self.LOGS:
            lines = (self.data / f'bcaffe_mgwfbp/{log}.log').read_text(encoding='utf-8').splitlines()[-128:]
            cells = [re.search(r'\[([^]]*)\]$', line.strip())[1].split(',') for line in lines]
            # A variable with no time of its own went with the one before it, its layer's kernel.
            sizes = []
            for number, elements, _, time, *_ in cells:
                if float(time) > 0:
                    sizes.append([int(number), 4 * int(elements), float(time) * 1e-6])
                elif sizes:
                    sizes[-1][1] += 4 * int(elements)
            for rank, (number, size, time) in enumerate(sorted(sizes, key=lambda s: (s[1], s[0]))):
                out.append(Row((log, count, number, size), 'predicted' if rank % 2 else 'fitted', time))
        return out

    def fit(self, _, rows):
        found = {}
        for (log, count), group in grouped(rows, lambda row: row.key[:2]).items():
            # the median, not the mean, of what single times scatter about
            def loss(x, group=group, count=count):
                return sum(abs(math.log(ring(count, row.key[3], math.exp(x[0]), math.exp(x[1])) / row.measured))
                           for _, row in group)
            found[log] = list(map(math.exp, devices.minimise(loss, [math.log(1e-4), math.log(1e-9)])))
        return found

    def predict(self, run, parameters, rows):
        def times(key, group):
            log, count = key
            return by_stretto(run, count, [row.key[3] for row in group], *parameters[log])
        return by_group(rows, lambda row: row.key[:2], times)
