#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`stretto search` from outside: the schedule that it writes, interruption, checkpoints, threads, refusals."""
import json
import os
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

    def test_interrupted_and_resumed_gives_the_same_file(self):
        self.write('two.yaml', TWO)
        budget = ('search', 'two.yaml', '--budget', '12000')
        self.good(*budget, '-o', 'whole.json')
        process = subprocess.Popen([program.BINARY, *budget, '--checkpoint', 'state.json', '-o', 'part.json'],
                                   cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        while not (self.folder / 'state.json').exists() and process.poll() is None:
            time.sleep(0.01)
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=120)
        self.assertEqual((process.returncode, errors), (0, 'interrupted; the best plan so far is kept\n'))
        self.assertIn('ended by time', output)
        part = self.found('part.json')
        whole = self.found('whole.json')
        self.assertGreaterEqual(part['prediction']['mean_s'], whole['prediction']['mean_s'])
        self.assertLess(self.found('state.json')['evaluations'], 12000)
        self.good(*budget, '--resume', 'state.json', '-o', 'resumed.json')
        self.assertEqual((self.folder / 'resumed.json').read_bytes(), (self.folder / 'whole.json').read_bytes())
        self.assertIn('belongs to another search',
                      self.refused('search', 'two.yaml', '--budget', '12001', '--resume', 'state.json'))

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
        result = json.loads(self.good('search', 'layouts.yaml', '--budget', '400', '--format', 'json', *sections))
        names = [layout['layout'] for layout in result['layouts']]
        self.assertIn('as placed, 1 server', names)
        self.assertIn('partition 4 MiB, 2 servers', names)
        self.assertLessEqual(result['evaluations'], 400)
        fifo = [p['step_s'] for p in result['policies'] if p['policy'] == 'fifo'][0]
        self.assertLess(result['step_time_s']['mean'], 0.75 * fifo)

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
