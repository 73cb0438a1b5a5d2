#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times a sweep of 20,000 points of a 16-worker step and writes results/performance/sweep.md. Some 3 minutes, which the
machine must have for this alone.

usage: sweep_performance.py STRETTO [--points N]
"""
import argparse
import os
import pathlib
import platform
import re
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
FILE = 'configs/experiments/sweep_sixteen.yaml'
PAGE = ROOT / 'results/performance/sweep.md'
SCALED = 6000  # points of the runs that are compared with each other
REPEATED = 2


def sweep(binary, points, threads, folder):
    """(seconds, greatest resident set in MB, bytes of the store) of one sweep into a new store."""
    store = folder / 'store.sqlite'
    store.unlink(missing_ok=True)
    begin = time.monotonic()
    process = subprocess.Popen([binary, 'sweep', FILE, '--set', f'sweep.sample.points={points}', '--threads',
                                str(threads), '--store', store, '--quiet'], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    out = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.monotonic() - begin
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0 or f'{points} run' not in out:
        sys.exit(f'the sweep failed: {out}')
    return seconds, usage.ru_maxrss / 1000, store.stat().st_size


def processor():
    text = pathlib.Path('/proc/cpuinfo').read_text(encoding='utf-8')
    return re.search(r'model name\s*: (.*)', text).group(1)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('stretto', type=pathlib.Path)
    parser.add_argument('--points', type=int, default=20000)
    options = parser.parse_args()
    binary = options.stretto.resolve()
    cores = len(os.sched_getaffinity(0))
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        rows = [(options.points, cores, *sweep(binary, options.points, cores, folder))]
        scaled = {threads: min((sweep(binary, SCALED, threads, folder) for _ in range(REPEATED)))
                  for threads in (1, 2)}
        rows += [(SCALED, threads, *row) for threads, row in scaled.items()]
    gain = scaled[1][0] / scaled[2][0]
    version = subprocess.run([binary, '--version'], check=True, capture_output=True, text=True).stdout.strip()
    lines = ['# A sweep of a 16-worker step', '',
             f'`tools/sweep_performance.py build/release/app/stretto` on {processor()}, {cores} cores, Linux '
             f'{platform.release().split("-")[0]}, {version}, {time.strftime("%Y-%m-%d", time.gmtime())}. '
             'Each point of '
             f'[sweep_sixteen.yaml](../../{FILE}) simulates VGG-16 training on 16 workers and 4 servers under random, '
             'fifo and tac for three steps, and one worker alone. '
             f'Of {REPEATED} runs of {SCALED:,} points the faster one counts.', '',
             '| points | threads | time | points/s | peak memory | store |', '|---|---|---|---|---|---|']
    for points, threads, seconds, memory, size in rows:
        lines.append(f'| {points:,} | {threads} | {seconds:.1f} s | {points / seconds:.0f} | {memory:.0f} MB | '
                     f'{size / 1e6:.1f} MB |')
    lines += ['', f'From one core to two: {gain:.2f} times the points per second. Memory grows with the number of '
                  'points by a bit, and 4 bytes for each sampled field, of each.', '']
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text('\n'.join(lines), encoding='utf-8')
    print('\n'.join(lines))


if __name__ == '__main__':
    main()
