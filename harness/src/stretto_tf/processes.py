# SPDX-License-Identifier: Apache-2.0
"""Child processes that cannot outlive their run.

Every task dies with the process that started it (the kernel kills it, PR_SET_PDEATHSIG), also after kill -9. Should one
survive all the same, its environment carries a mark with the run's process id and start time, by which the next run
finds it. Network namespaces are held by the tasks alone and have no name, so that the kernel removes them, with their
links, when the tasks end. Only the folder of logs can be left behind; its name carries the mark as well.
"""
import collections
import ctypes
import json
import os
import pathlib
import re
import selectors
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from typing import Any

from .errors import HarnessError

MARK = 'STRETTO_TF_RUN'
PREFIX = 'stretto-tf-'
TAIL_LINES = 20
EMULATED_NICE = -15
_NAME = re.compile(r'(\d+)-(\d+)-[0-9a-z_]*')


def start_time(pid: int) -> int | None:
    """When a process was started, in clock ticks since boot; None if there is none or it has ended."""
    try:
        fields = pathlib.Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()
    except OSError:
        return None
    return None if fields[0] in 'ZX' else int(fields[19])


def cpu_seconds(pid: int) -> float:
    """Processor time used by a process so far."""
    try:
        fields = pathlib.Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')


def die_with_parent(parent: int) -> None:
    """To be called first thing in a task."""
    ctypes.CDLL(None, use_errno=True).prctl(1, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)


def raise_priority() -> int:
    """Puts this process, and threads it starts later, before those of others where that is allowed; its nice value."""
    try:
        os.setpriority(os.PRIO_PROCESS, 0, EMULATED_NICE)
    except PermissionError:
        pass
    return os.getpriority(os.PRIO_PROCESS, 0)


def _owner_is_dead(mark: str) -> bool:
    """False also for what is no mark of ours."""
    match = _NAME.fullmatch(mark)
    return match is not None and start_time(int(match[1])) != int(match[2])


def clean_leftovers(say: Callable[[str], None]) -> None:
    """Ends processes and removes folders that carry our mark and whose run has died; touches nothing else."""
    for entry in pathlib.Path('/proc').iterdir():
        if not entry.name.isdecimal():
            continue
        try:
            handle = os.pidfd_open(int(entry.name))
        except OSError:
            continue
        try:
            environment = (entry / 'environ').read_bytes().split(b'\0')
            marks = [e.partition(b'=')[2].decode() for e in environment if e.startswith(MARK.encode() + b'=')]
            if marks and _owner_is_dead(marks[0]):
                say(f'ending process {entry.name}, which a dead run left behind')
                signal.pidfd_send_signal(handle, signal.SIGKILL)
        except (OSError, UnicodeDecodeError):
            pass
        finally:
            os.close(handle)
    for folder in pathlib.Path(tempfile.gettempdir()).glob(PREFIX + '*'):
        if _owner_is_dead(folder.name.removeprefix(PREFIX)) and folder.stat().st_uid == os.getuid():
            say(f'removing {folder}, which a dead run left behind')
            shutil.rmtree(folder, ignore_errors=True)


def make_folder() -> pathlib.Path:
    """A folder for this run's logs. Its name without the prefix is the run's mark."""
    return pathlib.Path(tempfile.mkdtemp(prefix=f'{PREFIX}{os.getpid()}-{start_time(os.getpid())}-'))


class TaskFailed(HarnessError):
    """A task ended, complained or was silent for too long; the message holds the last lines of its log."""


class Task:
    """A child that talks in lines of JSON: commands on its standard input, answers on its standard output."""

    def __init__(self, name: str, module: str, arguments: list[str], folder: pathlib.Path):
        self.name = name
        self.log = folder / f'{name}.log'
        self._answers: collections.deque[dict[str, Any]] = collections.deque()
        self._partial = b''
        environment = dict(os.environ)
        environment[MARK] = folder.name.removeprefix(PREFIX)
        environment.update(TF_ENABLE_ONEDNN_OPTS='0', TF_CPP_MIN_LOG_LEVEL='1', CUDA_VISIBLE_DEVICES='')
        environment.pop('PYTHONSTARTUP', None)
        with open(self.log, 'wb') as log:
            self.process = subprocess.Popen(
                [sys.executable, '-m', module, str(os.getpid()), *arguments], stdin=subprocess.PIPE,
                stdout=subprocess.PIPE, stderr=log, env=environment)
        assert self.process.stdin and self.process.stdout
        os.set_blocking(self.process.stdout.fileno(), False)

    @property
    def pid(self) -> int:
        return self.process.pid

    def send(self, message: dict[str, Any]) -> None:
        assert self.process.stdin
        try:
            self.process.stdin.write(json.dumps(message).encode() + b'\n')
            self.process.stdin.flush()
        except OSError:
            raise self.failure('has ended') from None

    def read(self) -> bool:
        """Takes in what has come; False at the end of the stream."""
        assert self.process.stdout
        try:
            data = os.read(self.process.stdout.fileno(), 1 << 20)
        except BlockingIOError:
            return True
        *lines, self._partial = (self._partial + data).split(b'\n')
        try:
            self._answers.extend(json.loads(line) for line in lines)
        except ValueError:
            raise self.failure('said what is no answer') from None
        return bool(data)

    def next(self) -> dict[str, Any] | None:
        return self._answers.popleft() if self._answers else None

    def failure(self, what: str) -> TaskFailed:
        lines = self.log.read_text(errors='replace').splitlines()[-TAIL_LINES:]
        text = '\n'.join('  ' + ''.join(c if c.isprintable() else '?' for c in line) for line in lines)
        return TaskFailed(f'task {self.name} {what}; the end of its log:\n{text or "  (empty)"}')


def wait(tasks: Iterable[Task], kind: str, *, silence_s: float, deadline: float,
         others: Iterable[Task] = (), progress: Callable[[Task, dict[str, Any]], None] | None = None,
         ) -> list[dict[str, Any]]:
    """One answer of this kind from each task, in their order. Answers of other kinds go to `progress`.

    Fails if a task (or one of `others`) ends, reports an error, if all are silent for silence_s, or at the deadline
    (time.monotonic).
    """
    wanted = list(tasks)
    answers: dict[str, dict[str, Any]] = {}
    heard = time.monotonic()
    with selectors.DefaultSelector() as selector:
        for task in [*wanted, *others]:
            assert task.process.stdout
            selector.register(task.process.stdout, selectors.EVENT_READ, task)
        while True:
            for task in [*wanted, *others]:
                while (message := task.next()) is not None:
                    heard = time.monotonic()
                    if message['kind'] == 'error':
                        raise task.failure(f'failed: {message["text"]}')
                    if message['kind'] == kind:
                        answers[task.name] = message
                    elif progress:
                        progress(task, message)
            if len(answers) == len(wanted):
                return [answers[task.name] for task in wanted]
            now = time.monotonic()
            missing = next(task for task in wanted if task.name not in answers)
            if now >= deadline:
                raise missing.failure('was not done when the time limit was reached')
            if now - heard >= silence_s:
                raise missing.failure(f'has said nothing for {silence_s:.0f} s')
            for key, _ in selector.select(min(deadline, heard + silence_s) - now):
                if not key.data.read() and not key.data._answers:
                    raise key.data.failure(f'has ended with exit code {key.data.process.wait(10)}')


def end(tasks: Iterable[Task]) -> None:
    """Kills them and waits until they are gone."""
    tasks = list(tasks)
    for task in tasks:
        task.process.kill()
    for task in tasks:
        task.process.wait()
        for stream in (task.process.stdin, task.process.stdout):
            if stream:
                try:
                    stream.close()
                except OSError:
                    pass
