# SPDX-License-Identifier: Apache-2.0
"""How the tests here start the built program: in an empty directory that sees the project's configs and fixtures."""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(os.environ.get('STRETTO_SOURCE', pathlib.Path(__file__).parents[2])).resolve()
BINARY = pathlib.Path(os.environ.get('STRETTO_BINARY', SOURCE / 'build/check/app/stretto')).resolve()
QUICKSTART = 'configs/experiments/quickstart.yaml'
sys.path.insert(0, str(SOURCE / 'tests/support'))


class ProgramTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        for name in ('configs', 'tests'):
            (self.folder / name).symlink_to(SOURCE / name)

    def start(self, *arguments, cwd=None, **options):
        """The finished process; stdout and stderr as text."""
        return subprocess.run([BINARY, *arguments], cwd=cwd or self.folder, capture_output=True, text=True,
                              timeout=300, stdin=subprocess.DEVNULL, **options)

    def good(self, *arguments, **options):
        """stdout of a start that must succeed and say nothing on stderr."""
        done = self.start(*arguments, **options)
        self.assertEqual((done.returncode, done.stderr), (0, ''), arguments)
        return done.stdout

    def refused(self, *arguments, **options):
        """stderr of a start that must end with 2 and print nothing to stdout."""
        done = self.start(*arguments, **options)
        self.assertEqual((done.returncode, done.stdout), (2, ''), f'{arguments}: {done.stderr}')
        self.assertNotEqual(done.stderr, '', arguments)
        return done.stderr

    def write(self, name, text):
        (self.folder / name).write_text(text, encoding='utf-8')
        return name
