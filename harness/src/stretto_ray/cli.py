# SPDX-License-Identifier: Apache-2.0
"""The command line."""
import argparse
import pathlib
import signal
import sys
from collections.abc import Callable

from .errors import DriverError

INTERRUPTED = 130


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise ValueError
    return value


def _natural(text: str) -> int:
    value = int(text)
    if value < 0:
        raise ValueError
    return value


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog='stretto-ray',
        description='Runs the shards of a sweep on a Ray cluster and merges what they find into one results store. '
                    'Given again after an end of any kind, it goes on where it stopped.',
        epilog='Exit codes: 0 done, 1 points failed, 2 bad usage or input, or the cluster cannot do it. docs/sweep.md '
               'says more.')
    parser.add_argument('file', metavar='FILE', help='experiment (YAML), below the current directory')
    parser.add_argument('--store', metavar='STORE', help='results store; without it: named after FILE, in this '
                                                         'directory')
    parser.add_argument('--set', metavar='PATH=VALUE', action='append', default=[], dest='sets',
                        help='set a field of the experiment by its path; may be given again')
    parser.add_argument('--address', default='auto', help='of the Ray cluster; local: this machine alone '
                                                          '(default: the one that runs here)')
    parser.add_argument('--shards', type=_positive, metavar='N',
                        help='parts, each a task (default: as an earlier start, else four per CPU)')
    parser.add_argument('--threads', type=_positive, default=1, metavar='N', help='CPUs of a shard (default: 1)')
    parser.add_argument('--retries', type=_natural, default=5, metavar='N',
                        help='how often a shard that was lost is run again (default: 5)')
    parser.add_argument('--stretto', default='stretto', metavar='PROGRAM',
                        help='the program, on every node (default: stretto of PATH)')
    parser.add_argument('--quiet', action='store_true', help='show no progress')
    return parser


def _progress(quiet: bool) -> Callable[[int, int], None]:
    shown = not quiet and sys.stderr.isatty()

    def show(done: int, total: int) -> None:
        if shown:
            print(f'\r\x1b[K{done}/{total} shards', end='\n' if done == total else '', file=sys.stderr, flush=True)
    return show


def main() -> int:
    arguments = _parser().parse_args()
    # SIGTERM ends it as Ctrl-C does: tasks are ended, what has come back is kept.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        from . import driver  # Ray takes a second to import; --help does not need it
    except ModuleNotFoundError as error:
        print(f'stretto-ray: error: {error.name} is missing: pip install "stretto[ray]"', file=sys.stderr)
        return 2
    program = arguments.stretto
    if '/' in program:
        program = str(pathlib.Path(program).absolute())
    store = pathlib.Path(arguments.store or pathlib.PurePath(arguments.file).stem + '.results.sqlite')
    options = driver.Options(file=arguments.file, store=store, sets=tuple(arguments.sets), address=arguments.address,
                             shards=arguments.shards, threads=arguments.threads, retries=arguments.retries,
                             program=program)
    try:
        if not driver.inside(options.file):
            raise DriverError(f'{options.file}: give the experiment by its name below the current directory')
        done = driver.run(options, _progress(arguments.quiet))
    except KeyboardInterrupt:
        print('interrupted', file=sys.stderr)
        return INTERRUPTED
    except DriverError as error:
        print(f'stretto-ray: error: {error}', file=sys.stderr)
        return 2
    before = f', {done.kept} of an earlier start' if done.kept else ''
    print(f'{done.shards} shards{before}, on {done.nodes} nodes: {done.done} points done, {done.failed} failed. '
          f'See `stretto results show {store}`.')
    return 1 if done.failed else 0
