# SPDX-License-Identifier: Apache-2.0
"""The bundle: all that a run needs, in one JSON file. docs/reference/harness.md describes it."""
import dataclasses
import pathlib
from typing import Any

from . import fields as json_fields
from . import workload as workload_file
from .errors import InputError
from .fields import Fields
from .workload import Parameter, Workload

MODES = ('none', 'window', 'chain_window')
MODELS = ('alexnet_v2', 'inception_v1', 'inception_v2', 'inception_v3', 'resnet_50_v1', 'resnet_101_v1',
          'resnet_50_v2', 'resnet_101_v2', 'vgg_16', 'vgg_19')
NETWORKS = ('auto', 'namespaces', 'loopback')


@dataclasses.dataclass(frozen=True)
class Transfer:
    """One slice of a parameter (or all of it) on its server."""

    parameter: str
    slice: int
    bytes: int
    server: int


@dataclasses.dataclass(frozen=True)
class Direction:
    """How the transfers of one direction are handed over: see docs/reference/harness.md."""

    mode: str = 'none'
    window: int = 0
    order: tuple[int, ...] = ()

    def chain_of(self, transfers: tuple[Transfer, ...], server: int) -> list[int]:
        """The ordered transfers of one server."""
        return [t for t in self.order if transfers[t].server == server]


@dataclasses.dataclass(frozen=True)
class Policy:
    name: str
    transfers: tuple[Transfer, ...]
    pull: Direction
    push: Direction


@dataclasses.dataclass(frozen=True)
class Cluster:
    """Rates in bit/s; None: not shaped."""

    servers: int
    workers: int
    server_bps: int | None
    worker_bps: int | None
    network: str


@dataclasses.dataclass(frozen=True)
class Model:
    """A network whose steps are really computed."""

    name: str
    batch: int


@dataclasses.dataclass(frozen=True)
class Bundle:
    """With a model, the workload has its name and no ops."""

    name: str
    workload: Workload
    model: Model | None
    cluster: Cluster
    sync: bool
    policies: tuple[Policy, ...]
    steps: int
    warm_up: int
    time_limit_s: int


def _transfers(value: list[Any], place: str, workload: Workload, servers: int) -> tuple[Transfer, ...]:
    result = []
    for i, entry in enumerate(value):
        fields = Fields(entry, f'{place}[{i}]')
        result.append(Transfer(fields.text('parameter'), fields.integer('slice', 0, 1 << 20, 0),
                               fields.integer('bytes', 1, 1 << 50), fields.integer('server', 0, servers - 1)))
        fields.done()
    if not workload.ops:
        names = list(dict.fromkeys(t.parameter for t in result))
        sums = {name: sum(t.bytes for t in result if t.parameter == name) for name in names}
        workload = dataclasses.replace(
            workload, parameters=tuple(Parameter(name, sums[name], True, None) for name in names))
    for parameter in workload.parameters:
        slices = [t for t in result if t.parameter == parameter.name]
        if [t.slice for t in slices] != list(range(len(slices))) or sum(t.bytes for t in slices) != parameter.bytes:
            raise InputError(f'{place}: the slices of "{parameter.name}" must be 0, 1, ... in this order and add up to '
                             f'{parameter.bytes} bytes')
    known = {parameter.name for parameter in workload.parameters}
    for transfer in result:
        if transfer.parameter not in known:
            raise InputError(f'{place}: "{transfer.parameter}" is no parameter of the workload')
    return tuple(result)


def _direction(value: Any, place: str, transfers: int) -> Direction:
    fields = Fields(value, place)
    mode = fields.choice('mode', MODES, 'none')
    window = fields.integer('window', 0, 1 << 20, 0)
    if (window > 0) != (mode != 'none'):
        raise fields.fail('window', 'must be at least 1 with an enforced order, and absent without')
    order = fields.array('order', [])
    fields.done()
    seen = set()
    for entry in order:
        if type(entry) is not int or not 0 <= entry < transfers:
            raise fields.fail('order', f'expected indices of transfers, 0 to {transfers - 1}')
        if entry in seen:
            raise fields.fail('order', f'{entry} is there twice')
        seen.add(entry)
    return Direction(mode, window, tuple(order))


def read(value: Any, place: str = 'bundle') -> Bundle:
    top = Fields(value, place)
    top.format('stretto-bundle', 1)
    name = top.text('name')
    model = None
    if top.has('model'):
        fields = Fields(top.take('model'), f'{place}.model')
        model = Model(fields.choice('name', MODELS), fields.integer('batch', 1, 1 << 20))
        fields.done()
        workload = Workload(model.name, model.batch, (), ())
    else:
        workload = workload_file.read(top.take('workload'), f'{place}.workload')
    fields = Fields(top.take('cluster'), f'{place}.cluster')
    rates = [fields.integer(key, 1000, 10**13) if fields.has(key) else None for key in ('server_bps', 'worker_bps')]
    cluster = Cluster(fields.integer('servers', 1, 64), fields.integer('workers', 1, 64), rates[0], rates[1],
                      fields.choice('network', NETWORKS, 'auto'))
    fields.done()
    transfers = _transfers(top.array('transfers'), f'{place}.transfers', workload, cluster.servers)
    policies = []
    for i, entry in enumerate(top.array('policies')):
        fields = Fields(entry, f'{place}.policies[{i}]')
        own = transfers
        if fields.has('transfers'):
            own = _transfers(fields.array('transfers'), f'{fields.place}.transfers', workload, cluster.servers)
        policies.append(Policy(fields.text('name'), own,
                               _direction(fields.take('pull', {}), f'{fields.place}.pull', len(own)),
                               _direction(fields.take('push', {}), f'{fields.place}.push', len(own))))
        fields.done()
    if not policies or len({policy.name for policy in policies}) != len(policies):
        raise InputError(f'{place}.policies: there must be policies, each with a name of its own')
    bundle = Bundle(name, workload, model, cluster, top.flag('sync', True), tuple(policies),
                    top.integer('steps', 1, 100_000, 20), top.integer('warm_up', 1, 100_000, 3),
                    top.integer('time_limit_s', 1, 86_400, 900))
    top.done()
    return bundle


def load(path: pathlib.Path) -> tuple[Any, Bundle]:
    """The file as it is, and what it says."""
    value = json_fields.load(path)
    return value, read(value, path.name)
