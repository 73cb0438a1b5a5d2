#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Predicts measured steps of real networks on a TensorFlow parameter-server cluster from one traced step each.

usage: tools/validation/tf_ps.py [--stretto PROGRAM] FOLDER... [-o TABLE.md]

Each folder holds graphdef.pb.gz, run_metadata_a.pb.gz (one traced step) and steps.json (steps measured without tracing,
in seconds, under "T"). The trace gives op times and bytes; the order of the pulls was open, so it is drawn at random;
the costs are those of configs/clusters/local_tensorflow.yaml, the device is the machine's two cores, for every folder.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

import common

NOTE = ('Made by `tools/validation/tf_ps.py FOLDER... -o results/validation/tf_ps.md`. One worker, one server, '
        '1 Gbit/s, real compute on two cores; op times and bytes come from one traced step, nothing was fitted; the '
        'costs are those of `configs/clusters/local_tensorflow.yaml`.')

EXPERIMENT = f"""stretto: 1
name: traced step
workload: {{file: step.workload.json}}
cluster:
  include: {common.ROOT}/configs/clusters/local_tensorflow.yaml
  workers: {{count: 1, device: {{kind: cpu, cores: 2}}}}
policies: [random]
runs: {{iterations: 22, warm_up: 2, replications: 20, seed: 1}}
"""


def predict(folder, program):
    """Mean step time in ms."""
    with tempfile.TemporaryDirectory() as name:
        work = pathlib.Path(name)
        done = subprocess.run([str(program), 'import', str(folder / 'run_metadata_a.pb.gz'), '--graph',
                               str(folder / 'graphdef.pb.gz'), '-o', str(work / 'step.workload.json')],
                              capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(f'{program} ended with {done.returncode}:\n{done.stderr}')
        (work / 'step.yaml').write_text(EXPERIMENT, encoding='utf-8')
        return common.step_ms(common.run_json(program, 'step.yaml', work), 'random')


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--stretto', type=pathlib.Path, default=common.ROOT / 'stretto', help='default: ./stretto')
    parser.add_argument('-o', '--output', help='write the table there too')
    parser.add_argument('folders', nargs='+', type=pathlib.Path)
    arguments = parser.parse_args()
    rows = []
    for folder in sorted(path.resolve() for path in arguments.folders):
        steps = json.loads((folder / 'steps.json').read_text(encoding='utf-8'))['T']
        rows.append((folder.name, 1e3 * statistics.mean(steps), predict(folder, arguments.stretto.resolve())))
    common.finish(common.table('Steps of real networks on a TensorFlow cluster, predicted from one traced step', NOTE,
                               ['network'], rows), arguments.output)


if __name__ == '__main__':
    main()
