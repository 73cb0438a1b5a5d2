#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails on C++ files that clang-format 14 would change (tools/format does). Usage: format.py ROOT"""
import shutil
import subprocess
import sys

import support


def check(root):
    names = [name for name in support.files(root) if name.endswith(('.cpp', '.hpp'))]
    done = subprocess.run(['clang-format-14', '--dry-run', '--Werror', '-ferror-limit=1', *names], cwd=root,
                          capture_output=True, text=True)
    if done.returncode == 0:
        return []
    lines = [line for line in done.stderr.splitlines() if 'code should be clang-formatted' in line]
    return lines or [done.stderr]


if __name__ == '__main__':
    if not shutil.which('clang-format-14'):
        print('TAP version 13\nok 1 - formatting # SKIP clang-format-14 is not installed (./check --full installs it)')
        print('1..1')
        sys.exit(0)
    support.report('formatting', check(sys.argv[1]))
