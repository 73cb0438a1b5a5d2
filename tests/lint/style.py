#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails on what the house style forbids and a script can see. Usage: style.py ROOT"""
import re
import sys

import support

MAX_LINES = 600
MAX_COLUMNS = 120
CODE = ('.cpp', '.hpp', '.js', '.py', '.sh')
UNFINISHED = re.compile(r'\b(?:TO' r'DO|FIX' r'ME|XX' r'X)\b')
MACHINE_PATH = re.compile(r'(?<![\w.:/~$}-])/(?:home|root|work|Users|scratch)/\w')
# Inputs and outputs of tests are what they are.
DATA = ('tests/golden/', 'tests/fixtures/', 'tests/fuzz/corpus/')


def is_code(name, text):
    return name.endswith(CODE) or name.endswith('meson.build') or support.is_script(text)


def check_file(name, text):
    lines = text.split('\n')
    code = is_code(name, text)
    if code or name.endswith('.in'):
        head = lines[1] if support.is_script(text) and len(lines) > 1 else lines[0]
        if not re.fullmatch(r'(?://|#) SPDX-License-Identifier: Apache-2\.0', head):
            yield f'{name}:1: the first line is not the SPDX line'
    if name.endswith('.hpp') and '#pragma once' not in lines:
        yield f'{name}: no #pragma once'
    if name.endswith('.hpp') and not lines[1].startswith('// '):
        yield f'{name}:2: a header starts with a comment that says what it is'
    if code and len(lines) - 1 > MAX_LINES:
        yield f'{name}: {len(lines) - 1} lines, more than {MAX_LINES}: split it'
    if text and not text.endswith('\n'):
        yield f'{name}:{len(lines)}: no newline at the end'
    for number, line in enumerate(lines, 1):
        place = f'{name}:{number}'
        if line != line.rstrip():
            yield f'{place}: space at the end of the line'
        if code and len(line) > MAX_COLUMNS:
            yield f'{place}: {len(line)} columns, more than {MAX_COLUMNS}'
        if code and '\t' in line:
            yield f'{place}: tab'
        if UNFINISHED.search(line):
            yield f'{place}: unfinished work is an issue, not a comment'
        if MACHINE_PATH.search(line):
            yield f'{place}: path of one machine'


def check(root):
    findings = []
    for name in support.files(root):
        if name.startswith(DATA) or name == 'LICENSE' or name.endswith(('.gz', '.png', '.pb')):
            continue
        text = support.text_of(root, name)
        if text is None:
            findings.append(f'{name}: not UTF-8')
        else:
            findings += check_file(name, text)
    return findings


if __name__ == '__main__':
    support.report('files follow the house style', check(sys.argv[1]))
