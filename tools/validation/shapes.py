#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The published shapes of transfer scheduling, as simulated: results/shapes/.

usage: tools/validation/shapes.py [--stretto PROGRAM] [--out FOLDER] [--findings FILE] GRAPH...

GRAPH: profiles of PipeDream (.graph.txt), workload files, and TensorFlow GraphDefs (times from
configs/devices/k80_roofline.yaml). Writes README.md, shapes.json and manifest.json into FOLDER.
"""
import argparse
import hashlib
import json
import pathlib
import subprocess
import sys
import tempfile

import common

RATIOS = (0.1, 0.25, 0.5, 0.75, 1, 1.5, 2, 4, 10)
SLICES = ('wfbp', 'wfbp(partition=4 MB)', 'bytescheduler(credit=4 MB, partition=4 MB)')
P3_RATIOS = (0.1, 0.5, 1, 2, 4, 10)
P3_MODELS = ('resnet50', 'resnet_50', 'resnet_50_v1', 'vgg16', 'vgg_19')
WORKERS = (2, 4, 8)
STAGGER_RATIOS = (1, 2, 4)


def version(program):
    return subprocess.run([str(program), '--version'], capture_output=True, text=True, check=True).stdout.strip()


class Model:
    """A workload in `folder`, its compute time and bytes of gradients; time is None where a device must give it."""

    def __init__(self, program, path, folder):
        self.name = path.name.split('.')[0]
        self.sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
        self.file = path.resolve()
        if not path.name.endswith('.workload.json'):
            self.file = folder / f'{self.name}.json'
            done = subprocess.run([str(program), 'import', str(path), '--name', self.name, '-o', str(self.file)],
                                  capture_output=True, text=True, check=False)
            if done.returncode != 0:
                sys.exit(f'import of {path} ended with {done.returncode}:\n{done.stderr}')
        graph = json.loads(self.file.read_text(encoding='utf-8'))
        self.seconds = sum(op.get('time_ps', 0) for op in graph['ops']) * 1e-12
        self.gradient_bytes = sum(p['bytes'] for p in graph['parameters'] if 'gradient' in p)
        self.device = '' if self.seconds else f', device: {{include: {common.ROOT}/configs/devices/k80_roofline.yaml}}'


def run(program, folder, model, workers, servers, network, barrier, policies):
    text = f"""stretto: 1
workload: {{file: {model.file}}}
cluster:
  workers: {{{workers}{model.device}}}
  servers: {{{servers}}}
  network: {{{network}}}
training: {{barrier: {barrier}}}
policies: [{policies}]
runs: {{iterations: 8, warm_up: 4, replications: 1}}
"""
    (folder / 'e.yaml').write_text(text, encoding='utf-8')
    return {row['policy']: row for row in common.run_json(program, 'e.yaml', folder)}


def seconds(rows, policy):
    return rows[policy]['step_time_s']['mean']


def one_link(program, folder, models):
    """One worker whose gradients cross one link; pulls take no time."""
    cells = []
    for model in models:
        if not model.seconds:
            continue
        for ratio in RATIOS:
            rate = round(8 * model.gradient_bytes / (ratio * model.seconds))
            rows = run(program, folder, model, f'count: 1, nic: {{up: {rate} bit/s, down: unlimited}}', 'count: 1',
                       'latency: 0 us', 'false', 'wfbp, {wfbp: {partition: 4 MB}}, '
                       '{bytescheduler: {credit: 4 MB, partition: 4 MB}}')
            least = max(model.seconds, 8 * model.gradient_bytes / rate)
            cells.append({'model': model.name, 'ratio': ratio, 'bound_s': least,
                          **{policy: seconds(rows, policy) / least - 1 for policy in SLICES}})
            print(cells[-1], file=sys.stderr, flush=True)
    return cells


def parameter_servers(program, folder, models):
    """Four workers with a server beside each, as P3 was measured, both directions."""
    cells = []
    for model in models:
        if model.name not in P3_MODELS:
            continue
        for ratio in P3_RATIOS:
            found = {}
            for placement, policies in (('partitioned', 'wfbp, p3'), ('round_robin', 'wfbp'), ('p3', 'wfbp')):
                rows = run(program, folder, model, 'count: 4', f'count: 4, colocated: true, placement: {placement}',
                           f'comm_compute_ratio: {ratio}', 'false', policies)
                found[f'wfbp, {placement}'] = seconds(rows, 'wfbp')
                if 'p3' in rows:
                    found['p3'] = seconds(rows, 'p3')
            cells.append({'model': model.name, 'ratio': ratio, 'p3_s': found['p3'],
                          **{name: found[name] / found['p3'] - 1 for name in found if name != 'p3'}})
            print(cells[-1], file=sys.stderr, flush=True)
    return cells


def staggered(program, folder, models):
    """Several workers, one server, a barrier: how far above the lower bound."""
    cells = []
    for model in models:
        if not model.seconds:
            continue
        for workers in WORKERS:
            for ratio in STAGGER_RATIOS:
                rows = run(program, folder, model, f'count: {workers}', 'count: 1', f'comm_compute_ratio: {ratio}',
                           'true', 'fifo, {staggered: {partition: 4 MB, direction: both}}, staggered')
                cells.append({'model': model.name, 'workers': workers, 'ratio': ratio,
                              'fifo': rows['fifo']['gap'], 'staggered': rows['staggered']['gap'],
                              'staggered, 4 MB': rows['staggered(partition=4 MB, direction=both)']['gap']})
                print(cells[-1], file=sys.stderr, flush=True)
    return cells


def percent(value):
    return f'{100 * value:+.1f} %'


def spread(values):
    return f'{percent(min(values))} to {percent(max(values))}' if values else '-'


def grid(rows, row_key, column_key, value):
    """Markdown: one row per model, one column per ratio."""
    columns = sorted({r[column_key] for r in rows})
    lines = ['| model | ' + ' | '.join(f'{c:g}' for c in columns) + ' |', '|---' * (len(columns) + 1) + '|']
    for name in dict.fromkeys(r[row_key] for r in rows):
        mine = {r[column_key]: r for r in rows if r[row_key] == name}
        lines.append(f'| {name} | ' + ' | '.join(percent(value(mine[c])) for c in columns) + ' |')
    return lines


def one_link_text(cells):
    fifo, cut, priority = SLICES
    lines = ['## One link', '',
             'One worker; gradients cross one link in one direction, pulls take no time; no barrier. Ratio = time of '
             'all gradients on the link over compute. Above max(compute, communication), over all models:', '',
             '| ratio | fifo, whole tensors | fifo, 4 MB slices | priority, 4 MB slices (credit 4 MB) | '
             'gain of the last over the first |', '|---|---|---|---|---|']
    for ratio in sorted({c['ratio'] for c in cells}):
        mine = [c for c in cells if c['ratio'] == ratio]
        gains = [(1 + c[fifo]) / (1 + c[priority]) - 1 for c in mine]
        lines.append(f'| {ratio:g} | {spread([c[fifo] for c in mine])} | {spread([c[cut] for c in mine])} | '
                     f'{spread([c[priority] for c in mine])} | {spread(gains)} |')
    lines += ['', 'Gain of priority in slices over first come, first served, by model and ratio:', '',
              *grid(cells, 'model', 'ratio', lambda c: (1 + c[fifo]) / (1 + c[priority]) - 1)]
    return lines


def servers_text(cells):
    lines = ['## P3', '',
             'Four workers, a server beside each, full duplex, no barrier; ratio = time of all pulls over time of the '
             'forward pass. Gain of `p3` over first come, first served (`wfbp`) under three placements: each variable '
             'cut over all servers (`partitioned`, nearest to what P3 was compared with), whole tensors '
             '(`round_robin`), and P3\'s own slices without its priorities (`p3`).', '']
    for name in ('wfbp, partitioned', 'wfbp, round_robin', 'wfbp, p3'):
        lines += [f'Over `{name}`:', '', *grid(cells, 'model', 'ratio', lambda c, n=name: c[n]), '']
    return lines


def staggered_text(cells):
    lines = ['## Staggered workers', '', 'W workers, one server, a barrier. Step time above the lower bound, over all '
             'models:', '', '| workers | ratio | together (`fifo`) | `staggered` | `staggered`, 4 MB slices |',
             '|---|---|---|---|---|']
    for workers, ratio in sorted({(c['workers'], c['ratio']) for c in cells}):
        mine = [c for c in cells if (c['workers'], c['ratio']) == (workers, ratio)]
        lines.append(f'| {workers} | {ratio:g} | ' + ' | '.join(
            spread([c[n] for c in mine]) for n in ('fifo', 'staggered', 'staggered, 4 MB')) + ' |')
    return lines


SECTIONS = {'one_link': (one_link, one_link_text), 'parameter_servers': (parameter_servers, servers_text),
            'staggered': (staggered, staggered_text)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--stretto', type=pathlib.Path, default=common.ROOT / 'stretto', help='default: ./stretto')
    parser.add_argument('--out', type=pathlib.Path, default=common.ROOT / 'results/shapes')
    parser.add_argument('--findings', type=pathlib.Path, help='text to put before the tables')
    parser.add_argument('graphs', nargs='+', type=pathlib.Path)
    arguments = parser.parse_args()
    program = arguments.stretto.resolve()
    arguments.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        models = [Model(program, path, folder) for path in sorted(arguments.graphs)]
        cells = {section: make(program, folder, models) for section, (make, _) in SECTIONS.items()}
    names = ' '.join(sorted(path.name for path in arguments.graphs))
    head = ['# Published shapes, simulated', '', f'Made by `tools/validation/shapes.py GRAPH...` from {names}.', '']
    findings = arguments.findings or arguments.out / 'FINDINGS.md'
    if findings.exists():
        head += [findings.read_text(encoding='utf-8').strip(), '']
    body = []
    for section, (_, text) in SECTIONS.items():
        body += [*text(cells[section]), ''] if cells[section] else []
    common.write(arguments.out / 'README.md', '\n'.join([*head, *body]).rstrip() + '\n')
    common.write(arguments.out / 'shapes.json', json.dumps(cells, indent=1) + '\n')
    manifest = {'stretto': version(program), 'command': f'tools/validation/shapes.py {names}',
                'inputs': [{'model': m.name, 'sha256': m.sha256} for m in models]}
    common.write(arguments.out / 'manifest.json', json.dumps(manifest, indent=1) + '\n')


if __name__ == '__main__':
    main()
