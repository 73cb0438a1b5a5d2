#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`stretto report` from outside: what it reads, what it says where it cannot, what lies in its file."""
import json
import re
import xml.etree.ElementTree as ElementTree

import program
from program import QUICKSTART

import tap

SMALL = ('--set', 'runs.iterations=3', '--set', 'runs.warm_up=1', '--set', 'runs.replications=2')


class Report(program.ProgramTest):
    def data(self, name):
        """The JSON in a report by the ids of its elements."""
        text = (self.folder / name).read_text(encoding='utf-8')
        found = re.findall(r'<script type="application/json" id="data-([\w-]+)">(.*?)</script>', text, re.DOTALL)
        return {key: json.loads(body) for key, body in found}

    def test_of_an_experiment(self):
        self.good('report', QUICKSTART, *SMALL, '-o', 'a.html', '--attribute', 'tac')
        data = self.data('a.html')
        self.assertEqual(sorted(name for name in data if not name.startswith('step-')),
                         ['attribution', 'origin', 'result', 'steps'])
        policies = [r['policy'] for r in data['result']['results']]
        drawn = [s['policy'] for s in data['steps']['steps']]
        self.assertEqual(drawn, policies[:len(drawn)])
        self.assertEqual(data['attribution']['results'][0]['policy'], 'tac')
        self.assertIn('stretto: 1', data['origin']['configuration'])
        self.assertEqual(data['origin']['command'][1], 'report')
        for number, policy in enumerate(drawn):
            step = data[f'step-{number}']
            self.assertEqual(step['policy'], policy)
            lengths = {len(column) for column in step['bars'].values()}
            self.assertEqual(len(lengths), 1)
            self.assertLess(max(step['bars']['row']), len(step['processes']))

    def test_of_a_result(self):
        self.good('run', QUICKSTART, *SMALL, '--out', 'r')
        self.good('report', 'r', '-o', 'r.html')
        data = self.data('r.html')
        self.assertEqual(data['result'], json.loads((self.folder / 'r/result.json').read_text()))
        self.assertIn('simulated again', data['steps']['note'])
        self.assertTrue(data['steps']['steps'])
        self.good('report', 'r/result.json', '-o', 'again.html')
        self.assertEqual((self.folder / 'r.html').read_bytes(), (self.folder / 'again.html').read_bytes())
        self.good('report', QUICKSTART, *SMALL, '-o', 'direct.html')
        direct = self.data('direct.html')
        for number in range(len(data['steps']['steps'])):
            self.assertEqual(direct[f'step-{number}'], data[f'step-{number}'])

    def test_of_a_result_that_cannot_be_simulated_again(self):
        text = (program.SOURCE / 'tests/fixtures/toy_chain.workload.json').read_text()
        self.write('mine.workload.json', text)
        self.write('mine.yaml', 'stretto: 1\nworkload: {file: mine.workload.json}\n'
                                'cluster: {workers: {count: 2, nic: 10 Gbit/s}, servers: {count: 1}}\n'
                                'policies: [tac]\nruns: {iterations: 3, warm_up: 1}\n')
        self.good('run', 'mine.yaml', '--out', 'r')
        self.write('mine.workload.json', text + '\n')
        done = self.start('report', 'r', '-o', 'r.html')
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn('has changed since', done.stderr)
        data = self.data('r.html')
        self.assertEqual(data['steps']['steps'], [])
        self.assertIn('has changed since', data['steps']['note'])
        self.assertIn('cannot be run again', self.refused('report', 'r', '-o', 'r.html', '--attribute', 'tac'))
        (self.folder / 'r/manifest.json').unlink()
        self.assertIn('there is no', self.start('report', 'r', '-o', 'r.html').stderr)

    def test_of_a_sweep(self):
        self.good('sweep', 'configs/experiments/sweep_network.yaml', '--store', 's.sqlite')
        self.good('report', 's.sqlite', '-o', 's.html')
        sweep = self.data('s.html')['sweep']
        self.assertEqual(len(sweep['index']), sweep['done'])
        self.assertGreater(sweep['done'], 10)
        for policy in sweep['policies']:
            for figure in policy['figures']:
                self.assertEqual(len(figure), len(sweep['index']))
        rows = self.good('results', 'export', 'csv', 's.sqlite').splitlines()
        step = rows[0].split(',').index('step_time_s')
        tac = next(p for p in sweep['policies'] if p['name'] == 'tac')
        csv = [float(row.split(',')[step]) for row in rows[1:] if ',tac,' in row]
        for mine, theirs in zip(tac['figures'][0], csv, strict=True):
            self.assertAlmostEqual(mine / theirs, 1, places=4)

    def test_bars(self):
        self.good('report', QUICKSTART, *SMALL, '-o', 'none.html', '--bars', '0')
        self.assertEqual(self.data('none.html')['steps']['steps'], [])
        self.good('report', QUICKSTART, *SMALL, '-o', 'few.html', '--bars', '100')
        for step in self.data('few.html')['steps']['steps']:
            self.assertLess(step['workers_drawn'], step['workers'])

    def test_plot(self):
        self.good('run', QUICKSTART, *SMALL, '--out', 'r')
        self.good('plot', 'r', '-o', 'gains.svg')
        svg = ElementTree.parse(self.folder / 'gains.svg').getroot()
        texts = [node.text for node in svg.iter('{http://www.w3.org/2000/svg}text')]
        for r in json.loads((self.folder / 'r/result.json').read_text())['results']:
            self.assertIn(r['policy'], texts)
        self.assertIn('cluster.servers.count = 2', texts)
        self.good('plot', 'r/result.json', '-o', 'again.svg')
        self.assertEqual((self.folder / 'gains.svg').read_bytes(), (self.folder / 'again.svg').read_bytes())
        self.assertIn("is 'stretto-manifest'", self.refused('plot', 'r/manifest.json'))
        self.assertIn('RESULT is missing', self.refused('plot'))
        for missing in ('nowhere', 'configs'):
            message = self.refused('plot', missing)
            self.assertIn('no such file', message)
            self.assertIn('hint: `stretto run FILE.yaml --out DIR` writes', message)

    def test_refusals(self):
        self.assertIn('INPUT is missing', self.refused('report'))
        self.assertIn('no_such', self.refused('report', 'no_such'))
        self.write('x.json', '{"format": "other", "version": 1}')
        self.assertIn("a result says 'stretto-result'", self.refused('report', 'x.json'))
        self.assertIn('--set', self.refused('report', 'x.json', '--set', 'runs.seed=1'))
        self.assertIn('--sweep', self.refused('report', 'x.json', '--sweep', '1'))
        self.assertIn('--bars', self.refused('report', QUICKSTART, '--bars', 'many'))
        self.write('plain', 'text')
        self.assertIn('cannot', self.refused('report', QUICKSTART, *SMALL, '-o', 'plain/x.html'))
        self.write('damaged.sqlite', 'SQLite format 3\0damaged')
        self.refused('report', 'damaged.sqlite')


if __name__ == '__main__':
    tap.main()
