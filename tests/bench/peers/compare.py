#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the same cases in stretto and in SimGrid, alternately, checks that they agree, and prints what each one cost.

usage: compare.py --stretto PROGRAM [--simgrid PROGRAM]... [--limit S] [--cases REGEX] [--quick] [-o FOLDER]

PROGRAM: peer_stretto and peer_simgrid of tests/bench/peers, the latter once per version of SimGrid. Without --simgrid
only stretto's answers are checked. A SimGrid run past --limit CPU seconds (default 60) is stopped and its ratio is a
lower bound. Every run is a process of its own; costs are the medians of CPU time. -o: writes README.md and peers.json
there. Exit 1 if an answer is wrong.
"""
import argparse
import json
import os
import pathlib
import platform
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time

# Makespans that SimGrid 3.32, 4.1 and an independent event loop agree on; None: not told.
STEPS = (
    (4, 1, 'symmetric', 2.151886400, None), (4, 1, 'jitter', 2.151886400, None), (4, 1, 'balanced', None, None),
    (16, 4, 'symmetric', 2.211384800, None), (16, 4, 'jitter', 2.211428680, None), (16, 4, 'balanced', None, None),
    (64, 16, 'symmetric', 2.455992800, None), (64, 16, 'jitter', 2.455994124, 500), (64, 16, 'balanced', None, 100),
    (256, 64, 'symmetric', 3.318754400, 60), (256, 64, 'jitter', 3.318754400, None))
ALONE = {'step 256x64 jitter': 'SimGrid 4.1 takes 308 s'}
# Live flows, flows of each slot, wanted ratio.
LOOPS = ((1000, 6, 10), (4000, 3, 20))
QUICK = re.compile(r'step (4x1|16x4) ')
STEP_TOLERANCE_S = 1e-9
LOOP_TOLERANCE_S = 1e-8  # SimGrid cuts flows off at its precision of 1e-5 bytes, and one flow's end starts the next
REPEAT_BELOW_S = 3


def once(program, words, limit):
    """What the program printed; None if it ran into the limit."""
    def bound():
        if limit:
            resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    done = subprocess.run([program, *map(str, words)], capture_output=True, text=True, check=False, preexec_fn=bound)
    if limit and done.returncode in (-9, -24):
        return None
    if done.returncode != 0:
        sys.exit(f'{program} {" ".join(map(str, words))} ended with {done.returncode}\n{done.stdout}{done.stderr}')
    return json.loads(done.stdout)


def ends(path):
    return [float(line) for line in path.read_text(encoding='ascii').split()]


def measure(case, arguments, folder):
    """Alternate runs of one case: its row."""
    programs = {} if case['name'] in ALONE else dict(arguments.simgrid)
    programs['stretto'] = arguments.stretto
    runs = {name: [] for name in programs}
    stopped = set()
    for turn in range(1 if arguments.quick else 5):
        for name, program in programs.items():
            peer = name != 'stretto'
            if peer and (name in stopped or (turn and runs[name][0]['cpu_s'] > REPEAT_BELOW_S)):
                continue
            words = case['words'] + ([folder / name] if case['words'][0] == 'fat-tree' else [])
            result = once(program, words, arguments.limit if peer else 0)
            if result is None:
                stopped.add(name)
            else:
                runs[name].append(result)
    row = {'case': case['name'], 'wanted': case['wanted'], 'simgrid': {}, 'faults': []}
    for name, results in runs.items():
        if len({r['makespan_s'] for r in results}) > 1:
            row['faults'].append(f'{name} gives several makespans')
        cost = {'runs': len(results), 'count': results[0]['count'], 'makespan_s': results[0]['makespan_s'],
                'bytes': max(r['bytes'] for r in results), 'cpu_s': statistics.median(r['cpu_s'] for r in results),
                'wall_s': statistics.median(r['wall_s'] for r in results)} if results else {}
        if name == 'stretto':
            row['stretto'] = cost
        else:
            row['simgrid'][name] = cost or {'stopped_s': arguments.limit}
    for peer in row['simgrid'].values():
        peer['ratio'] = peer.get('cpu_s', arguments.limit) / row['stretto']['cpu_s']
    check(row, case, folder)
    return row


def check(row, case, folder):
    told = [('published', case['makespan_s'])] if case['makespan_s'] else []
    ended = {name: peer for name, peer in row['simgrid'].items() if 'stopped_s' not in peer}
    for name, peer in ended.items():
        told.append((name, peer['makespan_s']))
        if peer['count'] != row['stretto']['count']:
            row['faults'].append(f'{name} counts differently')
    for who, value in told:
        difference = abs(row['stretto']['makespan_s'] - value)
        row['difference_s'] = max(row.get('difference_s', 0), difference)
        if difference > case['tolerance_s'] * (1 + 1e-6):
            row['faults'].append(f"makespan {row['stretto']['makespan_s']:.12f} s, {who} {value:.12f} s")
    for name in ended if case['words'][0] == 'fat-tree' else ():
        pairs = list(zip(ends(folder / 'stretto'), ends(folder / name), strict=True))
        difference = max(abs(a - b) for a, b in pairs)
        row['difference_s'] = max(row['difference_s'], difference)
        if difference > case['tolerance_s']:
            row['faults'].append(f'an end differs by {difference:.3g} s from {name}')


def cases(arguments):
    for w, s, variant, makespan, wanted in STEPS:
        yield {'name': f'step {w}x{s} {variant}', 'words': ['step', w, s, variant], 'makespan_s': makespan,
               'tolerance_s': STEP_TOLERANCE_S, 'wanted': wanted}
    for live, per_slot, wanted in LOOPS:
        if arguments.quick:
            live, per_slot, wanted = live // 10, 2, None
        yield {'name': f'fat-tree, {live} live flows', 'words': ['fat-tree', live, per_slot], 'makespan_s': None,
               'tolerance_s': LOOP_TOLERANCE_S, 'wanted': wanted}


def head(versions):
    return ['case', 'activities', 'stretto, s', '1000/s', 'B each',
            *(word for version in versions for word in (f'{version}, s', 'ratio')), 'wanted', 'difference, s']


def cells(row, versions):
    mine = row['stretto']
    memory = f"{mine['bytes'] / mine['count']:.0f}" if row['case'].startswith('step') else ''
    line = [row['case'], f"{mine['count']:,}", f"{mine['cpu_s']:.4f}", f"{mine['count'] / mine['cpu_s'] / 1e3:,.0f}",
            memory]
    for version in versions:
        peer = row['simgrid'].get(version)
        over = 'over ' if peer and 'stopped_s' in peer else ''
        cost = peer and (peer['stopped_s'] if over else peer['cpu_s'])
        line += [f'{over}{cost:.3f}', f"{over}{peer['ratio']:,.1f}"] if peer else '--'
    return [*line, str(row['wanted'] or ''), f"{row['difference_s']:.1e}" if 'difference_s' in row else '-']


def machine(arguments):
    text = pathlib.Path('/proc/cpuinfo').read_text(encoding='utf-8', errors='replace')
    model = re.search(r'model name\s*: (.*)', text)
    facts = {'cpu': model.group(1) if model else platform.machine(), 'cores': os.cpu_count(),
             'system': platform.platform(), 'date': time.strftime('%Y-%m-%d'), 'load': list(os.getloadavg())}
    facts['simgrid'] = list(arguments.simgrid)
    return facts


def version_of(program):
    done = subprocess.run([program, 'version'], capture_output=True, text=True, check=True)
    return f'SimGrid {done.stdout.strip()}'


def write(folder, facts, rows):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / 'peers.json').write_text(json.dumps({'machine': facts, 'rows': rows}, indent=1) + '\n', encoding='utf-8')
    titles = head(facts['simgrid'])
    table = '\n'.join('| ' + ' | '.join(line) + ' |' for line in
                      (titles, ['---'] * len(titles), *(cells(row, facts['simgrid']) for row in rows)))
    load = ', '.join(f'{x:.1f}' for x in facts['load'])
    (folder / 'README.md').write_text(f"""# Speed beside SimGrid

Made by `tests/bench/peers/run BUILD [PEER...]`, which needs Debian's libsimgrid-dev for this comparison only. PEER:
tests/bench/peers/peer_simgrid.cpp built against another version.

{' and '.join(facts['simgrid'])}, `network/optim:Full` (the default mode gives links away twice). {facts['cpu']},
{facts['cores']} cores, {facts['system']}, {facts['date']}. Load at the start {load}: with other work
on the machine only the ratios mean something.

A step is one synchronous iteration with W workers, S servers and 160 tensors on a star of 10 Gbit/s NICs, from the
description of the graph to its end; jitter: workers of different speeds; balanced: jitter, and the workers' NICs at a
quarter of the rate. The fat-tree is a closed loop of flows on one of k = 8 with static routes, without its set-up. All
programs run the same case alternately, each run a process of its own; s is the median CPU time. A SimGrid run of more
than {REPEAT_BELOW_S} s is not repeated, and one past the limit of CPU time is stopped: its ratio is a lower bound.
"B each" is (peak - start of the resident memory) / activities. "difference" is the largest one between makespans,
stretto's against SimGrid's and published ones; of the fat-tree, between the ends of all flows. SimGrid is not run on
256x64 with jitter ({ALONE['step 256x64 jitter']}). "wanted" is the ratio aimed at.

{table}
""", encoding='utf-8')


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--stretto', required=True)
    parser.add_argument('--simgrid', action='append', default=[])
    parser.add_argument('--limit', type=int, default=60)
    parser.add_argument('--cases', default='')
    parser.add_argument('--quick', action='store_true')
    parser.add_argument('-o', dest='folder', type=pathlib.Path)
    arguments = parser.parse_args()
    if arguments.folder and not arguments.simgrid:
        parser.error('-o needs --simgrid')
    arguments.simgrid = {version_of(program): program for program in arguments.simgrid}
    facts = machine(arguments)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for case in cases(arguments):
            if not re.search(arguments.cases, case['name']):
                continue
            if arguments.quick and case['words'][0] == 'step' and not QUICK.match(case['name']):
                continue
            rows.append(measure(case, arguments, pathlib.Path(folder)))
            line = zip(head(arguments.simgrid), cells(rows[-1], arguments.simgrid))
            print('  '.join(f'{title} {cell}' for title, cell in line if cell), flush=True)
    for row in rows:
        for fault in row['faults']:
            print(f"{row['case']}: {fault}", file=sys.stderr)
        for name, peer in row['simgrid'].items():
            if row['wanted'] and peer['ratio'] < row['wanted']:
                print(f"{row['case']}: {peer['ratio']:.1f} times {name}, wanted {row['wanted']}")
    if arguments.folder:
        write(arguments.folder, facts, rows)
    return 1 if any(row['faults'] for row in rows) else 0


if __name__ == '__main__':
    sys.exit(main())
