#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Write the shipped workloads of TF-Slim's networks, configs/workloads/slim_*.workload.json.gz, from GraphDefs.

usage: tools/paper_models.py [--stretto PROGRAM] GRAPH.graphdef.gz...

Each file is what `stretto import` writes, compressed. The graphs: one training step of `nets` of tf_slim, batch 32,
with static shapes (add_shapes=True), plain SGD, variables on one parameter server. The model's name is the file's, up
to the first dot.
"""
import argparse
import gzip
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
SOURCE = 'tf_slim 1.1.0 nets.{} (Apache-2.0), GraphDef of a training step by TensorFlow 2.21.0; no times'


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--stretto', type=pathlib.Path, default=ROOT / 'stretto', help='default: ./stretto')
    parser.add_argument('graphs', nargs='+', type=pathlib.Path)
    arguments = parser.parse_args()
    for path in arguments.graphs:
        model = path.name.split('.')[0]
        done = subprocess.run([arguments.stretto.resolve(), 'import', path.resolve(), '--name', f'slim_{model}',
                               '--source', SOURCE.format(model)], capture_output=True, check=False)
        if done.returncode != 0:
            sys.exit(f'{path}: {done.stderr.decode()}')
        file = ROOT / 'configs' / 'workloads' / f'slim_{model}.workload.json.gz'
        file.write_bytes(gzip.compress(done.stdout, 9, mtime=0))
        print(f'{file.relative_to(ROOT)}: {file.stat().st_size} B')


if __name__ == '__main__':
    main()
