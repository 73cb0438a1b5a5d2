# SPDX-License-Identifier: Apache-2.0
"""The command line."""
import argparse
import dataclasses
import os
import pathlib
import sys
import time

from . import bundle as bundle_file
from . import cluster, oplib, result, schedule
from .errors import HarnessError, InputError
from .schedule import Enforcement


def _run(arguments: argparse.Namespace) -> None:
    begin = time.monotonic()

    def say(text: str) -> None:
        print(f'stretto-tf: [{time.monotonic() - begin:5.1f} s] {text}', file=sys.stderr, flush=True)

    output = pathlib.Path(arguments.output)
    if not output.parent.is_dir():
        raise InputError(f'{output.parent}: no such folder')
    value, bundle = bundle_file.load(pathlib.Path(arguments.bundle))
    if arguments.network:
        bundle = dataclasses.replace(bundle, cluster=dataclasses.replace(bundle.cluster, network=arguments.network))
    result.write(output, cluster.run(value, bundle, say))
    say(f'wrote {output}')


def _enforce(arguments: argparse.Namespace) -> None:
    """Does not return: becomes the command."""
    if bool(arguments.mode) != bool(arguments.window):
        raise InputError('--mode and --window belong together')
    override = Enforcement(arguments.mode, arguments.window) if arguments.mode else None
    path = pathlib.Path(arguments.schedule).absolute()
    schedule.load(path, override)
    environment = dict(os.environ)
    environment['STRETTO_TF_SCHEDULE'] = str(path)
    environment['STRETTO_TF_OPS'] = str(oplib.path())
    if arguments.mode:
        environment.update(STRETTO_TF_MODE=arguments.mode, STRETTO_TF_WINDOW=str(arguments.window))
    if arguments.report:
        environment['STRETTO_TF_REPORT'] = str(pathlib.Path(arguments.report).absolute())
    inject = str(pathlib.Path(__file__).parent / 'inject')
    environment['PYTHONPATH'] = os.pathsep.join([inject] + [p for p in [environment.get('PYTHONPATH')] if p])
    sys.stdout.flush()
    try:
        os.execvpe(arguments.command[0], arguments.command, environment)
    except OSError as error:
        raise InputError(f'{arguments.command[0]}: {error.strerror}') from error


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise ValueError
    return value


def _run_or_enforce(arguments: argparse.Namespace) -> None:
    bundle = [arguments.bundle, arguments.output]
    script = [arguments.schedule, arguments.command]
    if all(bundle) and not any(script):
        _run(arguments)
    elif all(script) and not any(bundle) and not arguments.network:
        _enforce(arguments)
    else:
        raise InputError('expected BUNDLE and -o RESULT, or --schedule SCHEDULE and -- COMMAND')


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog='stretto-tf', description='Measures transfer schedules on a real TensorFlow parameter-server cluster.')
    commands = parser.add_subparsers(required=True, metavar='COMMAND')
    run = commands.add_parser(
        'run', help='measure the policies of a bundle, or run your own script under a schedule',
        usage='stretto-tf run BUNDLE -o RESULT [--network NETWORK]\n'
              '       stretto-tf run --schedule SCHEDULE [--mode MODE --window K] [--report FILE] -- COMMAND...',
        description='Measures every policy of a bundle; progress goes to standard error. Or runs a command, and all '
                    'Python below it, such that TensorFlow sessions order the transfers of their graphs by a schedule.')
    run.add_argument('bundle', metavar='BUNDLE', nargs='?', help='stretto-bundle file')
    run.add_argument('-o', '--output', metavar='RESULT', help='stretto-measurement file to write')
    run.add_argument('--network', choices=bundle_file.NETWORKS, help="in place of the bundle's")
    run.add_argument('--schedule', metavar='SCHEDULE', help='stretto-schedule file')
    run.add_argument('--mode', choices=bundle_file.MODES[1:], help='how to enforce an order, in place of the schedule\'s')
    run.add_argument('--window', type=_positive, metavar='K', help='pulls under way at a time')
    run.add_argument('--report', metavar='FILE', help='write the arrivals there; {pid} becomes the process id')
    run.set_defaults(call=_run_or_enforce)
    return parser


def main() -> int:
    words = sys.argv[1:]
    split = words.index('--') if '--' in words else len(words)
    arguments = _parser().parse_args(words[:split])
    arguments.command = words[split + 1:]
    try:
        arguments.call(arguments)
    except HarnessError as error:
        print(f'stretto-tf: error: {error}', file=sys.stderr)
        return error.exit_code
    return 0
