# SPDX-License-Identifier: Apache-2.0
"""A training script taken as it is, under a schedule."""
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
from typing import Any

import pytest

from stretto_tf import network

pytestmark = pytest.mark.tensorflow

SCRIPT = pathlib.Path(__file__).parent / 'scripts' / 'train.py'
VARIABLES = {'first/weights': 784 * 256 * 4, 'first/biases': 256 * 4, 'second/weights': 256 * 256 * 4,
             'second/biases': 256 * 4, 'last/weights': 256 * 10 * 4, 'last/biases': 10 * 4}


def schedule(servers: int, pull: dict[str, Any], push: dict[str, Any]) -> dict[str, Any]:
    """Reversed for pulls, forward for pushes: TensorFlow does neither. Servers as replica_device_setter deals."""
    count = len(VARIABLES)
    return {'format': 'stretto-schedule', 'version': 1, 'workload': {'name': 'mlp', 'sha256': '00'},
            'policy': 'reversed', 'found_by': 'test', 'servers': servers, 'pull': pull, 'push': push,
            'parameters': [
                {'name': name, 'bytes': size,
                 'slices': [{'bytes': size, 'server': i % servers, 'pull': count - 1 - i, 'push': i}]}
                for i, (name, size) in enumerate(VARIABLES.items())]}


class Job:
    """Servers and workers of the script, on loopback."""

    def __init__(self, folder: pathlib.Path, servers: int, workers: int, *flags: str):
        addresses = network.loopback_addresses(servers + workers)
        self.hosts = ['--ps_hosts=' + ','.join(addresses[:servers]), '--worker_hosts=' + ','.join(addresses[servers:])]
        self.flags = flags
        self.folder = folder
        self.workers = workers
        self.environment = os.environ | {'CUDA_VISIBLE_DEVICES': '', 'TF_CPP_MIN_LOG_LEVEL': '1'}
        self.servers = [self.start('ps', i, []) for i in range(servers)]

    def start(self, job: str, index: int, prefix: list[str]) -> subprocess.Popen[str]:
        script = [sys.executable, str(SCRIPT), *self.hosts, f'--job_name={job}', f'--task_index={index}', *self.flags]
        return subprocess.Popen(prefix + script, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                env=self.environment)

    def run(self, file: dict[str, Any] | None, *options: str, together: bool = False) -> list[tuple[int, str, str]]:
        """Exit code, output and messages of each worker."""
        prefix = []
        if file:
            (self.folder / 'schedule.json').write_text(json.dumps(file))
            prefix = [sys.executable, '-m', 'stretto_tf', 'run', '--schedule', str(self.folder / 'schedule.json'),
                      '--report', str(self.folder / 'report-{pid}.json'), *options, '--']
        started = [self.start('worker', 0, prefix)]
        first = ''
        try:
            # Monitored sessions would look once, find nothing initialised, and look again after half a minute.
            assert started[0].stdout
            if not together:
                first = started[0].stdout.readline()
            started += [self.start('worker', i, prefix) for i in range(1, self.workers)]
            said = [process.communicate(timeout=100) for process in started]
            return [(process.returncode, (first if i == 0 else '') + out, err)
                    for i, (process, (out, err)) in enumerate(zip(started, said))]
        finally:
            for process in started + self.servers:
                process.kill()
                process.wait()

    def reports(self) -> list[dict[str, Any]]:
        return [json.loads(path.read_text()) for path in self.folder.glob('report-*.json')]


WINDOW = {'discipline': 'window', 'window': 1}
FREE = {'discipline': 'free'}


@pytest.mark.parametrize('flags', [('--session=monitored',), ('--session=plain', '--resource', '--optimizer=adam')])
def test_one_worker_trains_bit_for_bit_the_same(tmp_path: pathlib.Path, flags: tuple[str, ...]) -> None:
    [(code, losses, err)] = Job(tmp_path, 1, 1, *flags).run(None)
    assert code == 0 and losses.count('loss') == 20, err
    [(code, ordered, err)] = Job(tmp_path, 1, 1, *flags).run(schedule(1, WINDOW, WINDOW))
    assert code == 0 and ordered == losses, err
    assert 'reversed: window 1 on 6 of 6 pulls from 1 servers, window 1 on pushes' in err
    [report] = tmp_path.glob('report-*.json')
    content = json.loads(report.read_text())
    assert (content['steps'], content['inversions_max'], content['pairs']) == (20, 0, 15)
    names = [transfer['name'] for transfer in content['transfers']]
    for step in content['arrivals']:
        assert [names[tag] for tag, _ in step] == list(reversed(VARIABLES))


def test_without_enforcement_the_order_is_another(tmp_path: pathlib.Path) -> None:
    [(code, _, err)] = Job(tmp_path, 1, 1).run(schedule(1, FREE, FREE))
    assert code == 0, err
    assert 'no order is enforced' in err
    [report] = tmp_path.glob('report-*.json')
    assert json.loads(report.read_text())['inversions_mean'] > 1


def test_two_workers_two_servers(tmp_path: pathlib.Path) -> None:
    job = Job(tmp_path, 2, 2, '--steps=400')
    done = job.run(schedule(2, FREE | {'discipline': 'priority'}, FREE), '--mode=chain_window', '--window=1')
    for code, out, err in done:
        assert code == 0 and out.count('loss') == 400, err
        assert 'chain_window 1 on 6 of 6 pulls from 2 servers' in err and 'another server' not in err
    for report in job.reports():
        assert report['inversions_max'] == 0 and report['pairs'] == 6 and report['steps'] >= 400


# Two-sided 99.9 % quantile of Student's t with 4 degrees of freedom.
T_4 = 8.61


def late_loss(done: list[tuple[int, str, str]]) -> tuple[float, float]:
    """Mean loss of both workers in their first 5 and in their last 500 steps."""
    first, last = [], []
    for code, out, err in done:
        assert code == 0, err
        losses = [float(line.split()[2]) for line in out.splitlines() if line.startswith('loss')]
        assert len(losses) == 1500, err
        first += losses[:5]
        last += losses[-500:]
    return statistics.fmean(first), statistics.fmean(last)


def test_two_asynchronous_workers_train_to_the_same_loss(tmp_path: pathlib.Path) -> None:
    """Asynchronous runs differ from one to the next: the one under a schedule is held against five without, by the
    interval that holds a sixth of them with a probability of 99.9 %."""
    flags = ('--steps=1500', '--session=plain', '--noise=3')
    free = [late_loss(Job(tmp_path, 1, 2, *flags).run(None, together=True)) for _ in range(5)]
    done = Job(tmp_path, 1, 2, *flags).run(schedule(1, WINDOW, WINDOW), together=True)
    _, loss = late_loss(done)
    for report in (json.loads(path.read_text()) for path in tmp_path.glob('report-*.json')):
        assert report['inversions_max'] == 0 and report['steps'] >= 1500
    runs = [last for _, last in free]
    mean, half = statistics.fmean(runs), T_4 * statistics.stdev(runs) * math.sqrt(1 + 1 / 5)
    print(f'without a schedule {" ".join(f"{run:.4f}" for run in runs)}, with one {loss:.4f}, {mean:.4f} +- {half:.4f}')
    assert len(set(runs)) > 1, 'the workers did not meet'
    assert abs(loss - mean) <= half
    # The interval is narrow beside what training gains, or nothing would be tested.
    assert half < 0.3 * (statistics.fmean(first for first, _ in free) - mean)


def test_a_schedule_of_another_model_is_refused(tmp_path: pathlib.Path) -> None:
    file = schedule(1, WINDOW, FREE)
    file['parameters'][0]['name'] = 'first/kernel'
    file['parameters'][1]['bytes'] = file['parameters'][1]['slices'][0]['bytes'] = 4
    [(code, _, err)] = Job(tmp_path, 1, 1).run(file)
    assert code != 0
    assert 'made for another model' in err and 'no variable "first/kernel"' in err
    assert 'variable "first/biases" has 1024 bytes, not 4' in err


def test_what_is_no_tensorflow_runs_as_it_is(tmp_path: pathlib.Path) -> None:
    (tmp_path / 's.json').write_text(json.dumps(schedule(1, WINDOW, FREE)))
    command = [sys.executable, '-m', 'stretto_tf', 'run', '--schedule', str(tmp_path / 's.json'), '--']
    done = subprocess.run([*command, sys.executable, '-c', 'import sys; print(sys.argv); sys.exit(5)', '--x', '-o'],
                          capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (5, "['-c', '--x', '-o']\n"), done.stderr
    for wrong in (['no-such-program'], []):
        done = subprocess.run(command + wrong, capture_output=True, text=True, timeout=60)
        assert done.returncode == 2 and 'error' in done.stderr
