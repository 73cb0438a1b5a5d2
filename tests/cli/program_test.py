#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The program from outside: exit codes, what goes to which stream, files that it writes."""
import json
import re
import subprocess

import program
from program import BINARY, QUICKSTART

import tap

COMMANDS = ('run', 'import', 'init', 'show', 'list', 'reproduce')
RESULT_KEYS = {
    'policy', 'vary', 'step_time_s', 'samples_per_s', 'scaling_efficiency', 'gain_over_random', 'gain_over_fifo',
    'lower_bound_s', 'lower_bound_any_layout_s', 'gap', 'ordering_efficiency', 'speedup_limit', 'straggler_effect',
    'resources', 'verdict',
}
FIXTURE = 'tests/fixtures/toy.graph.txt'


class Usage(program.ProgramTest):
    def test_help(self):
        text = self.good('--help')
        for command in COMMANDS:
            self.assertIn(f'\n  {command} ', text)
            self.assertIn('stretto ' + command, self.good(command, '--help'))

    def test_version_names_release_and_commit(self):
        pattern = r'^stretto \d+\.\d+\.\d+ \(commit ([0-9a-f]{12}(-dirty)?|unknown)\)\n$'
        self.assertRegex(self.good('--version'), pattern)

    def test_no_command(self):
        self.assertIn('run', self.refused())

    def test_unknown_words_get_the_nearest(self):
        for arguments, near in ((['rnu', QUICKSTART], 'run'), (['lst', 'policies'], 'list'),
                                (['run', QUICKSTART, '--seeed', '1'], '--seed'), (['list', 'polices'], 'policies'),
                                (['show', 'vgg16'], 'vgg_16'),
                                (['run', QUICKSTART, '--set', 'cluster.wrkers.count=2'], 'cluster.workers')):
            self.assertIn(f"did you mean '{near}'", self.refused(*arguments).replace('"', "'"), arguments)

    def test_missing_and_superfluous_arguments(self):
        for command in COMMANDS:
            self.refused(command)
        self.refused('run', QUICKSTART, 'another.yaml')
        self.refused('run', QUICKSTART, '--seed')

    def test_bad_values(self):
        for arguments in (['--seed', 'x'], ['--seed', '-1'], ['--format', 'xml'], ['--set', 'nothing'],
                          ['--set', 'cluster.workers.count=0'], ['--set', 'cluster.workers.nic=10']):
            self.refused('run', QUICKSTART, *arguments)

    def test_missing_file_is_named(self):
        for command in ('run', 'import', 'show', 'reproduce'):
            self.assertIn('gone.yaml', self.refused(command, 'gone.yaml'))

    def test_wrong_experiment_points_at_the_place(self):
        name = self.write('wrong.yaml', 'stretto: 1\nname: wrong\nworkload: {model: vgg_16}\ncluster:\n  wokers: {}\n')
        text = self.refused('run', name)
        self.assertIn('wrong.yaml:5:3: error: cluster.wokers: ', text)
        self.assertIn('\n    ^', text)
        self.assertIn('workers', text)

    def test_names_from_files_cannot_drive_the_terminal(self):
        name = self.write('hostile.yaml', 'stretto: 1\nname: a\n"\\e[31mred": 1\n')
        self.assertNotIn('\x1b', self.refused('run', name))


class Show(program.ProgramTest):
    def test_list(self):
        for subject, word in (('policies', 'tac'), ('placements', 'greedy'), ('topologies', 'star'),
                              ('fields', 'cluster.workers.count')):
            self.assertIn(word, self.good('list', subject))

    def test_shipped_workloads(self):
        self.assertIn('16', self.good('show', 'vgg_16'))
        self.assertNotEqual(self.good('show', 'vgg_16'), self.good('show', 'resnet_50'))
        self.assertIn('32 with a gradient (528 MiB)', self.good('show', 'slim_vgg_16'))

    def test_effective_experiment_reads_back_to_itself(self):
        first = self.good('show', QUICKSTART, '--effective', '--set', 'runs.seed=77')
        self.assertIn('77', first)
        name = self.write('effective.yaml', first)
        self.assertEqual(self.good('show', name, '--effective'), first)

    def test_import(self):
        done = self.start('import', FIXTURE)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(json.loads(done.stdout)['format'], 'stretto-workload')
        self.assertIn('read', done.stderr)
        written = self.start('import', FIXTURE, '-o', 'toy.workload.json')
        self.assertEqual((written.returncode, written.stdout), (0, ''))
        self.assertEqual((self.folder / 'toy.workload.json').read_text(), done.stdout)
        self.assertIn('toy', self.good('show', 'toy.workload.json'))

    def test_import_of_a_trace_with_its_graph(self):
        fixtures = program.SOURCE / 'tests/fixtures'
        self.refused('import', fixtures / 'tf_step.run.pb.gz')
        written = self.start('import', fixtures / 'tf_step.run.pb.gz', '--graph', fixtures / 'tf_step.graph.pb',
                             '-o', 'step.workload.json')
        self.assertEqual((written.returncode, written.stdout), (0, ''), written.stderr)
        self.assertIn('3 pulls', written.stderr)
        servers = [p['server'] for p in json.loads((self.folder / 'step.workload.json').read_text())['parameters']]
        self.assertEqual(servers, [0, 1, 1])

    def test_import_of_what_is_no_model(self):
        self.refused('import', self.write('a.txt', 'hello\n'))
        self.refused('import', FIXTURE, '-o', 'no/such/folder/a.json')


class Init(program.ProgramTest):
    def init(self, *arguments, code=0):
        done = self.start('init', *arguments)
        self.assertEqual(done.returncode, code, done.stderr)
        return done

    def steps(self, experiment, *arguments):
        """Mean step time by policy; the run says nothing on stderr."""
        text = self.good('run', experiment, '--format', 'json', '--set', 'runs.replications=2', *arguments)
        return {r['policy']: r['step_time_s']['mean'] for r in json.loads(text)['results']}

    def test_shipped_workload_and_nothing_is_overwritten(self):
        self.assertEqual(self.good('init', '--workload', 'vgg_16'),
                         'wrote what_if.yaml\nnext: stretto run what_if.yaml\n')
        self.assertIn('tac', self.steps('what_if.yaml'))
        text = (self.folder / 'what_if.yaml').read_text()
        for word in ('REPLACE', 'workload:', 'cluster:', 'policies:', 'noise:', 'runs:', '# vary:'):
            self.assertIn(word, text)
        self.assertIn('what_if.yaml: error: the file exists', self.refused('init', '--workload', 'resnet_50'))
        self.assertEqual((self.folder / 'what_if.yaml').read_text(), text)
        self.good('init', '--workload', 'resnet_50', '--force')
        self.assertIn('model: resnet_50', (self.folder / 'what_if.yaml').read_text())

    def test_generators(self):
        listed = re.findall(r'(?m)^(\w+)  ', self.good('list', 'generators'))
        self.assertEqual(listed, ['transformer', 'recommender'])
        for name in listed:
            self.good('init', '--workload', name, '--force')
            text = (self.folder / 'what_if.yaml').read_text()
            self.assertIn(f'  generate:\n    {name}:\n', text)
            self.assertIn('k80_roofline.yaml', text)
            self.assertGreater(self.steps('what_if.yaml', '--set', 'policies=[fifo]')['fifo'], 0)
            self.assertIn('bytes of variables on the servers', self.good('show', 'what_if.yaml'))
        self.assertIn('bert_24x1024', self.good('show', 'transformer'))
        self.assertIn('are for experiments', self.refused('show', 'transformer', '--effective'))
        self.assertIn("did you mean 'recommender'?", self.refused('show', 'recomender'))
        self.assertIn("did you mean 'transformer'?", self.refused('init', '--workload', 'transfomer', '--force'))

    def test_generated_workloads_vary_and_are_searched_and_verified(self):
        small = ('--set', 'workload.generate.recommender.rows=[50, 70000]', '--set', 'policies=[fifo]')
        self.good('init', '--workload', 'recommender')
        text = self.good('run', 'what_if.yaml', *small, '--set', 'vary={workload.generate.recommender.batch: [8, 16]}')
        self.assertIn('workload.generate.recommender.batch', text)
        self.good('search', 'what_if.yaml', *small, '--budget', '200', '--quiet', '-o', 'best.json')
        verified = self.good('verify', 'best.json', '--experiment', 'what_if.yaml', *small)
        self.assertTrue(verified.endswith('Verified.\n'))
        self.good('run', 'what_if.yaml', *small, '--out', 'kept')
        self.good('reproduce', 'kept')

    def test_every_value_of_it_can_be_replaced(self):
        self.good('init', '--workload', 'vgg_16')
        path = self.folder / 'what_if.yaml'
        path.write_text(re.sub('(?m)^# (vary:|  cluster)', r'\1', path.read_text()))
        shown = self.good('show', 'what_if.yaml', '--set', 'cluster.network.latency=1 us')
        self.assertIn('cluster.workers.count: 1, 2, 4, 8\n', shown)

    def test_trace_places_variables_as_traced(self):
        (self.folder / 'deep').mkdir()
        fixtures = program.SOURCE / 'tests/fixtures'
        words = ('--import', fixtures / 'tf_step.run.pb.gz', '--graph', fixtures / 'tf_step.graph.pb', '-o',
                 'deep/a.yaml')
        done = self.init(*words, '--name', 'a step/of: mine')
        self.assertEqual(done.stdout, 'wrote deep/a_step_of__mine.workload.json\nwrote deep/a.yaml\n'
                                      'next: stretto run deep/a.yaml\n')
        self.assertIn('3 pulls', done.stderr)
        text = (self.folder / 'deep/a.yaml').read_text()
        self.assertIn('by_name:\n        conv/w: 0\n        fc/w: 1\n        mean: 1\n', text)
        self.assertIn('device: {name: cpu, kind: cpu, cores: 1, speed: 1}', text)
        self.assertIn('# Guessed by the import: batch 8', text)
        one = self.steps('deep/a.yaml')
        self.init(*words, code=2)
        self.init(*words, '--name', 'a step/of: mine', '--cores', '2', '--force')
        self.assertLess(self.steps('deep/a.yaml')['fifo'], one['fifo'])

    def test_only_what_is_new_is_written(self):
        self.write('toy.workload.json', 'mine')
        self.assertIn('toy.workload.json: error: the file exists', self.init('--import', FIXTURE, code=2).stderr)
        self.assertEqual((self.folder / 'toy.workload.json').read_text(), 'mine')
        self.assertFalse((self.folder / 'what_if.yaml').exists())
        self.init('--import', FIXTURE, '--force')
        self.assertIn('tac', self.steps('what_if.yaml'))

    def test_graph_alone_gets_a_device_that_gives_times(self):
        self.init('--import', program.SOURCE / 'tests/fixtures/tf_step.graph.pb')
        self.assertIn('k80_roofline.yaml', (self.folder / 'what_if.yaml').read_text())
        self.assertGreater(self.steps('what_if.yaml')['fifo'], 0)

    def test_workload_without_gradients_is_for_inference(self):
        workload = json.loads((self.folder / 'tests/fixtures/toy_chain.workload.json').read_text())
        workload['ops'] = [op for op in workload['ops'] if op['phase'] == 'forward']
        for parameter in workload['parameters']:
            parameter.pop('gradient', None)
        self.good('init', '--workload', self.write('only.json', json.dumps(workload)))
        self.assertIn('mode: inference', (self.folder / 'what_if.yaml').read_text())
        self.steps('what_if.yaml')

    def test_hostile_names(self):
        names = ['a: b', '#c', '"', "'d", '- e', '{f', '~', 'true', '1', '\x1b[31m', 'g\nh', '<<', '&i', ' ', 'ü',
                 'k' * 2000]
        workload = json.loads((self.folder / 'tests/fixtures/toy_chain.workload.json').read_text())
        for count in (len(names) - 1, len(names)):
            workload['name'] = '\x1b[31m\n: # x'
            workload['parameters'] = [{'name': name, 'bytes': 8, 'server': i % 3} for i, name in
                                      enumerate(names[:count])]
            workload['ops'] = [{'name': 'op', 'phase': 'forward', 'time_ps': 1000, 'reads': names[:count]}]
            self.write('w.json', json.dumps(workload))
            self.assertNotIn('\x1b', self.good('init', '--workload', 'w.json', '--force'))
            text = (self.folder / 'what_if.yaml').read_text()
            self.assertEqual('by_name:' in text, count < len(names))
            self.assertNotIn('\x1b', text)
            self.steps('what_if.yaml')
            done = self.init('--import', 'w.json', '-o', 'other.yaml', '--force')
            self.assertNotIn('\x1b', done.stdout + done.stderr)
            self.steps('other.yaml')

    def test_all_reduce_of_the_trace_is_one_edit_away(self):
        path = self.folder / 'what_if.yaml'
        for trace in ('fixtures/kineto_ddp.json', 'fixtures/chakra_step.json', 'fuzz/corpus/horovod/timeline.json',
                      'fuzz/corpus/astra_sim/data.txt', 'fuzz/corpus/pytorch_et/step.json'):
            with self.subTest(trace):
                self.init('--import', program.SOURCE / 'tests' / trace, '--force')
                text = path.read_text(encoding='utf-8')
                flat = re.sub(r'\s*\n# ', ' ', text)
                self.assertIn('exchanged its gradients by all-reduce', flat)
                advice = re.search(r'write (training: {.*?}) and (policies: \[.*?\])\.', flat)
                text = re.sub(r'(?ms)^  servers:\n.*?(?=^  network:)', '', text)
                text = re.sub(r'(?m)^training: .*$', advice[1], text)
                path.write_text(re.sub(r'(?m)^policies: .*$', advice[2], text), encoding='utf-8')
                self.assertIn('ring all-reduce', self.good('run', 'what_if.yaml', '--quiet'))
        self.good('init', '--workload', 'vgg_16', '--force')
        self.assertNotIn('by all-reduce', path.read_text(encoding='utf-8'))

    def test_a_backward_pass_without_gradients_is_said_to_be_left_out(self):
        trace = json.loads((program.SOURCE / 'tests/fixtures/kineto_ddp.json').read_text(encoding='utf-8'))
        trace['traceEvents'] = [e for e in trace['traceEvents'] if not e['name'].startswith('nccl')]
        name = self.write('one_gpu.json', json.dumps(trace))
        left_out = ('the backward pass (320.0 us, 64.0 % of the device time): the workload has no gradients, so it '
                    'runs as inference')
        self.assertIn(f'left out: {left_out}\n', self.init('--import', name).stdout)
        text = (self.folder / 'what_if.yaml').read_text(encoding='utf-8')
        self.assertIn('mode: inference', text)
        self.assertIn(left_out, re.sub(r'\s*\n  # ', ' ', text))
        self.steps('what_if.yaml')
        self.assertIn(f'  left out    {left_out}\n', self.good('import', name, '--summary'))
        done = self.start('import', name, '-o', 'one.workload.json')
        self.assertIn(f'left out: {left_out}\n', done.stderr)
        self.assertIn(f'left out: {left_out}\n', self.good('init', '--workload', 'one.workload.json', '-o', 'b.yaml'))
        self.assertIn(f'  left out    {left_out}\n', self.good('show', 'one.workload.json'))
        for other in (program.SOURCE / 'tests/fixtures/kineto_ddp.json', FIXTURE):
            self.assertNotIn('left out', self.good('import', other, '--summary'))

    def test_wrong_usage(self):
        self.assertIn('nothing to start from', self.refused('init'))
        self.assertIn('exclude each other', self.refused('init', '--workload', 'vgg_16', '--import', FIXTURE))
        self.assertIn("did you mean 'vgg_16'?", self.refused('init', '--workload', 'vgg16'))
        self.assertIn('are for --import', self.refused('init', '--workload', 'vgg_16', '--batch', '3'))
        self.assertIn('--cores', self.refused('init', '--workload', 'vgg_16', '--cores', '0'))
        self.assertIn('--batch', self.refused('init', '--import', FIXTURE, '--batch', 'x'))
        self.refused('init', '--workload', 'vgg_16', '-o', 'no/such/folder/a.yaml')
        self.refused('init', '--workload', self.write('a.txt', 'hello'))
        self.assertEqual(self.init('vgg_16', code=2).stdout, '')


class Run(program.ProgramTest):
    @classmethod
    def setUpClass(cls):
        done = subprocess.run([BINARY, 'run', program.SOURCE / QUICKSTART, '--format', 'json'], capture_output=True,
                              text=True, timeout=300)
        cls.code, cls.json, cls.errors = done.returncode, done.stdout, done.stderr

    def test_text(self):
        text = self.good('run', QUICKSTART)
        for word in ('random', 'fifo', 'tic', 'tac', 'Verdict'):
            self.assertIn(word, text)

    def test_json(self):
        self.assertEqual((self.code, self.errors), (0, ''))
        results = json.loads(self.json)['results']
        self.assertGreater(len(results), 3)
        for result in results:
            self.assertLessEqual(RESULT_KEYS, set(result))
            for key in ('lower_bound_s', 'gap', 'scaling_efficiency'):
                self.assertTrue(result[key] is not None or result[key + '_reason'], key)

    def test_seed_decides_everything(self):
        again = self.good('run', QUICKSTART, '--format', 'json')
        self.assertEqual(again, self.json)
        self.assertNotEqual(self.good('run', QUICKSTART, '--format', 'json', '--seed', '4711'), self.json)
        self.assertEqual(self.good('run', QUICKSTART), self.good('run', QUICKSTART))

    def test_seed_option_and_field_are_one(self):
        by_option = self.good('run', QUICKSTART, '--format', 'json', '--seed', '4711')
        self.assertEqual(self.good('run', QUICKSTART, '--format', 'json', '--set', 'runs.seed=4711'), by_option)

    def test_relative_paths_are_those_of_the_caller(self):
        (self.folder / 'sub').mkdir()
        self.assertEqual(self.good('run', '../' + QUICKSTART, '--format', 'json', cwd=self.folder / 'sub'), self.json)

    def test_written_result_is_reproduced(self):
        self.good('run', QUICKSTART, '--out', 'out put')
        out = self.folder / 'out put'
        for path in out.glob('*.json'):
            json.loads(path.read_text())
        self.assertEqual((out / 'result.json').read_text(), self.json)
        self.assertGreater(len(list(out.iterdir())), 3)
        self.assertEqual(self.start('reproduce', 'out put').returncode, 0)
        manifest = out / 'manifest.json'
        manifest.write_text(manifest.read_text().replace('seed: 1\\n', 'seed: 9\\n'))
        changed = self.start('reproduce', 'out put')
        self.assertEqual(changed.returncode, 1, changed.stderr)
        self.assertIn('step_time_s', changed.stdout)

    def test_full_disk_and_closed_pipe(self):
        with open('/dev/full', 'w') as full:
            done = subprocess.run([BINARY, 'list', 'fields'], stdout=full, stderr=subprocess.PIPE, text=True)
        self.assertEqual(done.returncode, 2)
        self.assertIn('stdout', done.stderr)
        pipe = subprocess.run(['bash', '-c', '"$0" list fields | true; exit "${PIPESTATUS[0]}"', BINARY],
                              capture_output=True, text=True)
        self.assertEqual((pipe.returncode, pipe.stderr), (0, ''))


if __name__ == '__main__':
    tap.main()
