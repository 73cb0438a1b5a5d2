#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails on stale documentation: dead relative links and anchors, and named paths that do not exist.

Usage: docs.py ROOT
"""
import pathlib
import re
import sys

import support

LINK = re.compile(r'\[[^\]]*\]\(([^)\s]+)\)')
CODE_SPAN = re.compile(r'`([^`\n]+)`')
HEADING = re.compile(r'^#+\s+(.*)$', re.MULTILINE)
FENCE = re.compile(r'^```.*?^```$', re.MULTILINE | re.DOTALL)
TOP = ('sim/', 'models/', 'schedulers/', 'analysis/', 'io/', 'config/', 'configs/', 'experiment/', 'report/', 'app/',
       'tests/', 'docs/', 'tools/', '.ci/')


def anchors(text):
    """GitHub's anchors of a page's headings."""
    found = set()
    for heading in HEADING.findall(FENCE.sub('', text)):
        heading = re.sub(r'[^\w\- ]', '', heading.strip().lower())
        found.add(heading.replace(' ', '-'))
    return found


def check(root):
    root = pathlib.Path(root)
    findings = []
    for name in support.files(root):
        if not name.endswith('.md') or name.startswith('tests/golden/'):
            continue
        prose = FENCE.sub('', support.text_of(root, name) or '')
        for link in LINK.findall(prose):
            if re.match(r'[a-z]+:', link):
                continue
            target, _, anchor = link.partition('#')
            path = (root / name).parent / target if target else root / name
            if not path.exists():
                findings.append(f'{name}: dead link {link}')
            elif anchor and anchor not in anchors(path.read_text(encoding='utf-8')):
                findings.append(f'{name}: no such heading: {link}')
        for span in CODE_SPAN.findall(prose):
            if span.startswith(TOP) and re.fullmatch(r'[\w./-]+', span) and not (root / span).exists():
                findings.append(f'{name}: `{span}` does not exist')
    return findings


if __name__ == '__main__':
    support.report('documentation names what exists', check(sys.argv[1]))
