#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Statements that must not compile, each beside one that must: units and ids cannot be mixed up.

Usage: negative_compile.py ROOT COMPILER...
"""
import subprocess
import sys

# name, statement that must compile, statement that must not
CASES = [
    ('bytes and durations do not add', 'Bytes(1) + Bytes(1)', 'Bytes(1) + Duration::ps(1)'),
    ('instants do not add', 'Time::ps(1) + Duration::ps(1)', 'Time::ps(1) + Time::ps(1)'),
    ('an instant minus an instant is no instant', 'Duration d = Time::ps(2) - Time::ps(1)',
     'Time t = Time::ps(2) - Time::ps(1)'),
    ('a number is not bytes', 'Bytes b(1)', 'Bytes b = 1'),
    ('bandwidths and bytes do not compare', 'Bandwidth(1) < Bandwidth(2)', 'Bandwidth(1) < Bytes(2)'),
    ('ids of different kinds differ', 'Id<struct A>(1) == Id<struct A>(1)', 'Id<struct A>(1) == Id<struct B>(1)'),
]
PROGRAM = '#include "sim/base/id.hpp"\n#include "sim/base/units.hpp"\nnamespace stretto {{ void f() {{ {}; }} }}\n'


def compiles(statement, root, compiler):
    command = compiler + ['-std=c++20', '-fsyntax-only', '-I', root, '-x', 'c++', '-']
    return subprocess.run(command, input=PROGRAM.format(statement), capture_output=True, text=True)


def main():
    root, compiler = sys.argv[1], sys.argv[2:]
    print('TAP version 13')
    bad = False
    for number, (name, good, wrong) in enumerate(CASES, 1):
        control = compiles(good, root, compiler)
        refused = compiles(wrong, root, compiler).returncode != 0
        if control.returncode != 0:
            print(f'the control "{good}" does not compile:\n{control.stderr}', file=sys.stderr)
        if not refused:
            print(f'"{wrong}" compiles', file=sys.stderr)
        ok = control.returncode == 0 and refused
        bad = bad or not ok
        print(f'{"ok" if ok else "not ok"} {number} - {name}')
    print(f'1..{len(CASES)}')
    return 1 if bad else 0


if __name__ == '__main__':
    sys.exit(main())
