# SPDX-License-Identifier: Apache-2.0
"""Traces of steps, for `stretto import`."""
import gzip
import pathlib
from collections.abc import Callable, Sequence
from typing import Any


def trace(session: Any, step: Any, warm_up: int, count: int, progress: Callable[[], None]) -> list[Any]:
    """RunMetadata of `count` steps. The first traced step after the warm-up is dropped: tracing itself starts in it."""
    import tensorflow as tf
    v1 = tf.compat.v1
    for _ in range(warm_up):
        session.run(step)
        progress()
    options = v1.RunOptions(trace_level=v1.RunOptions.FULL_TRACE)
    found = []
    for _ in range(count + 1):
        metadata = v1.RunMetadata()
        session.run(step, options=options, run_metadata=metadata)
        found.append(metadata)
        progress()
    return found[1:]


def _key(device: Any, node: Any) -> tuple[str, str, str]:
    """Transfers are told apart by their edge, which is the last part of the label's first word after the sizes."""
    edge = next((word for word in node.timeline_label.split() if word.startswith('edge_')), '')
    return device.device, node.node_name, edge


def _nanoseconds(node: Any) -> int:
    return int(node.all_end_rel_nanos or node.all_end_rel_micros * 1000)


def merge(steps: Sequence[Any]) -> tuple[Any, dict[str, int]]:
    """The last step with the least time of each op, and with ops that only other steps have a record of.

    Receives keep the last step's times: they are no durations of transfers. Counts: records in any step; those that at
    least one step lacks.
    """
    merged = type(steps[-1])()
    merged.CopyFrom(steps[-1])
    least: dict[tuple[str, str, str], Any] = {}
    seen: dict[tuple[str, str, str], int] = {}
    for step in steps:
        here = set()
        for device in step.step_stats.dev_stats:
            for node in device.node_stats:
                key = _key(device, node)
                here.add(key)
                if key not in least or _nanoseconds(node) < _nanoseconds(least[key]):
                    least[key] = node
        for key in here:
            seen[key] = seen.get(key, 0) + 1
    present = set()
    devices: dict[tuple[str, bool], Any] = {}  # transfers have an entry of their own under the device's name
    for device in merged.step_stats.dev_stats:
        if device.node_stats:
            devices.setdefault((device.device, device.node_stats[0].node_name == 'RecvTensor'), device)
        for node in device.node_stats:
            key = _key(device, node)
            present.add(key)
            if node.node_name != 'RecvTensor':
                nanos, micros = node.all_start_nanos, node.all_start_micros
                node.CopyFrom(least[key])
                node.all_start_nanos, node.all_start_micros = nanos, micros
    for key, node in least.items():
        place = key[0], key[1] == 'RecvTensor'
        if key not in present and place in devices:
            devices[place].node_stats.add().CopyFrom(node)
    return merged, {'records': len(least), 'missing': sum(count < len(steps) for count in seen.values())}


def write(folder: pathlib.Path, graph: Any, step: Any, traces: Sequence[Any]) -> dict[str, int]:
    """step.pb.gz, graph.pb.gz (what the step needs, with shapes), trace_<i>.pb.gz."""
    import tensorflow as tf

    def put(name: str, message: Any) -> None:
        (folder / name).write_bytes(gzip.compress(message.SerializeToString(), mtime=0))

    needed = tf.compat.v1.graph_util.extract_sub_graph(graph.as_graph_def(add_shapes=True), [step.name])
    put('graph.pb.gz', needed)
    for i, one in enumerate(traces):
        put(f'trace_{i}.pb.gz', one)
    merged, counts = merge(traces)
    put('step.pb.gz', merged)
    return counts
