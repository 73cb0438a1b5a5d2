# SPDX-License-Identifier: Apache-2.0
"""One shard on one node. Sent to the nodes by value: they need Ray and the program, not this package."""
import ctypes
import dataclasses
import os
import pathlib
import signal
import socket
import subprocess
import tempfile


class ShardRefused(Exception):
    """The program says no; it would say so again."""


class ShardEnded(Exception):
    """The program was ended from outside, for want of memory for example; another try may succeed."""


@dataclasses.dataclass(frozen=True)
class Job:
    """What all shards share."""

    program: str  # on every node
    version: str  # what it prints as its version
    file: str  # experiment, as seen from the driver's directory
    sets: tuple[str, ...]
    configs: str  # the shipped configurations, as seen from the driver's directory
    shards: int
    threads: int


def set_words(sets: tuple[str, ...]) -> list[str]:
    """The overrides as words of a command line."""
    return [word for text in sets for word in ('--set', text)]


def _die_with_parent() -> None:
    """A node's end is seen by its workers; the program must not outlive them (PR_SET_PDEATHSIG)."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL, 0, 0, 0)


def _run(words: list[str], folder: pathlib.Path, environment: dict[str, str]) -> tuple[int, str, str]:
    try:
        done = subprocess.run(words, cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, errors='replace', preexec_fn=_die_with_parent, check=False)
    except OSError as error:
        raise ShardRefused(f'{socket.gethostname()}: {words[0]} cannot be started: {error.strerror}') from error
    return done.returncode, done.stdout, done.stderr


def run_shard(job: Job, files: dict[str, bytes], shard: int) -> bytes:
    """The results store of one shard, from 1. `files` are laid out as the driver saw them."""
    host = socket.gethostname()
    with tempfile.TemporaryDirectory(prefix='stretto-ray-') as name:
        folder = pathlib.Path(name, 'files')
        folder.mkdir()
        for path, content in files.items():
            target = folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
        environment = os.environ | {'STRETTO_CONFIGS': job.configs}
        code, out, err = _run([job.program, '--version'], folder, environment)
        if code != 0 or out.strip() != job.version:
            raise ShardRefused(f'{host} has {out.strip() or err.strip()!r}, the driver {job.version!r}: all nodes need '
                               'the same version')
        code, _, err = _run([job.program, 'sweep', job.file, '--shard', f'{shard}/{job.shards}', '--threads',
                             str(job.threads), '--store', '../part.sqlite', '--quiet', *set_words(job.sets)], folder,
                            environment)
        if code < 0:
            raise ShardEnded(f'shard {shard} on {host}: ended by signal {-code}')
        if code not in (0, 1):  # 1: points that failed are in the store
            raise ShardRefused(f'shard {shard} on {host}: exit code {code}: {err.strip()}')
        store = pathlib.Path(name, 'part.sqlite')
        if store.with_name('part.sqlite-wal').exists():
            raise ShardEnded(f'shard {shard} on {host}: the store was not closed')
        return store.read_bytes()
