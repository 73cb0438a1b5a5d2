#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What ordering gains: random order against TIC and TAC for TensorFlow graphs, four workers, one server.

usage: tools/validation/model_gains.py [--stretto PROGRAM] GRAPH.graphdef.gz... [-o TABLE.md]

The network takes as long for one worker's pulls as its forward pass (ratio 1), in inference and in training. Op times
are those of configs/devices/k80_roofline.yaml. Gains are in steps per time over random order, with 95 % intervals.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import common


def experiment(workload, mode):
    return f"""stretto: 1
name: gains
workload: {{file: {workload}, mode: {mode}}}
cluster:
  workers: {{count: 4, device: {{include: {common.ROOT}/configs/devices/k80_roofline.yaml}}}}
  servers: {{count: 1}}
  network: {{comm_compute_ratio: 1}}
policies: [random, fifo, tic, tac]
runs: {{iterations: 22, warm_up: 2, replications: 10, seed: 1}}
"""


def gain(row):
    low, high = (row['gain_over_random_ci95'][k] for k in ('low', 'high'))
    return f'{100 * row["gain_over_random"]:+.1f} % ± {50 * (high - low):.1f}'


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--stretto', type=pathlib.Path, default=common.ROOT / 'stretto', help='default: ./stretto')
    parser.add_argument('-o', '--output', help='write the table there too')
    parser.add_argument('graphs', nargs='+', type=pathlib.Path)
    arguments = parser.parse_args()
    program = arguments.stretto.resolve()
    lines = ['# Gain of TIC and TAC over random order, ten networks', '',
             'Made by `tools/validation/model_gains.py GRAPH.graphdef.gz... -o results/validation/model_gains.md`: '
             '4 workers, 1 server, transfers of one worker as long as its forward pass, op times of '
             '`configs/devices/k80_roofline.yaml`, batch of the graph, barrier between steps.', '',
             '| network | parameters | MiB | mode | random, s | TIC | TAC | TAC over the bound '
             '| straggler effect, random |',
             '|---|---|---|---|---|---|---|---|---|']
    for path in sorted(arguments.graphs):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            model = path.name.split('.')[0]
            done = subprocess.run([program, 'import', path.resolve(), '--name', model, '-o', folder / 'w.json'],
                                  capture_output=True, text=True, check=False)
            if done.returncode != 0:
                sys.exit(f'{program} ended with {done.returncode}:\n{done.stderr}')
            trained = [p for p in json.loads((folder / 'w.json').read_text(encoding='utf-8'))['parameters']
                       if p.get('gradient')]
            mib = sum(p['bytes'] for p in trained) / 2**20
            for mode in ('inference', 'training'):
                (folder / 'e.yaml').write_text(experiment('w.json', mode), encoding='utf-8')
                rows = {r['policy']: r for r in common.run_json(program, 'e.yaml', folder)}
                lines.append(f'| {model} | {len(trained)} | {mib:.2f} | {mode} '
                             f'| {rows["random"]["step_time_s"]["mean"]:.3f} | {gain(rows["tic"])} '
                             f'| {gain(rows["tac"])} '
                             f'| {100 * rows["tac"]["gap"]:.1f} % | {100 * rows["random"]["straggler_effect"]:.1f} % |')
    common.finish('\n'.join(lines) + '\n', arguments.output)


if __name__ == '__main__':
    main()
