# SPDX-License-Identifier: Apache-2.0
"""The result of a run. docs/reference/harness.md describes it."""
import bisect
import datetime
import os
import pathlib
import statistics
import tempfile
import json
from collections.abc import Sequence
from typing import Any

from . import emulated, machine, order
from .bundle import Bundle, Policy
from .workload import Workload


def _ms(later: int, earlier: int) -> float:
    return round((later - earlier) / 1e6, 3)


def _rate_text(rate: int | None) -> str:
    if rate is None:
        return 'unshaped'
    for unit, size in (('Gbit/s', 10**9), ('Mbit/s', 10**6), ('kbit/s', 10**3)):
        if rate >= size:
            return f'{rate / size:g} {unit}'
    return f'{rate} bit/s'


def _summary(policy: Policy, steps: Sequence[Sequence[dict[str, Any]]]) -> dict[str, Any]:
    """A step of the cluster takes as long as its slowest worker's."""
    times = [max(worker['step_ms'] for worker in step) for step in steps]
    inversions = [worker['inversions'] for step in steps for worker in step]
    mean = statistics.fmean(times)
    sd = statistics.stdev(times) if len(times) > 1 else 0.0
    return {'mean_ms': round(mean, 3), 'median_ms': round(statistics.median(times), 3), 'sd_ms': round(sd, 3),
            'min_ms': min(times), 'max_ms': max(times), 'inversions_mean': round(statistics.fmean(inversions), 3),
            'pairs': order.count_pairs(policy.pull.order, policy.transfers)}


def _layer_times(policy: Policy, workload: Workload) -> dict[str, list[float]]:
    """Times per variable, us, if the workload is a chain of layers with one whole variable each; else nothing."""
    n = len(workload.parameters)
    ops, names = workload.ops, [parameter.name for parameter in workload.parameters]
    chain = n > 0 and len(ops) == 2 * n and [t.parameter for t in policy.transfers] == names and all(
        op.inputs == ((ops[i - 1].name,) if i else ()) and op.backward == (i >= n)
        and op.reads == ((names[i],) if i < n else ())
        and (i < n or workload.parameters[2 * n - 1 - i].gradient == op.name) for i, op in enumerate(ops))
    if not chain:
        return {}
    times = [op.time_ps / 1e6 for op in ops]
    return {'forward_us': times[:n], 'backward_us': times[:n - 1:-1]}


def cell(bundle: Bundle, policy: Policy, times: Sequence[Sequence[Sequence[int]]], notes: Sequence[Sequence[int]],
         load: dict[str, float]) -> dict[str, Any]:
    """times: per worker, (begin, end) of each step; notes: [tag, start, end] of all stamps and ops; all in ns."""
    first = min(steps[0][0] for steps in times)
    begins = [[begin for begin, _ in steps] for steps in times]
    found: list[list[list[list[tuple[int, int, int]]]]] = [[[[], [], []] for _ in steps] for steps in times]
    for tag, start, end in sorted(notes, key=lambda note: note[2]):
        worker, kind, index = emulated.untag(tag)
        if kind != emulated.COMPUTE and index >= len(policy.transfers):
            continue  # a tensor of the network that is none of the transfers
        step = bisect.bisect_right(begins[worker], start) - 1
        if step >= 0 and end <= times[worker][step][1]:
            found[worker][step][kind].append((index, start, end))
    steps = []
    for number in range(bundle.steps):
        entry = []
        for worker in range(bundle.cluster.workers):
            begin, end = times[worker][number]
            pulls, pushes, computes = found[worker][number]
            arrivals = [(i, _ms(at, begin)) for i, _, at in pulls]
            entry.append({
                'step_ms': _ms(end, begin),
                'pull_arrival_ms': [list(arrival) for arrival in arrivals],
                'compute_ms': [[bundle.workload.ops[i].name, _ms(a, begin), _ms(b, begin)] for i, a, b in computes],
                'push_arrival_ms': [[i, _ms(at, begin)] for i, _, at in pushes],
                'start_ms': _ms(begin, first),
                'inversions': order.count_inversions(policy.pull.order, arrivals, policy.transfers)})
        steps.append(entry)
    cluster = bundle.cluster
    return {
        'policy': policy.name, 'servers': cluster.servers, 'workers': cluster.workers,
        'rate': _rate_text(cluster.server_bps), 'mode': policy.pull.mode, 'window': policy.pull.window,
        'order_name': policy.name, 'order': list(policy.pull.order),
        'bytes': [transfer.bytes for transfer in policy.transfers],
        'server_of': [transfer.server for transfer in policy.transfers],
        **_layer_times(policy, bundle.workload),
        'push_mode': policy.push.mode, 'push_window': policy.push.window, 'push_order': list(policy.push.order),
        'load': load, 'summary': _summary(policy, steps), 'steps': steps}


def document(bundle: Bundle, network: dict[str, Any], tensorflow: str, nice: int,
             cells: list[dict[str, Any]]) -> dict[str, Any]:
    return {'format': 'stretto-measurement', 'version': 1, 'name': bundle.name, 'workload': bundle.workload.name,
            'compute': 'real' if bundle.model else 'emulated', 'sync': bundle.sync, 'warm_up': bundle.warm_up,
            'when': datetime.datetime.now(datetime.timezone.utc).isoformat(timespec='seconds'),
            'tensorflow': tensorflow, 'machine': machine.describe(), 'nice': nice, 'network': network, 'cells': cells}


def write(path: pathlib.Path, content: Any) -> None:
    """Whole or not at all."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f'.{path.name}.')
    try:
        with os.fdopen(handle, 'w', encoding='utf-8') as file:
            json.dump(content, file, ensure_ascii=False, separators=(',', ':'))
            file.write('\n')
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
