# SPDX-License-Identifier: Apache-2.0
"""The set-ups of tf_cluster.py: workloads of the right size for each link rate.

Each workload is a chain of layers with one variable each, forward and then backward, scaled such that one worker's
pulls take FORWARD_S on its link, as long as its forward pass; the backward pass takes twice as long.

- mixed: 12 layers of mixed sizes and times
- small: 120 layers, sizes over a factor of 20, times over a factor of 4, in a fixed random arrangement
- vgg16: the 16 weighted layers of VGG-16, times by operations at 224 x 224
"""
import itertools
import random
import typing

FORWARD_S = 0.07
PAYLOAD = 1448 / 1514  # of a rate on the wire
BITS = {'200 Mbit/s': 200e6, '500 Mbit/s': 500e6, '1 Gbit/s': 1e9}
RATES = tuple(BITS)
WORKLOADS = ('mixed', 'small', 'vgg16')


class Setup(typing.NamedTuple):
    servers: int
    workers: int
    rate: str
    workload: str

    @property
    def name(self):
        return f'{self.servers}s{self.workers}w_{self.rate.split("/")[0].replace(" ", "").lower()}_{self.workload}'


def _setups():
    """Two rates for each number of servers and workers; every rate and every workload four times."""
    for i, (servers, workers) in enumerate(itertools.product((1, 2), (1, 2, 3))):
        for rate in (i % 3, (i + 1) % 3):
            yield Setup(servers, workers, RATES[rate], WORKLOADS[(i + rate + i // 3) % 3])


SETUPS = tuple(_setups())
# Those that the costs are fitted to: one of each workload, no more than two workers.
FITTED = tuple(s for s in SETUPS if (s.servers, s.workers, s.workload) in
               ((1, 1, 'small'), (1, 2, 'mixed'), (2, 1, 'vgg16')))


def _mixed():
    sizes = (100, 400, 1000, 50, 2000, 800, 3000, 200, 1500, 4000, 20, 2500)
    times = (74, 82, 85, 95, 82, 94, 35, 63, 95, 76, 92, 40)
    return sizes, times


def _small():
    draw = random.Random(120)
    return [20 ** draw.random() for _ in range(120)], [4 ** draw.random() for _ in range(120)]


def _vgg16():
    sizes, times, inputs, side = [], [], 3, 224
    for outputs, layers in ((64, 2), (128, 2), (256, 3), (512, 3), (512, 3)):
        for _ in range(layers):
            sizes.append((9 * inputs + 1) * outputs)
            times.append(9 * inputs * outputs * side * side)
            inputs = outputs
        side //= 2
    for inputs, outputs in ((7 * 7 * 512, 4096), (4096, 4096), (4096, 1000)):
        sizes.append((inputs + 1) * outputs)
        times.append(inputs * outputs)
    return sizes, times


def workload(setup):
    sizes, times = {'mixed': _mixed, 'small': _small, 'vgg16': _vgg16}[setup.workload]()
    n, total = len(sizes), BITS[setup.rate] * PAYLOAD / 8 * FORWARD_S
    sizes = [max(4, 4 * round(total * size / sum(sizes) / 4)) for size in sizes]
    forward = [max(1, round(1e12 * FORWARD_S * time / sum(times))) for time in times]
    ops = [{'name': f'f{i}', 'phase': 'forward', 'time_ps': forward[i], 'inputs': [f'f{i - 1}'] if i else [],
            'reads': [f'v{i}']} for i in range(n)]
    ops += [{'name': f'b{i}', 'phase': 'backward', 'time_ps': 2 * forward[i],
             'inputs': [f'b{i + 1}' if i + 1 < n else f'f{n - 1}']} for i in reversed(range(n))]
    return {'format': 'stretto-workload', 'version': 1, 'name': setup.workload, 'batch': 1,
            'source': f'{setup.workload} of tools/validation/tf_cluster_models.py for {setup.rate}', 'ops': ops,
            'parameters': [{'name': f'v{i}', 'bytes': sizes[i], 'gradient': f'b{i}'} for i in range(n)]}
