# SPDX-License-Identifier: Apache-2.0
"""Small random scheduling problems, their optimum by OR-tools' CP-SAT, and the same as files of stretto.

A problem: ops (time, inputs, phase), tensors (time on the channel, slices, the ops that read them, the op that
completes their gradient). One worker, one server, full duplex, no latency, no costs; one op and, per direction, one
message at a time. Times are whole microseconds; an element of 4 bytes takes one at 32 Mbit/s.
  forward   makespan of all pulls and forward ops
  barrier   makespan of pulls, forward, backward and pushes, all pulls available at 0
  steady    period without a barrier = makespan from loss to loss (T4 of bounds): backward ops, pushes, then each pull
            after its own push, forward ops after their pulls and after all backward ops
"""
import dataclasses
import itertools
import json

from ortools.sat.python import cp_model

MICROSECOND = 10**6  # in ps


@dataclasses.dataclass
class Problem:
    kind: str
    forward: list[int]               # times
    backward: list[int]              # times; op i of `backward` mirrors op i of `forward`
    edges: list[tuple[int, int]]     # between forward ops, from < to; backward ops have them reversed
    tensors: list[int]               # times on the channel
    slices: int                      # per tensor; tensors are multiples of it
    reads: list[list[int]]           # tensors per forward op


def random_problem(rng, kind, shape, slices):
    """`shape`: chain, or dag. In a dag the device may choose among forward ops that are ready; stretto's takes the one
    that was ready first, CP-SAT the best one, so that the optimum may be out of reach of any order of transfers."""
    ops, tensors = rng.randint(2, 5), rng.randint(2, 4 if slices > 1 else 6)
    if shape == 'chain':
        edges = [(a, a + 1) for a in range(ops - 1)]
    else:
        edges = [(a, b) for b in range(1, ops) for a in range(b) if rng.random() < (0.7 if a == b - 1 else 0.2)]
    # All ops lead to the last one, the loss, and every tensor is read.
    edges += [(a, ops - 1) for a in range(ops - 1) if not any(e[0] == a for e in edges)]
    reads = [[] for _ in range(ops)]
    for t in range(tensors):
        reads[rng.randrange(ops)].append(t)
    return Problem(kind, [rng.randint(1, 9) for _ in range(ops)], [rng.randint(1, 9) for _ in range(ops)], edges,
                   [slices * rng.randint(1, 6) for _ in range(tensors)], slices, reads)


def backward_order(p):
    """Backward ops as the device runs them: each enters its queue when its last input ends, those of one input in the
    order of the workload file. Nothing else comes between, whatever the order of transfers."""
    ops = len(p.backward)
    waits = [sum(1 for a, _ in p.edges if a == o) for o in range(ops)]
    queue = [ops - 1]
    for done in queue:
        for o in reversed(range(ops)):
            if (o, done) in p.edges:
                waits[o] -= 1
                if waits[o] == 0:
                    queue.append(o)
    return queue


def optimum(p):
    """The least makespan or period, in microseconds."""
    model = cp_model.CpModel()
    horizon = sum(p.forward) + sum(p.backward) + 2 * sum(p.tensors)

    def interval(time, name):
        start = model.new_int_var(0, horizon, name)
        return start, start + time, model.new_fixed_size_interval_var(start, time, name)

    ops = len(p.forward)
    forward = [interval(t, f'f{i}') for i, t in enumerate(p.forward)]
    backward = [interval(t, f'b{i}') for i, t in enumerate(p.backward)] if p.kind != 'forward' else []
    pieces = [(t, s) for t in range(len(p.tensors)) for s in range(p.slices)]
    pulls = {c: interval(p.tensors[c[0]] // p.slices, f'pull{c}') for c in pieces}
    pushes = {c: interval(p.tensors[c[0]] // p.slices, f'push{c}') for c in pieces} if backward else {}
    model.add_no_overlap([x[2] for x in forward + backward])
    model.add_no_overlap([x[2] for x in pulls.values()])
    model.add_no_overlap([x[2] for x in pushes.values()])
    for a, b in p.edges:
        model.add(forward[b][0] >= forward[a][1])
        if backward:
            model.add(backward[a][0] >= backward[b][1])
    for o in range(ops):
        for t in p.reads[o]:
            for s in range(p.slices):
                model.add(forward[o][0] >= pulls[t, s][1])
                if backward:
                    model.add(pushes[t, s][0] >= backward[o][1])
    for o in range(ops) if backward else ():
        for other in range(ops):
            if p.kind == 'barrier':
                model.add(backward[o][0] >= forward[other][1])
            else:
                model.add(forward[other][0] >= backward[o][1])
    if backward:
        for first, then in itertools.pairwise(backward_order(p)):
            model.add(backward[then][0] >= backward[first][1])
    if p.kind == 'steady':
        for c in pieces:
            model.add(pulls[c][0] >= pushes[c][1])
    end = model.new_int_var(0, horizon, 'end')
    for x in [*forward, *backward, *pulls.values(), *pushes.values()]:
        model.add(end >= x[1])
    model.minimize(end)
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.random_seed = 1
    solver.parameters.max_time_in_seconds = 60
    if solver.solve(model) != cp_model.OPTIMAL:
        raise RuntimeError('CP-SAT did not prove an optimum in a minute')
    return round(solver.objective_value)


def workload(p):
    ops = [{'name': f'f{i}', 'phase': 'forward', 'time_ps': t * MICROSECOND,
            'inputs': [f'f{a}' for a, b in p.edges if b == i], 'reads': [f'v{x}' for x in p.reads[i]]}
           for i, t in enumerate(p.forward)]
    owner = {x: i for i, reads in enumerate(p.reads) for x in reads}
    last = len(p.forward) - 1
    ops += [{'name': f'b{i}', 'phase': 'backward', 'time_ps': p.backward[i] * MICROSECOND,
             'inputs': [f'f{last}'] + [f'b{b}' for a, b in p.edges if a == i], 'reads': []}
            for i in reversed(range(len(p.backward)))]
    parameters = [{'name': f'v{x}', 'bytes': 4 * t, 'trainable': True, 'gradient': f'b{owner[x]}'}
                  for x, t in enumerate(p.tensors)]
    return json.dumps({'format': 'stretto-workload', 'version': 1, 'name': 'case', 'source': 'random', 'batch': 1,
                       'ops': ops, 'parameters': parameters})


def experiment(p):
    mode = 'inference' if p.kind == 'forward' else 'training'
    placement = 'round_robin' if p.slices == 1 else f'{{partitioned: {{parts: {p.slices}}}}}'
    return f"""stretto: 1
name: case
workload: {{file: case.workload.json, mode: {mode}}}
cluster:
  workers: {{count: 1, nic: 32 Mbit/s}}
  servers: {{count: 1, nic: 32 Mbit/s, placement: {placement}}}
training: {{barrier: {'true' if p.kind != 'steady' else 'false'}}}
policies: [fifo]
runs: {{iterations: 14, warm_up: 6, replications: 1, seed: 1}}
"""
