# SPDX-License-Identifier: Apache-2.0
"""One worker's training step as a TensorFlow graph, with emulated compute.

Every transfer is a variable on its server. A step reads it there, sends it to the worker, stamps its arrival, occupies
the worker's stream for the time of each op, sends gradients of the same size back, stamps them on the server and
applies them (SGD). With several workers a step ends in a barrier on the first server. Gradients are the values that
were pulled; no op computes anything on the worker.
"""
import dataclasses
from typing import Any

from . import order
from .bundle import Bundle, Policy

PULL, PUSH, COMPUTE = range(3)
_WORKER_SHIFT = 40
_KIND_SHIFT = 32


def tag(worker: int, kind: int, index: int) -> int:
    """What a stamp is of; unique in a run."""
    return worker << _WORKER_SHIFT | kind << _KIND_SHIFT | index


def untag(value: int) -> tuple[int, int, int]:
    return value >> _WORKER_SHIFT, value >> _KIND_SHIFT & 0xff, value & 0xffffffff


@dataclasses.dataclass
class Step:
    """Graph, ops to run, and the notes of worker and servers."""

    graph: Any
    init: Any
    step: Any
    drains: list[Any]


def build(bundle: Bundle, policy: Policy, policy_index: int, worker: int) -> Step:
    """The variables' names carry the policy's number: the servers keep the variables of all sessions."""
    import tensorflow as tf
    from . import oplib
    ops = oplib.load()
    v1 = tf.compat.v1
    workload, cluster = bundle.workload, bundle.cluster
    here = f'/job:worker/task:{worker}'
    transfers = policy.transfers
    servers = [f'/job:ps/task:{server}' for server in range(cluster.servers)]
    graph = tf.Graph()
    with graph.as_default():
        variables, reads, arrived, rates = [], [], [], []
        for server in servers:
            with v1.device(server + '/cpu:0'):
                rates.append(v1.constant(1e-6))
        for i, transfer in enumerate(transfers):
            with v1.device(servers[transfer.server] + '/cpu:0'):
                shape = [(transfer.bytes + 3) // 4]
                variables.append(v1.Variable(tf.zeros(shape), use_resource=False, name=f'p{policy_index}/v{i}'))
                reads.append(tf.identity(variables[i], name=f'read{i}'))
            with v1.device(here + '/cpu:0'):
                arrived.append(ops.stretto_stamp(value=reads[i], tag=tag(worker, PULL, i), name=f'pull{i}'))
        for i, edges in enumerate(order.edges(policy.pull, transfers)):
            if edges.arrival is not None:
                reads[i].op._add_control_input(arrived[edges.arrival].op)
            if edges.read is not None:
                reads[i].op._add_control_input(reads[edges.read].op)

        slices: dict[str, list[int]] = {parameter.name: [] for parameter in workload.parameters}
        for i, transfer in enumerate(transfers):
            slices[transfer.parameter].append(i)
        computed: dict[str, Any] = {}
        for i, op in enumerate(workload.ops):
            waits = [computed[name] for name in op.inputs] + [arrived[t].op for p in op.reads for t in slices[p]]
            with v1.device(here + '/cpu:0'), tf.control_dependencies(waits):
                computed[op.name] = ops.stretto_compute(
                    duration_ns=round(op.time_ps / 1000), tag=tag(worker, COMPUTE, i), name=f'op{i}')

        sent: dict[int, Any] = {}
        received: dict[int, Any] = {}
        updates: list[list[Any]] = [[] for _ in servers]
        for parameter in workload.parameters:
            if parameter.gradient is None:
                continue
            for i in slices[parameter.name]:
                with v1.device(here + '/cpu:0'), tf.control_dependencies([computed[parameter.gradient]]):
                    sent[i] = tf.identity(arrived[i], name=f'gradient{i}')
                home = transfers[i].server
                with v1.device(servers[home] + '/cpu:0'):
                    received[i] = ops.stretto_stamp(value=sent[i], tag=tag(worker, PUSH, i), name=f'push{i}')
                    updates[home].append(tf.raw_ops.ApplyGradientDescent(
                        var=variables[i]._ref(), alpha=rates[home], delta=received[i], use_locking=False).op)
        for i, edges in enumerate(order.edges(policy.push, transfers)):
            if edges.arrival in received and i in sent:
                sent[i].op._add_control_input(received[edges.arrival].op)
            if edges.read in sent and i in sent:
                sent[i].op._add_control_input(sent[edges.read].op)

        ends = []
        with v1.device(here + '/cpu:0'):
            ends.append(tf.group(*computed.values(), *[value.op for value in arrived], name='work_done'))
        for server, done in zip(servers, updates):
            if done:
                with v1.device(server + '/cpu:0'), tf.control_dependencies(done):
                    ends.append(tf.no_op())
        with v1.device(servers[0] + '/cpu:0'), tf.control_dependencies(ends):
            if bundle.sync and cluster.workers > 1:
                step = ops.stretto_barrier(meeting=f'step{policy_index}', parties=cluster.workers)
            else:
                step = tf.no_op()
        drains = []
        for place in [here, *servers]:
            with v1.device(place + '/cpu:0'):
                drains.append(ops.stretto_drain())
        return Step(graph, v1.global_variables_initializer(), step, drains)
