# SPDX-License-Identifier: Apache-2.0
"""A real network: its variables arrive in order, and its profile is complete."""
import json
import pathlib
import subprocess
import sys
from typing import Any

import pytest

from conftest import Run
from stretto_tf import bundle as bundle_file
from stretto_tf import profile
from stretto_tf.errors import InputError

pytestmark = pytest.mark.tensorflow


def model_bundle() -> dict[str, Any]:
    """The two largest variables of Inception v1, which the classifier and the last block have, and a small one."""
    transfers = [{'parameter': 'InceptionV1/Logits/Conv2d_0c_1x1/weights', 'bytes': 1024 * 1000 * 4, 'server': 0},
                 {'parameter': 'InceptionV1/Conv2d_2b_1x1/weights', 'bytes': 64 * 64 * 4, 'server': 0},
                 {'parameter': 'InceptionV1/Mixed_5c/Branch_1/Conv2d_0b_3x3/weights', 'bytes': 9 * 192 * 384 * 4,
                  'server': 0}]
    return {'format': 'stretto-bundle', 'version': 1, 'name': 'real', 'model': {'name': 'inception_v1', 'batch': 1},
            'cluster': {'servers': 1, 'workers': 1}, 'transfers': transfers,
            'policies': [{'name': 'backwards', 'pull': {'mode': 'window', 'window': 1, 'order': [0, 2, 1]}}],
            'steps': 2, 'warm_up': 1, 'time_limit_s': 150}


def test_a_model_takes_the_place_of_the_workload() -> None:
    read = bundle_file.read(model_bundle())
    assert read.model and read.model.batch == 1 and len(read.policies[0].transfers) == 3
    with pytest.raises(InputError, match='bundle.workload: unknown key'):
        bundle_file.read(model_bundle() | {'workload': {}})


def test_real_steps_in_order(tmp_path: pathlib.Path) -> None:
    content = Run(tmp_path, model_bundle()).content()
    assert content['compute'] == 'real'
    [cell] = content['cells']
    assert cell['summary']['inversions_mean'] == 0 and cell['summary']['pairs'] == 3
    for [worker] in cell['steps']:
        assert [i for i, _ in worker['pull_arrival_ms']] == [0, 2, 1]
        assert sorted(i for i, _ in worker['push_arrival_ms']) == [0, 1, 2]
        assert worker['step_ms'] >= max(at for _, at in worker['push_arrival_ms'])


def test_a_profile_holds_graph_and_steps(tmp_path: pathlib.Path) -> None:
    tf = pytest.importorskip('tensorflow')
    import gzip
    (tmp_path / 'b.json').write_text(json.dumps(model_bundle()))
    done = subprocess.run([sys.executable, '-m', 'stretto_tf', 'profile', str(tmp_path / 'b.json'), '-o',
                           str(tmp_path / 'profile'), '--traces', '2'], capture_output=True, text=True, timeout=150)
    assert done.returncode == 0, done.stderr
    assert 'recorded in 2 steps' in done.stderr
    graph = tf.compat.v1.GraphDef.FromString(gzip.decompress((tmp_path / 'profile/graph.pb.gz').read_bytes()))
    step = tf.compat.v1.RunMetadata.FromString(gzip.decompress((tmp_path / 'profile/step.pb.gz').read_bytes()))
    names = {node.name for node in graph.node}
    assert not any(name.startswith('stretto') for name in names)
    recorded = {node.node_name for device in step.step_stats.dev_stats for node in device.node_stats}
    convolutions = {node.name for node in graph.node if node.op == 'Conv2D'}
    assert len(convolutions) == 58 and convolutions <= recorded and 'RecvTensor' in recorded


def test_merged_traces_have_the_least_times() -> None:
    tf = pytest.importorskip('tensorflow')

    def step(begin: int, **times: int) -> Any:
        metadata = tf.compat.v1.RunMetadata()
        device = metadata.step_stats.dev_stats.add(device='/job:worker')
        for name, nanoseconds in times.items():
            device.node_stats.add(node_name=name, all_start_nanos=begin, all_end_rel_nanos=nanoseconds,
                                  timeline_label='x = Op()')
        return metadata

    merged, counts = profile.merge([step(1000, a=5, b=9), step(2000, a=7, b=3, c=4), step(3000, a=6)])
    [device] = merged.step_stats.dev_stats
    assert {n.node_name: n.all_end_rel_nanos for n in device.node_stats} == {'a': 5, 'b': 3, 'c': 4}
    assert device.node_stats[0].all_start_nanos == 3000
    assert counts == {'records': 3, 'missing': 2}
