#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs one fuzzer for STRETTO_FUZZ_SECONDS (default 60), from its seeds and what earlier runs found.

usage: run_fuzzer.py EXECUTABLE FOLDER. FOLDER keeps the corpus (found/) and what a fault came from (faults/).
"""
import gzip
import os
import pathlib
import subprocess
import sys


def main():
    executable, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    seconds = os.environ.get('STRETTO_FUZZ_SECONDS', '60')
    for name in ('seeds', 'found', 'faults'):
        (folder / name).mkdir(parents=True, exist_ok=True)
    seeds = subprocess.run([executable, '--seeds'], check=True, capture_output=True, text=True).stdout.splitlines()
    for seed in map(pathlib.Path, seeds):
        data = seed.read_bytes()
        (folder / 'seeds' / seed.name).write_bytes(gzip.decompress(data) if seed.suffix == '.gz' else data)
    return subprocess.run([executable, f'-max_total_time={seconds}', '-timeout=20', '-rss_limit_mb=4096',
                           '-max_len=16384', '-print_final_stats=1', f'-artifact_prefix={folder}/faults/',
                           folder / 'found', folder / 'seeds'], check=False).returncode


if __name__ == '__main__':
    sys.exit(main())
