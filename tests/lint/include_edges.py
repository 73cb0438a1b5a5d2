#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails on an include that include_edges.txt does not allow, and on cycles. Usage: include_edges.py ROOT"""
import fnmatch
import pathlib
import re
import sys

import support

INCLUDE = re.compile(r'^\s*#\s*include\s+(?:"([^"]+)"|<([^>]+)>)')
SUFFIXES = ('.hpp', '.cpp', '.in')


def read_table(text):
    """(edges, external): directory -> patterns of directories; header pattern -> directories."""
    edges, external = {}, {}
    current = edges
    for line in text.splitlines():
        line = line.split('#')[0].strip()
        if line == '[external]':
            current = external
        elif line:
            key, _, values = line.partition(':')
            current[key.strip()] = values.split()
    return edges, external


def directory_of(name, edges):
    """The directory of the table that holds the file: the longest that matches; None if there is none."""
    found = [d for d in edges if name.startswith(d + '/')]
    return max(found, key=len, default=None)


def find_cycle(arrows):
    """A list of nodes that forms a cycle of the graph {node: nodes}, or None."""
    state = {}

    def visit(node, path):
        state[node] = 1
        for successor in sorted(arrows.get(node, ())):
            if state.get(successor) == 1:
                return path[path.index(successor):] + [successor]
            if successor not in state:
                cycle = visit(successor, path + [successor])
                if cycle:
                    return cycle
        state[node] = 2
        return None

    for node in sorted(arrows):
        if node not in state:
            cycle = visit(node, [node])
            if cycle:
                return cycle
    return None


def check(root, table=None):
    root = pathlib.Path(root)
    if table is None:
        table = (root / 'tests/lint/include_edges.txt').read_text(encoding='utf-8')
    edges, external = read_table(table)
    allowed = {}
    for directory, patterns in edges.items():
        allowed[directory] = {d for d in edges if any(fnmatch.fnmatchcase(d, p) for p in patterns)}
    findings = []
    cycle = find_cycle({d: targets - {d} for d, targets in allowed.items() if d not in ('app', 'tests')})
    if cycle:
        findings.append('include_edges.txt: the allowed arrows form a cycle: ' + ' -> '.join(cycle))

    names = support.files(root)
    known = set(names)
    used = {}
    for name in names:
        if not name.endswith(SUFFIXES):
            continue
        source = directory_of(name, edges)
        if source is None:
            if name.endswith(SUFFIXES[:2]):
                findings.append(f'{name}: its directory is not in include_edges.txt')
            continue
        for number, line in enumerate((support.text_of(root, name) or '').splitlines(), 1):
            match = INCLUDE.match(line)
            if not match:
                continue
            place, header = f'{name}:{number}', match.group(1) or match.group(2)
            rules = [places for pattern, places in external.items() if fnmatch.fnmatchcase(header, pattern)]
            if match.group(1) and not rules:
                target = directory_of(header, edges)
                written = header.replace('.pb.h', '.proto')  # protoc makes the former from the latter
                if target is None or written not in known:
                    findings.append(f'{place}: "{header}" is not a header of the project, named from its root')
                    continue
                used.setdefault(name, set()).add(header)
                if target not in (source, 'sim/base') and target not in allowed[source]:
                    findings.append(f'{place}: {source} may not include {target} ("{header}")')
                continue
            for directories in rules:
                if source not in directories:
                    where = ', '.join(d for d in directories if d != '-') or 'nowhere'
                    findings.append(f'{place}: <{header}> may be included in {where} only')
    cycle = find_cycle(used)
    if cycle:
        findings.append('headers include each other: ' + ' -> '.join(cycle))
    return findings


if __name__ == '__main__':
    support.report('includes follow the allowed edges', check(sys.argv[1]))
