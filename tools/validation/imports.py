#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Imports every file of a folder of traces and says what became of it.

usage: tools/validation/imports.py [--stretto PROGRAM] FOLDER [-o TABLE.md]

Texts (.txt) are no traces and are passed over. A RunMetadata beside a graph.pbtxt is imported with it, a timeline.json
beside a graph.tfevents too.
"""
import argparse
import pathlib
import subprocess

import common

NOTE = 'Made by `tools/validation/imports.py FOLDER -o results/validation/imports.md`.'


def row(path, root, program):
    words = [str(program), 'import', str(path), '--summary']
    graph = {'run_meta.pb': path.parent / 'graph.pbtxt', 'timeline.json': path.parent / 'graph.tfevents'}.get(path.name)
    if graph and graph.exists():
        words += ['--graph', str(graph)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)
    lines = done.stdout.splitlines()
    if done.returncode == 0:
        became = lines[0].removeprefix('format: ')
        said = '; '.join(line.removeprefix('read: ') for line in lines if line.startswith('read: '))
    else:
        became = 'refused'
        said = done.stderr.splitlines()[0].replace(str(path), '').lstrip(': 0123456789').removeprefix('error: ')
    counts = [sum(line.startswith(word + ': ') for line in lines) for word in ('dropped', 'guessed', 'repaired')]
    return done.returncode, [str(path.relative_to(root)), became, said] + [str(n) for n in counts]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('folder', type=pathlib.Path)
    parser.add_argument('--stretto', type=pathlib.Path, default=common.ROOT / 'build/release/app/stretto')
    parser.add_argument('-o', dest='out', type=pathlib.Path)
    arguments = parser.parse_args()
    files = [path for path in sorted(arguments.folder.rglob('*')) if path.is_file() and path.suffix != '.txt']
    results = [row(path, arguments.folder, arguments.stretto) for path in files]
    bad = [cells[0] for code, cells in results if code not in (0, 2)]
    if bad:
        raise SystemExit(f'neither imported nor refused: {", ".join(bad)}')
    imported = sum(code == 0 for code, _ in results)
    lines = ['# What becomes of real trace files', '', NOTE, '',
             f'{len(results)} files: {imported} imported, {len(results) - imported} refused.', '',
             '| file | format | what was read, or why it is refused | dropped | guessed | repaired |',
             '|---|---|---|---|---|---|']
    lines += ['| ' + ' | '.join(cell.replace('|', '\\|') for cell in cells) + ' |' for _, cells in results]
    text = '\n'.join(lines) + '\n'
    if arguments.out:
        arguments.out.write_text(text, encoding='utf-8')
    else:
        print(text, end='')


if __name__ == '__main__':
    main()
