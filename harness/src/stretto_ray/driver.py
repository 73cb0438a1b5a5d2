# SPDX-License-Identifier: Apache-2.0
"""Divides a sweep, has Ray run the shards, keeps each one's store as it comes and merges them at the end.

The division and the sweep itself are those of `stretto sweep`; this only carries files and stores. What is on a node
that dies is run again on another one. What has come back lies in STORE.parts until all is merged, so that the same
command goes on where it stopped.
"""
import contextlib
import dataclasses
import json
import math
import os
import pathlib
import shutil
import signal
import socket
import sqlite3
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from typing import Any

import ray

from . import task
from .errors import DriverError

SHARDS_PER_TASK = 4  # so that a dead node loses little and the last shards do not keep the others waiting
MERGED_AT_A_TIME = 50  # open stores
HINT_NO_CLUSTER = '`ray start --head` starts one, --address local uses this machine alone'


@dataclasses.dataclass(frozen=True)
class Options:
    """A parsed command line."""

    file: str
    store: pathlib.Path
    sets: tuple[str, ...] = ()
    address: str = 'auto'
    shards: int | None = None
    threads: int = 1  # per shard
    retries: int = 5  # of a shard whose node or process is lost
    program: str = 'stretto'


@dataclasses.dataclass(frozen=True)
class Summary:
    """What the store has of the sweep in the end."""

    shards: int
    kept: int  # shards of an earlier start
    nodes: int
    done: int
    failed: int  # deadlocks included


def _call(words: list[str]) -> str:
    """What a start of the program prints that must succeed."""
    try:
        done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    except OSError as error:
        raise DriverError(f'{words[0]} cannot be started: {error.strerror}; --stretto names the program') from error
    if done.returncode != 0:
        raise DriverError(f'{" ".join(words[:2])}: exit code {done.returncode}\n{done.stderr.strip()}')
    return done.stdout


def _divide(options: Options, shards: int) -> dict[str, Any]:
    words = [options.program, 'sweep', options.file, '--divide', str(shards), '--format', 'json',
             *task.set_words(options.sets)]
    division: dict[str, Any] = json.loads(_call(words))
    return division


def _begun(parts: pathlib.Path, sweep: str) -> int | None:
    """The number of shards of an earlier start, of several the one with most of them done."""
    found = [(len(list(folder.glob('*.sqlite'))), int(count)) for folder in parts.glob(f'{sweep[:16]}-*')
             if (count := folder.name.rpartition('-')[2]).isdigit()]
    return max((one for one in found if one[0]), default=(0, None))[1]


def inside(path: str) -> bool:
    """A file below the current directory, by its name: such files travel, others must be on every node."""
    return not os.path.isabs(path) and '..' not in pathlib.PurePath(path).parts


def _files(names: list[str]) -> dict[str, bytes]:
    try:
        return {name: pathlib.Path(name).read_bytes() for name in names if inside(name)}
    except OSError as error:
        raise DriverError(f'{error.filename}: {error.strerror}') from error


def _reach(address: str) -> None:
    """OSError where nothing listens at HOST:PORT; Ray would try for minutes."""
    host, _, port = address.rpartition(':')
    if host and '/' not in address and port.isdigit():
        socket.create_connection((host.strip('[]'), int(port)), timeout=10).close()


@contextlib.contextmanager
def _cluster(address: str) -> Iterator[None]:
    try:
        _reach(address)
        ray.init(address=None if address == 'local' else address, log_to_driver=False, logging_level='ERROR',
                 include_dashboard=False if address == 'local' else None)
    except (OSError, RuntimeError, ValueError, OverflowError) as error:
        raise DriverError(f'no Ray cluster at {address!r}: {error}; {HINT_NO_CLUSTER}') from error
    # Ray has set its own, which ends the process with another code.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        ray.shutdown()


def _check(store: pathlib.Path, sweep: str) -> None:
    """DriverError if a part is no store of this sweep."""
    try:
        with contextlib.closing(sqlite3.connect(f'{store.absolute().as_uri()}?immutable=1', uri=True)) as connection:
            found = [row[0] for row in connection.execute('SELECT hash FROM sweeps')]
    except sqlite3.Error as error:
        raise DriverError(f'what a node sent is no results store: {error}') from error
    if found != [sweep]:
        raise DriverError('a node ran another sweep than the driver, since it has other files by the same names; only '
                          'files below the current directory are sent')


def _keep(target: pathlib.Path, content: bytes, sweep: str) -> None:
    """All or nothing, also after a loss of power."""
    with tempfile.TemporaryDirectory(dir=target.parent, prefix='.new') as folder:
        new = pathlib.Path(folder, target.name)
        with new.open('xb') as out:
            out.write(content)
            out.flush()
            os.fsync(out.fileno())
        _check(new, sweep)
        os.replace(new, target)


def _run_shards(job: task.Job, files: dict[str, bytes], options: Options, missing: list[int],
                take: Callable[[int, bytes], None]) -> None:
    ray.cloudpickle.register_pickle_by_value(task)
    remote = ray.remote(num_cpus=options.threads, max_retries=options.retries,
                        retry_exceptions=[task.ShardEnded])(task.run_shard)
    shared = ray.put(files)
    waiting = {remote.remote(job, shared, shard): shard for shard in missing}
    while waiting:
        ready, _ = ray.wait(list(waiting), num_returns=1)
        shard = waiting.pop(ready[0])
        try:
            content = ray.get(ready[0])
        except ray.exceptions.RayTaskError as error:
            raise DriverError(str(error.cause)) from error
        except ray.exceptions.RayError as error:
            raise DriverError(f'shard {shard}/{job.shards} was lost {options.retries + 1} times: {error}; what the '
                              'others found is kept, the same command goes on') from error
        take(shard, content)


def _counts(store: pathlib.Path, sweep: str) -> dict[str, int]:
    with contextlib.closing(sqlite3.connect(store)) as connection:
        return dict(connection.execute('SELECT status, count(*) FROM points WHERE sweep = (SELECT id FROM sweeps '
                                       'WHERE hash = ?) GROUP BY status', (sweep,)))


def run(options: Options, progress: Callable[[int, int], None]) -> Summary:
    """Runs the sweep on the cluster; DriverError where it cannot be ended. `progress`: shards done of all."""
    version = _call([options.program, '--version']).strip()
    with _cluster(options.address):
        cpus = int(ray.cluster_resources().get('CPU', 0))
        if max((node['Resources'].get('CPU', 0) for node in ray.nodes() if node['Alive']), default=0) < options.threads:
            raise DriverError(f'no node has {options.threads} CPUs: --threads is for one shard, on one node')
        nodes = sum(node['Alive'] for node in ray.nodes())
        shards = options.shards or SHARDS_PER_TASK * math.ceil(cpus / options.threads)
        division = _divide(options, shards)
        sweep = division['sweep']
        all_parts = options.store.with_name(options.store.name + '.parts')
        # The cluster may have another number of CPUs now; what has come back is of the earlier division.
        shards = options.shards or _begun(all_parts, sweep) or shards
        job = task.Job(options.program, version, options.file, options.sets, division['configs'], shards,
                       options.threads)
        files = _files(division['files'])
        parts = all_parts / f'{sweep[:16]}-{shards}'
        parts.mkdir(parents=True, exist_ok=True)
        stores = {shard: parts / f'{shard}.sqlite' for shard in range(1, shards + 1)}
        missing = [shard for shard, store in stores.items() if not store.exists()]
        left = len(missing)

        def take(shard: int, content: bytes) -> None:
            nonlocal left
            _keep(stores[shard], content, sweep)
            left -= 1
            progress(shards - left, shards)

        progress(shards - left, shards)
        _run_shards(job, files, options, missing, take)
    paths = [str(store) for store in stores.values()]
    for first in range(0, shards, MERGED_AT_A_TIME):
        _call([options.program, 'results', 'merge', str(options.store), *paths[first:first + MERGED_AT_A_TIME]])
    found = _counts(options.store, sweep)
    for folder in all_parts.glob(f'{sweep[:16]}-*'):  # those of another division too
        shutil.rmtree(folder)
    with contextlib.suppress(OSError):  # parts of another sweep
        all_parts.rmdir()
    failed = found.get('failed', 0) + found.get('deadlock', 0)
    return Summary(shards, shards - len(missing), nodes, found.get('done', 0), failed)
