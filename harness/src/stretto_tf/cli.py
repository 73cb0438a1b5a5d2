# SPDX-License-Identifier: Apache-2.0
"""The command line."""
import argparse
import dataclasses
import os
import pathlib
import sys
import time
from collections.abc import Callable

from . import bundle as bundle_file
from . import cluster, oplib, result, schedule
from .errors import HarnessError, InputError
from .schedule import Enforcement


def _say_since(begin: float) -> Callable[[str], None]:
    def say(text: str) -> None:
        print(f'stretto-tf: [{time.monotonic() - begin:5.1f} s] {text}', file=sys.stderr, flush=True)
    return say


def _run(arguments: argparse.Namespace) -> None:
    say = _say_since(time.monotonic())
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


def _profile(arguments: argparse.Namespace) -> None:
    folder = pathlib.Path(arguments.output).absolute()
    value, bundle = bundle_file.load(pathlib.Path(arguments.bundle))
    if not bundle.model or bundle.cluster.workers != 1:
        raise InputError('a profile is taken of a model ("model") on one worker')
    folder.mkdir(parents=True, exist_ok=True)
    say = _say_since(time.monotonic())
    # No more ops at a time than there are cores: the time of an op is to be its own.
    with cluster.Cluster(bundle, say, op_threads=len(os.sched_getaffinity(0))) as running:
        running.profile(value, folder, arguments.traces)
    say(f'wrote {folder}')


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
    run.add_argument('--mode', choices=bundle_file.MODES[1:],
                     help="how to enforce an order, in place of the schedule's")
    run.add_argument('--window', type=_positive, metavar='K', help='pulls under way at a time')
    run.add_argument('--report', metavar='FILE', help='write the arrivals there; {pid} becomes the process id')
    run.set_defaults(call=_run_or_enforce)
    profile = commands.add_parser('profile', help='trace steps of a model',
                                  description='Traces steps of a model, unordered, and writes what "stretto import" '
                                              'reads: step.pb.gz (the least time of each op), graph.pb.gz, and each '
                                              'traced step.')
    profile.add_argument('bundle', metavar='BUNDLE', help='stretto-bundle file with a model and one worker')
    profile.add_argument('-o', '--output', metavar='FOLDER', required=True)
    profile.add_argument('--traces', type=_positive, default=5, metavar='N', help='steps to trace (default: 5)')
    profile.set_defaults(call=_profile)
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
