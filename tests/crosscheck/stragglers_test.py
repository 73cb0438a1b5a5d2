# SPDX-License-Identifier: Apache-2.0
"""Holds `stretto stragglers` against the published results of StragglerAnalysis for its job ST."""
import json
import os
import pathlib
import subprocess
import sys
import unittest

SOURCE = pathlib.Path(os.environ['STRETTO_SOURCE'])
DATA = pathlib.Path(os.environ.get('STRETTO_DATA', SOURCE / '../shared/data')) / 'stragglers'
sys.path.insert(0, str(SOURCE / 'tests/support'))
import tap  # noqa: E402  pylint: disable=wrong-import-position

SAME = 1e-6  # relative; the published figures come from 32-bit floating point


class Published(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        trace = DATA / 'trace-ST.csv.gz'
        if not trace.exists():
            raise unittest.SkipTest('no stragglers under STRETTO_DATA')
        done = subprocess.run([os.environ['STRETTO_BINARY'], 'stragglers', trace, '--format', 'json'],
                              capture_output=True, text=True, check=True)
        cls.now = json.loads(done.stdout)
        cls.published = json.loads((DATA / 'result-ST.json').read_text(encoding='utf-8'))

    def same(self, now, then):
        self.assertLessEqual(abs(now - then), SAME * abs(then), (now, then))

    def test_steps(self):
        steps = {str(step['step']): step for step in self.now['steps']}
        self.assertEqual(sorted(steps), sorted(self.published['step_t_base']))
        for number, step in steps.items():
            self.same(step['measured_s'], self.published['step_t_base'][number])
            self.same(step['replayed_s'], step['measured_s'])
            self.same(step['no_delay_s'], self.published['step_t_nodelay'][number])
            self.same(step['slowdown'], self.published['blocking_step_slowdown'][number])
            self.same(self.now['ideal_s'], self.published['step_t_noblk'][number])

    def test_slowdown(self):
        self.same(self.now['slowdown'], self.published['blocking_slowdown'])

    def test_alone(self):
        for ours, key, theirs in (('kinds', 'kind', 'optype'), ('dp_ranks', 'dp_rank', 'dp_rank'),
                                  ('stages', 'stage', 'stage')):
            now = {str(share[key]): share['slowdown'] for share in self.now[ours]}
            then = self.published[f'blocking_decompose_by_{theirs}']
            self.assertEqual(sorted(now), sorted(then))
            for name, slowdown in then.items():
                self.same(now[name], slowdown)

    def test_shares(self):
        for name, key, published in (('mw', 'worker_share', 'Mw'), ('ms', 'last_stage_share', 'Ms')):
            then = json.loads((DATA / f'{name}-ST.json').read_text(encoding='utf-8'))[published]
            # A difference of two step times over another: digits are lost.
            self.assertLessEqual(abs(self.now[key] - then), 1e-5, (self.now[key], then))


if __name__ == '__main__':
    tap.main()
