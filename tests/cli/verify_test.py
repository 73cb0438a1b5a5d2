#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`stretto verify`, `explain` and `export` from outside: sound schedules, corrupted ones, what is refused."""
import copy
import json
import unittest

import program
import tap  # noqa: E402 (program.py extends the path)

ONE = '''stretto: 1
name: one
workload: {model: vgg_16}
cluster: {workers: {count: 2}, servers: {count: 2}, network: {comm_compute_ratio: 1, latency: 20 us}}
training: {barrier: false}
policies: [fifo]
search: {partition: [16 MiB], credit: [32 MiB], methods: [local]}
'''
RING = '''stretto: 1
name: ring
workload: {model: vgg_16}
cluster: {workers: {count: 4, nic: 10 Gbit/s}, network: {latency: 20 us}}
training: {exchange: all_reduce, barrier: false}
all_reduce: {fusion: 32 MiB, streams: 2}
policies: [fifo]
search: {credit: [64 MiB], methods: [local]}
runs: {iterations: 6, warm_up: 2}
'''
BARRIER = ('--set', 'training.barrier=true')


class Verify(program.ProgramTest):
    def search(self, *words, budget=60):
        self.write('one.yaml', ONE)
        self.good('search', 'one.yaml', '--budget', str(budget), '-o', 'best.json', *words)
        return json.loads((self.folder / 'best.json').read_text(encoding='utf-8'))

    def violated(self, schedule, *words):
        """The rule that a changed schedule violates."""
        self.write('changed.json', json.dumps(schedule))
        done = self.start('verify', 'changed.json', '--experiment', 'one.yaml', '--format', 'json', *words)
        self.assertEqual((done.returncode, done.stderr), (1, ''), done.stdout)
        result = json.loads(done.stdout)
        self.assertFalse(result['verified'])
        self.assertEqual(result['parts'][-1]['status'], 'violated')
        return result['violation']['rule']

    def test_found_schedules_are_verified(self):
        for words in ((), BARRIER, ('--set', 'workload.mode=inference')):
            with self.subTest(words):
                schedule = self.search(*words)
                result = json.loads(
                    self.good('verify', 'best.json', '--experiment', 'one.yaml', '--format', 'json', *words))
                self.assertTrue(result['verified'])
                self.assertIsNone(result['violation'])
                self.assertEqual([p['status'] for p in result['parts']], ['passed'] * 5, result)
                self.assertEqual([p['part'] for p in result['parts']],
                                 ['schedule', 'timeline', 'replay', 'bound', 'prediction'])
                predicted = schedule['prediction']['mean_s']
                self.assertAlmostEqual(result['replay_s'] / predicted, 1, delta=1e-6)
                self.assertLessEqual(result['lower_bound_s'], predicted * (1 + 1e-9))
        text = self.good('verify', 'best.json', '--experiment', 'one.yaml', '--set', 'workload.mode=inference')
        self.assertTrue(text.endswith('\nVerified.\n'))

    def test_shipped_experiments_are_verified(self):
        short = ('--set', 'runs.iterations=6', '--set', 'runs.warm_up=2')
        for name in ('published_policies', 'staggered_workers', 'unequal_workers', 'disciplines'):
            file = f'configs/experiments/{name}.yaml'
            self.good('run', file, '--out', name, *short)
            schedules = sorted((self.folder / name).glob('schedule_*.json'))
            self.assertGreater(len(schedules), 1)
            for schedule in schedules:
                with self.subTest(schedule.name):
                    result = json.loads(self.start('verify', schedule, '--experiment', file, '--format', 'json',
                                                   *short).stdout)
                    self.assertTrue(result['verified'], result)
                    self.assertEqual([p['status'] for p in result['parts'][:2]], ['passed'] * 2)

    def test_corrupted_schedules_are_named(self):
        sound = self.search(*BARRIER)

        def changed(change):
            schedule = copy.deepcopy(sound)
            change(schedule)
            return schedule

        def drop_slice(s):
            next(p for p in s['parameters'] if len(p['slices']) > 1)['slices'].pop()

        def far_server(s):
            s['parameters'][0]['slices'][0]['server'] = 5

        def other_hash(s):
            s['workload']['sha256'] = 'f' * 64

        def twice(s):
            s['parameters'].append(s['parameters'][0])

        def optimist(s):
            for key in ('mean_s', 'ci95_low_s', 'ci95_high_s'):
                s['prediction'][key] *= 0.999
            s['prediction'].pop('lower_bound_s', None)

        def below_bound(s):
            s['prediction']['lower_bound_s'] = s['prediction']['mean_s'] * 1.1

        for change, rule in ((drop_slice, 'slices add up'), (far_server, 'servers'),
                             (other_hash, 'workload'), (twice, 'each transfer once'), (optimist, 'prediction'),
                             (below_bound, 'prediction')):
            with self.subTest(change.__name__):
                self.assertEqual(self.violated(changed(change), *BARRIER), rule)
        # Another experiment: the schedule is sound, its prediction is not.
        self.assertEqual(self.violated(sound, *BARRIER, '--set', 'cluster.network.latency=40 us'), 'prediction')
        self.assertEqual(self.violated(sound, *BARRIER, '--set', 'cluster.servers.count=3'), 'servers')

    def test_equal_ranks_are_verified_as_run_takes_them(self):
        schedule = self.search(*BARRIER)
        del schedule['prediction']
        slices = [x for p in schedule['parameters'] for x in p['slices']]
        for x in slices:
            if 'pull' in x:
                x['pull'] //= 4
        self.assertLess(len({x['pull'] for x in slices if 'pull' in x}), len(slices))
        (self.folder / 'equal.json').write_text(json.dumps(schedule), encoding='utf-8')
        self.good('run', 'one.yaml', '--set', 'policies=[{schedule: equal.json}]', *BARRIER)
        result = json.loads(self.good('verify', 'equal.json', '--experiment', 'one.yaml', '--format', 'json', *BARRIER))
        self.assertTrue(result['verified'], result)
        self.assertEqual([p['status'] for p in result['parts']], ['passed'] * 4 + ['not covered'], result)

    def test_what_is_not_covered_is_said(self):
        self.search(*BARRIER)
        for setting, part, word in (('training={synchronization: backup, backups: 1}', 'replay', 'backup'),
                                    ('cluster.network.model=fifo', 'replay', 'store'),
                                    ('noise.compute_cv=5 %', 'prediction', 'drawn')):
            with self.subTest(setting):
                done = self.start('verify', 'best.json', '--experiment', 'one.yaml', '--format', 'json', *BARRIER,
                                  '--set', setting)
                parts = {p['part']: p for p in json.loads(done.stdout)['parts']}
                self.assertEqual(parts[part]['status'], 'not covered', done.stdout)
                self.assertIn(word, parts[part]['text'])

    def test_explain(self):
        self.search()
        words = ('explain', 'best.json', '--experiment', 'one.yaml')
        result = json.loads(self.good(*words, '--moves', '3', '--format', 'json'))
        self.assertEqual(list(result), [
            'workload', 'policy', 'step_s', 'lower_bound_s', 'lower_bound_name', 'lower_bound_reason',
            'lower_bound_any_layout_s', 'ranked', 'moved', 'moves', 'changes', 'sentences'])
        self.assertLessEqual(len(result['moves']), 6)
        self.assertGreater(len(result['changes']), 1)
        for change in result['changes']:
            if change['gain'] is not None:
                self.assertAlmostEqual(change['step_s'], result['step_s'] * (1 + change['gain']), delta=1e-9)
        text = self.good(*words)
        self.assertIn('is left', text)
        self.assertIn('what the schedule changes', text)

    def test_explain_knows_start_offsets(self):
        """Two workers at one server: together they need 4/3 of the time."""
        where = ('--set', 'cluster.servers.count=1', '--set', 'cluster.network.comm_compute_ratio=4', *BARRIER)
        row = 'start offsets of workers (else all start together)'
        gains = {}
        for group in (1, 2):
            self.search(*where, '--set', f'search={{group: [{group}], methods: [local]}}')
            result = json.loads(
                self.good('explain', 'best.json', '--experiment', 'one.yaml', '--format', 'json', *where))
            gains[group] = {c['change']: c['gain'] for c in result['changes']}
        self.assertGreater(gains[1][row], 0.2)
        self.assertNotIn(row, gains[2])

    def test_export(self):
        schedule = self.search(budget=400)
        slices = sum(len(p['slices']) for p in schedule['parameters'])
        for name, word in (('byteps', 'BYTEPS_PARTITION_BYTES='), ('bytescheduler', 'BYTESCHEDULER_CREDIT='),
                           ('dpro', 'node35/Linear '), ('csv', 'pull_rank')):
            with self.subTest(name):
                done = self.start('export', 'best.json', '--to', name)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertIn(word, done.stdout)
                self.assertIn(f'{name} leaves out ', done.stderr)
                if name == 'csv':
                    self.assertEqual(len(done.stdout.splitlines()), slices + 1)
        trace = ('--to', 'perfetto', '--experiment', 'one.yaml', '-o', 't.json')
        self.assertEqual(self.good('export', 'best.json', *trace), '')
        self.assertTrue(json.loads((self.folder / 't.json').read_text(encoding='utf-8')))

    def test_all_reduce(self):
        self.write('ring.yaml', RING)
        for words in ((), ('--set', 'training.barrier=true'), ('--set', 'all_reduce.split=true'),
                      ('--set', 'all_reduce.algorithm=tree'),
                      ('--set', 'cluster.workers.per_host=2', '--set', 'cluster.workers.nvlink=8 Gbit/s',
                       '--set', 'all_reduce={algorithm: hierarchical, fusion: 1 MiB, streams: 2}')):
            with self.subTest(words):
                self.good('search', 'ring.yaml', '--budget', '40', '-o', 'ring.json', *words)
                result = json.loads(self.good('verify', 'ring.json', '--experiment', 'ring.yaml', '--format', 'json',
                                              *words))
                self.assertEqual([p['status'] for p in result['parts'][:3]], ['passed'] * 3, result)
                self.assertTrue(result['verified'], result)
                predicted = json.loads((self.folder / 'ring.json').read_text(encoding='utf-8'))['prediction']['mean_s']
                self.assertAlmostEqual(result['replay_s'] / predicted, 1, delta=1e-6)
                explained = json.loads(self.good('explain', 'ring.json', '--experiment', 'ring.yaml', '--format',
                                                 'json', *words))
                self.assertAlmostEqual(explained['step_s'] / predicted, 1, delta=1e-6)
                self.assertIn('all orders (else fifo)', [c['change'] for c in explained['changes']])

    def test_all_reduce_faults_are_named(self):
        self.write('ring.yaml', RING)
        self.good('search', 'ring.yaml', '--budget', '40', '-o', 'ring.json')
        sound = json.loads((self.folder / 'ring.json').read_text(encoding='utf-8'))

        def unbucketed(s):
            del s['parameters'][0]['slices'][0]['bucket']

        def optimist(s):
            for key in ('mean_s', 'ci95_low_s', 'ci95_high_s'):
                s['prediction'][key] *= 0.999
            s['prediction'].pop('lower_bound_s', None)

        for change, rule in ((unbucketed, 'buckets'), (optimist, 'prediction')):
            with self.subTest(change.__name__):
                schedule = copy.deepcopy(sound)
                change(schedule)
                self.write('changed.json', json.dumps(schedule))
                done = self.start('verify', 'changed.json', '--experiment', 'ring.yaml', '--format', 'json')
                self.assertEqual((done.returncode, done.stderr), (1, ''), done.stdout)
                self.assertEqual(json.loads(done.stdout)['violation']['rule'], rule)
        # With servers it is another job.
        self.write('one.yaml', ONE)
        done = self.start('verify', 'ring.json', '--experiment', 'one.yaml', '--format', 'json')
        self.assertEqual(json.loads(done.stdout)['violation']['rule'], 'exchange')

    def test_all_reduce_export(self):
        self.write('ring.yaml', RING)
        words = ('--set', 'policies=[fifo]')
        self.good('run', 'ring.yaml', '--out', 'ring', *words)
        found = 'ring/schedule_fifo.json'
        for name, word in (('order', '\t0\n'), ('csv', 'variable,slice,bytes,bucket,gather_rank,reduce_rank\n'),
                           ('bytescheduler', 'BYTESCHEDULER_PARTITION=')):
            with self.subTest(name):
                done = self.start('export', found, '--to', name, '--experiment', 'ring.yaml', *words)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertIn(word, done.stdout)
        # An order file means the same to a run.
        done = self.start('export', found, '--to', 'order', '--experiment', 'ring.yaml', '-o', 'order.txt', *words)
        self.assertEqual((done.returncode, done.stdout), (0, ''), done.stderr)
        self.assertIn('which variables go together', done.stderr)
        step = [json.loads(self.good('run', 'ring.yaml', '--format', 'json', '--set', f'policies=[{policy}]'))
                for policy in ('fifo', '{order_file: order.txt}')]
        means = [[p['step_time_s']['mean'] for p in r['results'] if p['policy'].startswith(name)]
                 for r, name in zip(step, ('fifo', 'order_file'))]
        self.assertEqual(means[0], means[1])
        self.good('export', found, '--to', 'perfetto', '--experiment', 'ring.yaml', '-o', 't.json', *words)
        self.assertTrue(json.loads((self.folder / 't.json').read_text(encoding='utf-8')))
        for name in ('byteps', 'dpro'):
            self.assertIn('parameter servers only',
                          self.refused('export', found, '--to', name, '--experiment', 'ring.yaml', *words))

    def test_refusals(self):
        self.search(*BARRIER)
        self.write('no.json', '{"format": "stretto-schedule", "version": 99}')
        self.write('vary.yaml', ONE + 'vary: {cluster.workers.count: [1, 2]}\n')
        for words, message in (
                (('verify', 'best.json'), '--experiment is missing'),
                (('verify', 'no.json', '--experiment', 'one.yaml'), 'newer'),
                (('verify', 'best.json', '--experiment', 'vary.yaml'), 'varies over 2 points'),
                (('verify', 'best.json', '--experiment', 'one.yaml', '--format', 'xml'), "unknown format 'xml'"),
                (('explain', 'best.json'), '--experiment is missing'),
                (('explain', 'best.json', '--experiment', 'vary.yaml'), 'varies over 2 points'),
                (('explain', 'best.json', '--experiment', 'one.yaml', '--moves', 'few'), 'no number'),
                (('explain', 'best.json', '--experiment', 'one.yaml', '--set', 'cluster.servers.count=3'),
                 'cluster.servers.count'),
                (('export', 'best.json'), '--to is missing'),
                (('export', 'best.json', '--to', 'bytep'), "did you mean 'byteps'"),
                (('export', 'best.json', '--to', 'perfetto'), 'needs --experiment'),
                (('export', 'best.json', '--to', 'order'), 'is cut into')):
            with self.subTest(words):
                self.assertIn(message, self.refused(*words))


if __name__ == '__main__':
    tap.main()
