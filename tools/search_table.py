#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How far from the best possible: `stretto search` over models, ratios and kinds of step, as one table.

usage: tools/search_table.py [--stretto PROGRAM] [--budget N] GRAPH... [-o results/search/README.md]

GRAPH: TensorFlow GraphDefs (times from configs/devices/k80_roofline.yaml) or workload files. One worker, one server.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
RATIOS = (0.25, 0.5, 0.9, 1, 1.1, 2, 4)
POLICIES = ('random', 'fifo', 'tic', 'tac')
# name, mode, barrier, share of the bytes that one slice holds (0: whole tensors)
KINDS = (('forward', 'inference', 'true', 0), ('barrier', 'training', 'true', 0),
         ('steady, M/1000 slices', 'training', 'false', 1000), ('steady, whole tensors', 'training', 'false', 0))


def experiment(workload, device, ratio, mode, barrier, slice_bytes):
    partition = f'search: {{partition: [{slice_bytes} B]}}\n' if slice_bytes else ''
    return f"""stretto: 1
name: search
workload: {{file: {workload}, mode: {mode}}}
cluster:
  workers: {{count: 1{device}}}
  servers: {{count: 1}}
  network: {{comm_compute_ratio: {ratio}}}
training: {{barrier: {barrier}}}
policies: [{', '.join(POLICIES)}]
runs: {{iterations: 14, warm_up: 4, replications: 5, seed: 1}}
{partition}"""


def run(program, folder, *words):
    done = subprocess.run([program, *words], cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f'{program} {" ".join(map(str, words))} ended with {done.returncode}:\n{done.stderr}')
    return done.stdout


def prepared(program, path, folder):
    """Workload file, device text and bytes of a model."""
    name = path.name.split('.')[0]
    if path.name.endswith('.workload.json'):
        workload, device = path.resolve(), ''
    else:
        workload = folder / f'{name}.json'
        run(program, folder, 'import', path.resolve(), '--name', name, '-o', workload)
        device = f', device: {{include: {ROOT}/configs/devices/k80_roofline.yaml}}'
    sizes = [p['bytes'] for p in json.loads(workload.read_text(encoding='utf-8'))['parameters']]
    return name, workload, device, sum(sizes)


def gain(row):
    return '-' if row is None else f'{100 * row["mean"]:+.1f} %'


def line(program, folder, model, ratio, kind, budget):
    name, workload, device, total = model
    title, mode, barrier, cuts = kind
    slice_bytes = max(4, total // cuts // 4 * 4) if cuts else 0
    (folder / 'e.yaml').write_text(experiment(workload, device, ratio, mode, barrier, slice_bytes), encoding='utf-8')
    begin = time.monotonic()
    found = json.loads(run(program, folder, 'search', 'e.yaml', '--budget', str(budget), '--format', 'json'))
    seconds = time.monotonic() - begin
    policies = {p['policy']: p['gain'] for p in found['policies']}
    gap = '-' if found['gap'] is None else f'{100 * found["gap"]:.3f} %'
    cells = [name, title, f'{ratio:g}', f'{1e3 * found["step_time_s"]["mean"]:.2f}',
             gap + (', optimal' if found['optimal'] else ''), *(gain(policies[p]) for p in POLICIES),
             str(found['evaluations']), f'{seconds:.1f}']
    worst = min((p['mean'] for p in policies.values() if p), default=0)
    return '| ' + ' | '.join(cells) + ' |', (title, found['gap'], found['optimal'], worst)


def summary(rows):
    lines = ['| step | cells | proven optimal | mean gap | largest gap | least gain over a policy |',
             '|---|---|---|---|---|---|']
    for title, *_ in KINDS:
        mine = [r for r in rows if r[0] == title]
        gaps = [r[1] for r in mine if r[1] is not None]
        if gaps:
            lines.append(f'| {title} | {len(mine)} | {sum(r[2] for r in mine)} | {100 * sum(gaps) / len(gaps):.3f} % '
                         f'| {100 * max(gaps):.3f} % | {100 * min(r[3] for r in mine):+.3f} % |')
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--stretto', type=pathlib.Path, default=ROOT / 'stretto', help='default: ./stretto')
    parser.add_argument('--budget', type=int, default=2000, help='evaluations for each cell')
    parser.add_argument('-o', '--output', type=pathlib.Path, help='write the table there too')
    parser.add_argument('graphs', nargs='+', type=pathlib.Path)
    arguments = parser.parse_args()
    program = arguments.stretto.resolve()
    table = []
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for path in sorted(arguments.graphs):
            model = prepared(program, path, folder)
            for kind in KINDS:
                for ratio in RATIOS:
                    text, row = line(program, folder, model, ratio, kind, arguments.budget)
                    table.append(text)
                    rows.append(row)
                    print(text, file=sys.stderr, flush=True)
    text = '\n'.join([
        '# How far from the best possible', '',
        f'Made by `tools/search_table.py --budget {arguments.budget} GRAPH... -o results/search/README.md`: '
        '`stretto search` on one worker and one server without latency or service costs; ratio = time of all pulls '
        'over time of the forward pass. Gap = step over lower bound - 1, "optimal": proven that no order is better '
        '(0 up to rounding). Gains are those of the found plan over each policy on the same setup (whole tensors, as '
        'the policy says them); where the gap is 0 nothing is left to gain with that layout. The sliced steady rows '
        'cut tensors in slices of a thousandth of all bytes.', '', *summary(rows), '',
        '| model | step | ratio | found, ms | gap | gain over ' + ' | gain over '.join(POLICIES)
        + ' | evaluations | seconds |',
        '|' + '---|' * (7 + len(POLICIES)), *table, ''])
    if arguments.output:
        arguments.output.parent.mkdir(parents=True, exist_ok=True)
        arguments.output.write_text(text, encoding='utf-8')
    sys.stdout.write(text)


if __name__ == '__main__':
    main()
