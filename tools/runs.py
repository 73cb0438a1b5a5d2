# SPDX-License-Identifier: Apache-2.0
"""What the tools that make results share: running stretto, its figures, tables of a page."""
import csv
import io
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]


def call(program, *words):
    """What `stretto WORDS...` prints, started in the project's folder; ends this program if it fails."""
    done = subprocess.run([str(program), *map(str, words)], cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f'stretto {" ".join(map(str, words))} ended with {done.returncode}:\n{done.stderr}')
    return done.stdout


def swept(program, experiment, store, threads, *words):
    """The rows of a sweep, a result of each point and policy; points that the store has are not simulated again."""
    call(program, 'sweep', experiment, '--store', store, '--threads', threads, '--quiet', *words)
    rows = list(csv.DictReader(io.StringIO(call(program, 'results', 'export', 'csv', store))))
    for row in rows:
        if row['status'] != 'done' or row['deadlock']:
            sys.exit(f'{pathlib.Path(experiment).stem}: point {row["point"]} has no result: '
                     f'{row["error"]}{row["deadlock"]}')
    return rows


def number(text):
    """Of a text with or without a percent sign."""
    text = text.strip()
    return float(text[:-1]) / 100 if text.endswith('%') else float(text)


def rounded(value):
    return None if value in ('', None) else float(f'{float(value):.6g}')


def percent(value, digits=1):
    return f'{100 * value:.{digits}f}'


def table(head, rows):
    return ['| ' + ' | '.join(head) + ' |', '|---' * len(head) + '|',
            *('| ' + ' | '.join(map(str, cells)) + ' |' for cells in rows), '']
