#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Files that are no files, options that would destroy one, names that deceive."""
import json
import os
import shutil
import subprocess
import threading
import time

import program
import tap  # noqa: E402 (program.py extends the path)

EXPERIMENT = '''stretto: 1
workload: {file: w.json}
cluster:
  workers: {count: 2, nic: 10 Gbit/s}
  servers: {count: 2, nic: 10 Gbit/s}
policies: [fifo, tac]
runs: {iterations: 3, warm_up: 1, replications: 1}
'''
WORKLOAD = 'configs/workloads/mixed_12.workload.json'
RIGHT_TO_LEFT = '\u202e'


class Hostile(program.ProgramTest):
    def setUp(self):
        super().setUp()
        shutil.copy(program.SOURCE / WORKLOAD, self.folder / 'w.json')
        self.write('e.yaml', EXPERIMENT)

    def schedule(self, name='s.json'):
        self.good('search', 'e.yaml', '--budget', '5', '--quiet', '-o', name)
        return name


class Targets(Hostile):
    def test_nothing_that_is_read_is_overwritten(self):
        self.schedule()
        self.good('run', 'e.yaml', '--quiet', '--out', '.')
        self.write('inner.yaml', EXPERIMENT)
        self.write('outer.yaml', 'stretto: 1\ninclude: inner.yaml\n')
        self.write('o.txt', 'layer0/weights\t0\n')
        (self.folder / 'link.yaml').symlink_to('e.yaml')
        os.link(self.folder / 'e.yaml', self.folder / 'hard.yaml')
        search = ('search', '--budget', '5', '--quiet')
        order = ('--set', 'policies=[{order_file: o.txt}]')
        before = {p.name: p.read_bytes() for p in self.folder.iterdir() if p.is_file()}
        for arguments in ((*search, 'e.yaml', '-o', 'e.yaml'), (*search, 'e.yaml', '--checkpoint', 'e.yaml'),
                          (*search, 'e.yaml', '-o', 'link.yaml'), (*search, 'e.yaml', '-o', 'hard.yaml'),
                          (*search, 'e.yaml', '-o', 'w.json'), (*search, 'outer.yaml', '-o', './inner.yaml'),
                          (*search, 'e.yaml', *order, '-o', 'o.txt'),
                          ('export', 's.json', '--to', 'csv', '-o', 's.json'),
                          ('export', 's.json', '--to', 'csv', '--experiment', 'e.yaml', '-o', 'w.json'),
                          ('import', 'w.json', '-o', 'w.json'),
                          ('init', '--workload', 'w.json', '--force', '-o', 'w.json'),
                          ('init', '--import', 'w.json', '--force', '-o', 'w.json'),
                          ('validate', 'e.yaml', '--bundle', 'w.json'), ('report', 'e.yaml', '-o', 'w.json'),
                          ('report', 's.json', '-o', './s.json'), ('report', '.', '-o', 'result.json'),
                          ('report', 'result.json', '-o', 'manifest.json'),
                          ('plot', 'result.json', '-o', './result.json'), ('plot', '.', '-o', 'result.json'),
                          ('calibrate', 'w.json', '-o', 'w.json'),
                          ('calibrate', '--case', 'e.yaml', 'w.json', '-o', 'link.yaml')):
            with self.subTest(arguments):
                done = self.start(*arguments)
                self.assertEqual((done.returncode, done.stdout), (2, ''), done.stderr)
                self.assertIn('would be overwritten', done.stderr)
                self.assertIn('hint: name another file', done.stderr)
        self.assertEqual({p.name: p.read_bytes() for p in self.folder.iterdir() if p.is_file()}, before)

    def test_run_keeps_a_schedule_that_it_reads(self):
        (self.folder / 'out').mkdir()
        self.schedule('out/schedule_fifo.json')
        before = (self.folder / 'out/schedule_fifo.json').read_bytes()
        self.assertIn('would be overwritten',
                      self.refused('run', 'e.yaml', '--set', 'policies=[{schedule: out/schedule_fifo.json}]', '--quiet',
                                   '--out', 'out'))
        self.assertEqual((self.folder / 'out/schedule_fifo.json').read_bytes(), before)

    def test_search_needs_targets_before_it_begins(self):
        # A search of this size takes hours.
        search = ('search', 'e.yaml', '--budget', '1000000000', '--quiet')
        (self.folder / 'd').mkdir()
        self.assertIn("there is no folder 'none'", self.refused(*search, '-o', 'none/s.json'))
        self.assertIn('it is a folder', self.refused(*search, '--checkpoint', 'd'))
        self.assertIn('both name', self.refused(*search, '-o', 'x', '--checkpoint', './x'))

    def test_empty_values_are_not_taken_for_absent_options(self):
        self.schedule()
        for arguments in (('search', 'e.yaml', '-o', ''), ('search', 'e.yaml', '--checkpoint', ''),
                          ('search', 'e.yaml', '--resume', ''), ('validate', 'e.yaml', '--measured', ''),
                          ('validate', 'e.yaml', '--out', ''), ('export', 's.json', '--to', 'csv', '-o', ''),
                          ('import', 'w.json', '-o', ''), ('run', 'e.yaml', '--seed', ''), ('run', '')):
            with self.subTest(arguments):
                self.assertIn('is empty', self.refused(*arguments))


class Inputs(Hostile):
    def test_a_pipe_without_a_writer_does_not_hold_up_the_program(self):
        os.mkfifo(self.folder / 'p')
        starts = [(program.BINARY, *a) for a in (
            ('show', 'p'), ('import', 'p'), ('run', 'e.yaml', '--set', 'policies=[{order_file: p}]'),
            ('run', 'e.yaml', '--set', 'noise={distribution: empirical, factors: p}'))]
        running = [subprocess.Popen(s, cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
                   for s in starts]
        for process in running:
            out, error = process.communicate(timeout=200)
            self.assertEqual((process.returncode, out), (2, ''), process.args)
            self.assertIn('is a pipe that no program writes to', error)

    def test_a_pipe_with_a_writer_is_read(self):
        os.mkfifo(self.folder / 'p.yaml')

        def slowly():
            with open(self.folder / 'p.yaml', 'w', encoding='utf-8') as pipe:
                for part in (EXPERIMENT[:40], EXPERIMENT[40:]):
                    time.sleep(0.2)
                    pipe.write(part)
                    pipe.flush()

        for look in (lambda: self.assertIn('2 workers', self.good('run', 'p.yaml', '--quiet')),
                     lambda: self.assertIn('which is a pipe', self.refused('run', 'p.yaml', '--out', 'o'))):
            writer = threading.Thread(target=slowly, daemon=True)
            writer.start()
            look()
            writer.join()
        done = subprocess.run(['bash', '-c', f'"{program.BINARY}" import <(cat w.json)'], cwd=self.folder,
                              capture_output=True, text=True, timeout=200)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(json.loads(done.stdout)['name'], 'mixed_12')

    def test_devices_are_refused(self):
        for arguments in (('import', '/dev/zero'), ('stragglers', '/dev/zero'), ('reproduce', '/dev/zero'),
                          ('verify', '/dev/zero', '--experiment', 'e.yaml'),
                          ('run', 'e.yaml', '--set', 'noise={distribution: empirical, factors: /dev/zero}')):
            with self.subTest(arguments):
                self.assertIn('is a device', self.refused(*arguments))

    def test_a_trace_that_fits_no_pipeline_is_named(self):
        text = (program.SOURCE / 'tests/fixtures/stragglers.csv').read_text(encoding='utf-8')
        self.write('t.csv', '\n'.join(text.split('\n')[:2]))
        error = self.start('stragglers', 't.csv').stderr
        self.assertIn('t.csv: error: the timeline does not fit', error)

    def test_empty_keys(self):
        for text in ('"": 1\n', "noise: {'': 1}\n"):
            self.write('k.yaml', EXPERIMENT + text)
            self.assertIn('a key is empty', self.refused('run', 'k.yaml'))

    def test_deep_paths(self):
        error = self.refused('show', 'e.yaml', '--set', '.'.join(['a'] * 50000) + '=1')
        self.assertIn('not a path', error)
        self.assertLess(len(error), 1000)


class Results(Hostile):
    def test_reproduce_looks_at_the_result(self):
        self.good('run', 'e.yaml', '--quiet', '--out', 'o')
        self.assertIn('equal byte for byte', self.good('reproduce', 'o', '--quiet'))
        result = self.folder / 'o/result.json'
        text = result.read_text(encoding='utf-8')
        result.write_text(text.replace('"seed": 1', '"seed": 2'), encoding='utf-8')
        done = self.start('reproduce', 'o', '--quiet')
        self.assertEqual(done.returncode, 1)
        self.assertIn('o/result.json is not what the manifest says was written', done.stdout)
        self.assertIn('was   "seed": 2', done.stdout)
        result.unlink()
        done = self.start('reproduce', 'o', '--quiet')
        self.assertEqual(done.returncode, 0)
        self.assertIn('warning: there is no o/result.json', done.stderr)

    def test_other_noise_is_another_sweep(self):
        self.write('f.txt', '1 2 3\n')
        sweep = ('sweep', 'e.yaml', '--quiet', '--store', 's.sqlite', '--set',
                 'noise={distribution: empirical, factors: f.txt}')
        self.assertIn('1 run.', self.good(*sweep))
        self.assertIn('0 run.', self.good(*sweep))
        self.write('f.txt', '1 2 4\n')
        done = self.start(*sweep)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn('with other input files', done.stderr)
        self.assertIn('1 run.', done.stdout)


class Names(Hostile):
    def test_nothing_turns_the_direction_of_writing(self):
        name = f'e {RIGHT_TO_LEFT}x.yaml'
        workload = (self.folder / 'w.json').read_text(encoding='utf-8')
        self.write(f'w{RIGHT_TO_LEFT}.json', workload.replace('layer9/weights', f'layer9{RIGHT_TO_LEFT}/weights\u2066'))
        self.write(name, EXPERIMENT.replace('{file: w.json}', f'{{file: "w{RIGHT_TO_LEFT}.json"}}'))
        store = f's{RIGHT_TO_LEFT}.sqlite'
        for arguments in (('run', name, '--quiet'), ('attribute', name, '--quiet'),
                          ('sweep', name, '--quiet', '--store', store), ('results', 'list', store),
                          ('results', 'show', store), ('search', name, '--quiet', '--budget', '5', '-o', 's.json'),
                          ('verify', 's.json', '--experiment', name), ('explain', 's.json', '--experiment', name),
                          ('show', f'w{RIGHT_TO_LEFT}.json'), ('run', name + 'x'), (RIGHT_TO_LEFT,),
                          ('run', name, '--set', f'{RIGHT_TO_LEFT}=1')):
            with self.subTest(arguments):
                done = self.start(*arguments)
                self.assertIn(done.returncode, (0, 2), done.stderr)
                for c in (RIGHT_TO_LEFT, '\u2066'):
                    self.assertNotIn(c, done.stdout + done.stderr)
        self.assertIn('\\u202e', self.refused('run', name + 'x'))


if __name__ == '__main__':
    tap.main()
