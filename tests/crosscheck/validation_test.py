# SPDX-License-Identifier: Apache-2.0
"""Holds the committed tables of predicted against measured (results/validation) against the program as it is.

The mean error may not be worse than the committed one by more than half a point.
"""
import glob
import os
import pathlib
import re
import subprocess
import sys
import unittest

SOURCE = pathlib.Path(os.environ['STRETTO_SOURCE'])
DATA = pathlib.Path(os.environ.get('STRETTO_DATA', SOURCE / '../shared/data'))
sys.path.insert(0, str(SOURCE / 'tests/support'))
import tap  # noqa: E402  pylint: disable=wrong-import-position

SUMMARY = re.compile(r'mean error ([0-9.]+) %, worst ([0-9.]+) %')


class Validation(unittest.TestCase):
    def hold(self, name, inputs, mean, worst):
        files = sorted(glob.glob(str(DATA / inputs)))
        if not files:
            self.skipTest(f'no {inputs} under STRETTO_DATA')
        done = subprocess.run([sys.executable, SOURCE / f'tools/validation/{name}.py', '--stretto',
                               os.environ['STRETTO_BINARY'], *files], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        now = [float(x) for x in SUMMARY.search(done.stdout).groups()]
        committed = SUMMARY.search((SOURCE / f'results/validation/{name}.md').read_text(encoding='utf-8'))
        self.assertLessEqual(now[0], float(committed.group(1)) + 0.5, done.stdout)
        self.assertLessEqual(now[0], mean, done.stdout)
        self.assertLessEqual(now[1], worst, done.stdout)

    def test_emulated_compute(self):
        self.hold('tf_emulated', 'tf_emulated/*.json.gz', 2.5, 6)

    def test_traced_steps(self):
        self.hold('tf_ps', 'tf_ps/*_*', 15, 15)


if __name__ == '__main__':
    tap.main()
