# SPDX-License-Identifier: Apache-2.0
"""Scoreboard: tf_cnn_benchmarks with parameter servers (TensorFlow 1.1, 2017), on Piz Daint and in Amazon's cloud, and
its one-GPU rates."""
import collections
import csv
import math

import cscs_tf
import devices
from score_base import Row, Source, pipeline, ONE_STEP

STEPS = 12  # of a run with variation; fewer of more workers, over which a step takes the mean


class Inception:
    """Steps of Inception-v3 on `hosts` workers with servers on the hosts of the first ones."""

    def __init__(self, run, data):
        self.run, self.variables = run, cscs_tf.variables(data / 'tf_models/variables.json')

    def step(self, hosts, servers, nic, compute, variation=0.0, overhead=0.0, copied=False):
        """Seconds. variation: of the compute of a worker's step, as a coefficient of variation; copied: a step begins
        when the worker has all variables."""
        dealt = cscs_tf.deal(self.variables, servers, 'by size')
        workload = cscs_tf.workload([size for size, _ in dealt], compute)
        if copied:
            workload['ops'][0]['reads'] = [f'v{i}' for i in range(len(dealt))]
        # forward ops take a third, backward ops two thirds, n ops each: of n independent ops of cv c each, the sum
        # has c sqrt(1/9 + 4/9) / sqrt(n)
        each = variation * math.sqrt(len(dealt)) / math.sqrt(5 / 9)
        places = {f'v{i}': server for i, (_, server) in enumerate(dealt)}
        experiment = {
            'cluster': {'workers': {'count': hosts, 'nic': f'{8e-9 * nic:.9g} Gbit/s'},
                        'servers': {'count': servers, 'colocated': True, 'placement': {'by_name': places}},
                        'step_overhead': f'{overhead * 1e6:.3f} us'},
            'runs': ONE_STEP}
        if variation:
            experiment['runs'] = {**ONE_STEP, 'iterations': max(2, min(STEPS, 96 // hosts)), 'warm_up': 1}
            experiment['noise'] = {'compute_cv': each}
        return self.run.steps(workload, experiment)[0]


def root(f, low, high, rounds=12):
    """x with f(x) = 0 of a rising f, by halving the logarithm's interval; the nearest end where there is none."""
    for _ in range(rounds):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if f(middle) > 0 else (middle, high)
    return math.sqrt(low * high)


class PizDaint(Source):
    """Keys: (GPUs, servers, data)."""
    name = 'cscs_tf'
    title = 'Inception-v3 on 2 to 128 P100 of Piz Daint, parameter servers on the workers\' nodes (CSCS)'
    unit = 'images/s'
    fitted = ('The rate of NICs on the row of 128 GPUs, the variation of the compute of a step on that of 8, both with '
              'synthetic data; what real data add to the compute on the row of 8 with real data. Compute is that of '
              'the one-GPU row.')
    left_out = ('Real data on 1 to 4 GPUs: input slows the steps from 8 GPUs on only, which share the file system; its '
                'rate is not given.')
    BATCH = 64

    def group(self, row):
        return f'{row.key[2]} data'

    def cheap(self, row):
        return 1 < row.key[0] < 32

    def rows(self):
        out = []
        with open(self.data / 'cscs_tf/piz_daint_inception_v3.csv', encoding='utf-8') as f:
            for r in csv.DictReader(f):
                key = int(r['gpus']), int(r['num_ps']), r['data']
                fitted = key[0] in (8, 128) if key[2] == 'synthetic' else key[0] == 8
                if key[2] == 'synthetic' or key[0] >= 8:
                    role = 'given' if key[0] == 1 else 'fitted' if fitted else 'predicted'
                    out.append(Row(key, role, float(r['images_per_sec'])))
        return out

    def fit(self, run, rows):
        model = Inception(run, self.data)
        rates = {row.key[::2]: (row.key[1], row.measured) for row in rows}
        compute = self.BATCH / rates[1, 'synthetic'][1]

        def seconds(key):
            return self.BATCH * key[0] / rates[key][1]
        nic = cscs_tf.START
        for _ in range(2):  # NICs set this step, so that its time is as 1 / nic, whatever the variation
            nic *= model.step(128, rates[128, 'synthetic'][0], nic, compute) / seconds((128, 'synthetic'))
        variation = root(lambda v: model.step(8, rates[8, 'synthetic'][0], nic, compute, v)
                         - seconds((8, 'synthetic')), 0.005, 0.2)
        more = root(lambda x: model.step(8, rates[8, 'real'][0], nic, compute + x, variation)
                    - seconds((8, 'real')), 1e-3, 0.3)
        return {'compute': compute, 'nic': nic, 'variation': variation, 'input': more}

    def predict(self, run, parameters, rows):
        model = Inception(run, self.data)
        out = []
        for row in rows:
            gpus, servers, data = row.key
            compute = parameters['compute'] + (parameters['input'] if data == 'real' else 0)
            out.append(self.BATCH * gpus / model.step(gpus, servers, parameters['nic'], compute,
                                                      parameters['variation'] if gpus > 1 else 0))
        return out


def benchmark_lines(data):
    with open(data / 'tf_benchmarks/tf_cnn_benchmarks_2017_open.csv', encoding='utf-8') as f:
        return list(csv.DictReader(f))


class OneGpu(Source):
    """Keys: (platform, GPU, model, batch, data)."""
    name = 'tf_benchmarks_one_gpu'
    title = 'One-GPU rates of tf_cnn_benchmarks (2017) on K80 and P100'
    unit = 'images/s'
    fitted = ('For each GPU and network a fixed time and one per sample on the synthetic rows of gce (K80) and dgx1 '
              '(P100); the same GPU of other machines and real data are predicted. (Networks predicted from others: '
              'devices.md.)')
    left_out = 'Nothing.'

    def rows(self):
        return [Row((r['platform'], r['gpu'], r['model'], int(r['batch_per_gpu']), r['data']),
                    'fitted' if r['data'] == 'synthetic' and r['platform'] in ('gce', 'dgx1') else 'predicted',
                    float(r['images_per_sec'])) for r in benchmark_lines(self.data) if r['gpus'] == '1']

    def group(self, row):
        return f'{row.key[0]} ({row.key[1]}), {row.key[4]} data'

    def fit(self, _, rows):
        steps = collections.defaultdict(dict)
        for row in rows:
            steps[row.key[1:3]][row.key[3]] = row.key[3] / row.measured
        found = {}
        for (gpu, model), times in steps.items():
            batch, time = max(times.items())
            small, least = min(times.items())
            each = (time - least) / (batch - small) if batch > small else time / batch
            found[f'{gpu} {model}'] = [batch, time, 1 - each * batch / time]
        return found

    def predict(self, run, parameters, rows):
        out = []
        for row in rows:
            batch, time, fixed = parameters[f'{row.key[1]} {row.key[2]}']
            workload = {**pipeline(1, 0.67, 4), 'batch': batch}
            step, = run.steps(workload, {
                'workload': {'batch_per_worker': row.key[3], 'batch_fixed_share': fixed},
                'cluster': {'workers': {'device': {'speed': 1 / time}}}, 'runs': ONE_STEP})
            out.append(row.key[3] / step)
        return out


class Distributed(Source):
    """Keys: (machines, servers, batch)."""
    name = 'tf_benchmarks_distributed'
    title = 'Inception-v3 on 8 to 64 K80 of p2.8xlarge, distributed_replicated (tf_cnn_benchmarks, 2017)'
    unit = 'images/s'
    fitted = ('At batch 64, what the eight GPUs of a machine add to a step, on one machine, and the rate of NICs, on '
              'eight. Machines are workers: one pull and one gradient each; a step begins when all variables have been '
              'copied, as this mode does. Compute is that of the one-GPU rows.')
    left_out = 'Nothing; the page has no other distributed rows here.'
    GPUS = 8

    def group(self, row):
        return f'batch {row.key[2]}'

    def rows(self):
        out = []
        for r in benchmark_lines(self.data):
            if r['platform'] == 'aws_dist' and r['model'] == 'InceptionV3':
                machines, batch = int(r['machines']), int(r['batch_per_gpu'])
                alone = r['gpus'] == '1'
                fitted = batch == 64 and machines in (1, 8)
                out.append(Row((0 if alone else machines, int(r['num_ps'] or 0), batch),
                               'given' if alone else 'fitted' if fitted else 'predicted', float(r['images_per_sec'])))
        return out

    def fit(self, run, rows):
        model = Inception(run, self.data)
        rates = {row.key[::2]: (row.key[1], row.measured) for row in rows}
        compute = {batch: batch / rates[0, batch][1] for batch in (32, 64)}

        def seconds(machines, batch):
            return batch * self.GPUS * machines / rates[machines, batch][1]
        inside = seconds(1, 64) - compute[64]
        nic = 1 / root(lambda x: model.step(8, rates[8, 64][0], 1 / x, compute[64], 0, inside, True) - seconds(8, 64),
                       1 / 1.25e10, 1 / 1e8)
        return {'compute': [compute[32], compute[64]], 'inside': inside, 'nic': nic}

    def predict(self, run, parameters, rows):
        model = Inception(run, self.data)
        out = []
        for machines, servers, batch in (row.key for row in rows):
            compute = parameters['compute'][batch == 64]
            if machines == 0:
                out.append(batch / compute)
                continue
            step = model.step(machines, servers, parameters['nic'], compute, 0, parameters['inside'], True)
            out.append(self.GPUS * batch * machines / step)
        return out
