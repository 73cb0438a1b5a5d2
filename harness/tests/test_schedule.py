# SPDX-License-Identifier: Apache-2.0
"""Schedule files, and arrivals without marks of steps."""
import copy
import dataclasses
from typing import Any

import pytest

from stretto_tf import bundle as bundle_file
from stretto_tf import schedule
from stretto_tf.arrivals import Arrivals
from stretto_tf.errors import InputError
from stretto_tf.schedule import Enforcement, Variable

FILE: dict[str, Any] = {
    'format': 'stretto-schedule', 'version': 1, 'workload': {'name': 'm', 'sha256': '00'}, 'policy': 'tac',
    'found_by': 'hand', 'prediction': {'mean_s': 1.0}, 'servers': 2,
    'pull': {'discipline': 'chain_window', 'window': 4}, 'push': {'discipline': 'free'},
    'parameters': [
        {'name': 'a', 'bytes': 8, 'slices': [{'bytes': 8, 'server': 0, 'pull': 1}]},
        {'name': 'b', 'bytes': 12, 'slices': [{'bytes': 8, 'server': 1, 'pull': 0}, {'bytes': 4, 'server': 0}]}]}


def test_reads_layout_and_order() -> None:
    found = schedule.read(FILE, 's')
    assert found.pull == Enforcement('chain_window', 4) and found.push == Enforcement('none', 0)
    assert found.variables == {'a': Variable(8, 0, 1, None), 'b/part_0': Variable(8, 1, 0, None),
                               'b/part_1': Variable(4, 0, None, None)}


@pytest.mark.parametrize('discipline, found', [
    ('strict', Enforcement('window', 1)), ('priority', Enforcement('window', 1)), ('window', Enforcement('window', 1)),
    ('unordered', Enforcement('none', 0)), ('free', Enforcement('none', 0))])
def test_disciplines(discipline: str, found: Enforcement) -> None:
    file = copy.deepcopy(FILE)
    file['pull'] = {'discipline': discipline}
    assert schedule.read(file, 's').pull == found
    override = Enforcement('chain_window', 8)
    assert schedule.read(file, 's', override).pull == (override if found.window else found)


def test_a_credit_needs_a_choice() -> None:
    file = copy.deepcopy(FILE)
    for discipline in ('credit', 'credit_skip'):
        file['pull'] = {'discipline': discipline, 'credit_bytes': 4}
        with pytest.raises(InputError, match='--mode'):
            schedule.read(file, 's')
    assert schedule.read(file, 's', Enforcement('window', 2)).pull == Enforcement('window', 2)


def test_refuses_what_it_does_not_know() -> None:
    for key, value in (('version', 3), ('servers', 1), ('extra', 1), ('start_offsets_ps', [0, 5])):
        with pytest.raises(InputError):
            schedule.read({**FILE, key: value}, 's')


def test_a_policy_of_a_bundle_is_a_schedule(bundle: dict[str, Any]) -> None:
    bundle['transfers'][0:1] = [{'parameter': 'v0', 'slice': i, 'bytes': 500_000, 'server': 0} for i in range(2)]
    bundle['policies'][0]['pull']['order'] = [4, 1, 0]
    read = bundle_file.read(bundle)
    found = schedule.from_policy(read, read.policies[0])
    assert found.variables['v0/part_0'].pull == 2 and found.variables['v0/part_1'].pull == 1
    assert found.variables['v3'] == Variable(400_000, 0, 0, None) and found.variables['v1'].pull is None


@dataclasses.dataclass
class Pull:
    server: int
    rank: int | None
    worker: str = 'w'


def test_arrivals_tell_steps_apart() -> None:
    found = Arrivals()
    found.extend([Pull(0, 0), Pull(0, 1), Pull(0, 2)])
    found.extend([Pull(0, None), Pull(1, 0)])
    found.add([(0, 10), (3, 11), (1, 12), (2, 13), (4, 9)])
    found.add([(4, 30), (2, 20), (1, 21), (0, 22), (3, 19)])
    assert found.summary() == {'steps': 2, 'inversions_mean': 1.5, 'inversions_max': 3, 'pairs': 3}
    assert sorted(len(step) for step in found.kept()) == [1, 1, 4, 4]


def test_a_part_of_a_step_is_no_step() -> None:
    found = Arrivals()
    found.extend([Pull(0, 0), Pull(0, 1), Pull(0, 2)])
    found.add([(1, 1), (0, 2), (1, 10), (0, 11), (2, 12)])
    assert found.summary() == {'steps': 1, 'inversions_mean': 1.0, 'inversions_max': 1, 'pairs': 3}
