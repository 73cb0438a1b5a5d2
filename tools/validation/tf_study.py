# SPDX-License-Identifier: Apache-2.0
"""What the studies of real TensorFlow clusters share: set-ups measured one by one with the harness, kept, and tabled.

A study has a working folder with one folder for each set-up, in which bundle.json says what is measured and
measurement.json what was. Of these, RESULTS keeps one small file for each set-up, from which its table is made.
"""
import argparse
import hashlib
import json
import pathlib
import statistics
import subprocess
import sys
import time

import common

QUIET = 0.5  # cores that others kept busy at most, in cells that count as measured on a quiet machine


def run(*command, **more):
    done = subprocess.run([str(word) for word in command], check=False, **more)
    if done.returncode != 0:
        sys.exit(f'{" ".join(map(str, command))} ended with {done.returncode}')


def read_json(path):
    return json.loads(path.read_text(encoding='utf-8'))


def loads(path):
    """Cores that others kept busy, of each cell of a measurement."""
    return [cell['load']['other_cores'] for cell in read_json(path)['cells']]


def mean_load(path):
    return statistics.mean(loads(path))


def quiet(cell):
    return cell['load']['other_cores'] <= QUIET


def take(arguments, setup):
    """With --kept, what was measured of a set-up before."""
    path = arguments.folder / setup.name / 'measurement.json'
    if arguments.kept and not path.exists() and (arguments.kept / f'{setup.name}.json').exists():
        common.write(path, (arguments.kept / f'{setup.name}.json').read_text(encoding='utf-8'))


def measure(arguments, setups, one):
    """Calls `one(setup, folder)`, which writes folder/measurement.json, for each set-up that has none, or with --redo
    for those in which others kept more cores busy; begins none that would end after --seconds, judged by the longest.
    """
    begin, longest = time.monotonic(), 0.0
    for setup in setups:
        folder = arguments.folder / setup.name
        path = folder / 'measurement.json'
        if path.exists() and (arguments.redo is None or max(loads(path)) <= arguments.redo):
            continue
        now = time.monotonic()
        if longest and arguments.seconds and now - begin + longest > arguments.seconds:
            break
        one(setup, folder)
        longest = max(longest, time.monotonic() - now)
    missing = sum(not (arguments.folder / setup.name / 'measurement.json').exists() for setup in setups)
    print(f'{len(setups) - missing} of {len(setups)} set-ups measured')


def harness(folder):
    """Measures folder/bundle.json."""
    run(common.ROOT / 'harness/stretto-tf', 'run', folder / 'bundle.json', '-o', folder / 'measurement.json')


def keep(arguments, setups, change):
    """RESULTS/NAME.json of each set-up that was measured, after `change(content)`."""
    arguments.results.mkdir(parents=True, exist_ok=True)
    for setup in setups:
        path = arguments.folder / setup.name / 'measurement.json'
        if path.exists():
            content = read_json(path)
            change(content)
            common.write(arguments.results / f'{setup.name}.json', json.dumps(content, separators=(',', ':')) + '\n')


def percent(value):
    return f'{100 * value:+.1f} %'


def errors(values):
    """Words for the mean and the worst of relative errors."""
    values = [abs(value) for value in values]
    return (f'{len(values)} cells: mean error {100 * statistics.mean(values):.2f} %, '
            f'worst {100 * max(values):.2f} %') if values else 'no cells'


def inversions(cell):
    """What a table says of them; nothing if no order was held."""
    if cell['mode'] == 'none':
        return ''
    return f'{cell["summary"]["inversions_mean"]:.1f} of {cell["summary"]["pairs"]}'


def cores(cell):
    """Two columns: cores that the cell's own tasks kept busy, and that others did, the kernel's network included."""
    return f'{cell["load"]["own_cores"]:.1f} | {cell["load"]["other_cores"]:.1f}'


def write_manifest(arguments, tool, commands, files, **more):
    contents = [read_json(path) for path in files]
    version = subprocess.run([arguments.stretto, '--version'], capture_output=True, text=True, check=True)
    manifest = {
        'stretto': version.stdout.strip(),
        'commands': [f'tools/validation/{tool} {words}' for words in commands],
        'tensorflow': sorted({content['tensorflow'] for content in contents}),
        'machine': contents[0]['machine'],
        'network': {key: contents[0]['network'].get(key) for key in ('kind', 'burst', 'congestion_control')},
        'inputs': [{'file': path.name, 'when': content['when'], 'sha256': sha256(path)}
                   for path, content in zip(files, contents, strict=True)], **more}
    common.write(arguments.results / 'manifest.json', json.dumps(manifest, indent=1) + '\n')


def sha256(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def resolved(text):
    return pathlib.Path(text).resolve()


def main(doc, calls, extend):
    """Parses and calls one of `calls`: prepare FOLDER, measure FOLDER, keep FOLDER RESULTS, table RESULTS."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--stretto', type=resolved, default=common.ROOT / 'stretto', help='default: ./stretto')
    commands = parser.add_subparsers(required=True)
    for call in calls:
        command = commands.add_parser(call.__name__)
        if call.__name__ != 'table':
            command.add_argument('folder', type=resolved)
        if call.__name__ in ('keep', 'table'):
            command.add_argument('results', type=resolved)
        if call.__name__ == 'prepare':
            command.add_argument('--kept', type=resolved, metavar='RESULTS', help='measured before')
        if call.__name__ == 'measure':
            command.add_argument('--seconds', type=float)
            command.add_argument('--redo', type=float, metavar='CORES')
        if call.__name__ == 'table':
            command.add_argument('--write', action='store_true', help='into RESULTS')
        extend(call.__name__, command)
        command.set_defaults(call=call)
    arguments = parser.parse_args()
    arguments.call(arguments)
