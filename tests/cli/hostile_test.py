#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Files that are no files, options that would destroy one, names that deceive."""
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


class Results(Hostile):
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
