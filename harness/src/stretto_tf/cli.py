# SPDX-License-Identifier: Apache-2.0
"""The command line."""
import argparse
import dataclasses
import pathlib
import sys
import time

from . import bundle as bundle_file
from . import cluster, result
from .errors import HarnessError, InputError


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


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog='stretto-tf', description='Measures transfer schedules on a real TensorFlow parameter-server cluster.')
    commands = parser.add_subparsers(required=True, metavar='COMMAND')
    run = commands.add_parser('run', help='measure the policies of a bundle',
                              description='Measures every policy of a bundle; progress goes to standard error.')
    run.add_argument('bundle', metavar='BUNDLE', help='stretto-bundle file')
    run.add_argument('-o', '--output', metavar='RESULT', required=True, help='stretto-measurement file to write')
    run.add_argument('--network', choices=bundle_file.NETWORKS, help="in place of the bundle's")
    run.set_defaults(call=_run)
    return parser


def main() -> int:
    arguments = _parser().parse_args()
    try:
        arguments.call(arguments)
    except HarnessError as error:
        print(f'stretto-tf: error: {error}', file=sys.stderr)
        return error.exit_code
    return 0
