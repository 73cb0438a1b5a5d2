#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Predicts measured steps of real TensorFlow parameter-server clusters from their set-up alone.

usage: tools/validation/tf_emulated.py [--stretto PROGRAM] CELL.json.gz... [-o TABLE.md]

Each cell file holds the set-up of one cluster (bytes per variable, server of each, op times, link rate, workers, how the
order of the pulls was enforced) and its measured steps. Only the set-up goes into the prediction: orders that TensorFlow
left open are drawn at random, enforced ones are simulated as window or chain window, and the costs are those of
configs/clusters/local_tensorflow.yaml for every cell. Prints one row per cell and the mean and worst error.
"""
import argparse
import gzip
import json
import os
import statistics
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def workload(cell):
    """The cell's graph: forward ops in a chain, backward ops from the last, one variable each."""
    n = len(cell['bytes'])
    names = [f'v{i}' for i in range(n)]
    ops = []
    for i, us in enumerate(cell['forward_us']):
        ops.append({'name': f'fwd{i}', 'phase': 'forward', 'time_ps': round(us * 1e6),
                    'inputs': [f'fwd{i - 1}'] if i else [], 'reads': [names[i]]})
    for i in reversed(range(n)):
        ops.append({'name': f'bwd{i}', 'phase': 'backward', 'time_ps': round(cell['backward_us'][i] * 1e6),
                    'inputs': [f'bwd{i + 1}' if i + 1 < n else f'fwd{n - 1}'], 'reads': []})
    return {'format': 'stretto-workload', 'version': 1, 'name': 'cell', 'source': 'set-up of a measured cell', 'batch': 1,
            'ops': ops,
            'parameters': [{'name': names[i], 'bytes': cell['bytes'][i], 'trainable': True, 'gradient': f'bwd{i}'}
                           for i in range(n)]}


def experiment(cell, order_file):
    """The experiment that predicts the cell, and the name of the policy that does."""
    placement = '{by_name: {' + ', '.join(f'v{i}: {s}' for i, s in enumerate(cell['server_of'])) + '}}'
    modes = {'window': 'window', 'cw': 'chain_window'}
    if cell['mode'] == 'none':
        policy = 'random'
    else:
        policy = f"{{order_file: {{file: {order_file}, discipline: {modes[cell['mode']]}, window: {cell['window']}}}}}"
    rate = cell['rate']
    text = f"""stretto: 1
name: cell
workload: {{file: cell.workload.json}}
cluster:
  include: {ROOT}/configs/clusters/local_tensorflow.yaml
  workers: {{count: {cell['workers']}, nic: {rate}}}
  servers: {{count: {cell['servers']}, nic: {rate}, placement: {placement}}}
policies: [{policy}]
runs: {{iterations: 22, warm_up: 2, replications: {{min: 20, max: 20}}, seed: 1}}
"""
    return text, 'random' if policy == 'random' else 'order_file'


def predict(cell, program):
    """Mean step time in ms."""
    with tempfile.TemporaryDirectory() as folder:
        def write(name, text):
            with open(os.path.join(folder, name), 'w', encoding='utf-8') as f:
                f.write(text)

        write('cell.workload.json', json.dumps(workload(cell)))
        write('order.txt', ''.join(f'v{v}\t{rank}\n' for rank, v in enumerate(cell['order'])))
        text, policy = experiment(cell, 'order.txt')
        write('cell.yaml', text)
        done = subprocess.run([program, 'run', 'cell.yaml', '--format', 'json'], cwd=folder, capture_output=True,
                              text=True, check=False)
        if done.returncode != 0:
            sys.exit(f'{program} ended with {done.returncode}:\n{done.stderr}')
        for row in json.loads(done.stdout)['results']:
            if row['policy'].startswith(policy):
                return row['step_time_s']['mean'] * 1e3
    sys.exit(f'no row for {policy}')


def measured(cell):
    """Mean measured step in ms: the steps of all workers (a barrier keeps them together)."""
    return statistics.mean(worker['step_ms'] for step in cell['steps'] for worker in step)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--stretto', default=os.path.join(ROOT, 'stretto'), help='the program (default ./stretto)')
    parser.add_argument('-o', '--output', help='write the table there too')
    parser.add_argument('cells', nargs='+')
    arguments = parser.parse_args()
    rows = []
    for path in sorted(arguments.cells):
        opener = gzip.open if path.endswith('.gz') else open
        with opener(path, 'rt', encoding='utf-8') as f:
            cell = json.load(f)
        real = measured(cell)
        model = predict(cell, os.path.abspath(arguments.stretto))
        mode = 'none' if cell['mode'] == 'none' else f"{cell['mode']} {cell['window']} {cell['order_name']}"
        rows.append((cell['servers'], cell['workers'], cell['rate'], mode, real, model, model / real - 1))
    lines = ['| servers | workers | rate | order | measured ms | predicted ms | error |',
             '|---|---|---|---|---|---|---|']
    lines += [f'| {s} | {w} | {r} | {m} | {a:.1f} | {b:.1f} | {100 * e:+.1f} % |' for s, w, r, m, a, b, e in rows]
    errors = [abs(row[-1]) for row in rows]
    lines += ['', f'{len(rows)} cells: mean error {100 * statistics.mean(errors):.2f} %, '
                  f'worst {100 * max(errors):.2f} %.']
    title = ['# Steps of real TensorFlow clusters with emulated compute, predicted from their set-up', '',
             'Made by `tools/validation/tf_emulated.py CELL.json.gz... -o FILE`; nothing was fitted to these cells. Costs: '
             '`configs/clusters/local_tensorflow.yaml`.', '']
    text = '\n'.join(title + lines) + '\n'
    sys.stdout.write(text)
    if arguments.output:
        with open(arguments.output + '.part', 'w', encoding='utf-8') as f:
            f.write(text)
        os.replace(arguments.output + '.part', arguments.output)


if __name__ == '__main__':
    main()
