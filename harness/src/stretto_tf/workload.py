# SPDX-License-Identifier: Apache-2.0
"""A workload as stretto writes it: ops with times, and the parameters they read and complete gradients of."""
import dataclasses
import heapq
from typing import Any

from .errors import InputError
from .fields import Fields


@dataclasses.dataclass(frozen=True)
class Op:
    name: str
    backward: bool
    time_ps: int
    inputs: tuple[str, ...]
    reads: tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class Parameter:
    name: str
    bytes: int
    trainable: bool
    gradient: str | None


@dataclasses.dataclass(frozen=True)
class Workload:
    """Ops stand in an order in which each follows its inputs."""

    name: str
    batch: int
    ops: tuple[Op, ...]
    parameters: tuple[Parameter, ...]


def _sorted(ops: list[Op], place: str) -> tuple[Op, ...]:
    """Stable topological order: of the ops that may come next, the first of the file."""
    index = {op.name: i for i, op in enumerate(ops)}
    waiting = {op.name: len(set(op.inputs)) for op in ops}
    users: dict[str, list[str]] = {op.name: [] for op in ops}
    for op in ops:
        for name in set(op.inputs):
            users[name].append(op.name)
    ready = [i for i, op in enumerate(ops) if not waiting[op.name]]
    heapq.heapify(ready)
    result: list[Op] = []
    while ready:
        op = ops[heapq.heappop(ready)]
        result.append(op)
        for user in users[op.name]:
            waiting[user] -= 1
            if not waiting[user]:
                heapq.heappush(ready, index[user])
    if len(result) != len(ops):
        raise InputError(f'{place}.ops: "{next(n for n, left in waiting.items() if left)}" waits for itself')
    return tuple(result)


def read(value: Any, place: str) -> Workload:
    top = Fields(value, place)
    top.format('stretto-workload', 1)
    name = top.text('name')
    top.text('source', '')
    batch = top.integer('batch', 1, 10**9)
    ops: list[Op] = []
    for i, entry in enumerate(top.array('ops')):
        fields = Fields(entry, f'{place}.ops[{i}]')
        ops.append(Op(
            name=fields.text('name'), backward=fields.choice('phase', ('forward', 'backward')) == 'backward',
            time_ps=fields.integer('time_ps', 0, 10**17), inputs=tuple(fields.names('inputs')),
            reads=tuple(fields.names('reads'))))
        fields.done()
    parameters: list[Parameter] = []
    for i, entry in enumerate(top.array('parameters')):
        fields = Fields(entry, f'{place}.parameters[{i}]')
        parameters.append(Parameter(
            name=fields.text('name'), bytes=fields.integer('bytes', 1, 1 << 50),
            trainable=fields.flag('trainable', True),
            gradient=fields.text('gradient') if fields.has('gradient') else None))
        fields.done()
    top.done()
    op_names = {op.name for op in ops}
    parameter_names = {parameter.name for parameter in parameters}
    if not ops or len(op_names) != len(ops):
        raise InputError(f'{place}.ops: there must be ops, each with a name of its own')
    if len(parameter_names) != len(parameters):
        raise InputError(f'{place}.parameters: two have the same name')
    for op in ops:
        for used in op.inputs:
            if used not in op_names:
                raise InputError(f'{place}.ops: "{op.name}" waits for "{used}", which is no op')
        for used in op.reads:
            if used not in parameter_names:
                raise InputError(f'{place}.ops: "{op.name}" reads "{used}", which is no parameter')
    for parameter in parameters:
        if parameter.gradient is not None and parameter.gradient not in op_names:
            raise InputError(f'{place}.parameters: the gradient of "{parameter.name}" names no op')
    return Workload(name, batch, _sorted(ops, place), tuple(parameters))
