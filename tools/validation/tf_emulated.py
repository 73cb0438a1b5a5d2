#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Predicts measured steps of real TensorFlow parameter-server clusters from their set-up alone.

usage: tools/validation/tf_emulated.py [--stretto PROGRAM] [--costs CLUSTER.yaml] CELL.json.gz... [-o TABLE.md]

Each cell file holds the set-up of one cluster (bytes per variable, server of each, op times, link rate, workers, how
the order of the pulls was enforced) and its measured steps. Only the set-up goes into the prediction: orders that
TensorFlow left open are drawn at random, enforced ones are simulated as window or chain window, and the costs are those
of configs/clusters/local_tensorflow.yaml, or of --costs, for every cell. Prints one row per cell and the mean and
worst error.
"""
import argparse
import gzip
import json
import os
import pathlib
import statistics
import tempfile

import common

SHIPPED = common.ROOT / 'configs/clusters/local_tensorflow.yaml'


def note(costs, output):
    name = os.path.relpath(costs, common.ROOT)
    words = '' if costs == SHIPPED else f'--costs {name} '
    return (f'Made by `tools/validation/tf_emulated.py {words}CELL.json.gz... -o {output}`. Compute is emulated by an '
            'op that occupies a stream for a given time; transfers, servers and TensorFlow are real. Nothing was '
            f'fitted to these cells; the costs are those of `{name}`.')


def workload(cell):
    """The cell's graph: forward ops in a chain, backward ops from the last, one variable each."""
    n = len(cell['bytes'])
    ops = []
    for i, us in enumerate(cell['forward_us']):
        ops.append({'name': f'fwd{i}', 'phase': 'forward', 'time_ps': round(us * 1e6),
                    'inputs': [f'fwd{i - 1}'] if i else [], 'reads': [f'v{i}']})
    for i in reversed(range(n)):
        ops.append({'name': f'bwd{i}', 'phase': 'backward', 'time_ps': round(cell['backward_us'][i] * 1e6),
                    'inputs': [f'bwd{i + 1}' if i + 1 < n else f'fwd{n - 1}'], 'reads': []})
    return {'format': 'stretto-workload', 'version': 1, 'name': 'cell', 'source': 'set-up of a measured cell',
            'batch': 1, 'ops': ops,
            'parameters': [{'name': f'v{i}', 'bytes': cell['bytes'][i], 'trainable': True, 'gradient': f'bwd{i}'}
                           for i in range(n)]}


def experiment(cell, costs):
    """The experiment that predicts the cell, and the name of the policy that does."""
    placement = '{by_name: {' + ', '.join(f'v{i}: {s}' for i, s in enumerate(cell['server_of'])) + '}}'
    policy, name = 'random', 'random'
    if cell['mode'] != 'none':
        mode = {'window': 'window', 'cw': 'chain_window'}[cell['mode']]
        name = 'order_file'
        policy = f"{{order_file: {{file: order.txt, discipline: {mode}, window: {cell['window']}}}}}"
    return f"""stretto: 1
name: cell
workload: {{file: cell.workload.json}}
cluster:
  include: {costs}
  workers: {{count: {cell['workers']}, nic: {cell['rate']}}}
  servers: {{count: {cell['servers']}, nic: {cell['rate']}, placement: {placement}}}
policies: [{policy}]
runs: {{iterations: 22, warm_up: 2, replications: 20, seed: 1}}
""", name


def predict(cell, program, costs):
    """Mean step time in ms."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        text, policy = experiment(cell, costs)
        (folder / 'cell.yaml').write_text(text, encoding='utf-8')
        (folder / 'cell.workload.json').write_text(json.dumps(workload(cell)), encoding='utf-8')
        (folder / 'order.txt').write_text(''.join(f'v{v}\t{rank}\n' for rank, v in enumerate(cell['order'])),
                                          encoding='utf-8')
        return common.step_ms(common.run_json(program, 'cell.yaml', folder), policy)


def measured(cell):
    """Mean measured step in ms over the steps of all workers (a barrier keeps them together)."""
    return statistics.mean(worker['step_ms'] for step in cell['steps'] for worker in step)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--stretto', type=pathlib.Path, default=common.ROOT / 'stretto', help='default: ./stretto')
    parser.add_argument('--costs', type=pathlib.Path, default=SHIPPED, help='cluster file')
    parser.add_argument('-o', '--output', help='write the table there too')
    parser.add_argument('cells', nargs='+')
    arguments = parser.parse_args()
    rows, costs = [], arguments.costs.resolve()
    for path in sorted(arguments.cells):
        with gzip.open(path, 'rt', encoding='utf-8') as f:
            cell = json.load(f)
        mode = 'none' if cell['mode'] == 'none' else f"{cell['mode']} {cell['window']} {cell['order_name']}"
        rows.append((cell['servers'], cell['workers'], cell['rate'], mode, measured(cell),
                     predict(cell, arguments.stretto.resolve(), costs)))
    output = arguments.output and os.path.abspath(arguments.output)
    inside = output and output.startswith(f'{common.ROOT}{os.sep}')
    made = note(costs, os.path.relpath(output, common.ROOT) if inside else 'TABLE.md')
    common.finish(common.table('Steps of real TensorFlow clusters with emulated compute, predicted from their set-up',
                               made, ['servers', 'workers', 'rate', 'order'], rows), arguments.output)


if __name__ == '__main__':
    main()
