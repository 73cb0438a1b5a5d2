#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`stretto validate` from outside, without TensorFlow: its bundle is what the harness reads, and what the harness
writes is what it compares with."""
import json
import sys

import program
import tap  # noqa: E402 (program.py extends the path)

sys.path.insert(0, str(program.SOURCE / 'harness' / 'src'))
from stretto_tf import bundle as bundle_file  # noqa: E402
from stretto_tf import emulated, result, schedule  # noqa: E402

EXPERIMENT = '''stretto: 1
name: small
workload: {model: mixed_12}
cluster:
  workers: {count: 2, nic: 1 Gbit/s}
  servers: {count: 2, nic: 1 Gbit/s, placement: greedy}
policies: [random, fifo, {reverse: {discipline: chain_window, window: 3}}]
'''


def measure(bundle, step_ms):
    """What the harness writes if every transfer arrives in order and every step takes as long as asked for."""
    cells = []
    for policy, length in zip(bundle.policies, step_ms):
        times = [[(s * 10**9, s * 10**9 + round(length * 1e6)) for s in range(bundle.steps)]
                 for _ in range(bundle.cluster.workers)]
        notes = []
        for worker in range(bundle.cluster.workers):
            for begin, _ in times[worker]:
                for place, transfer in enumerate(policy.pull.order or range(len(policy.transfers))):
                    at = begin + (place + 1) * 10**6
                    notes.append([emulated.tag(worker, emulated.PULL, transfer), at, at])
                notes.append([emulated.tag(worker, emulated.COMPUTE, 0), begin + 10**6, begin + 8 * 10**6])
        cells.append(result.cell(bundle, policy, times, notes, {'own_cores': 0.2, 'other_cores': 1.0}))
    return result.document(bundle, {'kind': 'loopback', 'reason': 'not root', 'shaped': False}, '2.21.0', 0, cells)


class Validate(program.ProgramTest):
    def bundle(self):
        self.write('small.yaml', EXPERIMENT)
        self.good('validate', 'small.yaml', '--bundle', 'bundle.json', '--steps', '5', '--window', '2')
        return bundle_file.load(self.folder / 'bundle.json')[1]

    def test_the_harness_reads_the_bundle(self):
        bundle = self.bundle()
        self.assertEqual((bundle.cluster.servers, bundle.cluster.workers, bundle.cluster.worker_bps), (2, 2, 10**9))
        self.assertEqual((bundle.steps, bundle.sync, len(bundle.workload.ops)), (5, True, 24))
        none, fifo, reverse = bundle.policies
        self.assertEqual((none.pull.mode, none.pull.order), ('none', ()))
        self.assertEqual((fifo.pull.mode, fifo.pull.window), ('window', 2))
        self.assertEqual((reverse.pull.mode, reverse.pull.window), ('chain_window', 3))
        names = [fifo.transfers[i].parameter for i in fifo.pull.order]
        self.assertEqual(names, [f'layer{i}/weights' for i in range(12)])
        self.assertEqual(list(reverse.pull.order), list(reversed(fifo.pull.order)))
        self.assertEqual({transfer.server for transfer in fifo.transfers}, {0, 1})

    def test_a_network_takes_the_place_of_the_workload(self):
        self.write('small.yaml', EXPERIMENT.replace('workers: {', 'workers: {device: {kind: cpu, cores: 2}, '))
        self.assertIn('a device with several cores', self.refused('validate', 'small.yaml', '--bundle', 'bundle.json'))
        self.assertIn("hint: did you mean 'alexnet_v2'?",
                      self.refused('validate', 'small.yaml', '--bundle', 'bundle.json', '--real', 'alexnet_v3'))
        for name in reversed(bundle_file.MODELS):
            self.good('validate', 'small.yaml', '--bundle', 'bundle.json', '--real', name)
        bundle = bundle_file.load(self.folder / 'bundle.json')[1]
        self.assertEqual((bundle.model.name, bundle.workload.ops), ('alexnet_v2', ()))
        self.assertEqual(bundle.model.batch, json.loads((
            program.SOURCE / 'configs/workloads/mixed_12.workload.json').read_text(encoding='utf-8'))['batch'])
        self.assertEqual([len(policy.transfers) for policy in bundle.policies], [12, 12, 12])
        self.assertEqual(len(bundle.policies[1].pull.order), 12)

    def test_it_compares_with_what_the_harness_writes(self):
        measured = measure(self.bundle(), (400, 320, 500))
        self.write('measured.json', json.dumps(measured))
        arguments = ('validate', 'small.yaml', '--measured', 'measured.json', '--window', '2')
        content = json.loads(self.good(*arguments, '--format', 'json', '--out', 'all'))
        self.assertEqual(content['baseline'], 'random')
        self.assertEqual([row['measured_s']['mean'] for row in content['policies']], [0.4, 0.32, 0.5])
        self.assertAlmostEqual(content['policies'][1]['gain_measured'], 0.25)
        self.assertEqual([row['inversions'] for row in content['policies']], [0, 0, 0])
        for row in content['policies']:
            self.assertAlmostEqual(row['error'], row['predicted_s']['mean'] / row['measured_s']['mean'] - 1)
        trace = json.loads((self.folder / 'all' / 'trace_1.json').read_text(encoding='utf-8'))
        processes = {e['args']['name'] for e in trace['traceEvents'] if e['name'] == 'process_name'}
        self.assertLessEqual({'predicted: worker 0', 'measured: worker 1'}, processes)
        text = self.good(*arguments)
        for part in ('plain loopback, links not shaped (not root)', '320.0 ms', '+25.0 %', 'Gains over random',
                     'up to 1.0 of'):
            self.assertIn(part, text)

    def test_the_harness_reads_schedules(self):
        self.write('small.yaml', EXPERIMENT + 'runs: {replications: 2}\n')
        self.good('run', 'small.yaml', '--out', 'all')
        found = {schedule.load(path).policy: schedule.load(path) for path in (self.folder / 'all').glob('schedule_*')}
        self.assertEqual(set(found), {'random', 'fifo', 'reverse'})
        self.assertEqual(found['random'].pull.mode, 'none')
        self.assertEqual(found['fifo'].pull, schedule.Enforcement('window', 1))
        self.assertEqual(found['reverse'].pull, schedule.Enforcement('chain_window', 3))
        ranks = [variable.pull for variable in found['fifo'].variables.values()]
        self.assertEqual(sorted(ranks), list(range(12)))
        self.assertEqual(list(found['fifo'].variables)[0], 'layer0/weights')

    def test_refusals(self):
        self.write('small.yaml', EXPERIMENT)
        self.write('vary.yaml', EXPERIMENT + 'vary: {cluster.workers.count: [1, 2]}\n')
        self.write('credit.yaml', EXPERIMENT.replace('fifo', '{fifo: {credit: 1 MiB}}'))
        self.write('other.json', json.dumps(measure(self.bundle(), (1, 1))))
        for arguments, message in (
                (('vary.yaml',), 'varies over 2 points'),
                (('credit.yaml', '--bundle', 'b.json'), 'cannot be held to a credit'),
                (('small.yaml', '--steps', '0'), "--steps: '0' is no number"),
                (('small.yaml', '--network', 'loopbak'), "did you mean 'loopback'"),
                (('small.yaml', '--set', 'noise.compute_cv=2 %', '--bundle', 'b.json'), 'cannot do this: noise'),
                (('small.yaml', '--measured', 'other.json'), 'the measurement has 2 policies, the experiment 3'),
                (('small.yaml', '--measured', 'small.yaml'), 'small.yaml')):
            with self.subTest(arguments):
                self.assertIn(message, self.refused('validate', *arguments))


if __name__ == '__main__':
    tap.main()
