# SPDX-License-Identifier: Apache-2.0
"""Scoreboard: BERT-large on 2 to 32 nodes with gradient accumulation (NVIDIA's DeepLearningExamples)."""
import collections
import csv
import math

import devices
import score_base
from score_base import Row, Source

PARAMETERS = 336_226_108  # of BERT-large with its heads; gradients are sent as they are computed
WIDTH = {'fp16': 2, 'tf32': 4}
FITTED_NODES = (1, 16)


class Bert(Source):
    """Keys: (framework, system, sequence length, precision, nodes, GPUs a node, batch, accumulated batches)."""
    name = 'nvidia_bert'
    title = 'BERT-large pre-training on 1 to 32 DGX nodes, gradients accumulated (NVIDIA DeepLearningExamples)'
    unit = 'sequences/s'
    fitted = ('The time of one batch for each framework, system, precision and sequence length, and the rate of a node '
              'for each framework, system and precision, on the rows of 1 and 16 nodes. Hierarchical all-reduce after '
              'the last accumulated batch.')
    left_out = 'Nothing. One row\'s accumulation is as its source corrects it.'

    def rows(self):
        out = []
        with open(self.data / 'nvidia_dle/bert_multinode_throughput.csv', encoding='utf-8') as f:
            for r in csv.DictReader(f):
                key = (r['framework'], r['system'], int(r['seq_len']), r['precision'], int(r['nodes']),
                       int(r['gpus_per_node']), int(r['batch_per_gpu']), int(r['accum_steps']))
                out.append(Row(key, 'fitted' if key[4] in FITTED_NODES else 'predicted',
                               float(r['throughput_seq_per_s'])))
        return out

    def group(self, row):
        return ', '.join(map(str, row.key[:4]))

    @staticmethod
    def samples(key):
        return math.prod(key[4:8])

    def fit(self, _, rows):
        groups = collections.defaultdict(list)
        for row in rows:
            groups[row.key[0], row.key[1], row.key[3]].append(row)
        found = {}
        for (framework, system, precision), group in groups.items():
            lengths = sorted({row.key[2] for row in group})
            size = PARAMETERS * WIDTH[precision]
            start = [next(self.samples(r.key) / r.measured / r.key[7] for r in group if r.key[2:5:2] == (n, 1))
                     for n in lengths]

            def loss(x, group=group, lengths=lengths, size=size):
                total = 0
                for row in group:
                    nodes = row.key[4]
                    step = row.key[7] * math.exp(x[lengths.index(row.key[2])]) \
                        + 2 * (nodes - 1) / nodes * size / math.exp(x[-1])
                    total += math.log(step / self.samples(row.key) * row.measured)**2
                return total
            *batches, rate = map(math.exp, devices.minimise(loss, [*map(math.log, start), math.log(1e10)]))
            for length, time in zip(lengths, batches, strict=True):
                found[f'{framework} {system} {precision} {length}'] = [time, rate]
        return found

    def predict(self, run, parameters, rows):
        out = []
        for row in rows:
            framework, system, length, precision, nodes, gpus, _, accumulated = row.key
            time, rate = parameters[f'{framework} {system} {precision} {length}']
            step, = run.steps(score_base.pipeline(1, 0.67, PARAMETERS * WIDTH[precision]), {
                'cluster': {'workers': {'count': nodes * gpus, 'per_host': gpus, 'nic': f'{8e-9 * rate:.9g} Gbit/s',
                                        'device': {'speed': 1 / time}}},
                'training': {'exchange': 'all_reduce', 'accumulation': accumulated},
                'all_reduce': {'algorithm': 'hierarchical'}, 'runs': score_base.ONE_STEP})
            out.append(self.samples(row.key) / step)
        return out
