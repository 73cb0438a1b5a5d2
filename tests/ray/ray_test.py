# SPDX-License-Identifier: Apache-2.0
"""stretto-ray on a local cluster of two nodes: the result of a single machine, also where a node is killed; errors."""
import os
import pathlib
import shlex
import signal
import stat
import subprocess
import sys
import time

import pytest
import ray
from ray.cluster_utils import Cluster

SOURCE = pathlib.Path(__file__).parents[2].resolve()
BINARY = pathlib.Path(os.environ.get('STRETTO_BINARY', SOURCE / 'build/check/app/stretto')).resolve()
DRIVER = pathlib.Path(sys.executable).with_name('stretto-ray')
# Points of 1 to 4 workers, some of which cannot be run and some of which a constraint leaves out.
SWEEP = '''stretto: 1
name: many
workload: {file: model.workload.json, mode: inference}
cluster: {include: devices.yaml, servers: {count: 1}}
policies: [tac]
runs: {iterations: 3, warm_up: 1, replications: 2}
vary: {cluster.workers.count: [0, 1, 2, 4], cluster.servers.count: [1, 2, 3]}
sweep:
  sample: {points: 12, seed: 5, fields: {cluster.network.comm_compute_ratio: {from: 0.2, to: 8, scale: log}}}
  constraints: [cluster.servers.count <= 2]
'''


@pytest.fixture(scope='module', autouse=True)
def cluster():
    made = Cluster(initialize_head=True, head_node_args={'num_cpus': 1, 'object_store_memory': 80_000_000})
    made.add_node(num_cpus=1, object_store_memory=80_000_000)
    yield made
    made.shutdown()


@pytest.fixture
def folder(tmp_path):
    (tmp_path / 'model.workload.json').write_bytes((SOURCE / 'configs/workloads/vgg_16.workload.json').read_bytes())
    (tmp_path / 'devices.yaml').write_text('workers: {device: {include: parts/v100.yaml}}\n')
    (tmp_path / 'parts').mkdir()
    (tmp_path / 'parts/v100.yaml').write_bytes((SOURCE / 'configs/devices/v100.yaml').read_bytes())
    (tmp_path / 'sweep.yaml').write_text(SWEEP)
    return tmp_path


def stretto(folder, *words, code=0):
    done = subprocess.run([BINARY, *words], cwd=folder, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stderr) == (code, '')
    return done.stdout


def start(cluster, folder, *words, program=BINARY):
    return subprocess.Popen([DRIVER, 'sweep.yaml', '--address', cluster.address, '--stretto', program, *words],
                            cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            env=os.environ | {'RAY_DEDUP_LOGS': '1'})


def finished(process, code):
    out, err = process.communicate(timeout=120)
    assert process.returncode == code, err
    return out, err


def wrapper(folder, text):
    """A program in front of the real one; "$@" are its words."""
    path = folder / 'program.sh'
    path.write_text(f'#!/bin/bash\nstretto={shlex.quote(str(BINARY))}\nhere={shlex.quote(str(folder))}\n{text}\n')
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def single(folder):
    stretto(folder, 'sweep', 'sweep.yaml', '--store', 'single.sqlite', code=1)  # the points without workers fail
    return stretto(folder, 'results', 'export', 'csv', 'single.sqlite')


def exported(folder, store):
    return stretto(folder, 'results', 'export', 'csv', store)


def ancestors(pid):
    while pid > 1:
        yield pid
        try:
            pid = int(pathlib.Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()[1])
        except OSError:
            return


def wait_for(condition, seconds=60):
    end = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < end, 'waited in vain'
        time.sleep(0.05)
    return found


def test_two_nodes_give_the_single_run(cluster, folder):
    out, _ = finished(start(cluster, folder, '--store', 'all.sqlite'), 1)
    assert '8 shards, on 2 nodes: 72 points done, 24 failed.' in out
    assert exported(folder, 'all.sqlite') == single(folder)
    assert not (folder / 'all.sqlite.parts').exists()
    assert '96 stored before' in stretto(folder, 'sweep', 'sweep.yaml', '--store', 'all.sqlite', code=1)


def test_a_dead_node_loses_nothing(cluster, folder):
    node = cluster.add_node(num_cpus=1, object_store_memory=80_000_000)
    raylet = node.all_processes['raylet'][0].process.pid
    # Says which shard it runs, and waits until the test has killed the node.
    program = wrapper(folder, '''if [[ $1 == sweep && $3 == --shard ]]; then
  echo "$$ $4" >> "$here/started"
  while [[ ! -e $here/go ]]; do sleep 0.1; done
fi
exec "$stretto" "$@"''')
    process = start(cluster, folder, '--store', 'all.sqlite', '--shards', '6', program=program)

    def starts():
        path = folder / 'started'
        return [line.split() for line in path.read_text().splitlines()] if path.exists() else []

    def on_node():
        assert process.poll() is None, process.communicate()
        return [(int(pid), shard) for pid, shard in starts() if raylet in ancestors(int(pid))]

    pid, shard = wait_for(on_node)[0]
    cluster.remove_node(node, allow_graceful=False)
    (folder / 'go').touch()
    out, _ = finished(process, 1)
    assert '6 shards' in out and '72 points done, 24 failed' in out
    again = [p for p, s in starts() if s == shard]
    assert len(again) == 2 and str(pid) in again  # run again, elsewhere
    assert len({s for _, s in starts()}) == 6
    wait_for(lambda: not pathlib.Path(f'/proc/{pid}').exists())  # the program died with its node
    assert exported(folder, 'all.sqlite') == single(folder)


def test_an_interrupted_driver_goes_on(cluster, folder):
    program = wrapper(folder, '''if [[ $1 == sweep && $4 == 5/6 && ! -e $here/go ]]; then sleep 100; fi
exec "$stretto" "$@"''')
    process = start(cluster, folder, '--store', 'all.sqlite', '--shards', '6', program=program)
    wait_for(lambda: list(folder.glob('all.sqlite.parts/*/1.sqlite')))
    process.send_signal(signal.SIGTERM)
    assert finished(process, 130)[1].endswith('interrupted\n')
    assert not (folder / 'all.sqlite').exists()
    (folder / 'go').touch()
    # Without --shards it would be four per CPU; what has come back decides.
    out, _ = finished(start(cluster, folder, '--store', 'all.sqlite', program=program), 1)
    assert '6 shards, ' in out and ' of an earlier start' in out
    assert not (folder / 'all.sqlite.parts').exists()
    assert exported(folder, 'all.sqlite') == single(folder)


def test_a_program_that_is_killed_is_started_again(cluster, folder):
    program = wrapper(folder, '''if [[ $1 == sweep && $4 == 2/3 && ! -e $here/once ]]; then
  touch "$here/once"
  kill -9 $$
fi
exec "$stretto" "$@"''')
    finished(start(cluster, folder, '--store', 'all.sqlite', '--shards', '3', program=program), 1)
    assert (folder / 'once').exists()
    assert exported(folder, 'all.sqlite') == single(folder)


@pytest.mark.parametrize('words, program, message', [
    (['--set', 'cluster.workers.cuont=1'], '', "did you mean 'cluster.workers.count'"),
    (['--threads', '9'], '', 'no node has 9 CPUs'),
    (['--address', '127.0.0.1:1'], '', 'no Ray cluster at'),
    ([], '[[ $1 == --version && $PWD == *stretto-ray-* ]] && { echo "stretto 0 (commit 0)"; exit 0; }',
     'all nodes need the same version'),
    ([], '[[ $3 == --shard ]] && { echo "no such thing" >&2; exit 2; }', 'exit code 2: no such thing'),
    ([], '[[ $3 == --shard ]] && set -- "$@" --set runs.seed=9', 'another sweep than the driver'),
    ([], '[[ $3 == --shard ]] && kill -9 $$', 'ended by signal 9')])
def test_refusals(cluster, folder, words, program, message):
    chosen = wrapper(folder, f'{program}\nexec "$stretto" "$@"') if program else BINARY
    environment = ['--retries', '0'] if 'kill' in program else []
    out, err = finished(start(cluster, folder, '--store', 'all.sqlite', '--shards', '2', *environment, *words,
                              program=chosen), 2)
    assert message in err
    assert out == '' and not (folder / 'all.sqlite').exists()


def test_refusals_without_a_cluster(folder):
    for words, message in ((['../sweep.yaml'], 'below the current directory'),
                           (['sweep.yaml', '--address', 'local', '--stretto', 'no/such'], 'cannot be started'),
                           (['sweep.yaml', '--shards', '0'], 'invalid')):
        done = subprocess.run([DRIVER, *words], cwd=folder, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 2 and message in done.stderr, done.stderr
    assert not ray.is_initialized()
