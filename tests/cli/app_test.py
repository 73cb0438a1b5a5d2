#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The program from outside: exit codes, streams, files, suggestions.

Usage: app_test.py [Case.test ...]; STRETTO_BINARY names the program, STRETTO_SOURCE the source root.
"""
import csv
import hashlib
import json
import os
import pathlib
import pty
import re
import signal
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(os.environ.get('STRETTO_SOURCE', pathlib.Path(__file__).parents[2]))
BINARY = os.environ['STRETTO_BINARY']
sys.path.insert(0, str(SOURCE / 'tests/support'))

import tap  # noqa: E402

EXPERIMENT = f'''stretto: 1
name: small
workload: {{file: {SOURCE}/configs/workloads/vgg_16.workload.json}}
cluster:
  workers: {{count: 2, nic: 10 Gbit/s}}
  servers: {{count: 2, nic: 10 Gbit/s}}
policies: [random, fifo, tac]
runs: {{iterations: 4, warm_up: 1, replications: 3, seed: 5}}
vary: {{cluster.servers.count: [1, 2]}}
'''
LAYER = '{} -- forward_compute_time={}, backward_compute_time={}, activation_size=8.0, parameter_size={}\n'
PROFILE = (LAYER.format('node1 -- Conv2d(3, 64)', 1.5, 2.5, '1048576.000') +
           LAYER.format('node2 -- Linear(64, 10)', 0.5, 1.0, '4096.000') + '\tnode1 -- node2\n')
RESULT_KEYS = ('policy', 'vary', 'step_time_s', 'samples_per_s', 'scaling_efficiency', 'gain_over_random',
               'gain_over_fifo', 'lower_bound_s', 'lower_bound_any_layout_s', 'gap', 'ordering_efficiency',
               'speedup_limit', 'straggler_effect', 'resources', 'verdict')


class App(unittest.TestCase):
    def setUp(self):
        self.top = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.file = self.top / 'small.yaml'
        self.file.write_text(EXPERIMENT)

    def stretto(self, *words, **options):
        return subprocess.run([BINARY, *map(str, words)], capture_output=True, text=True, cwd=self.top, timeout=60,
                              **options)

    def good(self, *words):
        done = self.stretto(*words)
        self.assertEqual((done.returncode, done.stderr), (0, ''), done.stdout)
        return done.stdout

    def refused(self, *words):
        done = self.stretto(*words)
        self.assertEqual((done.returncode, done.stdout), (2, ''), done.stderr)
        return done.stderr

    def test_version_and_help(self):
        self.assertRegex(self.good('--version'), r'^stretto \d+\.\d+\.\d+ \(commit \S+\)\n$')
        commands = re.findall(r'^  ([\w-]+)  ', self.good('--help').split('Subcommands:')[1], re.MULTILINE)
        self.assertEqual(commands, ['run', 'import', 'init', 'show', 'search', 'sweep', 'results', 'report', 'plot',
                                    'attribute', 'verify', 'export', 'explain', 'validate', 'calibrate',
                                    'critical-path', 'stragglers', 'list', 'reproduce', 'completion', 'manual'])
        for command in commands:
            self.assertRegex(self.good(command, '--help'), r'Examples:\n  (source <\()?stretto ', command)

    def test_no_words_shows_the_usage(self):
        self.assertIn('Usage: stretto', self.refused())

    def test_unknown_words_get_the_nearest(self):
        self.assertIn("unknown command 'rnu'\n  hint: did you mean 'run'?", self.refused('rnu', 'x'))
        self.assertIn("unknown option '--sed'\n  hint: did you mean '--se", self.refused('run', 'x', '--sed', '5'))
        self.assertIn("did you mean '--format'?", self.refused('run', '--formt=json', 'x'))
        self.assertIn("did you mean 'policies'?", self.refused('list', 'polices'))
        self.assertIn("did you mean 'vgg_16'?", self.refused('show', 'vgg16'))
        self.assertIn("unknown command 'zzzzzz'\n  hint: `stretto --help`", self.refused('zzzzzz'))

    def test_wrong_usage(self):
        self.assertIn('FILE is missing', self.refused('run'))
        self.assertIn("one argument too many: 'b'", self.refused('run', 'a', 'b'))
        self.assertIn('--out', self.refused('run', 'a', '--out'))
        self.assertIn("unknown format 'xml'", self.refused('run', self.file, '--format', 'xml'))
        self.assertIn('runs.seed', self.refused('run', self.file, '--seed', '-3'))
        self.assertIn('no such file', self.refused('run', 'absent.yaml'))
        self.assertIn("did you mean 'runs.seed'?", self.refused('run', self.file, '--set', 'runs.sed=3'))

    def test_hostile_words_cannot_drive_a_terminal(self):
        for words in (('\x1b[2J',), ('run', '\x1b[2J'), ('run', '--\x1b[2J'), ('list', '\x1b[2J'), ('show', '\x1b[2J')):
            self.assertNotIn('\x1b', self.refused(*words))

    def test_run_prints_a_table(self):
        text = self.good('run', self.file)
        self.assertIn('cluster.servers.count = 2\n', text)
        self.assertIn('any layout', text)
        self.assertIn('Verdict (', text)
        self.assertLessEqual(max(map(len, text.splitlines())), 100)

    def test_run_json_has_the_documented_keys(self):
        text = self.good('run', self.file, '--format', 'json')
        result = json.loads(text)
        self.assertEqual((result['format'], result['version'], result['seed']), ('stretto-result', 1, 5))
        self.assertEqual([(r['policy'], r['vary']['cluster.servers.count']) for r in result['results']],
                         [(p, n) for n in ('1', '2') for p in ('random', 'fifo', 'tac')])
        page = (SOURCE / 'docs/reference/result.md').read_text()
        for entry in result['results']:
            for key in RESULT_KEYS:
                self.assertIn(key, entry)
            for key, value in entry.items():
                if value is None:
                    self.assertTrue(entry[key + '_reason'], key)
                if not key.endswith('_reason'):
                    self.assertIn(f'`{key}`', page)
            for key in [*entry['step_time_s'], *entry['resources'][0], *entry['servers'][0], *entry['what_if'][0],
                        *entry['pull_waits_s']]:
                self.assertIn(f'`{key}`', page)
            self.assertGreaterEqual(entry['step_time_s']['mean'], entry['lower_bound_s'] * (1 - 1e-9))

    def test_what_all_reduce_and_more_servers_would_give(self):
        def steps(*words):
            entry = json.loads(self.good('run', self.file, '--format', 'json', '--set', 'vary={}', '--set',
                                         'policies=[fifo]', '--set', 'cluster.servers.count=2', *words))['results'][0]
            return entry['step_time_s']['mean'], {w['change']: w['gain'] for w in entry['what_if']}

        base, changes = steps()
        ring, _ = steps('--set', 'training.exchange=all_reduce', '--set', 'cluster.servers={}')
        four, _ = steps('--set', 'cluster.servers.count=4')
        self.assertAlmostEqual(changes['all-reduce in place of servers (training.exchange: all_reduce)'],
                               base / ring - 1, places=6)
        self.assertAlmostEqual(changes['2x the servers'], base / four - 1, places=6)

    def test_attribute_sums_to_the_step_with_documented_keys(self):
        def keys(value):
            if isinstance(value, dict):
                for key, inner in value.items():
                    yield key
                    yield from keys(inner)
            elif isinstance(value, list):
                for inner in value:
                    yield from keys(inner)

        words = ('attribute', self.file, '--policy', 'random', '--policy', 'tac', '--set', 'noise.compute_cv=0.1')
        text = self.good(*words, '--format', 'json')
        self.assertEqual(text, self.good(*words, '--format', 'json'))
        result = json.loads(text)
        self.assertEqual((result['format'], result['version'], result['seed']), ('stretto-attribution', 1, 5))
        self.assertEqual([(r['policy'], r['vary']['cluster.servers.count']) for r in result['results']],
                         [(p, n) for n in ('1', '2') for p in ('random', 'tac')])
        page = (SOURCE / 'docs/reference/attribution.md').read_text()
        for key in set(keys(result)) - {'cluster.servers.count'}:
            self.assertIn(f'`{key}`', page)
        ran = json.loads(self.good('run', self.file, '--format', 'json', '--set', 'noise.compute_cv=0.1'))
        steps = {(r['policy'], r['vary']['cluster.servers.count']): r['step_time_s']['mean'] for r in ran['results']}
        for r in result['results']:
            self.assertEqual(r['step_s']['mean'], steps[r['policy'], r['vary']['cluster.servers.count']])
            self.assertAlmostEqual(sum(c['share']['mean'] for c in r['causes']) + r['left']['share']['mean'], 1)
            for path in (r['critical_path'], r['left_path']):
                self.assertAlmostEqual(sum(path['kinds_s'].values()), path['step_s'])
                self.assertAlmostEqual(path['links'][-1]['to_s'], path['step_s'])
        shown = self.good(*words)
        self.assertIn('the whole step', shown)
        self.assertIn('policy staggered is not among them.', ' '.join(shown.split()))
        self.assertLessEqual(max(map(len, shown.splitlines())), 100)

    def test_attribute_refuses(self):
        self.assertIn("no policy 'tca'\n  hint: did you mean 'tac'?",
                      self.refused('attribute', self.file, '--policy', 'tca'))
        self.assertIn("unknown format 'xml'", self.refused('attribute', self.file, '--format', 'xml'))
        self.assertIn('FILE is missing', self.refused('attribute'))

    def test_out_says_what_it_wrote_and_what_is_old(self):
        text = self.good('run', self.file, '--out', 'out')
        self.assertIn('\nWrote to out: trace_random.json, ', text)
        again = self.stretto('run', self.file, '--out', 'out', '--set', 'policies=[fifo]')
        self.assertEqual(again.returncode, 0)
        self.assertIn("warning: 'out' also holds 3 files of another run: order_tac.txt, schedule_tac.json, "
                      'trace_tac.json\n  hint: remove them', again.stderr)

    def test_the_trace_shows_servers_and_the_critical_path(self):
        self.good('run', self.file, '--out', 'out')
        events = json.loads((self.top / 'out/trace_tac.json').read_text())['traceEvents']
        names = {(e['name'], e['args']['name']) for e in events if e['ph'] == 'M' and 'name' in e['args']}
        for name in (('process_name', 'server 0'), ('thread_name', 'NIC up'), ('thread_name', 'NIC down'),
                     ('process_name', 'critical path')):
            self.assertIn(name, names)

    def test_one_seed_gives_equal_bytes_another_does_not(self):
        first = self.good('run', self.file, '--format', 'json')
        self.assertEqual(first, self.good('run', self.file, '--format', 'json', '--seed', '5'))
        self.assertNotEqual(json.loads(first)['results'],
                            json.loads(self.good('run', self.file, '--format', 'json', '--seed', '6'))['results'])

    def test_out_writes_files_that_reproduce(self):
        out = self.top / 'deep/out'
        printed = self.good('run', self.file, '--out', out, '--format', 'json')
        self.assertEqual(sorted(p.name for p in out.iterdir()),
                         ['manifest.json', 'order_fifo.txt', 'order_tac.txt', 'result.json', 'schedule_fifo.json',
                          'schedule_random.json', 'schedule_tac.json', 'steps.csv', 'trace_fifo.json',
                          'trace_random.json', 'trace_tac.json'])
        self.assertEqual((out / 'result.json').read_text(), printed)
        manifest = json.loads((out / 'manifest.json').read_text())
        self.assertEqual(manifest['command'], ['stretto', 'run', str(self.file), '--out', str(out), '--format', 'json'])
        self.assertEqual(manifest['result_sha256'], hashlib.sha256(printed.encode()).hexdigest())
        for entry in manifest['inputs']:
            self.assertEqual(entry['sha256'],
                             hashlib.sha256((self.top / entry['path']).read_bytes()).hexdigest())
        page = (SOURCE / 'docs/reference/manifest.md').read_text()
        for key in manifest:
            self.assertIn(f'`{key}`', page)
        for trace in out.glob('trace_*.json'):
            events = json.loads(trace.read_text())
            events = events['traceEvents'] if isinstance(events, dict) else events
            self.assertTrue(any(e['ph'] == 'X' for e in events), trace)
        for words in (out, out / 'manifest.json'):
            self.assertEqual(self.good('reproduce', words), 'reproduced: the result is equal byte for byte\n')

    def test_schedules_and_orders_run_again(self):
        self.good('run', self.file, '--out', 'out', '--set', 'vary={}')
        rows = list(csv.DictReader((self.top / 'out/steps.csv').read_text().splitlines()))
        self.assertEqual([r['step'] for r in rows[:3]], ['1', '2', '3'])
        results = json.loads((self.top / 'out/result.json').read_text())['results']
        for policy, one in (('random', False), ('fifo', True), ('tac', True)):
            orders = [r['pull_order'] for r in rows if r['policy'] == policy]
            self.assertNotIn('', orders)
            self.assertEqual(len(set(orders)) == 1, one, policy)
            efficiencies = [float(r['ordering_efficiency']) for r in rows if r['policy'] == policy]
            [mean] = [r['ordering_efficiency'] for r in results if r['policy'] == policy]
            self.assertAlmostEqual(sum(efficiencies) / len(efficiencies), mean)
        schedule = json.loads((self.top / 'out/schedule_tac.json').read_text())
        page = (SOURCE / 'docs/reference/schedule.md').read_text()
        for key in [*schedule, *schedule['pull'], *schedule['parameters'][0], *schedule['parameters'][0]['slices'][0],
                    *schedule['prediction']]:
            self.assertIn(f'`{key}`', page)
        (self.top / 'deep').mkdir()
        again = self.top / 'deep/again.yaml'
        files = '{schedule: ../out/schedule_tac.json}, {order_file: ../out/order_tac.txt}'
        again.write_text(EXPERIMENT.replace('[random, fifo, tac]', f'[tac, {files}]'))
        text = self.good('run', again, '--set', 'vary={}', '--format', 'json', '--out', 'again')
        steps = {r['policy']: r['step_time_s']['mean'] for r in json.loads(text)['results']}
        self.assertEqual(len({v for k, v in steps.items() if k not in ('random', 'fifo')}), 1, steps)
        self.assertEqual(len(steps), 5)
        manifest = json.loads((self.top / 'again/manifest.json').read_text())
        self.assertEqual(sum('schedule_tac.json' in f['path'] for f in manifest['inputs']), 1)
        self.assertEqual(self.good('reproduce', 'again'), 'reproduced: the result is equal byte for byte\n')
        wrong = self.refused('run', again, '--set', 'vary={}', '--set', 'workload={model: resnet_50}')
        self.assertIn('the schedule was made for another workload', wrong)
        self.assertIn('; and ', wrong)

    def test_set_is_stronger_than_vary(self):
        done = self.stretto('run', self.file, '--format', 'json', '--set', 'cluster.servers.count=2')
        self.assertEqual(done.returncode, 0)
        self.assertIn('warning: vary.cluster.servers.count: is not varied', done.stderr)
        self.assertEqual(len(json.loads(done.stdout)['results']), 3)

    def test_reproduce_notices_a_difference(self):
        out = self.top / 'out'
        self.good('run', self.file, '--out', out)
        manifest = json.loads((out / 'manifest.json').read_text())
        manifest['configuration'] = manifest['configuration'].replace('seed: 5', 'seed: 6')
        (out / 'manifest.json').write_text(json.dumps(manifest))
        self.file.write_text(EXPERIMENT + '# changed\n')
        done = self.stretto('reproduce', out)
        self.assertEqual(done.returncode, 1)
        self.assertIn('not reproduced: the result differs\n'
                      'line 6\n  was   "seed": 5,\n  now   "seed": 6,\n', done.stdout)
        self.assertIn('small.yaml has changed since', done.stderr)

    def test_reproduce_refuses_what_is_no_manifest(self):
        self.assertIn('no such file', self.refused('reproduce', 'absent'))
        (self.top / 'a.json').write_text('{"format": "other"}')
        self.assertIn('a manifest says', self.refused('reproduce', 'a.json'))

    def test_import_show_and_run(self):
        (self.top / 'graph.txt').write_text(PROFILE)
        summary = self.good('import', 'graph.txt', '--summary', '--batch', '32')
        self.assertIn('format: pipedream\n', summary)
        self.assertIn('32 samples a step', summary)
        done = self.stretto('import', 'graph.txt', '--batch', '32', '--name', 'tiny')
        self.assertEqual(done.returncode, 0)
        self.assertIn('read: 2 layers', done.stderr)
        self.assertEqual(json.loads(done.stdout)['name'], 'tiny')
        written = self.stretto('import', 'graph.txt', '--batch', '32', '--name', 'tiny', '-o', 'tiny.workload.json')
        self.assertEqual((written.returncode, written.stdout), (0, ''))
        self.assertEqual((self.top / 'tiny.workload.json').read_text(), done.stdout)
        self.assertIn('1 MiB', self.good('show', 'tiny.workload.json'))
        self.good('run', self.file, '--set', 'workload={file: tiny.workload.json}')
        self.assertIn('--batch', self.refused('import', 'graph.txt', '--batch', '0'))

    def test_show_experiment(self):
        self.assertIn('cluster.servers.count: 1, 2\n', self.good('show', self.file))
        effective = self.good('show', self.file, '--effective', '--set', 'runs.seed=77')
        self.assertIn('  seed: 77\n', effective)
        (self.top / 'effective.yaml').write_text(effective)
        self.assertEqual(self.good('show', 'effective.yaml', '--effective'), effective)
        self.assertIn('are for experiments', self.refused('show', 'vgg_16', '--effective'))

    def test_stragglers(self):
        trace = f'{SOURCE}/tests/fixtures/stragglers.csv'
        done = self.stretto('stragglers', trace)
        self.assertEqual((done.returncode, done.stderr), (0, 'read: 88 ops of 2 steps, 2 dp ranks x 2 stages\n'))
        self.assertIn('stragglers make 2 steps 3.4 % slower: S = 1.0342', done.stdout)
        self.assertRegex(' '.join(done.stdout.split()),
                         r'of the slowdown goes with the worst of 4 workers \(rank \d\): 3 % of them, at least one\.')
        result = json.loads(self.stretto('stragglers', trace, '--format', 'json').stdout)
        self.assertEqual(result['measured_s'], 7.5625)
        self.assertEqual(result['ideal_s'], 7.3125)
        self.assertIn("unknown format 'xml'", self.refused('stragglers', trace, '--format', 'xml'))
        self.assertIn('`stretto stragglers', self.refused('import', trace))

    def test_critical_path(self):
        trace = f'{SOURCE}/tests/fixtures/kineto_ddp.json'
        done = self.stretto('critical-path', trace, '--annotation', 'ProfilerStep', '--instance', '1')
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn('calls of the host', done.stderr)
        self.assertIn('kineto_ddp.json: the critical path takes', done.stdout)
        result = json.loads(self.stretto('critical-path', trace, '--format', 'json').stdout)
        self.assertEqual(result['format'], 'stretto-critical-path')
        self.assertEqual(sum(link['time_ns'] for link in result['links']), result['end_ns'] - result['begin_ns'])
        self.assertTrue(any(item['on'] == 'device' for item in result['path']))
        self.assertIn("unknown format 'xml'", self.refused('critical-path', trace, '--format', 'xml'))
        error = self.refused('critical-path', trace, '--annotation', 'Step')
        self.assertIn('no span\'s name begins with "Step"', error)
        error = self.refused('critical-path', trace, '--annotation', 'ProfilerStep', '--instance', '9')
        self.assertIn('valid: --instance 0 to 2', error)
        self.assertIn('--instance is for --annotation', self.refused('critical-path', trace, '--instance', '0'))
        self.assertIn("'x' is no number", self.refused('critical-path', trace, '--annotation', 'P', '--instance', 'x'))

    def test_imports_with_further_files(self):
        trace = f'{SOURCE}/tests/fixtures/kineto_ddp.json'
        (self.top / 'rank1.json').write_text(pathlib.Path(trace).read_text(encoding='utf-8'))
        notes = self.good('import', trace, '--rank', 'rank1.json', '--summary')
        self.assertIn('read: 2 ranks; kineto_ddp.json computes', notes)
        self.assertIn('rank1.json: clock +0.000 us', notes)
        self.assertIn('this is no Chakra execution trace',
                      self.refused('import', f'{SOURCE}/tests/fixtures/chakra_step.json', '--rank', trace))
        (self.top / 'rank1.et').write_bytes(pathlib.Path(f'{SOURCE}/tests/fixtures/chakra_ddp.et').read_bytes())
        notes = self.good('import', f'{SOURCE}/tests/fixtures/chakra_ddp.et', '--rank', 'rank1.et', '--summary')
        self.assertIn('read: rank1.et: 2 collectives matched', notes)
        self.assertIn('further ranks (--rank) are for Kineto and Chakra traces',
                      self.refused('import', f'{SOURCE}/tests/fixtures/toy.graph.txt', '--rank', trace))
        self.assertIn('rank1.json', self.refused('import', trace, '--rank', 'rank1.json', '-o', 'rank1.json'))
        self.assertIn('--variables is for timelines',
                      self.refused('import', f'{SOURCE}/tests/fixtures/tf_step.graph.pb', '--variables', 'rank1.json'))

    def test_lists(self):
        for what, line in (('policies', 'tac '), ('placements', 'greedy '), ('topologies', 'star'),
                           ('fields', 'cluster.workers.count\n'), ('workloads', 'vgg_16\n'), ('formats', 'pipedream '),
                           ('generators', 'transformer  ')):
            text = self.good('list', what)
            self.assertIn(line, text)
            self.assertLessEqual(max(map(len, text.splitlines())), 120)

    def test_every_field_and_policy_is_documented(self):
        page = (SOURCE / 'docs/reference/experiment.md').read_text()
        for line in self.good('list', 'fields').splitlines():
            if not line.startswith(' '):
                self.assertTrue(f'| `{line}` |' in page, line)
        policies = (SOURCE / 'docs/policies.md').read_text()
        for line in self.good('list', 'policies').splitlines():
            if line and not line.startswith((' ', 'Options of')):
                self.assertTrue(f'| `{line.split()[0]}` |' in policies, line)
        workloads = (SOURCE / 'docs/reference/workload.md').read_text().split('## Generated workloads')[1]
        for line in self.good('list', 'generators').splitlines():
            if line and not line.startswith('    '):
                self.assertIn(f'`{line.split()[0]}`', workloads)

    def test_the_documented_experiment_runs(self):
        page = (SOURCE / 'docs/reference/experiment.md').read_text()
        (self.top / 'page.yaml').write_text(re.search(r'```yaml\n(.*?)```', page, re.DOTALL).group(1))
        self.assertIn('frozen variables (2)', self.good('run', 'page.yaml'))

    def test_reader_that_goes_away_is_no_failure(self):
        with subprocess.Popen([BINARY, 'list', 'fields'], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            process.stdout.close()
            self.assertEqual(process.stderr.read(), b'')
            self.assertEqual(process.wait(), 0)

    def test_full_disk_is_said(self):
        with open('/dev/full', 'w') as full:
            done = subprocess.run([BINARY, 'list', 'fields'], stdout=full, stderr=subprocess.PIPE, text=True)
        self.assertEqual(done.returncode, 2)
        self.assertIn('cannot write to stdout', done.stderr)
        self.assertIn('cannot make the directory', self.refused('run', self.file, '--out', '/dev/null/out'))

    # Progress shows on a terminal only, and Ctrl-C ends the run with 130 and no files.
    def test_progress_and_interrupt(self):
        counts = ', '.join(str(n) for n in range(1, 400))
        parent, child = pty.openpty()
        with os.fdopen(parent, 'rb', 0) as terminal:
            process = subprocess.Popen([BINARY, 'run', str(self.file), '--out', 'out', '--set',
                                        f'vary={{cluster.workers.count: [{counts}]}}'],
                                       stdout=subprocess.DEVNULL, stderr=child, cwd=self.top)
            os.close(child)
            self.assertIn(b'0/1197 random', terminal.read(200))
            process.send_signal(signal.SIGINT)
            shown = b''
            try:
                while part := terminal.read(4096):
                    shown += part
            except OSError:
                pass
            self.assertEqual(process.wait(timeout=30), 130)
            self.assertTrue(shown.endswith(b'interrupted\r\n'), shown[-80:])
        self.assertFalse((self.top / 'out').exists())


if __name__ == '__main__':
    tap.main()
