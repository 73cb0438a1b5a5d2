#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`stretto search` from outside: the schedule that it writes, interruption, checkpoints, threads, refusals."""
import json
import os
import pty
import signal
import subprocess
import time
import unittest

import program
import tap  # noqa: E402 (program.py extends the path)

ONE = '''stretto: 1
name: one
workload: {model: vgg_16, mode: inference}
cluster: {workers: {count: 1}, servers: {count: 1}, network: {comm_compute_ratio: 1}}
policies: [random, fifo, reverse]
'''
# Two workers move together against one server, so that no bound is met and the whole budget is spent.
TWO = '''stretto: 1
name: two
workload: {model: vgg_16}
cluster: {workers: {count: 2}, servers: {count: 1}, network: {comm_compute_ratio: 1}}
policies: [fifo]
search: {methods: [local, annealing]}
'''
MANY = '''stretto: 1
name: many
workload: {model: vgg_16}
cluster: {workers: {count: 8, nic: 10 Gbit/s}, servers: {count: 2, nic: 10 Gbit/s}}
training: {barrier: false}
policies: [fifo, bytescheduler]
runs: {iterations: 8, warm_up: 2, replications: 1, seed: 1}
search: {partition: {min: SMALLEST, max: 64 MiB}, credit: {min: 256 KiB, max: 64 MiB}}
'''
RING = '''stretto: 1
name: ring
workload: {model: vgg_16}
cluster: {workers: {count: 4}, network: {comm_compute_ratio: 1, latency: 5 ms}}
training: {exchange: all_reduce, barrier: false}
policies: [fifo, mg_wfbp]
'''


class Search(program.ProgramTest):
    def found(self, name):
        return json.loads((self.folder / name).read_text(encoding='utf-8'))

    def test_the_schedule_runs_as_predicted(self):
        self.write('one.yaml', ONE)
        result = json.loads(self.good('search', 'one.yaml', '--format', 'json', '-o', 'best.schedule.json'))
        self.assertTrue(result['optimal'])
        self.assertEqual(result['gap'], 0)
        steps = {p['policy']: p['step_s'] for p in result['policies']}
        self.assertEqual(list(steps), ['random', 'fifo', 'reverse'])
        best = result['step_time_s']['mean']
        self.assertLessEqual(best, min(steps.values()) * (1 + 1e-9))
        self.assertGreater(steps['reverse'], 1.3 * best)
        self.write('again.yaml', ONE.replace('reverse]', '{schedule: {file: best.schedule.json}}]'))
        again = json.loads(self.good('run', 'again.yaml', '--format', 'json'))
        means = {r['policy']: r['step_time_s']['mean'] for r in again['results']}
        (mean,) = [m for p, m in means.items() if p.startswith('schedule')]
        self.assertAlmostEqual(mean, best, delta=1e-12)
        text = self.good('search', 'one.yaml')
        self.assertIn('No order is better with this layout', text)

    def interrupted(self, budget, asked, pause=0.2):
        """A search that a signal ends after its first checkpoint has an answer, and its state goes on to `whole`."""
        (self.folder / 'state.json').unlink(missing_ok=True)
        process = subprocess.Popen([program.BINARY, *budget, '--checkpoint', 'state.json', '-o', 'part.json'],
                                   cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        while not (self.folder / 'state.json').exists() and process.poll() is None:
            time.sleep(0.01)
        time.sleep(pause)
        process.send_signal(asked)
        output, errors = process.communicate(timeout=120)
        self.assertEqual((process.returncode, errors), (0, 'interrupted; the best plan so far is kept\n'))
        self.assertIn('ended by time', output)
        part = self.found('part.json')
        whole = self.found('whole.json')
        self.assertGreaterEqual(part['prediction']['mean_s'], whole['prediction']['mean_s'])
        self.good(*budget, '--resume', 'state.json', '-o', 'resumed.json')
        self.assertEqual((self.folder / 'resumed.json').read_bytes(), (self.folder / 'whole.json').read_bytes())

    def test_interrupted_and_resumed_gives_the_same_file(self):
        self.write('two.yaml', TWO)
        budget = ('search', 'two.yaml', '--budget', '12000')
        self.good(*budget, '-o', 'whole.json')
        for asked in (signal.SIGINT, signal.SIGTERM):
            with self.subTest(asked):
                self.interrupted(budget, asked)
                self.assertLess(self.found('state.json')['evaluations'], 12000)
        self.assertIn('belongs to another search',
                      self.refused('search', 'two.yaml', '--budget', '12001', '--resume', 'state.json'))

    def test_partition_and_credit_of_many_workers(self):
        """A part of the budget is within 1 % of all of it, and 3 % of the bound; with --soak a tenth, small slices."""
        soak = 'STRETTO_SOAK' in os.environ
        self.write('many.yaml', MANY.replace('SMALLEST', '256 KiB' if soak else '8 MiB'))
        small, large = ('300', '3000') if soak else ('240', '480')
        found = {}
        for budget in (small, large):
            found[budget] = json.loads(self.good('search', 'many.yaml', '--budget', budget, '--format', 'json',
                                                 '-o', 'whole.json'))
            self.assertLess(found[budget]['gap'], 0.03)
        self.assertLess(found[small]['step_time_s']['mean'], 1.01 * found[large]['step_time_s']['mean'])
        self.assertTrue(any('credit' in layout['layout'] for layout in found[large]['layouts']))
        for asked in (signal.SIGINT, signal.SIGTERM) if soak else (signal.SIGTERM,):
            with self.subTest(asked):
                self.interrupted(('search', 'many.yaml', '--budget', large), asked, 0)

    def test_progress_is_for_terminals(self):
        self.write('two.yaml', TWO)
        for quiet in ([], ['--quiet']):
            master, slave = pty.openpty()
            process = subprocess.Popen([program.BINARY, 'search', 'two.yaml', '--budget', '2000', *quiet],
                                       cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                       stderr=slave)
            os.close(slave)
            shown = b''
            try:
                while part := os.read(master, 65536):
                    shown += part
            except OSError:  # the other end is closed
                pass
            os.close(master)
            self.assertEqual(process.wait(timeout=120), 0)
            if quiet:
                self.assertEqual(shown, b'')
            else:
                self.assertRegex(shown.decode(), r'/2000 best [0-9.]+ ms, bound [0-9.]+ ms, gap [0-9.]+ %, [0-9]+/s')

    @unittest.skipUnless(len(os.sched_getaffinity(0)) > 1, 'one core')
    def test_threads_change_nothing(self):
        self.write('two.yaml', TWO)
        budget = ('search', 'two.yaml', '--budget', '1500', '-o')
        self.good(*budget, 'all.json')
        one = {min(os.sched_getaffinity(0))}
        self.good(*budget, 'one.json', preexec_fn=lambda: os.sched_setaffinity(0, one))
        self.assertEqual((self.folder / 'one.json').read_bytes(), (self.folder / 'all.json').read_bytes())

    def test_layouts(self):
        two_servers = TWO.replace('servers: {count: 1}', 'servers: {count: 2}')
        self.write('layouts.yaml', two_servers + 'training: {barrier: false}\n')
        sections = ('--set', 'search={partition: [4 MiB, 16 MiB], placement: true, servers: [1, 2]}')
        result = json.loads(self.good('search', 'layouts.yaml', '--budget', '700', '--format', 'json', *sections))
        names = [layout['layout'] for layout in result['layouts']]
        self.assertIn('as placed, 1 server', names)
        self.assertIn('partition 4 MiB, 2 servers', names)
        self.assertLessEqual(result['evaluations'], 700)
        fifo = [p['step_s'] for p in result['policies'] if p['policy'] == 'fifo'][0]
        self.assertLess(result['step_time_s']['mean'], 0.75 * fifo)

    def test_all_reduce(self):
        self.write('ring.yaml', RING)
        found = json.loads(self.good('search', 'ring.yaml', '--budget', '150', '--format', 'json', '-o', 'best.json',
                                     '--set', 'search={fusion: {min: 64 KiB, max: 64 MiB}, partition: [8 MiB]}'))
        self.assertLessEqual(found['evaluations'], 160)
        names = [layout['layout'] for layout in found['layouts']]
        self.assertIn('as fused', names)
        self.assertIn('partition 8 MiB', names)
        self.assertTrue(any(name.startswith('fusion ') for name in names), names)
        steps = {p['policy']: p['step_s'] for p in found['policies']}
        best = found['step_time_s']['mean']
        self.assertLessEqual(best, min(steps.values()) * (1 + 1e-9))
        self.assertLess(best, 0.98 * steps['fifo'])
        self.assertGreaterEqual(best, found['lower_bound_s'] * (1 - 1e-9))
        schedule = self.found('best.json')
        self.assertEqual((schedule['version'], schedule['exchange']), (3, 'all_reduce'))
        self.write('again.yaml', RING.replace('policies: [fifo, mg_wfbp]', 'policies: [{schedule: {file: best.json}}]'))
        again = json.loads(self.good('run', 'again.yaml', '--format', 'json'))
        (mean,) = [r['step_time_s']['mean'] for r in again['results'] if r['policy'].startswith('schedule')]
        self.assertAlmostEqual(mean, best, delta=1e-12)
        self.write('servers.yaml', TWO.replace('policies: [fifo]', 'policies: [{schedule: {file: best.json}}]'))
        self.assertIn('the schedule is for all-reduce', self.refused('run', 'servers.yaml'))
        self.assertIn('search.group', self.refused('search', 'ring.yaml', '--set', 'search.group=[2]'))
        self.write('one.yaml', ONE)
        self.assertIn('search.fusion', self.refused('search', 'one.yaml', '--set', 'search.fusion=[2 MiB]'))

    def test_groups_and_windows(self):
        many = TWO.replace('count: 2', 'count: 8').replace('ratio: 1', 'ratio: 4')
        self.write('many.yaml', many)
        for words in ('{group: [1, 2, 4], window: [1, 3]}', '{group: {min: 1, max: 8}}'):
            with self.subTest(words):
                found = json.loads(self.good('search', 'many.yaml', '--budget', '120', '--format', 'json',
                                             '-o', 'best.json', '--set', f'search={words}'))
                fifo = [p['step_s'] for p in found['policies'] if p['policy'] == 'fifo'][0]
                self.assertLess(found['step_time_s']['mean'], 0.95 * fifo)
                offsets = self.found('best.json')['start_offsets_ps']
                self.assertEqual(len(offsets), 8)
                self.assertGreater(max(offsets), 0)
        result = json.loads(self.good('search', 'many.yaml', '--budget', '100', '--format', 'json', '-o', 'window.json',
                                      '--set', 'search={window: {min: 1, max: 8}, order: false}'))
        self.assertTrue(any(name['layout'].startswith('window ') for name in result['layouts']))
        self.write('again.yaml', many.replace('policies: [fifo]', 'policies: [{schedule: {file: best.json}}]'))
        again = json.loads(self.good('run', 'again.yaml', '--format', 'json'))
        self.assertTrue(any(r['policy'].startswith('schedule') for r in again['results']))

    def test_what_was_not_searched_is_said(self):
        """Two workers, one server, a barrier: starting one after the other is worth 4/3; asked for, it is found."""
        self.write('two.yaml', TWO.replace('ratio: 1', 'ratio: 4'))
        words = ('search', 'two.yaml', '--budget', '60')
        result = json.loads(self.good(*words, '--format', 'json'))
        left_out, tried = result['not_searched']
        self.assertRegex(left_out, r'^Not searched: .*\(partition\), .*\(window\), .*\(servers\), .*\(group\)\. ')
        self.assertRegex(tried, r"^Workers that start one after the other \(policy staggered\) were tried once: a step "
                                r"of [0-9.]+ s, 3[0-9.]+ % faster\. --set 'search.group=\[1\]' ")
        self.assertIn('were tried once', ' '.join(self.good(*words).split()))
        asked = json.loads(self.good(*words, '--format', 'json', '--set', 'search.group=[1]'))
        self.assertNotIn('(group)', ' '.join(asked['not_searched']))
        self.assertEqual(len(asked['not_searched']), 1)
        self.assertLessEqual(asked['step_time_s']['mean'], float(tried.split(' a step of ')[1].split()[0]) * (1 + 1e-5))
        no_gain = json.loads(self.good(*words, '--format', 'json', '--set', 'cluster.network.comm_compute_ratio=0.01'))
        self.assertIn('one after the other gain nothing', no_gain['not_searched'][1])
        self.write('ring.yaml', RING)
        (ring,) = json.loads(self.good('search', 'ring.yaml', '--budget', '20', '--format', 'json'))['not_searched']
        self.assertIn('(fusion)', ring)
        self.assertNotIn('servers', ring)

    def test_refusals(self):
        self.write('one.yaml', ONE)
        self.write('vary.yaml', ONE + 'vary: {cluster.workers.count: [1, 2]}\n')
        self.write('no.json', '{"format": "stretto-search", "version": 2}')
        for words, message in (
                (('vary.yaml',), 'varies over 2 points'),
                (('one.yaml', '--budget', 'many'), "'many' is no number"),
                (('one.yaml', '--budget', '1', '--seconds', '1'), 'exclude each other'),
                (('one.yaml', '--seconds', '0'), 'no number of seconds'),
                (('one.yaml', '--format', 'xml'), "unknown format 'xml'"),
                (('one.yaml', '--set', 'search.methods=[locl]'), "no search method 'locl'"),
                (('one.yaml', '--resume', 'no.json'), 'newer version'),
                (('one.yaml', '--resume', 'one.yaml'), 'error')):
            with self.subTest(words):
                self.assertIn(message, self.refused('search', *words))


if __name__ == '__main__':
    tap.main()
