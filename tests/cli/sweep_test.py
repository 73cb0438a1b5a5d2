#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`stretto sweep` and `stretto results` from outside: kills, shards, two at once, full disks, damage, refusals.

STRETTO_SOAK=1 makes 220 kills in place of 20.
"""
import json
import os
import pathlib
import random
import resource
import signal
import sqlite3
import subprocess
import time

import program
import tap  # noqa: E402 (program.py extends the path)

SHIPPED = 'configs/experiments/sweep_network.yaml'
KILLS = 220 if os.environ.get('STRETTO_SOAK') else 20
# 12 x 40 points of some milliseconds.
MANY = '''stretto: 1
name: many
workload: {model: vgg_16, mode: inference}
cluster: {workers: {count: 2, device: {include: configs/devices/v100.yaml}}, servers: {count: 1}}
policies: [tac]
runs: {iterations: 3, warm_up: 1, replications: 2}
vary: {cluster.workers.count: [1, 2, 3], cluster.servers.count: [1, 2, 3, 4]}
sweep:
  sample:
    {method: random, points: 40, seed: 5, fields: {cluster.network.comm_compute_ratio: {from: 0.2, to: 8, scale: log}}}
  constraints: [cluster.servers.count <= cluster.workers.count]
'''


class Sweep(program.ProgramTest):
    def export(self, store, *options):
        return self.good('results', 'export', 'csv', store, *options)

    def stored(self, store):
        """Points in the store, 0 where there is no table yet."""
        if not (self.folder / store).exists():
            return 0
        connection = sqlite3.connect(self.folder / store, timeout=60)
        try:
            return connection.execute('SELECT count(*) FROM points').fetchone()[0]
        except sqlite3.OperationalError:
            return 0
        finally:
            connection.close()

    def many(self):
        self.write('many.yaml', MANY)
        self.good('sweep', 'many.yaml', '--store', 'whole.sqlite')
        return self.export('whole.sqlite')

    def test_kills_lose_nothing(self):
        whole = self.many()
        draw = random.Random(20)
        kills = rounds = 0
        while kills < KILLS:
            rounds += 1
            seen = 0
            while kills < KILLS:
                process = subprocess.Popen([program.BINARY, 'sweep', 'many.yaml', '--store', 'cut.sqlite'],
                                           cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
                end = time.monotonic() + draw.uniform(0, 0.4)
                while time.monotonic() < end and process.poll() is None:
                    time.sleep(draw.uniform(0, 0.05))
                    seen = max(seen, self.stored('cut.sqlite'))
                process.send_signal(signal.SIGKILL)
                errors = process.communicate(timeout=60)[1]
                self.assertEqual(errors, b'')
                now = self.stored('cut.sqlite')
                self.assertGreaterEqual(now, seen)
                seen = now
                if process.returncode == 0:
                    break
                self.assertEqual(process.returncode, -signal.SIGKILL)
                kills += 1
            self.good('sweep', 'many.yaml', '--store', 'cut.sqlite')
            self.assertEqual(self.export('cut.sqlite'), whole)
            for name in self.folder.glob('cut.sqlite*'):
                name.unlink()
        self.assertGreater(rounds, 0)

    def test_interrupted_goes_on(self):
        whole = self.many()
        process = subprocess.Popen([program.BINARY, 'sweep', 'many.yaml', '--store', 'a.sqlite'], cwd=self.folder,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        while self.stored('a.sqlite') < 5 and process.poll() is None:
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=60)
        self.assertEqual((process.returncode, output, errors), (130, '', 'interrupted\n'))
        before = self.stored('a.sqlite')
        self.assertGreaterEqual(before, 5)
        self.assertIn(f'{before} stored before', self.good('sweep', 'many.yaml', '--store', 'a.sqlite'))
        self.assertEqual(self.export('a.sqlite'), whole)

    def test_shards_and_merge_give_the_single_run(self):
        whole = self.many()
        for shard in (3, 1, 2):
            self.good('sweep', 'many.yaml', '--store', f'part{shard}.sqlite', '--shard', f'{shard}/3', '--threads', '1')
        parts = [f'part{i}.sqlite' for i in (2, 3, 1)]
        self.good('results', 'merge', 'all.sqlite', *parts)
        self.assertEqual(self.export('all.sqlite'), whole)
        self.assertIn('0 points added', self.good('results', 'merge', 'all.sqlite', parts[0]))
        self.assertIn(' 0 run', ' '.join(self.good('sweep', 'many.yaml', '--store', 'all.sqlite').split()))

    def test_two_at_once(self):
        whole = self.many()
        self.write('other.yaml', MANY.replace('name: many', 'name: other'))
        files = ('many.yaml', 'many.yaml', 'other.yaml')
        started = [subprocess.Popen([program.BINARY, 'sweep', f, '--store', 'a.sqlite'], cwd=self.folder,
                                    stdout=subprocess.PIPE, stderr=subprocess.PIPE) for f in files]
        for process in started:
            errors = process.communicate(timeout=200)[1]
            self.assertEqual((process.returncode, errors), (0, b''))
        self.assertEqual(self.export('a.sqlite', '--sweep', 'many'), whole)
        self.assertEqual(self.export('a.sqlite', '--sweep', 'other'), whole)

    def test_a_changed_sweep_is_another_one(self):
        self.good('sweep', SHIPPED, '--store', 'a.sqlite')
        first = self.export('a.sqlite')
        self.write('w.workload.json', (program.SOURCE / 'configs/workloads/vgg_16.workload.json').read_text())
        changed = self.start('sweep', SHIPPED, '--store', 'a.sqlite', '--set', 'runs.seed=2')
        self.assertEqual(changed.returncode, 0)
        self.assertIn('with other settings', changed.stderr)
        self.assertIn('20 run', changed.stdout)
        self.assertNotEqual(self.export('a.sqlite'), first)
        self.assertEqual(self.export('a.sqlite', '--sweep', '1'), first)
        self.assertIn('tac', self.good('results', 'compare', 'a.sqlite'))
        self.assertIn('sweep_network', self.good('results', 'list', 'a.sqlite'))
        self.assertIn('cluster.workers.nic', self.good('results', 'show', 'a.sqlite'))
        self.assertEqual(self.good('results', 'gc', 'a.sqlite'), 'Removed 1 of 2 sweeps.\n')
        self.assertIn('no sweep', self.refused('results', 'show', 'a.sqlite', '--sweep', '1'))
        text = '''stretto: 1
name: input
workload: {file: w.workload.json, mode: inference}
policies: [fifo]
'''
        self.write('input.yaml', text)
        self.good('sweep', 'input.yaml', '--store', 'b.sqlite')
        self.assertIn('1 stored before', self.good('sweep', 'input.yaml', '--store', 'b.sqlite'))
        with (self.folder / 'w.workload.json').open('a', encoding='utf-8') as out:
            out.write('\n')
        changed = self.start('sweep', 'input.yaml', '--store', 'b.sqlite')
        self.assertIn('with other input files', changed.stderr)
        self.assertIn('1 run', changed.stdout)

    def test_points_that_fail_are_stored(self):
        self.write('fail.yaml', '''stretto: 1
name: fail
workload: {model: vgg_16, mode: inference}
policies: [fifo]
runs: {iterations: 3, warm_up: 1, replications: 1}
vary: {cluster.workers.count: [1, 0, 2], runs.warm_up: [1, 5]}
''')
        for run in ('6 run', '0 run'):
            done = self.start('sweep', 'fail.yaml', '--store', 'a.sqlite')
            self.assertEqual((done.returncode, done.stderr), (1, ''))
            self.assertIn(run, done.stdout)
            self.assertIn('4 failed', done.stdout)
        show = self.good('results', 'show', 'a.sqlite')
        self.assertIn('2 points done', show)
        self.assertIn('Point 2', show)
        self.assertIn('out of range', show)
        self.assertEqual(self.export('a.sqlite').count(',failed,'), 4)

    def test_a_full_disk_keeps_what_was_stored(self):
        whole = self.many()

        def small():
            resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
        done = self.start('sweep', 'many.yaml', '--store', 'a.sqlite', preexec_fn=small)
        self.assertEqual((done.returncode, done.stdout), (2, ''))
        self.assertIn("results store 'a.sqlite'", done.stderr)
        self.assertIn('everything that was stored before is kept', done.stderr)
        before = self.stored('a.sqlite')
        self.assertGreater(before, 0)
        self.assertIn(f'{before} stored before', self.good('sweep', 'many.yaml', '--store', 'a.sqlite'))
        self.assertEqual(self.export('a.sqlite'), whole)

    def test_damaged_and_foreign_files(self):
        self.good('sweep', SHIPPED, '--store', 'a.sqlite')
        good = (self.folder / 'a.sqlite').read_bytes()
        for name, text in (('text', b'not a store at all' * 500), ('half', good[:len(good) // 2]),
                           ('zeros', good[:4096] + bytes(len(good) - 4096))):
            with self.subTest(name):
                path = self.folder / name
                path.write_bytes(text)
                self.assertIn(f"'{name}' is ", self.refused('sweep', SHIPPED, '--store', name))
                self.assertIn(name, self.refused('results', 'export', 'csv', name))
                self.assertEqual(path.read_bytes(), text)

    def test_stores_where_nothing_can_be_written(self):
        self.good('sweep', SHIPPED, '--store', 'a.sqlite')
        whole = self.export('a.sqlite')
        shown = self.good('results', 'show', 'a.sqlite')
        folder = self.folder / 'read only #1?%41'
        folder.mkdir()
        (self.folder / 'a.sqlite').rename(folder / 'a.sqlite')
        (folder / 'a.sqlite').chmod(0o444)
        folder.chmod(0o555)
        self.folder.chmod(0o755)
        name = str(folder.relative_to(self.folder) / 'a.sqlite')
        # Root may write anywhere; another user may not.
        other = {'user': 65534} if os.geteuid() == 0 else {}
        try:
            self.assertIn('sweep_network', self.good('results', 'list', name, **other))
            self.assertEqual(self.good('results', 'show', name, **other), shown)
            self.assertEqual(self.good('results', 'export', 'csv', name, **other), whole)
            self.assertIn('cannot be written', self.refused('results', 'gc', name, **other))
            self.assertIn('cannot be written', self.refused('sweep', SHIPPED, '--store', name, **other))
            self.assertEqual([f.name for f in folder.iterdir()], ['a.sqlite'])
            folder.chmod(0o755)
            (folder / 'a.sqlite-wal').write_bytes(b'not empty')
            folder.chmod(0o555)
            self.assertIn('there is a log to be read', self.refused('results', 'list', name, **other))
        finally:
            folder.chmod(0o755)

    def test_divide(self):
        text = self.good('sweep', SHIPPED, '--divide', '4')
        self.assertIn("Sweep 'sweep_network': 24 points", text)
        division = json.loads(self.good('sweep', SHIPPED, '--divide', '4', '--format', 'json'))
        self.assertEqual((division['format'], division['version'], division['points']), ('stretto-shards', 1, 24))
        self.assertEqual(sum(s['points'] for s in division['shards']), 24)
        self.assertAlmostEqual(sum(s['share'] for s in division['shards']), 1)
        self.assertLess(max(s['share'] for s in division['shards']), 0.3)
        self.assertEqual(division['files'], [SHIPPED, 'configs/devices/v100.yaml', 'configs/clusters/ethernet_10g.yaml',
                                             f'{division["configs"]}/workloads/vgg_16.workload.json'])
        for shard, said in enumerate(division['shards'], 1):
            self.assertIn(f'{said["points"]} points in shard {shard}/4',
                          self.good('sweep', SHIPPED, '--shard', f'{shard}/4', '--store', f'{shard}.sqlite'))
        self.good('results', 'merge', 'all.sqlite', *(f'{shard}.sqlite' for shard in range(1, 5)))
        self.good('sweep', SHIPPED, '--store', 'single.sqlite')
        self.assertEqual(self.export('all.sqlite'), self.export('single.sqlite'))
        connection = sqlite3.connect(self.folder / 'single.sqlite')
        self.assertEqual(connection.execute('SELECT hash FROM sweeps').fetchall(), [(division['sweep'],)])
        connection.close()

    def test_what_memory_cannot_hold_is_not_divided(self):
        self.write('large.yaml', '''stretto: 1
name: large
workload: {model: vgg_16}
vary: {policies: [[fifo], [{fifo: {partition: 64 B}}]]}
runs: {iterations: 3, warm_up: 1, replications: 1}
''')

        def small():
            resource.setrlimit(resource.RLIMIT_AS, (300 << 20, 300 << 20))
        for words in (('--divide', '2'), ('--shard', '1/2', '--store', 'a.sqlite')):
            with self.subTest(words):
                error = self.refused('sweep', 'large.yaml', '--threads', '1', *words, preexec_fn=small)
                self.assertIn('out of memory while the cost of point 1 was predicted', error)
        self.assertEqual(self.stored('a.sqlite'), 0)

    def test_refusals(self):
        self.good('sweep', SHIPPED, '--store', 'a.sqlite', '--quiet')
        for words, message in (
                (('sweep', SHIPPED, '--shard', '4/3'), 'is no shard'),
                (('sweep', SHIPPED, '--shard', '0/3'), 'is no shard'),
                (('sweep', SHIPPED, '--shard', '1'), 'is no shard'),
                (('sweep', SHIPPED, '--threads', '0'), 'is no number'),
                (('sweep', SHIPPED, '--divide', '0'), 'is no number'),
                (('sweep', SHIPPED, '--divide', '3', '--shard', '1/3'), 'runs nothing'),
                (('sweep', SHIPPED, '--divide', '3', '--format', 'xml'), "unknown format 'xml'"),
                (('sweep', SHIPPED, '--format', 'json'), '--format json is for --divide'),
                (('sweep', SHIPPED, '--store', 'no/such/a.sqlite'), 'cannot open'),
                (('sweep', 'no.yaml'), 'no.yaml'),
                (('sweep', SHIPPED, '--set', 'cluster.workers.cuont=1'), "did you mean 'cluster.workers.count'"),
                (('results',), 'ACTION is missing'),
                (('results', 'lst', 'a.sqlite'), "did you mean 'list'"),
                (('results', 'list'), '0 files'),
                (('results', 'export', 'xml', 'a.sqlite'), 'only CSV'),
                (('results', 'show', 'b.sqlite'), 'cannot open'),
                (('results', 'show', 'a.sqlite', '--sweep', 'x'), "no sweep 'x'"),
                (('results', 'compare', 'a.sqlite'), 'no earlier sweep'),
                (('results', 'merge', 'a.sqlite'), '1 files')):
            with self.subTest(words):
                self.assertIn(message, self.refused(*words))
        self.assertFalse(pathlib.Path(self.folder / 'b.sqlite').exists())


if __name__ == '__main__':
    tap.main()
