#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How far from the best possible: `stretto search` over models, ratios and kinds of step, as one table.

usage: tools/search_table.py [--stretto PROGRAM] [--budget N] [--several N] [--jobs N] [--state FILE] [--redo PERCENT]
                             [--minutes M] GRAPH... [-o results/search/README.md]

GRAPH: TensorFlow GraphDefs (times from configs/devices/k80_roofline.yaml) or workload files. Steps of one worker and
one server, and steps of several workers and servers. With --state each cell is kept as soon as it is done, and a run
with the same file goes on where the last one ended; with --minutes it ends by then. --redo runs those cells of the
state again whose gap is above so many percent, and says where the step or the gap got worse. The table is written when
all cells are there.
"""
import argparse
import concurrent.futures
import json
import pathlib
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
RATIOS = (0.25, 0.5, 0.9, 1, 1.1, 2, 4)
WHOLE = ('random', 'fifo', 'tic', 'tac', 'wfbp')
CUT = WHOLE + ('p3', 'bytescheduler', 'byteps')
# name, mode, barrier, one slice is this part of all bytes (0: whole tensors), workers, servers, policies
KINDS = (('forward', 'inference', 'true', 0, 1, 1, WHOLE),
         ('barrier', 'training', 'true', 0, 1, 1, WHOLE),
         ('steady, slices', 'training', 'false', 1000, 1, 1, CUT),
         ('steady, whole tensors', 'training', 'false', 0, 1, 1, WHOLE),
         ('steady, slices, 4 workers, 1 server', 'training', 'false', 300, 4, 1, CUT),
         ('steady, slices, 4 workers, 2 servers', 'training', 'false', 300, 4, 2, CUT),
         ('steady, slices, 8 workers, 4 servers', 'training', 'false', 300, 8, 4, CUT),
         ('steady, slices, 8 workers, 8 servers', 'training', 'false', 300, 8, 8, CUT))
# Most that is asked for, in percent; none for whole tensors.
LIMITS = {'forward': 1, 'barrier': 1, 'steady, slices': 1}
SEVERAL = 3


def experiment(workload, device, ratio, kind, total):
    _, mode, barrier, cuts, workers, servers, policies = kind
    slice_bytes = max(4, total // cuts // 4 * 4) if cuts else 0
    placement = f', placement: {{partitioned: {{size: {slice_bytes} B}}}}' if servers > 1 else ''
    partition = f'search: {{partition: [{slice_bytes} B]}}\n' if cuts and servers == 1 else ''
    return f"""stretto: 1
name: search
workload: {{file: {workload}, mode: {mode}}}
cluster:
  workers: {{count: {workers}{device}}}
  servers: {{count: {servers}{placement}}}
  network: {{comm_compute_ratio: {ratio}}}
training: {{barrier: {barrier}}}
policies: [{', '.join(policies)}]
runs: {{iterations: 12, warm_up: 4, replications: 2, seed: 1}}
{partition}"""


def run(program, folder, *words):
    done = subprocess.run([program, *words], cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f'{program} {" ".join(map(str, words))} ended with {done.returncode}:\n{done.stderr}')
    return done.stdout


def prepared(program, path, folder):
    """Name, workload file, device text and bytes of a model."""
    name = path.name.split('.')[0]
    if path.name.endswith('.workload.json'):
        workload, device = path.resolve(), ''
    else:
        workload = folder / f'{name}.json'
        run(program, folder, 'import', path.resolve(), '--name', name, '-o', workload)
        device = f', device: {{include: {ROOT}/configs/devices/k80_roofline.yaml}}'
    sizes = [p['bytes'] for p in json.loads(workload.read_text(encoding='utf-8'))['parameters']]
    return name, workload, device, sum(sizes)


def solve(program, folder, model, ratio, kind, budget):
    """One cell of the table."""
    name, workload, device, total = model
    file = folder / f'{name} {kind[0]} {ratio}.yaml'
    file.write_text(experiment(workload, device, ratio, kind, total), encoding='utf-8')
    begin = time.monotonic()
    found = json.loads(run(program, folder, 'search', file.name, '--budget', str(budget), '--format', 'json'))
    step = found['step_time_s']['mean']
    return {'model': name, 'kind': kind[0], 'ratio': ratio, 'budget': budget, 'step_s': step, 'gap': found['gap'],
            'optimal': found['optimal'], 'bound': found['lower_bound_name'], 'evaluations': found['evaluations'],
            'seconds': time.monotonic() - begin,
            'gain': {p['policy']: p['step_s'] / step - 1 for p in found['policies'] if p['step_s'] is not None}}


def percent(share, digits=1):
    return '-' if share is None else f'{100 * share:+.{digits}f} %'


def best_policy(cell):
    """The published policy that comes nearest, and by how much the found plan is better; fifo is a baseline."""
    gains = {p: g for p, g in cell['gain'].items() if p != 'fifo'}
    best = min(gains, key=lambda p: (gains[p], list(CUT).index(p)))
    return best, gains[best]


def gap_text(cell):
    if cell['optimal']:
        return '0, optimal'
    return '-' if cell['gap'] is None else f'{100 * cell["gap"]:.3f} %'


def line(cell):
    best, gain = best_policy(cell)
    return '| ' + ' | '.join([
        cell['model'], f'{cell["ratio"]:g}', f'{1e3 * cell["step_s"]:.2f}', gap_text(cell),
        f'{percent(gain, 2)} ({best})',
        *(percent(cell['gain'].get(p)) for p in CUT), str(cell['evaluations']), f'{cell["seconds"]:.1f}']) + ' |'


def summary(cells):
    rows = ['| step | cells | proven optimal | mean gap | largest gap | asked for | cells above | over the best '
            'published policy: least | mean | most | cells better by 1 % |',
            '|' + '---|' * 11]
    for title, *_ in KINDS:
        mine = [c for c in cells if c['kind'] == title]
        gaps = [0 if c['optimal'] else 100 * c['gap'] for c in mine if c['optimal'] or c['gap'] is not None]
        if not gaps:
            continue
        limit = LIMITS.get(title, SEVERAL if 'workers' in title else None)
        gains = [100 * best_policy(c)[1] for c in mine]
        above = '-' if limit is None else str(sum(g > limit for g in gaps))
        rows.append(f'| {title} | {len(mine)} | {sum(c["optimal"] for c in mine)} | {sum(gaps) / len(gaps):.3f} % '
                    f'| {max(gaps):.3f} % | {"-" if limit is None else f"{limit} %"} | {above} | {min(gains):+.3f} % '
                    f'| {sum(gains) / len(gains):+.1f} % | {max(gains):+.1f} % | {sum(g > 1 for g in gains)} |')
    return rows


def table(cells, missing, arguments):
    out = ['# How far from the best possible', '',
           f'Made by `tools/search_table.py --budget {arguments.budget} --several {arguments.several} GRAPH... -o '
           'results/search/README.md`: `stretto search` without latency or service costs; ratio = time of all pulls of '
           'one worker over time of the forward pass. '
           'Gap = step over lower bound - 1; "optimal": no order is better, so that nothing is left to gain with that '
           'layout. Gains are those of the found plan over each policy on the same setup; random, tic, tac (TicTac), '
           'wfbp (Poseidon), p3, bytescheduler and byteps are published, fifo is a baseline. The last three cut '
           'tensors, so that they stand in the sliced rows only, where slices are a thousandth of all bytes with one '
           'worker and a three-hundredth with several, or what a policy says if that is better. Seconds are those of '
           'the search and of all policies, on a machine that did other work too.', '',
           *([f'{missing} of {len(cells) + missing} cells were not run; `--state results/search/cells.jsonl` goes on.',
              ''] if missing else []), *summary(cells), '']
    for title, *_ in KINDS:
        mine = [c for c in cells if c['kind'] == title]
        if not mine:
            continue
        out += [f'## {title[0].upper()}{title[1:]}', '',
                '| model | ratio | found, ms | gap | better than the best published policy by | gain over '
                + ' | '.join(CUT) + ' | evaluations | seconds |', '|' + '---|' * (7 + len(CUT)), *map(line, mine), '']
    return '\n'.join(out)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--stretto', type=pathlib.Path, default=ROOT / 'stretto', help='default: ./stretto')
    parser.add_argument('--budget', type=int, default=1000, help='evaluations for each cell of one worker')
    parser.add_argument('--several', type=int, default=200, help='evaluations for each cell of several workers')
    parser.add_argument('--jobs', type=int, default=1, help='cells at a time')
    parser.add_argument('--state', type=pathlib.Path, help='keep finished cells there, and go on from them')
    parser.add_argument('--redo', type=float, metavar='PERCENT', help='run cells of a larger gap again')
    parser.add_argument('--minutes', type=float, default=float('inf'), help='begin no cell after that time')
    parser.add_argument('--partial', action='store_true', help='write the table although cells are missing')
    parser.add_argument('-o', '--output', type=pathlib.Path, help='write the table there too')
    parser.add_argument('graphs', nargs='+', type=pathlib.Path)
    arguments = parser.parse_args()
    program = arguments.stretto.resolve()
    end = time.monotonic() + 60 * arguments.minutes
    done = {}
    if arguments.state and arguments.state.exists():
        for text in arguments.state.read_text(encoding='utf-8').splitlines():
            cell = json.loads(text)
            # A search ends at the optimum, whatever is left of its budget.
            if cell['optimal'] or cell['budget'] in (arguments.budget, arguments.several) or arguments.redo is not None:
                done[cell['model'], cell['kind'], cell['ratio']] = cell
    before = {key: cell for key, cell in done.items() if arguments.redo is not None and not cell['optimal']
              and (cell['gap'] is None or 100 * cell['gap'] > arguments.redo)}
    kept = {key: cell for key, cell in done.items() if key not in before}
    lock = threading.Lock()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        models = [prepared(program, path, folder) for path in sorted(arguments.graphs)]
        wanted = [(model, kind, ratio) for kind in KINDS for model in models for ratio in RATIOS]
        # One ratio after the other, so that a run that is cut short has cells of every model.
        turns = [(model, kind, ratio) for kind in KINDS for ratio in RATIOS for model in models]

        def work(item):
            model, kind, ratio = item
            key = model[0], kind[0], ratio
            if key in kept or time.monotonic() > end:
                return
            budget = arguments.several if kind[4] > 1 else arguments.budget
            cell = solve(program, folder, model, ratio, kind, budget)
            with lock:
                for name, old in ((name, before[key][name]) for name in ('step_s', 'gap') if key in before):
                    if cell[name] is None or (old is not None and cell[name] > old * (1 + 1e-9)):
                        print(f'worse: {name} of {key}: {old} before, {cell[name]} now', file=sys.stderr, flush=True)
                done[key] = cell
                if arguments.state:
                    with arguments.state.open('a', encoding='utf-8') as file:
                        file.write(json.dumps(cell) + '\n')
                print(kind[0], line(cell), file=sys.stderr, flush=True)

        with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
            list(pool.map(work, turns))
    missing = sum((model[0], kind[0], ratio) not in done for model, kind, ratio in wanted)
    if missing and not arguments.partial:
        sys.exit(f'{missing} of {len(wanted)} cells are left; run again with the same --state')
    cells = [done[key] for model, kind, ratio in wanted if (key := (model[0], kind[0], ratio)) in done]
    if arguments.state and len(cells) == len(done):
        arguments.state.write_text(''.join(json.dumps(cell) + '\n' for cell in cells), encoding='utf-8')
    text = table(cells, missing, arguments)
    if arguments.output:
        arguments.output.parent.mkdir(parents=True, exist_ok=True)
        arguments.output.write_text(text, encoding='utf-8')
    sys.stdout.write(text)


if __name__ == '__main__':
    main()
