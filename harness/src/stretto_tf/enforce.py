# SPDX-License-Identifier: Apache-2.0
"""Orders the transfers of a TensorFlow graph by rewriting it in place.

A variable that lives on a server and is read by ops of a worker gets a second read on the server and a marker on the
worker; those of the worker's ops that lead to an update take the marker's value in place of the first read's. A read
waits for the marker of the pull `window` places earlier, with chain_window also for the read one place earlier.
Gradients get a sender on the worker and a marker on the server in the same way. Values do not change, nor do other
users of a variable (initialisation, saving, evaluation on the server).

Only edges are added between ops of one pair of server and worker; an order therefore never joins two servers. All
must be done before a session has seen the ops that change.
"""
import dataclasses
from collections.abc import Callable, Iterable
from typing import Any

from .errors import InputError
from .schedule import Enforcement, Schedule, Variable

VARIABLES = ('VariableV2', 'Variable', 'VarHandleOp')
READS = ('Identity', 'ReadVariableOp')
_UPDATES = ('Apply', 'ResourceApply', 'SparseApply', 'ResourceSparseApply', 'AssignSub', 'ScatterSub',
            'ResourceScatterSub', 'AssignSubVariableOp', 'AccumulatorApplyGradient', 'SparseAccumulatorApplyGradient')
_GRADIENTS = ('delta', 'grad', 'gradient', 'value')
MAX_SHOWN = 10


# Makes a marker of a value, given the variable's name.
Stamp = Callable[[Any, str], Any]


@dataclasses.dataclass(frozen=True)
class Place:
    """A task, from a device's name."""

    job: str
    task: int


@dataclasses.dataclass
class Transfer:
    """One tensor between a server and a worker; `rank` is None if it goes freely."""

    name: str
    server: Place
    worker: str
    rank: int | None
    bytes: int
    start: Any
    marker: Any


@dataclasses.dataclass
class Rewritten:
    """Transfers by their tag; the last part of each list is what could not be ordered."""

    pulls: list[Transfer] = dataclasses.field(default_factory=list)
    pushes: list[Transfer] = dataclasses.field(default_factory=list)
    sparse: list[str] = dataclasses.field(default_factory=list)
    elsewhere: int = 0


def place_of(device: str) -> Place | None:
    """None if the name says no job."""
    parts = dict(part.split(':', 1) for part in device.split('/') if ':' in part)
    return Place(parts['job'], int(parts.get('task', 0))) if 'job' in parts else None


def is_update(op: Any) -> bool:
    return bool(op.type.startswith(_UPDATES[:4]) or op.type in _UPDATES[4:])


def ancestors(ops: Iterable[Any]) -> set[Any]:
    """The given ops and all that they need."""
    found = set(ops)
    left = list(found)
    while left:
        op = left.pop()
        for before in [tensor.op for tensor in op.inputs] + list(op.control_inputs):
            if before not in found:
                found.add(before)
                left.append(before)
    return found


def variable_of(tensor: Any) -> Any:
    return tensor.op if tensor.op.type in VARIABLES else None


def variable_bytes(op: Any) -> int | None:
    import tensorflow as tf
    shape = tf.TensorShape(op.get_attr('shape'))
    count = shape.num_elements()
    return None if count is None else count * tf.dtypes.as_dtype(op.get_attr('dtype')).size


def _is_remote(op: Any, server: Place) -> bool:
    place = place_of(op.device)
    return place is None or place.job != server.job


def _host(device: str) -> str:
    """The CPU of a device's task."""
    place = place_of(device)
    return f'/job:{place.job}/task:{place.task}/device:CPU:0' if place else '/device:CPU:0'


class _Rewriter:
    def __init__(self, graph: Any, schedule: Schedule, frozen: int):
        import tensorflow as tf
        self.tf = tf
        self.graph = graph
        self.schedule = schedule
        self.frozen = frozen
        self.result = Rewritten()

    def at(self, device: str) -> Any:
        """A context in which ops get this device and nothing else of what surrounds us."""
        import contextlib
        stack = contextlib.ExitStack()
        stack.enter_context(self.graph.as_default())
        stack.enter_context(self.graph.name_scope('stretto/'))
        stack.enter_context(self.tf.compat.v1.get_default_graph().control_dependencies(None))
        stack.enter_context(self.tf.compat.v1.device(None))
        stack.enter_context(self.tf.compat.v1.device(device))
        return stack

    def marker(self, value: Any, name: str, stamp: Stamp | None) -> Any:
        return stamp(value, name) if stamp else self.tf.raw_ops.Identity(input=value)

    def replace(self, op: Any, index: int, value: Any) -> None:
        if op._id <= self.frozen:
            raise InputError('a session ran the graph before all of it was built; its transfers can only be ordered if '
                             f'the first run comes after the optimizer has been made (op "{op.name}" was there)')
        op._update_input(index, value)

    def pulls(self, needed: set[Any], stamp: Stamp | None) -> None:
        for read in [op for op in self.graph.get_operations() if op.type in READS]:
            variable = variable_of(read.inputs[0])
            server = place_of(variable.device) if variable is not None else None
            if server is None:
                continue
            workers: dict[str, list[Any]] = {}
            for user in read.outputs[0].consumers():
                if user in needed and _is_remote(user, server):
                    workers.setdefault(_host(user.device), []).append(user)
            for worker, users in sorted(workers.items()):
                self.pull(variable, server, read, worker, users, stamp)

    def pull(self, variable: Any, server: Place, read: Any, worker: str, users: list[Any],
             stamp: Stamp | None) -> None:
        with self.at(variable.device):
            if read.type == 'Identity':
                start = self.tf.raw_ops.Identity(input=variable.outputs[0])
            else:
                start = self.tf.raw_ops.ReadVariableOp(resource=variable.outputs[0], dtype=read.outputs[0].dtype)
                start.set_shape(read.outputs[0].shape)
        for before in read.control_inputs:
            start.op._add_control_input(before)
        with self.at(worker):
            marker = self.marker(start, variable.name, stamp)
            marker.set_shape(read.outputs[0].shape)
        for user in users:
            for i, tensor in enumerate(user.inputs):
                if tensor.op is read:
                    self.replace(user, i, marker)
        known = self.known(variable, server)
        self.result.pulls.append(Transfer(variable.name, server, worker, known.pull if known else None,
                                          variable_bytes(variable) or 0, start.op, marker.op))

    def pushes(self, updates: Iterable[Any], stamp: Stamp | None) -> None:
        for update in updates:
            variable = variable_of(update.inputs[0])
            server = place_of(variable.device) if variable is not None else None
            if server is None:
                continue
            names = [argument.name for argument in update.op_def.input_arg]
            if 'indices' in names:
                self.result.sparse.append(variable.name)
                continue
            for i, name in enumerate(names):
                gradient = update.inputs[i]
                if name not in _GRADIENTS or not _is_remote(gradient.op, server):
                    continue
                worker = gradient.op.device
                with self.at(worker):
                    start = self.tf.raw_ops.Identity(input=gradient)
                with self.at(variable.device):
                    marker = self.marker(start, variable.name, stamp)
                self.replace(update, i, marker)
                known = self.known(variable, server)
                self.result.pushes.append(Transfer(variable.name, server, _host(worker), known.push if known else None,
                                                   variable_bytes(variable) or 0, start.op, marker.op))

    def known(self, variable: Any, server: Place) -> Variable | None:
        found = self.schedule.variables.get(variable.name)
        if found and found.server != server.task:
            self.result.elsewhere += 1
        return found


def _chain(transfers: Iterable[Transfer], enforcement: Enforcement) -> None:
    channels: dict[tuple[Place, str], list[Transfer]] = {}
    for transfer in transfers:
        if transfer.rank is not None:
            channels.setdefault((transfer.server, transfer.worker), []).append(transfer)
    for channel in channels.values():
        channel.sort(key=lambda transfer: transfer.rank or 0)
        for i, transfer in enumerate(channel):
            if i >= enforcement.window:
                transfer.start._add_control_input(channel[i - enforcement.window].marker)
            if i and enforcement.mode == 'chain_window':
                transfer.start._add_control_input(channel[i - 1].start)


def check(graph: Any, schedule: Schedule) -> None:
    """Fails if the schedule was made for other variables."""
    there = {op.name: variable_bytes(op) for op in graph.get_operations() if op.type in VARIABLES}
    faults = []
    for name, variable in schedule.variables.items():
        if name not in there:
            faults.append(f'the graph has no variable "{name}"')
        elif there[name] != variable.bytes:
            faults.append(f'variable "{name}" has {there[name]} bytes, not {variable.bytes}')
    if faults:
        more = f' (and {len(faults) - MAX_SHOWN} more)' if len(faults) > MAX_SHOWN else ''
        raise InputError('the schedule was made for another model: ' + '; '.join(faults[:MAX_SHOWN]) + more)


def rewrite(graph: Any, schedule: Schedule, pull_stamp: Stamp | None = None, push_stamp: Stamp | None = None,
            frozen: int = 0) -> Rewritten | None:
    """None, and nothing changes, as long as the graph has no update of a variable.

    Stamps are called once per transfer, pulls in the order of the result; without them markers are Identity ops. Ops
    up to the number `frozen` have been seen by a session.
    """
    updates = [op for op in graph.get_operations() if is_update(op)]
    if not updates:
        return None
    check(graph, schedule)
    rewriter = _Rewriter(graph, schedule, frozen)
    rewriter.pulls(ancestors(updates), pull_stamp)
    if schedule.push.mode != 'none' or push_stamp:
        rewriter.pushes(updates, push_stamp)
    if schedule.push.mode != 'none':
        _chain(rewriter.result.pushes, schedule.push)
    if schedule.pull.mode != 'none':
        _chain(rewriter.result.pulls, schedule.pull)
    return rewriter.result
