#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`stretto calibrate` from outside: steps that `stretto run` simulates with known costs stand for measured ones."""
import json

import program
import tap  # noqa: E402 (program.py extends the path)

CLUSTER = '''stretto: 1
workers: {threads: 1, send: {per_message: MESSAGE}, receive: {per_message: MESSAGE}}
servers: {threads: 1, send: {per_message: MESSAGE}, receive: {per_message: MESSAGE}}
network: {latency: 50 us, efficiency: EFFICIENCY}
step_overhead: 1 ms
'''
LAYERS = 12


def cell(rate, mode, window, step_ms, more=''):
    return {'servers': 1, 'workers': 1, 'rate': rate, 'mode': mode, 'window': window, 'order': list(range(LAYERS)),
            'bytes': [30_000 * (i % 5 + 1) for i in range(LAYERS)], 'server_of': [0] * LAYERS,
            'forward_us': [900] * LAYERS, 'backward_us': [1500] * LAYERS, 'steps': [[{'step_ms': step_ms}]] * 3}


def workload(c):
    ops = [{'name': f'f{i}', 'phase': 'forward', 'time_ps': 900 * 10**6, 'inputs': [f'f{i - 1}'] if i else [],
            'reads': [f'v{i}']} for i in range(LAYERS)]
    ops += [{'name': f'b{i}', 'phase': 'backward', 'time_ps': 1500 * 10**6,
             'inputs': [f'b{i + 1}' if i + 1 < LAYERS else f'f{i}']} for i in reversed(range(LAYERS))]
    return {'format': 'stretto-workload', 'version': 1, 'name': 'layers', 'batch': 1, 'ops': ops,
            'parameters': [{'name': f'v{i}', 'bytes': b, 'gradient': f'b{i}'} for i, b in enumerate(c['bytes'])]}


class Calibrate(program.ProgramTest):
    def setUp(self):
        super().setUp()
        self.write('true.yaml', CLUSTER.replace('MESSAGE', '0.4 ms').replace('EFFICIENCY', '0.9'))
        self.write('start.yaml', CLUSTER.replace('MESSAGE', '0.1 ms').replace('EFFICIENCY', '0.98'))
        self.cells = []
        for rate in ('300 Mbit/s', '600 Mbit/s', '1 Gbit/s', '2 Gbit/s'):
            for mode, window in (('window', 1), ('window', 3), ('chain_window', 2)):
                c = cell(rate, mode, window, 1)
                self.write('layers.workload.json', json.dumps(workload(c)))
                self.write('case.yaml', f'''stretto: 1
name: case
workload: {{file: layers.workload.json}}
cluster: {{include: true.yaml, workers: {{nic: {rate}}}, servers: {{nic: {rate}}}}}
policies: [{{fifo: {{discipline: {mode}, window: {window}}}}}]
runs: {{replications: 2, iterations: 12}}
''')
                rows = json.loads(self.good('run', 'case.yaml', '--format', 'json'))['results']
                step = next(r['step_time_s']['mean'] for r in rows if 'window' in r['policy'])
                c['steps'] = [[{'step_ms': 1e3 * step}]] * 3
                name = f'{len(self.cells)}.json'
                self.write(name, json.dumps(c))
                self.cells.append(name)

    def calibrate(self, *words):
        return self.good('calibrate', '--cluster', 'start.yaml', '--fit', 'per_message,efficiency', '--quiet', *words)

    def test_finds_the_costs_and_writes_a_cluster_file(self):
        fitted, held = self.cells[::2], self.cells[1::2]
        content = json.loads(self.calibrate(*fitted, '--predict', *held, '-o', 'fitted.yaml', '--format', 'json'))
        costs = {c['name']: c for c in content['costs']}
        self.assertAlmostEqual(costs['per_message']['value'], 0.4e-3, delta=2e-5)
        self.assertAlmostEqual(costs['efficiency']['value'], 0.9, delta=5e-3)
        self.assertEqual((len(content['fitted']), len(content['predicted'])), (len(fitted), len(held)))
        for row in content['predicted']:
            self.assertAlmostEqual(row['simulated_s'] / row['measured_s'], 1, delta=0.01)
        # The file serves as a cluster, and its costs give the measured steps.
        experiment = (self.folder / 'case.yaml').read_text(encoding='utf-8').replace('true.yaml', 'fitted.yaml')
        self.write('again.yaml', experiment)
        rows = json.loads(self.good('run', 'again.yaml', '--format', 'json'))['results']
        step = next(r['step_time_s']['mean'] for r in rows if 'window' in r['policy'])
        measured = json.loads((self.folder / self.cells[-1]).read_text(encoding='utf-8'))['steps'][0][0]['step_ms']
        self.assertAlmostEqual(1e3 * step / measured, 1, delta=0.01)
        # Nothing is fitted: the same predictions by the file.
        only = json.loads(self.good('calibrate', '--cluster', 'fitted.yaml', '--fit', 'none', '--quiet', '--predict',
                                    *held, '--format', 'json'))
        self.assertEqual((only['costs'], only['fitted']), ([], []))
        self.assertEqual([row['simulated_s'] for row in only['predicted']],
                         [row['simulated_s'] for row in content['predicted']])
        text = (self.folder / 'fitted.yaml').read_text(encoding='utf-8')
        for part in ('calibrate --cluster start.yaml', 'per_message', f'Fitted to {len(fitted)} cells'):
            self.assertIn(part, text)

    def test_an_experiment_beside_its_steps(self):
        last = json.loads((self.folder / self.cells[-1]).read_text(encoding='utf-8'))['steps'][0][0]['step_ms'] / 1e3
        self.write('steps.json', json.dumps({'T': [last, last]}))
        text = self.calibrate(*self.cells[:-1], '--case', 'case.yaml', 'steps.json', '--leave-one-out')
        for part in ('case ', f'Fitted to {len(self.cells)} cells', 'fitted to the others', 'per_message '):
            self.assertIn(part, text)

    def test_refusals(self):
        self.write('two.yaml', (self.folder / 'case.yaml').read_text(encoding='utf-8').replace('[{', '[tic, {'))
        self.write('steps.json', '{"T": [0.1]}')
        self.write('bad.json', '{"T": [-1]}')
        self.write('empty.json', '{}')
        cell_file = self.cells[0]
        for arguments, message in (
                ((), 'there is nothing to fit to'),
                (('absent.json',), 'absent.json'),
                (('empty.json',), 'is no measured cell'),
                ((cell_file, '--fit', 'per_mesage'), "did you mean 'per_message'?"),
                ((cell_file, '--fit', 'latency,latency'), 'asked for twice'),
                ((cell_file, '--cluster', 'absent.yaml'), "--cluster: 'absent.yaml': no such file"),
                ((cell_file, '--cluster', 'absent.yaml'), 'shipped ones lie in'),
                ((cell_file, '--format', 'xml'), "unknown format 'xml'"),
                ((cell_file, '--replications', '0'), 'no number from 1'),
                (('--case', 'two.yaml', 'steps.json'), 'two.yaml has 2 policies'),
                (('--case', 'case.yaml', 'bad.json'), 'is no step time'),
                (('--case', 'case.yaml', 'empty.json'), 'empty.json'),
                (('--case', 'case.yaml'), '--case')):
            with self.subTest(arguments):
                self.assertIn(message, self.refused('calibrate', *arguments))


if __name__ == '__main__':
    tap.main()
