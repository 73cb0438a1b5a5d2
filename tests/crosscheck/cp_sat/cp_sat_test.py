# SPDX-License-Identifier: Apache-2.0
"""`stretto search` against OR-tools' CP-SAT: random small problems of every kind, whole tensors and slices.

Holds for each: the bound is not above the optimum, the found step not below it, and what is called optimal is. How many
searches find the optimum is counted, and may not fall below a share per kind.
"""
import collections
import json
import os
import pathlib
import random
import subprocess

import cases
import pytest

STRETTO = os.environ['STRETTO_BINARY']
TRIALS = int(os.environ.get('STRETTO_CP_SAT_TRIALS', '25'))
# Found optima over problems, at least.
SHARE = {('forward', 'dag', 1): 1, ('forward', 'dag', 2): 1, ('barrier', 'chain', 1): 1, ('barrier', 'chain', 2): 1,
         ('barrier', 'dag', 1): 1, ('steady', 'chain', 1): 1, ('steady', 'chain', 2): 1, ('steady', 'dag', 1): 0.9}


def search(problem, folder):
    (folder / 'case.workload.json').write_text(cases.workload(problem), encoding='utf-8')
    (folder / 'case.yaml').write_text(cases.experiment(problem), encoding='utf-8')
    done = subprocess.run([STRETTO, 'search', 'case.yaml', '--budget', '2000', '--format', 'json', '--quiet'],
                          cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize(('kind', 'shape', 'slices'), list(SHARE))
def test_search_against_cp_sat(kind, shape, slices, tmp_path: pathlib.Path):
    rng = random.Random(f'{kind} {shape} {slices}')
    found = collections.Counter()
    for trial in range(TRIALS):
        problem = cases.random_problem(rng, kind, shape, slices)
        best = cases.optimum(problem) * 1e-6
        result = search(problem, tmp_path)
        step, bound = result['step_time_s']['mean'], result['lower_bound_s']
        about = f'{kind}, trial {trial}: {problem}, optimum {best}, {step}, bound {bound}'
        assert bound is None or bound <= best * (1 + 1e-9), about
        assert step >= best * (1 - 1e-9), about
        if result['optimal']:
            assert abs(step - best) <= 1e-9, about
        found[abs(step - best) <= 1e-9] += 1
    print(f'{kind}, {shape}, slices {slices}: {found[True]} of {TRIALS} optima found')
    assert found[True] >= SHARE[kind, shape, slices] * TRIALS, found
