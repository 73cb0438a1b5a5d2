# SPDX-License-Identifier: Apache-2.0
"""What the tests share: a small bundle, and running the program as its users do."""
import copy
import json
import os
import pathlib
import subprocess
import sys
import time
from typing import Any

import pytest

from stretto_tf import network


def workload(sizes: list[int], forward_ms: float = 4.0) -> dict[str, Any]:
    """A chain: layer i reads parameter v<i>; backward takes twice as long."""
    last = len(sizes) - 1
    picoseconds = round(forward_ms * 1e9)
    ops: list[dict[str, Any]] = []
    for i in range(len(sizes)):
        ops.append({'name': f'fwd{i}', 'phase': 'forward', 'time_ps': picoseconds,
                    'inputs': [f'fwd{i - 1}'] if i else [], 'reads': [f'v{i}']})
    for i in range(last, -1, -1):
        ops.append({'name': f'bwd{i}', 'phase': 'backward', 'time_ps': 2 * picoseconds,
                    'inputs': [f'bwd{i + 1}' if i < last else f'fwd{last}']})
    return {'format': 'stretto-workload', 'version': 1, 'name': 'chain', 'batch': 1, 'ops': ops,
            'parameters': [{'name': f'v{i}', 'bytes': size, 'gradient': f'bwd{i}'} for i, size in enumerate(sizes)]}


BUNDLE: dict[str, Any] = {
    'format': 'stretto-bundle', 'version': 1, 'name': 'small',
    'workload': workload([1_000_000, 30_001, 2_000_000, 400_000]),
    'cluster': {'servers': 1, 'workers': 1, 'server_bps': 10**9, 'worker_bps': 10**9},
    'transfers': [
        {'parameter': 'v0', 'bytes': 1_000_000, 'server': 0}, {'parameter': 'v1', 'bytes': 30_001, 'server': 0},
        {'parameter': 'v2', 'bytes': 2_000_000, 'server': 0}, {'parameter': 'v3', 'bytes': 400_000, 'server': 0}],
    'policies': [{'name': 'best', 'pull': {'mode': 'window', 'window': 1, 'order': [0, 1, 2, 3]}}],
    'steps': 5, 'warm_up': 1, 'time_limit_s': 150}


@pytest.fixture
def bundle() -> dict[str, Any]:
    return copy.deepcopy(BUNDLE)


@pytest.fixture
def needs_namespaces() -> None:
    reason = network.why_no_namespaces()
    if reason:
        pytest.skip(f'network namespaces cannot be made here: {reason}')


class Run:
    """The program at work on a bundle."""

    def __init__(self, folder: pathlib.Path, bundle: dict[str, Any], *arguments: str):
        folder.mkdir(exist_ok=True)
        self.result = folder / 'result.json'
        (folder / 'bundle.json').write_text(json.dumps(bundle))
        command = [sys.executable, '-m', 'stretto_tf', 'run', str(folder / 'bundle.json'), '-o', str(self.result)]
        self.process = subprocess.Popen(command + list(arguments), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        text=True, env=os.environ | {'TMPDIR': str(folder)})
        self.folder = folder

    def finish(self) -> tuple[int, str]:
        out, err = self.process.communicate(timeout=170)
        assert out == ''
        return self.process.returncode, err

    def content(self) -> dict[str, Any]:
        code, err = self.finish()
        assert code == 0, err
        content: dict[str, Any] = json.loads(self.result.read_text())
        return content

    def tasks(self) -> dict[str, int]:
        """Name to process id of the tasks it has started, by its logs' names and its children."""
        children = pathlib.Path(f'/proc/{self.process.pid}/task/{self.process.pid}/children').read_text().split()
        found = {}
        for child in children:
            try:
                words = pathlib.Path(f'/proc/{child}/cmdline').read_bytes().decode().split('\0')
            except OSError:
                continue
            if 'stretto_tf.task' in words:
                at = words.index('stretto_tf.task')
                found[words[at + 2] + words[at + 3]] = int(child)
        return found

    def wait_for_tasks(self, count: int) -> dict[str, int]:
        end = time.monotonic() + 60
        while len(found := self.tasks()) < count:
            assert time.monotonic() < end and self.process.poll() is None
            time.sleep(0.05)
        return found


def gone(pid: int, seconds: float = 10) -> bool:
    """Whether a process ends within some seconds."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            if pathlib.Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()[0] in 'ZX':
                return True
        except OSError:
            return True
        time.sleep(0.05)
    return False
