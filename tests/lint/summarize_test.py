#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tools/summarize_tests.py on planted logs: it must count each case once and miss no failure."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / 'tests/support'))

import tap  # noqa: E402

GTEST = '''<testsuite name="stretto.stretto:suite / unit_base.Units"><testcase name="A" status="run"/>
<testcase name="B" status="run">{}</testcase></testsuite>'''


class Summary(unittest.TestCase):
    def summarize(self, tests, suites='', allowed='', ci='', options=()):
        """(exit code, lines) for a build with these (name, result) tests and JUnit suites."""
        root = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        (root / 'allowed').write_text(allowed)
        arguments = [sys.executable, ROOT / 'tools/summarize_tests.py', '--allowed-skips', root / 'allowed', *options]
        if tests is not None:
            logs = root / 'build/meson-logs'
            logs.mkdir(parents=True)
            lines = [json.dumps({'name': f'stretto:suite / {name}', 'result': result}) + '\n' for name, result in tests]
            (logs / 'testlog.json').write_text(''.join(lines))
            (logs / 'testlog.junit.xml').write_text(f'<testsuites>{suites}</testsuites>')
            arguments.append(root / 'build')
        done = subprocess.run(arguments, capture_output=True, text=True, env={**os.environ, 'CI': ci})
        return done.returncode, done.stdout.splitlines()

    def test_counts_cases_of_gtest_and_plain_tests(self):
        code, lines = self.summarize([('unit_base', 'OK'), ('plain', 'OK')], GTEST.format(''))
        self.assertEqual((code, lines), (0, ['3 passed, 0 failed, 0 skipped']))

    def test_names_of_a_single_suite(self):
        suites = GTEST.format('').replace('stretto:suite / ', '')
        self.assertEqual(self.summarize([('unit_base', 'OK')], suites)[1], ['2 passed, 0 failed, 0 skipped'])

    def test_failed_case(self):
        code, lines = self.summarize([('unit_base', 'FAIL')], GTEST.format('<failure/>'))
        self.assertEqual((code, lines[-1]), (1, '1 passed, 1 failed, 0 skipped'))
        self.assertIn('unit_base.Units.B', lines[0])

    def test_crash_after_good_cases(self):
        code, lines = self.summarize([('unit_base', 'FAIL')], GTEST.format(''))
        self.assertEqual((code, lines[-1]), (1, '2 passed, 1 failed, 0 skipped'))

    def test_crash_and_timeout_without_cases(self):
        for result in ('FAIL', 'TIMEOUT', 'ERROR', 'INTERRUPT', 'UNEXPECTEDPASS'):
            code, lines = self.summarize([('plain', 'OK'), ('other', result)])
            self.assertEqual((code, lines[-1]), (1, '1 passed, 1 failed, 0 skipped'), result)

    def test_skip(self):
        suites = GTEST.format('<skipped/>')
        code, lines = self.summarize([('unit_base', 'OK')], suites)
        self.assertEqual((code, lines[-1]), (0, '1 passed, 0 failed, 1 skipped'))
        code, lines = self.summarize([('unit_base', 'OK')], suites, ci='true')
        self.assertEqual((code, lines[-1]), (1, '1 passed, 1 failed, 0 skipped'))
        code, lines = self.summarize([('unit_base', 'OK')], suites, 'unit_base.Units.*  # no data\n', ci='true')
        self.assertEqual((code, lines[-1]), (0, '1 passed, 0 failed, 1 skipped'))

    def test_nothing_ran(self):
        self.assertEqual(self.summarize([]), (1, ['0 passed, 0 failed, 0 skipped']))

    def test_no_log(self):
        code, lines = self.summarize(None, options=('nowhere',))
        self.assertEqual((code, lines[-1]), (1, '0 passed, 1 failed, 0 skipped'))

    def test_failed_stage(self):
        code, lines = self.summarize([('plain', 'OK')], options=('--failed-stage', 'release: build'))
        self.assertEqual((code, lines[-1]), (1, '1 passed, 1 failed, 0 skipped'))


if __name__ == '__main__':
    tap.main()
