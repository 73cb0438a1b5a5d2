# SPDX-License-Identifier: Apache-2.0
"""Starts the tasks of a cluster, measures policy after policy, and ends everything whatever happens."""
import pathlib
import shutil
import signal
import time
from collections.abc import Callable
from types import FrameType
from typing import Any

from . import machine, network, processes, result
from .bundle import Bundle
from .errors import HarnessError
from .processes import Task

START_S = 180.0
OP_THREADS = 16  # of a task; with one a core, markers of arrival would wait behind the ops of a real network
SILENCE_S = 120.0
Say = Callable[[str], None]


class Interrupted(HarnessError):
    """A signal asked the run to end."""

    def __init__(self, number: int):
        super().__init__(f'ended by {signal.Signals(number).name}')
        self.exit_code = 128 + number


def _raise(number: int, frame: FrameType | None) -> None:
    raise Interrupted(number)


class Cluster:
    """Context manager: the tasks run from entering it to leaving it."""

    def __init__(self, bundle: Bundle, say: Say, op_threads: int = OP_THREADS):
        self.bundle = bundle
        self.op_threads = op_threads
        self.say = say
        self.deadline = time.monotonic() + bundle.time_limit_s
        self.network: dict[str, Any] = {}
        self.tensorflow, self.nice = '', 0
        self._tasks: list[Task] = []
        self._handlers: dict[signal.Signals, Any] = {}

    def __enter__(self) -> 'Cluster':
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            self._handlers[number] = signal.signal(number, _raise)
        try:
            processes.clean_leftovers(self.say)
            self.folder = processes.make_folder()
            self._start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *exception: object) -> None:
        for number in self._handlers:
            signal.signal(number, signal.SIG_IGN)
        processes.end(self._tasks)
        if hasattr(self, 'folder'):
            shutil.rmtree(self.folder, ignore_errors=True)
        for number, handler in self._handlers.items():
            signal.signal(number, handler)

    def _task(self, role: str, index: int) -> Task:
        task = Task(f'{role}{index}', 'stretto_tf.task', [role, str(index)], self.folder)
        self._tasks.append(task)
        return task

    def _wait(self, tasks: list[Task], kind: str, silence_s: float = SILENCE_S, **more: Any) -> list[dict[str, Any]]:
        others = [task for task in self._tasks if task not in tasks]
        return processes.wait(tasks, kind, silence_s=silence_s, deadline=self.deadline, others=others, **more)

    def _start(self) -> None:
        cluster = self.bundle.cluster
        reason = 'asked for' if cluster.network == 'loopback' else network.why_no_namespaces()
        if reason and cluster.network == 'namespaces':
            raise HarnessError(f'network namespaces cannot be made here: {reason}')
        self.say(f'starting {cluster.servers} servers and {cluster.workers} workers'
                 + (f' on plain loopback ({reason}): links are not shaped' if reason else ' in network namespaces'))
        self.servers = [self._task('ps', i) for i in range(cluster.servers)]
        self.workers = [self._task('worker', i) for i in range(cluster.workers)]
        both = self.servers + self.workers
        switch = [] if reason else [self._task('switch', 0)]
        for task in both + switch:
            task.send({'kind': 'enter', 'namespace': not reason})
        self._wait(both + switch, 'entered', START_S)
        if reason:
            addresses = network.loopback_addresses(len(both))
            self.network = {'kind': 'loopback', 'reason': reason, 'shaped': False}
        else:
            rates = [cluster.server_bps] * cluster.servers + [cluster.worker_bps] * cluster.workers
            addresses, control = network.connect(switch[0].pid, list(zip([task.pid for task in both], rates)))
            self.network = {'kind': 'namespaces', 'shaped': True, 'server_bps': cluster.server_bps,
                            'worker_bps': cluster.worker_bps, 'burst': '128kb', 'congestion_control': control}
        for task in both:
            task.send({'kind': 'start', 'ps': addresses[:cluster.servers], 'worker': addresses[cluster.servers:],
                       'real': self.bundle.model is not None, 'intra_op_threads': 2,
                       'inter_op_threads': self.op_threads})
        started = self._wait(both, 'started', START_S)[0]
        self.tensorflow, self.nice = started['tensorflow'], started['nice']

    def measure(self, value: Any, index: int) -> dict[str, Any]:
        """The cell of one policy. `value` is the bundle as read."""
        bundle, policy = self.bundle, self.bundle.policies[index]
        done = {task.name: 0 for task in self.workers}
        begin = said = time.monotonic()

        def progress(task: Task, message: dict[str, Any]) -> None:
            nonlocal said
            done[task.name] += message['kind'] == 'step'
            if time.monotonic() - said >= 10:
                said = time.monotonic()
                self.say(f'{policy.name}: step {min(done.values())} of {bundle.warm_up + bundle.steps}')

        def everyone(kind: str) -> list[dict[str, Any]]:
            return self._wait(self.workers, kind, progress=progress)

        def go(tasks: list[Task]) -> None:
            for task in tasks:
                task.send({'kind': 'go'})

        for task in self.workers:
            task.send({'kind': 'policy', 'bundle': value, 'index': index})
        everyone('initialised')
        self.say(f'{policy.name}: measuring {bundle.steps} steps after {bundle.warm_up}')
        go(self.workers)
        everyone('warm')
        load = machine.Load([task.pid for task in self._tasks])
        go(self.workers)
        everyone('finished')
        used = load.end()
        go(self.workers)
        answers = everyone('measured')
        self.workers[0].send({'kind': 'reset'})
        self._wait(self.workers[:1], 'reset')
        cell = result.cell(bundle, policy, [answer['times'] for answer in answers],
                           [note for answer in answers for note in answer['notes']], used)
        summary = cell['summary']
        self.say(f'{policy.name}: {summary["mean_ms"]:.2f} ms a step (sd {summary["sd_ms"]:.2f}, n {bundle.steps}), '
                 f'{summary["inversions_mean"]:.1f} inversions of {summary["pairs"]}, '
                 f'{time.monotonic() - begin:.0f} s')
        return cell

    def profile(self, value: Any, folder: pathlib.Path, traces: int) -> None:
        worker = self.workers[0]
        worker.send({'kind': 'profile', 'bundle': value, 'folder': str(folder), 'traces': traces})
        [counts] = self._wait([worker], 'profiled')
        self.say(f'{counts["records"]} ops recorded in {traces} steps, the least time of each taken; '
                 f'{counts["missing"]} of them were missing in one step or more')


def run(value: Any, bundle: Bundle, say: Say) -> dict[str, Any]:
    """Measures all policies of a bundle; returns the result's content."""
    with Cluster(bundle, say) as cluster:
        cells = [cluster.measure(value, i) for i in range(len(bundle.policies))]
        return result.document(bundle, cluster.network, cluster.tensorflow, cluster.nice, cells)
