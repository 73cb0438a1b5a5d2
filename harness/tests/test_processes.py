# SPDX-License-Identifier: Apache-2.0
"""What a run leaves behind, and what the next one may touch."""
import os
import pathlib
import subprocess
import sys
import time
from collections.abc import Callable

import pytest

import conftest
from stretto_tf import network, processes


def sleeper(mark: str | None) -> subprocess.Popen[bytes]:
    environment = dict(os.environ)
    environment.pop(processes.MARK, None)
    if mark is not None:
        environment[processes.MARK] = mark
    return subprocess.Popen(['sleep', '100'], env=environment)


def dead_owner() -> str:
    process = subprocess.Popen(['sleep', '100'])
    mark = f'{process.pid}-{processes.start_time(process.pid)}-abc'
    process.kill()
    process.wait()
    return mark


def test_only_marked_processes_of_dead_runs_are_ended() -> None:
    alive = f'{os.getpid()}-{processes.start_time(os.getpid())}-abc'
    reused = f'{os.getpid()}-1-abc'
    ended = [sleeper(dead_owner()), sleeper(reused)]
    kept = [sleeper(None), sleeper(alive), sleeper('something else')]
    said: list[str] = []
    try:
        processes.clean_leftovers(said.append)
        assert all(conftest.gone(process.pid) for process in ended)
        assert all(process.poll() is None for process in kept)
        assert sum('ending process' in line for line in said) == 2
    finally:
        for process in ended + kept:
            process.kill()
            process.wait()


def test_only_folders_of_dead_runs_are_removed(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes.tempfile, 'tempdir', str(tmp_path))
    mine = processes.make_folder()
    (tmp_path / f'{processes.PREFIX}{dead_owner()}').mkdir()
    for name in (f'{processes.PREFIX}notes', 'other', f'{processes.PREFIX}1-2-../x'.replace('/', '_')):
        (tmp_path / name).mkdir()
    processes.clean_leftovers(lambda text: None)
    left = sorted(entry.name for entry in tmp_path.iterdir())
    assert left == sorted([mine.name, f'{processes.PREFIX}notes', 'other', f'{processes.PREFIX}1-2-.._x'])


def script_task(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, body: str) -> processes.Task:
    (tmp_path / 'scripted.py').write_text(f'import json, sys, time\n{body}')
    monkeypatch.setenv('PYTHONPATH', str(tmp_path))
    return processes.Task('worker0', 'scripted', [], tmp_path)


SAY = 'print(json.dumps({"kind": "hello"}), flush=True)\n'


@pytest.mark.parametrize('body, silence_s, limit_s, message', [
    ('print("the last words", file=sys.stderr, flush=True); print("first"); sys.exit(3)', 60, 60, 'no answer'),
    ('print("the last words", file=sys.stderr); sys.stdout.close(); sys.exit(3)', 60, 60, 'exit code 3'),
    ('print("the last words", file=sys.stderr, flush=True); time.sleep(60)', 2, 60, 'has said nothing for 2 s'),
    ('print("the last words", file=sys.stderr, flush=True)\nwhile True: time.sleep(.1); ' + SAY, 60, 2, 'time limit'),
    ('print("the last words", file=sys.stderr, flush=True); print(json.dumps({"kind": "error", "text": "no luck"}), '
     'flush=True); time.sleep(60)', 60, 60, 'failed: no luck')])
def test_a_failed_task_ends_the_wait_with_its_last_words(
        tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, body: str, silence_s: float, limit_s: float,
        message: str) -> None:
    task = script_task(tmp_path, monkeypatch, body)
    try:
        with pytest.raises(processes.TaskFailed, match=f'(?s)worker0 .*{message}.*the last words'):
            processes.wait([task], 'done', silence_s=silence_s, deadline=time.monotonic() + limit_s)
    finally:
        processes.end([task])


def test_answers_come_in_the_order_of_the_tasks(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    task = script_task(tmp_path, monkeypatch, SAY + 'print(json.dumps({"kind": "done", "x": input()}), flush=True)')
    heard: list[str] = []
    note: Callable[..., None] = lambda task, message: heard.append(message['kind'])
    try:
        task.send({'a': 1})
        answers = processes.wait([task], 'done', silence_s=60, deadline=time.monotonic() + 60, progress=note)
        assert answers == [{'kind': 'done', 'x': '{"a": 1}'}] and heard == ['hello']
    finally:
        processes.end([task])


def test_a_task_dies_with_its_parent(tmp_path: pathlib.Path) -> None:
    script = (f'import pathlib, time\nfrom stretto_tf import processes\n'
              f'task = processes.Task("switch0", "stretto_tf.task", ["switch", "0"], pathlib.Path({str(tmp_path)!r}))\n'
              f'task.send({{"kind": "enter", "namespace": False}})\n'
              f'processes.wait([task], "entered", silence_s=60, deadline=time.monotonic() + 60)\n'
              f'print(task.pid, flush=True)\ntime.sleep(100)\n')
    parent = subprocess.Popen([sys.executable, '-c', script], stdout=subprocess.PIPE, text=True)
    try:
        assert parent.stdout
        pid = int(parent.stdout.readline())
        assert processes.start_time(pid) is not None
        parent.kill()
        parent.wait()
        assert conftest.gone(pid)
    finally:
        parent.kill()


def test_ports_differ() -> None:
    addresses = network.loopback_addresses(20)
    assert len(set(addresses)) == 20 and all(address.startswith('127.0.0.1:') for address in addresses)
