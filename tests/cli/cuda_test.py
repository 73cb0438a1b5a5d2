#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The CUDA parts (harness/cuda): Meson's option builds them where nvcc is, they load without a GPU, and what is missing
is said. What they measure needs a GPU and is not tested here; the files that they write are, by the unit tests.

STRETTO_CUDA: the folder that they were built in; empty if they were left out.
"""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(os.environ.get('STRETTO_SOURCE', pathlib.Path(__file__).parents[2]))
sys.path.insert(0, str(SOURCE / 'tests/support'))
import tap  # noqa: E402

BUILD = SOURCE / 'harness/cuda/build'


def run(*words, **environment):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False, timeout=100,
                          env=os.environ | environment)


class Cuda(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.absent = str(self.folder / 'absent')

    def hold_reason(self, done, code, text):
        self.assertEqual(done.returncode, code, text)
        self.assertIn(f'no nvcc at {self.absent}', text)
        self.assertIn('NVCC=/path/to/nvcc', text)

    def test_without_nvcc_the_build_says_what_is_missing(self):
        for word in ('--check', self.folder):
            done = run(BUILD, word, NVCC=self.absent)
            self.hold_reason(done, 2, done.stderr)
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_without_a_part_of_the_toolkit_the_build_says_which(self):
        stub = self.folder / 'nvcc'
        for line, message in (('exit 1', 'finds no cublas_v2.h'), ('exit 0', 'no cupti.h below')):
            stub.write_text(f'#!/bin/bash\ncat > /dev/null\n{line}\n')
            stub.chmod(0o755)
            done = run(BUILD, '--check', NVCC=str(stub))
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(message, done.stderr)

    def test_the_option_enabled_fails_without_nvcc(self):
        done = run('meson', 'setup', self.folder / 'build', SOURCE, '-Dcuda=enabled', '-Dtests=false', NVCC=self.absent)
        self.hold_reason(done, 1, done.stdout + done.stderr)

    def test_the_option_left_alone_goes_on_without_nvcc(self):
        done = run('meson', 'setup', self.folder / 'build', SOURCE, '-Dtests=false', NVCC=self.absent)
        self.hold_reason(done, 0, done.stdout + done.stderr)
        self.assertIn('CUDA is left out', done.stdout)
        self.assertFalse((self.folder / 'build/harness/cuda/probe').exists())

    def test_the_option_finds_a_toolkit_that_is_there(self):
        done = run('meson', 'setup', self.folder / 'build', SOURCE, '-Dtests=false')
        self.assertEqual(done.returncode, 0, done.stderr)
        found = run(BUILD, '--check').returncode == 0
        self.assertRegex(done.stdout, rf'CUDA probe and recorder *: {"YES" if found else "NO"}')


@unittest.skipUnless(os.environ.get('STRETTO_CUDA'), 'no CUDA toolkit')
@unittest.skipIf(os.path.exists('/dev/nvidiactl'), 'there is a GPU')
class WithoutGpu(unittest.TestCase):
    def setUp(self):
        self.built = pathlib.Path(os.environ['STRETTO_CUDA'])
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    def test_the_probe_says_that_there_is_no_gpu(self):
        done = run(self.built / 'probe', '-o', self.folder / 'device.yaml')
        self.assertEqual((done.returncode, done.stdout), (1, ''))
        self.assertTrue(done.stderr.startswith('probe: error: no GPU: '), done.stderr)
        self.assertFalse((self.folder / 'device.yaml').exists())

    def test_the_probe_refuses_unknown_words(self):
        for words in (['--x'], ['-o'], ['--device', 'one'], ['--device', '-1']):
            done = run(self.built / 'probe', *words)
            self.assertEqual(done.returncode, 2, words)
            self.assertTrue(done.stderr.startswith('probe: error: '), words)

    def test_the_recorder_loads_and_says_what_is_missing(self):
        code = 'import ctypes, sys; print(ctypes.CDLL(sys.argv[1]).InitializeInjection())'
        library = self.built / 'libstretto_recorder.so'
        done = subprocess.run([sys.executable, '-c', code, library], capture_output=True, text=True, check=False,
                              timeout=60, cwd=self.folder)
        self.assertEqual((done.returncode, done.stdout), (0, '0\n'), done.stderr)
        self.assertIn('nothing is recorded: there is no CUDA driver', done.stderr)
        self.assertEqual(list(self.folder.iterdir()), [])


if __name__ == '__main__':
    tap.main()
