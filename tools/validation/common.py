# SPDX-License-Identifier: Apache-2.0
"""What the validation tools share: running stretto and writing a table of predicted against measured."""
import json
import os
import pathlib
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def run_json(program, experiment, folder):
    """The results of `stretto run EXPERIMENT` started in `folder`; ends this program if stretto fails."""
    done = subprocess.run([str(program), 'run', experiment, '--format', 'json'], cwd=folder, capture_output=True,
                          text=True, check=False)
    if done.returncode != 0:
        sys.exit(f'{program} ended with {done.returncode}:\n{done.stderr}')
    return json.loads(done.stdout)['results']


def step_ms(results, policy):
    """Mean step time in ms of the row whose policy is, or begins with, the given name."""
    for row in results:
        if row['policy'].split('(')[0] == policy:
            return row['step_time_s']['mean'] * 1e3
    return sys.exit(f'no row for {policy}')


def table(title, note, columns, rows):
    """Markdown of rows that end with (measured ms, predicted ms)."""
    lines = [f'# {title}', '', note, '', '| ' + ' | '.join([*columns, 'measured ms', 'predicted ms', 'error']) + ' |',
             '|---' * (len(columns) + 3) + '|']
    errors = []
    for *cells, measured, predicted in rows:
        error = predicted / measured - 1
        errors.append(abs(error))
        lines.append('| ' + ' | '.join([*map(str, cells), f'{measured:.1f}', f'{predicted:.1f}',
                                        f'{100 * error:+.1f} %']) + ' |')
    lines += ['', f'{len(rows)} cells: mean error {100 * statistics.mean(errors):.2f} %, '
                  f'worst {100 * max(errors):.2f} %.']
    return '\n'.join(lines) + '\n'


def write(path, text):
    """Writes under a temporary name, then renames."""
    part = f'{path}.part'
    with open(part, 'w', encoding='utf-8') as f:
        f.write(text)
    os.replace(part, path)


def finish(text, output):
    sys.stdout.write(text)
    if output:
        write(output, text)
