# SPDX-License-Identifier: Apache-2.0
"""Inside a user's script: when TensorFlow is imported, sessions are made to order the transfers of their graphs.

Settings come by environment: STRETTO_TF_SCHEDULE (file), STRETTO_TF_MODE and STRETTO_TF_WINDOW (in place of the
file's), STRETTO_TF_OPS (op library), STRETTO_TF_REPORT (file; {pid} is replaced).
"""
import atexit
import ctypes
import importlib.abc
import importlib.machinery
import itertools
import os
import pathlib
import sys
import threading
import weakref
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

from . import arrivals, enforce, schedule
from .errors import HarnessError
from .schedule import Enforcement

SESSION = 'tensorflow.python.client.session'
_TAKE = 4096


class _Loader(importlib.abc.Loader):
    """The module's own loader, and something to do afterwards."""

    def __init__(self, inner: Any, then: Callable[[ModuleType], None]):
        self._inner = inner
        self._then = then

    def create_module(self, spec: Any) -> Any:
        return self._inner.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self._inner.exec_module(module)
        self._then(module)


class _Finder(importlib.abc.MetaPathFinder):
    """Watches for one module."""

    def __init__(self, name: str, then: Callable[[ModuleType], None]):
        self._name = name
        self._then = then

    def find_spec(self, name: str, path: Sequence[str] | None, target: Any = None) -> Any:
        if name != self._name:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        if spec and spec.loader:
            spec.loader = _Loader(spec.loader, self._then)
        return spec


def _say(text: str) -> None:
    print(f'stretto-tf: {text}', file=sys.stderr, flush=True)


class Enforcer:
    """One per process."""

    def __init__(self) -> None:
        override = None
        if 'STRETTO_TF_MODE' in os.environ:
            override = Enforcement(os.environ['STRETTO_TF_MODE'], int(os.environ['STRETTO_TF_WINDOW']))
        self.schedule = schedule.load(pathlib.Path(os.environ['STRETTO_TF_SCHEDULE']), override)
        self.report = os.environ.get('STRETTO_TF_REPORT')
        self._lock = threading.RLock()
        self._library: Any = None
        # Per graph: how many ops it had when a session ran it last; those that are done.
        self._seen: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
        self._done: weakref.WeakSet[Any] = weakref.WeakSet()
        self._arrivals = arrivals.Arrivals()

    def stamp(self) -> enforce.Stamp | None:
        """The op that notes arrivals, if the library fits this TensorFlow."""
        import tensorflow as tf
        path = os.environ.get('STRETTO_TF_OPS', '')
        if not os.path.isfile(path):
            _say('the op library is missing: arrivals are not recorded')
            return None
        try:
            ops = tf.load_op_library(path)
            self._library = ctypes.CDLL(path)
        except (tf.errors.OpError, OSError) as error:
            _say(f'the op library does not fit this TensorFlow, arrivals are not recorded: {error}')
            return None
        self._library.stretto_take_notes.restype = ctypes.c_int64
        tags = itertools.count(self._arrivals.count())
        return lambda value, name: ops.stretto_stamp(value=value, tag=next(tags))

    def prepare(self, session: Any) -> None:
        """To be called before each run of a session."""
        graph = session.graph
        with self._lock:
            seen, now = self._seen.get(graph, 0), graph.version
            if graph in self._done or seen == now:
                return
            self._seen[graph] = now
            if not any(enforce.is_update(op) for op in graph.get_operations()):
                return
            finalized = graph.finalized
            if finalized:
                graph._unsafe_unfinalize()
            local = session._target in (None, b'') or session._target.decode() in _servers
            stamp = self.stamp() if local else None
            try:
                result = enforce.rewrite(graph, self.schedule, stamp, frozen=seen)
            finally:
                if finalized:
                    graph.finalize()
            assert result
            self._done.add(graph)
            self._tell(result)
            if stamp:
                self._arrivals.extend(result.pulls)

    def _tell(self, result: enforce.Rewritten) -> None:
        ordered = sum(transfer.rank is not None for transfer in result.pulls)
        mode = self.schedule.pull
        what = 'no order is enforced' if mode.mode == 'none' else f'{mode.mode} {mode.window}'
        servers = len({transfer.server for transfer in result.pulls})
        _say(f'{self.schedule.policy}: {what} on {ordered} of {len(result.pulls)} pulls from {servers} servers'
             + (f', {self.schedule.push.mode} {self.schedule.push.window} on pushes'
                if self.schedule.push.mode != 'none' else ''))
        if not result.pulls:
            _say('warning: no variable is read from another task; are variables placed on servers (/job:ps)?')
        if result.sparse:
            _say(f'{len(result.sparse)} sparse updates go freely')
        if result.elsewhere:
            _say(f'warning: {result.elsewhere} transfers have another server than in the schedule; '
                 'the order holds on each server')

    def collect(self) -> None:
        if self._library is None:
            return
        rows = (ctypes.c_int64 * (3 * _TAKE))()
        with self._lock:
            while count := self._library.stretto_take_notes(rows, ctypes.c_int64(_TAKE)):
                self._arrivals.add([(rows[3 * i], rows[3 * i + 2]) for i in range(count)])

    def finish(self) -> None:
        if not self._arrivals.count():
            return
        self.collect()
        summary = self._arrivals.summary()
        _say(f'{summary["steps"]} steps, {summary["inversions_mean"]:.2f} inversions of {summary["pairs"]} pairs '
             'a step')
        if self.report:
            from . import result
            path = pathlib.Path(self.report.replace('{pid}', str(os.getpid())))
            result.write(path, {'format': 'stretto-enforcement', 'version': 1, 'policy': self.schedule.policy,
                                'mode': self.schedule.pull.mode, 'window': self.schedule.pull.window, **summary,
                                'transfers': self._arrivals.transfers(), 'arrivals': self._arrivals.kept()})


_servers: set[str] = set()


def _patch(module: ModuleType) -> None:
    enforcer = Enforcer()
    base = module.BaseSession

    def wrap(name: str) -> None:
        original = getattr(base, name)

        def call(self: Any, *arguments: Any, **more: Any) -> Any:
            enforcer.prepare(self)
            try:
                return original(self, *arguments, **more)
            finally:
                enforcer.collect()

        call.__name__, call.__doc__ = original.__name__, original.__doc__
        setattr(base, name, call)

    for name in ('run', 'partial_run_setup', 'make_callable', '_make_callable_from_options'):
        wrap(name)
    atexit.register(enforcer.finish)


def _patch_server(module: ModuleType) -> None:
    server = module.Server
    original = server.__init__

    def init(self: Any, *arguments: Any, **more: Any) -> None:
        original(self, *arguments, **more)
        _servers.add(self.target)

    server.__init__ = init


def install() -> None:
    sys.meta_path.insert(0, _Finder(SESSION, _patch))
    sys.meta_path.insert(0, _Finder('tensorflow.python.training.server_lib', _patch_server))
