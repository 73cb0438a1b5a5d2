#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Files that are no files, options that would destroy one, names that deceive."""
import os
import shutil

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
                          ('validate', 'e.yaml', '--bundle', 'w.json')):
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


if __name__ == '__main__':
    tap.main()
