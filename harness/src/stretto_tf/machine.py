# SPDX-License-Identifier: Apache-2.0
"""The machine a run had, and how busy others kept it."""
import os
import pathlib
import platform
import time
from collections.abc import Iterable
from typing import Any

from . import processes


def describe() -> dict[str, Any]:
    model = 'unknown'
    try:
        for line in pathlib.Path('/proc/cpuinfo').read_text().splitlines():
            if line.startswith('model name'):
                model = line.partition(':')[2].strip()
                break
    except OSError:
        pass
    return {'processor': model, 'cores': os.cpu_count() or 1, 'kernel': platform.release(),
            'python': platform.python_version()}


def _busy_seconds() -> float:
    """Processor time used by the whole machine so far."""
    fields = [int(x) for x in pathlib.Path('/proc/stat').read_text().split('\n', 1)[0].split()[1:]]
    idle = fields[3] + fields[4]
    return (sum(fields[:8]) - idle) / os.sysconf('SC_CLK_TCK')


class Load:
    """Use of the processors from construction to end(), in cores: by the given processes and by all others."""

    def __init__(self, pids: Iterable[int]):
        self._pids = list(pids)
        self._begin = time.monotonic()
        self._busy = _busy_seconds()
        self._own = self._own_seconds()

    def _own_seconds(self) -> float:
        return sum(processes.cpu_seconds(pid) for pid in self._pids)

    def end(self) -> dict[str, float]:
        wall = time.monotonic() - self._begin
        own = (self._own_seconds() - self._own) / wall
        busy = (_busy_seconds() - self._busy) / wall
        return {'own_cores': round(own, 3), 'other_cores': round(max(0.0, busy - own), 3),
                'load_average': os.getloadavg()[0]}
