# SPDX-License-Identifier: Apache-2.0
"""Schedule files of stretto, as far as TensorFlow can enforce them: which variable comes when."""
import dataclasses
import pathlib
from collections.abc import Mapping
from typing import Any

from . import fields as json_fields
from .bundle import Bundle, Policy
from .errors import InputError
from .fields import Fields

DISCIPLINES = ('free', 'unordered', 'strict', 'priority', 'credit', 'window', 'chain_window',
               'credit_skip')


@dataclasses.dataclass(frozen=True)
class Variable:
    """A variable of the graph; ranks order it among others on its server, None: it goes freely."""

    bytes: int
    server: int
    pull: int | None
    push: int | None


@dataclasses.dataclass(frozen=True)
class Enforcement:
    """mode is none, window or chain_window."""

    mode: str
    window: int


@dataclasses.dataclass(frozen=True)
class Schedule:
    policy: str
    pull: Enforcement
    push: Enforcement
    variables: Mapping[str, Variable]


def _enforcement(value: Any, place: str, override: Enforcement | None) -> Enforcement:
    fields = Fields(value, place)
    discipline = fields.choice('discipline', DISCIPLINES)
    fields.take('credit_bytes', None)
    fields.take('alternatives', None)
    window = fields.integer('window', 1, 1 << 31, 1)
    fields.done()
    if discipline in ('free', 'unordered'):
        return Enforcement('none', 0)
    if override:
        return override
    if discipline in ('credit', 'credit_skip'):
        raise InputError(f'{place}.discipline: TensorFlow cannot be held to a credit; choose with --mode and --window')
    return Enforcement('chain_window' if discipline == 'chain_window' else 'window', window)


def names_of_slices(name: str, count: int) -> list[str]:
    """TensorFlow's names of the parts of a partitioned variable."""
    return [name] if count == 1 else [f'{name}/part_{i}' for i in range(count)]


def read(value: Any, place: str, override: Enforcement | None = None) -> Schedule:
    """`override` takes the place of the file's way to enforce, where it enforces anything."""
    top = Fields(value, place)
    top.format('stretto-schedule', 2)
    if top.has('start_offsets_ps'):
        raise InputError(f'{place}.start_offsets_ps: workers cannot be made to start at different times')
    for key in ('workload', 'found_by', 'prediction'):
        top.take(key, None)
    policy = top.text('policy')
    servers = top.integer('servers', 1, 1 << 20)
    pull = _enforcement(top.take('pull'), f'{place}.pull', override)
    push = _enforcement(top.take('push'), f'{place}.push', override)
    variables: dict[str, Variable] = {}
    for i, entry in enumerate(top.array('parameters')):
        fields = Fields(entry, f'{place}.parameters[{i}]')
        name = fields.text('name')
        fields.take('bytes')
        slices = fields.array('slices')
        fields.done()
        for number, (part, one) in enumerate(zip(names_of_slices(name, len(slices)), slices)):
            slice_fields = Fields(one, f'{fields.place}.slices[{number}]')
            ranks = [slice_fields.integer(key, 0, 1 << 32) if slice_fields.has(key) else None
                     for key in ('pull', 'push')]
            if part in variables:
                raise InputError(f'{fields.place}: "{part}" is there twice')
            variables[part] = Variable(slice_fields.integer('bytes', 1, 1 << 50),
                                       slice_fields.integer('server', 0, servers - 1), ranks[0], ranks[1])
            slice_fields.done()
    top.done()
    return Schedule(policy, pull, push, variables)


def load(path: pathlib.Path, override: Enforcement | None = None) -> Schedule:
    return read(json_fields.load(path), path.name, override)


def from_policy(bundle: Bundle, policy: Policy) -> Schedule:
    """The same for a policy of a bundle, whose parameters have the names of variables."""
    counts: dict[str, int] = {}
    for transfer in policy.transfers:
        counts[transfer.parameter] = counts.get(transfer.parameter, 0) + 1
    pull = {transfer: rank for rank, transfer in enumerate(policy.pull.order)}
    push = {transfer: rank for rank, transfer in enumerate(policy.push.order)}
    variables = {
        names_of_slices(t.parameter, counts[t.parameter])[t.slice]:
            Variable(t.bytes, t.server, pull.get(i), push.get(i))
        for i, t in enumerate(policy.transfers)}
    return Schedule(policy.name, Enforcement(policy.pull.mode, policy.pull.window),
                    Enforcement(policy.push.mode, policy.push.window), variables)
