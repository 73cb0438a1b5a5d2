# SPDX-License-Identifier: Apache-2.0
"""Real clusters: processes, gRPC, links; and their end."""
import os
import pathlib
import signal
import subprocess
import time
from typing import Any

import pytest

import conftest
from conftest import Run
from stretto_tf import processes

pytestmark = pytest.mark.tensorflow


def check_steps(cell: dict[str, Any], bundle: dict[str, Any]) -> None:
    """What holds for every step, however busy the machine is."""
    times = {op['name']: op['time_ps'] / 1e9 for op in bundle['workload']['ops']}
    count = len(cell['bytes'])
    assert len(cell['steps']) == bundle['steps']
    for step in cell['steps']:
        assert len(step) == bundle['cluster']['workers']
        for worker in step:
            assert sorted(i for i, _ in worker['pull_arrival_ms']) == list(range(count))
            assert sorted(i for i, _ in worker['push_arrival_ms']) == list(range(count))
            arrival = dict(worker['pull_arrival_ms'])
            start = {name: begin for name, begin, _ in worker['compute_ms']}
            end = {name: at for name, _, at in worker['compute_ms']}
            assert set(start) == set(times)
            for name, duration in times.items():
                assert end[name] - start[name] >= duration - 0.002
            for i in range(count):
                # An op may be dated back by the time for which the next one catches up.
                assert start[f'fwd{i}'] >= arrival[i] - 0.151 and end[f'fwd{i}'] > arrival[i]
                assert dict(worker['push_arrival_ms'])[i] >= end[f'bwd{i}']
            assert worker['step_ms'] >= max(end.values())
            assert worker['step_ms'] >= sum(times.values())


def test_two_workers_two_servers_in_namespaces(bundle: dict[str, Any], tmp_path: pathlib.Path,
                                               needs_namespaces: None) -> None:
    bundle['cluster'].update(servers=2, workers=2, network='namespaces')
    for transfer, server in zip(bundle['transfers'], (0, 1, 1, 0)):
        transfer['server'] = server
    backward = {'mode': 'window', 'window': 1, 'order': [3, 2, 1, 0]}
    bundle['policies'].append({'name': 'reversed', 'pull': backward, 'push': backward})
    bundle['policies'].append({'name': 'none', 'pull': {'order': [0, 1, 2, 3]}})
    run = Run(tmp_path, bundle)
    content = run.content()
    assert content['network'] == {'kind': 'namespaces', 'shaped': True, 'server_bps': 10**9, 'worker_bps': 10**9,
                                  'burst': '128kb', 'congestion_control': 'cubic'}
    best, reverse, none = content['cells']
    for cell in content['cells']:
        check_steps(cell, bundle)
        assert cell['summary']['pairs'] == 2
        for step in cell['steps']:
            # The barrier: nobody ends before the last one's gradients have come.
            last = max(w['start_ms'] + at for w in step for _, at in w['push_arrival_ms'])
            assert all(w['start_ms'] + w['step_ms'] >= last for w in step)
    assert best['summary']['inversions_mean'] == reverse['summary']['inversions_mean'] == 0
    for step in reverse['steps']:
        for worker in step:
            assert [i for i, _ in worker['push_arrival_ms'] if i in (0, 3)] == [3, 0]
    # Both workers pull 2.03 MB from server 1 through one NIC of 1 Gbit/s; a burst of 128 kB may pass at once.
    for step in best['steps']:
        assert max(dict(worker['pull_arrival_ms'])[2] for worker in step) > 2 * (2.03 - 0.13) * 8


def test_a_slow_link_is_slow(bundle: dict[str, Any], tmp_path: pathlib.Path, needs_namespaces: None) -> None:
    bundle['cluster'].update(worker_bps=200_000_000)
    bundle['policies'][0]['transfers'] = [dict(transfer, slice=i, bytes=transfer['bytes'] // 2 + i % 2 * (
        transfer['bytes'] % 2)) for transfer in bundle['transfers'] for i in range(2)]
    bundle['policies'][0]['pull'] = {'mode': 'chain_window', 'window': 2, 'order': list(range(8))}
    [cell] = Run(tmp_path, bundle).content()['cells']
    for step in cell['steps']:
        assert len(step[0]['pull_arrival_ms']) == 8
        assert step[0]['pull_arrival_ms'][-1][1] > (3.43 - 0.3) * 8 / 0.2


def test_two_runs_at_once_on_loopback(bundle: dict[str, Any], tmp_path: pathlib.Path) -> None:
    bundle['cluster']['network'] = 'loopback'
    runs = [Run(tmp_path / name, bundle) for name in 'ab']
    for run in runs:
        content = run.content()
        assert content['network'] == {'kind': 'loopback', 'reason': 'asked for', 'shaped': False}
        check_steps(content['cells'][0], bundle)
        assert not list(run.folder.glob(processes.PREFIX + '*'))


def namespaces_of(pids: list[int]) -> set[str]:
    return {os.readlink(f'/proc/{pid}/ns/net') for pid in pids}


def all_namespaces() -> set[str]:
    done = subprocess.run(['lsns', '--type', 'net', '--noheadings', '--output', 'NS'], capture_output=True, text=True)
    return {f'net:[{number}]' for number in done.stdout.split()}


def wait_for_own_namespaces(run: Run, count: int) -> dict[str, int]:
    tasks = run.wait_for_tasks(count)
    end = time.monotonic() + 60
    while len(namespaces_of([*tasks.values(), os.getpid()])) < count + 1:
        assert time.monotonic() < end
        time.sleep(0.05)
    return tasks


@pytest.mark.parametrize('number, code', [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGKILL, -9)])
def test_nothing_is_left_after_a_signal(bundle: dict[str, Any], tmp_path: pathlib.Path, needs_namespaces: None,
                                        number: signal.Signals, code: int) -> None:
    bundle['cluster']['network'] = 'namespaces'
    bundle['steps'] = 2000  # so many that it is still running when the signal comes
    run = Run(tmp_path, bundle)
    tasks = wait_for_own_namespaces(run, 3)
    spaces = namespaces_of(list(tasks.values()))
    assert len(spaces) == 3
    run.process.send_signal(number)
    returned, err = run.finish()
    assert returned == code, err
    assert all(conftest.gone(pid) for pid in tasks.values())
    end = time.monotonic() + 10
    while spaces & all_namespaces():
        assert time.monotonic() < end
        time.sleep(0.1)
    assert not run.result.exists()
    assert bool(list(tmp_path.glob(processes.PREFIX + '*'))) == (number == signal.SIGKILL)
    if number != signal.SIGKILL:
        assert 'ended by' in err and 'Traceback' not in err


def test_a_killed_measurement_leaves_a_folder_that_the_next_run_removes(
        bundle: dict[str, Any], tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bundle['steps'] = 10_000
    run = Run(tmp_path, bundle)
    tasks = run.wait_for_tasks(2)
    assert run.process.stderr
    while 'best: measuring' not in (line := run.process.stderr.readline()):
        assert line
    time.sleep(0.5)
    run.process.kill()
    run.process.wait()
    assert all(conftest.gone(pid) for pid in tasks.values())
    assert list(tmp_path.glob(processes.PREFIX + '*'))
    monkeypatch.setattr(processes.tempfile, 'tempdir', str(tmp_path))
    processes.clean_leftovers(lambda text: None)
    assert not list(tmp_path.glob(processes.PREFIX + '*'))


def test_a_task_that_ends_ends_the_run(bundle: dict[str, Any], tmp_path: pathlib.Path) -> None:
    bundle['cluster']['network'] = 'loopback'
    run = Run(tmp_path, bundle)
    tasks = run.wait_for_tasks(2)
    os.kill(tasks['worker0'], signal.SIGKILL)
    code, err = run.finish()
    assert code == 1 and 'task worker0 has ended' in err and 'Traceback' not in err
    assert conftest.gone(tasks['ps0'])


def test_the_time_limit_ends_a_run(bundle: dict[str, Any], tmp_path: pathlib.Path) -> None:
    bundle['cluster']['network'] = 'loopback'
    bundle['time_limit_s'] = 1
    code, err = Run(tmp_path, bundle).finish()
    assert code == 1 and 'time limit' in err


def test_wrong_input_starts_nothing(bundle: dict[str, Any], tmp_path: pathlib.Path) -> None:
    bundle['steps'] = 0
    code, err = Run(tmp_path, bundle).finish()
    assert code == 2 and 'bundle.json.steps' in err and 'starting' not in err
