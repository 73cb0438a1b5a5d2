# SPDX-License-Identifier: Apache-2.0
"""Reading of bundles: what is accepted, and that wrong ones are refused with the place."""
import gzip
import json
import pathlib
from typing import Any

import pytest

from stretto_tf import bundle as bundle_file
from stretto_tf.errors import InputError


def test_reads_what_is_there(bundle: dict[str, Any]) -> None:
    read = bundle_file.read(bundle)
    assert [op.name for op in read.workload.ops] == [op['name'] for op in bundle['workload']['ops']]
    assert read.workload.ops[4].backward and read.workload.ops[4].inputs == ('fwd3',)
    assert [t.bytes for t in read.policies[0].transfers] == [1_000_000, 30_001, 2_000_000, 400_000]
    assert read.policies[0].pull.window == 1 and read.policies[0].push.mode == 'none'
    assert read.cluster.network == 'auto' and read.sync and read.steps == 5


def test_ops_may_stand_in_any_order(bundle: dict[str, Any]) -> None:
    bundle['workload']['ops'].reverse()
    names = [op.name for op in bundle_file.read(bundle).workload.ops]
    assert names == ['fwd0', 'fwd1', 'fwd2', 'fwd3', 'bwd3', 'bwd2', 'bwd1', 'bwd0']


def test_slices_and_a_layout_of_a_policy(bundle: dict[str, Any]) -> None:
    bundle['cluster']['servers'] = 2
    cut = [{'parameter': 'v0', 'slice': i, 'bytes': 500_000, 'server': i} for i in range(2)] + bundle['transfers'][1:]
    bundle['policies'].append({'name': 'cut', 'transfers': cut,
                               'pull': {'mode': 'chain_window', 'window': 2, 'order': [4, 3, 2, 1, 0]}})
    read = bundle_file.read(bundle)
    assert len(read.policies[0].transfers) == 4 and len(read.policies[1].transfers) == 5
    assert read.policies[1].pull.chain_of(read.policies[1].transfers, 1) == [1]


def test_gzip(bundle: dict[str, Any], tmp_path: pathlib.Path) -> None:
    (tmp_path / 'b.json.gz').write_bytes(gzip.compress(json.dumps(bundle).encode()))
    assert bundle_file.load(tmp_path / 'b.json.gz')[1].name == 'small'


def put(key: str, value: Any) -> Any:
    def change(bundle: dict[str, Any]) -> None:
        *path, last = key.split('.')
        target: Any = bundle
        for step in path:
            target = target[int(step) if step.isdecimal() else step]
        target[int(last) if last.isdecimal() else last] = value
    return change


@pytest.mark.parametrize('change, message', [
    (put('format', 'stretto-workload'), 'bundle.format: expected "stretto-bundle"'),
    (put('version', 2), 'bundle.version: 2 is newer'),
    (put('colour', 1), 'bundle.colour: unknown key'),
    (put('steps', 0), 'bundle.steps: expected an integer from 1'),
    (put('steps', True), 'bundle.steps: expected an integer'),
    (put('steps', 2.0), 'bundle.steps: expected an integer'),
    (put('cluster.workers', 0), 'bundle.cluster.workers'),
    (put('cluster.network', 'wireless'), 'expected one of auto, namespaces, loopback'),
    (put('cluster', []), 'bundle.cluster: expected an object'),
    (put('transfers.0.server', 1), r'bundle.transfers\[0\].server'),
    (put('transfers.0.bytes', 7), 'add up to 1000000 bytes'),
    (put('transfers.1.parameter', 'v0'), 'the slices of "v0"'),
    (put('policies', []), 'there must be policies'),
    (put('policies.0.pull.order', [0, 0]), r'policies\[0\].pull.order: 0 is there twice'),
    (put('policies.0.pull.order', [4]), 'indices of transfers, 0 to 3'),
    (put('policies.0.pull.window', 0), 'must be at least 1'),
    (put('policies.0.pull.mode', 'none'), 'absent without'),
    (put('workload.ops.0.inputs', ['bwd0']), 'waits for itself'),
    (put('workload.ops.0.inputs', ['nothing']), 'which is no op'),
    (put('workload.ops.0.reads', ['nothing']), 'which is no parameter'),
    (put('workload.ops.1.name', 'fwd0'), 'a name of its own'),
    (put('workload.ops.0.time_ps', -1), r'workload.ops\[0\].time_ps'),
    (put('workload.parameters.0.gradient', 'nothing'), 'names no op'),
    (put('workload.parameters.1.name', 'v0'), 'two have the same name'),
])
def test_refuses(bundle: dict[str, Any], change: Any, message: str) -> None:
    change(bundle)
    with pytest.raises(InputError, match=message):
        bundle_file.read(bundle)


@pytest.mark.parametrize('text, message', [
    ('{"a": 1, "a": 2}', 'the key "a" is there twice'), ('{"a": NaN}', 'NaN is not a number'), ('{', 'not JSON'),
    ('[' * 100_000, 'not JSON'), ('\x1f\x8bxx', 'b.json')])
def test_refuses_text(tmp_path: pathlib.Path, text: str, message: str) -> None:
    (tmp_path / 'b.json').write_bytes(text.encode('latin-1'))
    with pytest.raises(InputError, match=message):
        bundle_file.load(tmp_path / 'b.json')


def test_missing_file(tmp_path: pathlib.Path) -> None:
    with pytest.raises(InputError, match='No such file'):
        bundle_file.load(tmp_path / 'b.json')
