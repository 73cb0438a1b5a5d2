# SPDX-License-Identifier: Apache-2.0
"""From stamps to a cell."""
import json
import pathlib
from typing import Any

import pytest

from stretto_tf import bundle as bundle_file
from stretto_tf import emulated, result


def test_tags() -> None:
    for parts in ((0, 0, 0), (63, emulated.COMPUTE, 123_456), (1, emulated.PUSH, 7)):
        assert emulated.untag(emulated.tag(*parts)) == parts


def test_stamps_go_to_their_step_and_worker(bundle: dict[str, Any]) -> None:
    bundle['cluster']['workers'] = 2
    bundle['steps'] = 2
    read = bundle_file.read(bundle)
    ms = 1_000_000
    times = [[(100 * ms, 150 * ms), (151 * ms, 199 * ms)], [(101 * ms, 149 * ms), (150 * ms, 210 * ms)]]
    stamp = emulated.tag
    notes = [
        [stamp(0, emulated.PULL, 1), 120 * ms, 120 * ms],
        [stamp(0, emulated.PULL, 0), 110 * ms, 110 * ms],
        [stamp(0, emulated.PULL, 2), 90 * ms, 90 * ms],    # before the first step: warm-up
        [stamp(1, emulated.PULL, 2), 151 * ms, 151 * ms],
        [stamp(1, emulated.PULL, 3), 153 * ms, 153 * ms],
        [stamp(1, emulated.PULL, 0), 152 * ms, 152 * ms],
        [stamp(0, emulated.COMPUTE, 0), 121 * ms, 125 * ms],
        [stamp(0, emulated.PUSH, 3), 130 * ms, 130 * ms]]
    cell = result.cell(read, read.policies[0], times, notes, {})
    first, second = cell['steps'][0][0], cell['steps'][1][1]
    assert first == {'step_ms': 50.0, 'pull_arrival_ms': [[0, 10.0], [1, 20.0]], 'compute_ms': [['fwd0', 21.0, 25.0]],
                     'push_arrival_ms': [[3, 30.0]], 'start_ms': 0.0, 'inversions': 0}
    assert second['pull_arrival_ms'] == [[2, 1.0], [0, 2.0], [3, 3.0]] and second['inversions'] == 1
    assert cell['steps'][0][1]['pull_arrival_ms'] == []
    summary = cell['summary']
    assert (summary['mean_ms'], summary['min_ms'], summary['max_ms']) == (55.0, 50.0, 60.0)
    assert summary['pairs'] == 6 and summary['inversions_mean'] == 0.25


def test_times_per_layer_only_for_chains(bundle: dict[str, Any]) -> None:
    bundle['workload']['ops'][7]['time_ps'] = 5_000_000
    read = bundle_file.read(bundle)
    cell = result._layer_times(read.policies[0], read.workload)
    assert cell == {'forward_us': [4000.0] * 4, 'backward_us': [5.0, 8000.0, 8000.0, 8000.0]}
    bundle['workload']['ops'][7]['inputs'] = ['bwd2']
    read = bundle_file.read(bundle)
    assert result._layer_times(read.policies[0], read.workload) == {}


@pytest.mark.parametrize('rate, text', [(10**9, '1 Gbit/s'), (200_000_000, '200 Mbit/s'), (2_500_000_000, '2.5 Gbit/s'),
                                        (1500, '1.5 kbit/s'), (None, 'unshaped')])
def test_rate(rate: int | None, text: str) -> None:
    assert result._rate_text(rate) == text


def test_a_file_is_written_whole_or_not_at_all(tmp_path: pathlib.Path) -> None:
    path = tmp_path / 'r.json'
    result.write(path, {'a': 1})
    with pytest.raises(TypeError):
        result.write(path, {'a': object()})
    assert json.loads(path.read_text()) == {'a': 1}
    assert [entry.name for entry in tmp_path.iterdir()] == ['r.json']
