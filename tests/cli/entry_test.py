#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The entry script ./stretto with stand-ins for meson, ninja and the package tools: when it builds, what it passes on.

Usage: entry_test.py (STRETTO_SOURCE names the source root). tools/fresh_debian tries the real thing.
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

SOURCE = pathlib.Path(os.environ.get('STRETTO_SOURCE', pathlib.Path(__file__).parents[2]))
sys.path.insert(0, str(SOURCE / 'tests/support'))

import tap  # noqa: E402

PROGRAM = '''#!/bin/bash
printf '%s|' "$PWD" "$@"
exit "${STUB_EXIT:-0}"
'''
MESON = '''#!/bin/bash
echo "meson chatter"
[[ -z ${STUB_MESON_FAILS-} ]] || { echo "no compiler"; exit 1; }
mkdir -p "$2" && touch "$2/build.ninja"
'''
NINJA = '''#!/bin/bash
echo "[1/2] compile"
echo "$0" >> "$STUB_LOG"
sleep "${STUB_SLEEP:-0}"
[[ -z ${STUB_NINJA_FAILS-} ]] || { echo "error: no such type"; exit 1; }
mkdir -p "$2/app" && cp "$STUB_PROGRAM" "$2/app/stretto"
'''
# All packages but those of STUB_MISSING are there.
DPKG_QUERY = '''#!/bin/bash
[[ " ${STUB_MISSING-} " == *" ${!#} "* ]] || echo -n installed
'''
APT_GET = '''#!/bin/bash
echo "apt chatter"
echo "$*" >> "$STUB_APT_LOG"
[[ -z ${STUB_APT_FAILS-} ]] || { echo "E: no network"; exit 100; }
'''


class Entry(unittest.TestCase):
    def setUp(self):
        self.top = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.root = self.top / 'a tree'
        stubs = self.top / 'stubs'
        for folder in (self.root / 'tools', self.root / 'sim', self.root / 'app', stubs):
            folder.mkdir(parents=True)
        shutil.copy(SOURCE / 'stretto', self.root)
        shutil.copy(SOURCE / 'tools/packages.sh', self.root / 'tools')
        shutil.copy(SOURCE / 'tools/packages.txt', self.root / 'tools')
        self.source = self.root / 'sim/a.cpp'
        self.source.write_text('')
        for name, text in (('meson', MESON), ('ninja', NINJA), ('dpkg-query', DPKG_QUERY), ('apt-get', APT_GET),
                           ('program', PROGRAM)):
            (stubs / name).write_text(text)
            (stubs / name).chmod(0o755)
        self.log = self.top / 'ninja.log'
        self.apt_log = self.top / 'apt.log'
        self.env = {'PATH': f'{stubs}:/usr/bin:/bin', 'STUB_LOG': str(self.log), 'STUB_APT_LOG': str(self.apt_log),
                    'STUB_PROGRAM': str(stubs / 'program')}

    def start(self, *arguments, script=None, cwd=None, **env):
        return subprocess.run([script or self.root / 'stretto', *arguments], cwd=cwd or self.top, capture_output=True,
                              text=True, env={**self.env, **env})

    def builds(self):
        return len(self.log.read_text().splitlines()) if self.log.exists() else 0

    def age(self):
        """Makes everything look as if done a minute ago."""
        before = time.time() - 60
        for path in self.root.rglob('*'):
            os.utime(path, (before, before))

    def test_builds_once_and_passes_arguments_on(self):
        first = self.start('run', 'a file.yaml', '--set', 'a=1 2', '', '*')
        self.assertEqual(first.stdout, f'{self.top}|run|a file.yaml|--set|a=1 2||*|')
        self.assertEqual(first.returncode, 0)
        self.assertIn('building', first.stderr)
        second = self.start('show')
        self.assertEqual((second.stdout, second.stderr), (f'{self.top}|show|', ''))
        self.assertEqual(self.builds(), 1)

    def test_exit_code_is_passed_on(self):
        for code in ('0', '1', '2', '3', '77'):
            self.assertEqual(self.start(STUB_EXIT=code).returncode, int(code))

    def test_rebuilds_when_a_source_is_newer(self):
        self.start()
        self.age()
        self.start()
        self.assertEqual(self.builds(), 1)
        self.source.touch()
        self.start()
        self.assertEqual(self.builds(), 2)
        (self.root / 'app/new.hpp').touch()
        self.start()
        self.assertEqual(self.builds(), 3)

    def test_source_changed_during_the_build_is_built_again(self):
        running = subprocess.Popen([self.root / 'stretto'], env={**self.env, 'STUB_SLEEP': '0.6'},
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while not self.builds():
            time.sleep(0.02)
        time.sleep(0.1)
        self.source.touch()
        running.wait()
        self.start()
        self.assertEqual(self.builds(), 2)

    def test_two_starts_at_once_build_once(self):
        env = {**self.env, 'STUB_SLEEP': '0.5'}
        both = [subprocess.Popen([self.root / 'stretto', word], cwd=self.top, env=env, stdout=subprocess.PIPE,
                                 stderr=subprocess.DEVNULL, text=True) for word in ('a', 'b')]
        self.assertEqual([p.communicate()[0] for p in both], [f'{self.top}|a|', f'{self.top}|b|'])
        self.assertEqual(self.builds(), 1)

    def test_symlink_and_relative_call(self):
        (self.top / 'bin').mkdir()
        (self.top / 'bin/link').symlink_to('../a tree/stretto')
        self.assertEqual(self.start('x', script=self.top / 'bin/link').stdout, f'{self.top}|x|')
        self.assertEqual(self.start('x', script='./stretto', cwd=self.root).stdout, f'{self.root}|x|')

    def test_moved_tree_is_built_anew(self):
        self.start()
        self.age()
        moved = self.top / 'moved'
        self.root.rename(moved)
        done = self.start('x', script=moved / 'stretto')
        self.assertEqual((done.returncode, done.stdout), (0, f'{self.top}|x|'))
        self.assertIn('configuring', done.stderr)

    def test_failed_build_shows_the_log_and_leaves_stdout_empty(self):
        done = self.start('run', STUB_NINJA_FAILS='1')
        self.assertEqual((done.returncode, done.stdout), (3, ''))
        self.assertIn('no such type', done.stderr)
        self.assertEqual(self.start('x').returncode, 0)

    def test_failed_configuration_shows_the_log(self):
        done = self.start('run', STUB_MESON_FAILS='1')
        self.assertEqual((done.returncode, done.stdout), (3, ''))
        self.assertIn('no compiler', done.stderr)
        self.assertEqual(self.start('x').returncode, 0)

    @unittest.skipUnless(os.geteuid() == 0, 'needs root')
    def test_installs_what_is_missing_as_root(self):
        done = self.start('x', STUB_MISSING='libfmt-dev meson')
        self.assertEqual((done.returncode, done.stdout), (0, f'{self.top}|x|'))
        self.assertIn('installing Debian packages: libfmt-dev meson\n', done.stderr)
        self.assertTrue(self.apt_log.read_text().endswith('install --no-install-recommends libfmt-dev meson\n'))

    @unittest.skipUnless(os.geteuid() == 0, 'needs root')
    def test_failed_installation(self):
        done = self.start('x', STUB_MISSING='meson', STUB_APT_FAILS='1')
        self.assertEqual((done.returncode, done.stdout, self.builds()), (2, '', 0))
        self.assertIn('E: no network', done.stderr)

    def test_without_root_prints_the_line_to_type(self):
        script, user = self.root / 'stretto', {}
        if os.geteuid() == 0:
            for path in (self.top, *self.top.rglob('*')):
                os.chown(path, 65534, 65534)
            user = {'user': 65534, 'group': 65534, 'extra_groups': []}
        done = subprocess.run([script, 'x'], cwd=self.top, capture_output=True, text=True,
                              env={**self.env, 'STUB_MISSING': 'libfmt-dev meson'}, **user)
        self.assertEqual((done.returncode, done.stdout, self.builds()), (2, '', 0))
        self.assertIn('\n  sudo apt-get update && sudo apt-get install -y --no-install-recommends libfmt-dev meson\n',
                      done.stderr)
        self.assertFalse(self.apt_log.exists())


if __name__ == '__main__':
    tap.main()
