#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every "$ ./stretto" command in a console block of README.md and docs/ works; recorded samples are what it prints.
Commands are given to bash, so that a page may show a part of an answer (`| head`).

A sample is a console block that shows output below its command. `readme_test.py --record` writes the samples anew; such
a run ends with 1, since it checked nothing.
"""
import re
import subprocess
import sys
import unittest

import program
from program import SOURCE

import tap

BLOCK = re.compile(r'(^```console\n)(.*?)(^```$)', re.MULTILINE | re.DOTALL)
PAGES = [SOURCE / 'README.md', *sorted((SOURCE / 'docs').rglob('*.md'))]


def commands_of(block):
    """(command, shown output) of each "$ " line of a block."""
    found = []
    for line in block.splitlines(keepends=True):
        if line.startswith('$ '):
            found.append([line[2:].strip(), ''])
        elif found:
            found[-1][1] += line
    return found


class Readme(program.ProgramTest):
    def output_of(self, command):
        (self.folder / 'stretto').unlink(missing_ok=True)
        (self.folder / 'stretto').symlink_to(program.BINARY)
        done = subprocess.run(['bash', '-o', 'pipefail', '-c', command], cwd=self.folder, capture_output=True,
                              text=True, timeout=300, stdin=subprocess.DEVNULL, check=False)
        self.assertEqual(done.returncode, 0, f'{command}: {done.stderr}')
        return done.stdout

    def test_commands_and_samples(self):
        shown = 0
        for page in PAGES:
            for _, block, _ in BLOCK.findall(page.read_text(encoding='utf-8')):
                for command, sample in commands_of(block):
                    if not command.startswith('./stretto'):
                        continue
                    with self.subTest(page=page.name, command=command):
                        output = self.output_of(command)
                        if sample:
                            self.assertEqual(output, sample, 'stale sample; record it with readme_test.py --record')
                    shown += 1
        self.assertGreater(shown, 1)

    def test_readme_has_its_two_commands_first(self):
        block = BLOCK.search((SOURCE / 'README.md').read_text(encoding='utf-8')).group(2)
        commands = [command for command, _ in commands_of(block)]
        self.assertEqual(commands, [f'./stretto run {program.QUICKSTART}', './check'])


class Recorder(Readme):
    """Not a test: runs one command in the tests' directory."""

    def runTest(self):
        for page in PAGES:
            text = page.read_text(encoding='utf-8')

            def record(match):
                body = ''
                for command, sample in commands_of(match.group(2)):
                    body += f'$ {command}\n' + (self.output_of(command) if sample else '')
                return match.group(1) + body + match.group(3)

            page.write_text(BLOCK.sub(record, text), encoding='utf-8')


def load_tests(loader, tests, pattern):
    return loader.loadTestsFromTestCase(Readme)


if __name__ == '__main__':
    if '--record' in sys.argv:
        result = unittest.TextTestRunner().run(Recorder())
        print('recorded; run the test to check' if result.wasSuccessful() else 'not recorded', file=sys.stderr)
        sys.exit(1)
    tap.main()
