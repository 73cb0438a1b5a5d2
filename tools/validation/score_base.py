# SPDX-License-Identifier: Apache-2.0
"""What the sources of the scoreboard share: rows, runs of stretto, errors."""
import collections
import json
import pathlib
import statistics
import tempfile
import typing

import common


class Row(typing.NamedTuple):
    key: tuple  # says which row it is; numbers and texts
    role: str  # fitted, predicted, or given: what every prediction starts from
    measured: float
    scale: float = 0  # what the error is relative to; 0: the figure measured


class Source:
    """A part of the data. What a source has besides this:
    name, title, unit    of its figures; title says what is measured
    fitted, left_out     sentences: what was fitted on which rows; which rows are not used and why
    rows()               all rows
    fit(run, rows)       parameters (names to numbers or lists of them) from rows that are not predicted
    predict(run, parameters, rows)  the figures by stretto, of some rows
    """

    def __init__(self, data):
        self.data = data

    def group(self, row):
        """The line of the source's table that a row counts in."""
        return str(row.key[0])

    def cheap(self, row):
        """Whether it takes little time to predict this row again."""
        return row.role != 'given'


def relative(row, predicted):
    return abs(predicted - row.measured) / (row.scale or row.measured)


def rounded(value, digits=5):
    """Parameters as they are written down."""
    if isinstance(value, dict):
        return {key: rounded(v, digits) for key, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [rounded(v, digits) for v in value]
    return value if isinstance(value, int) else float(f'{value:.{digits}g}')


def grouped(rows, key):
    """By key, lists of (number, row)."""
    groups = collections.defaultdict(list)
    for i, row in enumerate(rows):
        groups[key(row)].append((i, row))
    return groups


def by_group(rows, key, figures):
    """A figure of each row, where `figures(key, rows)` gives those of all rows with that key at once."""
    out = [0.0] * len(rows)
    for k, group in grouped(rows, key).items():
        for (i, _), figure in zip(group, figures(k, [row for _, row in group]), strict=True):
            out[i] = figure
    return out


class Stretto:
    """Runs experiments in a folder of its own."""

    def __init__(self, program):
        self.program = str(program)
        self.folder = tempfile.TemporaryDirectory()  # pylint: disable=consider-using-with

    def steps(self, workload, experiment):
        """Mean step times in s at all points of the experiment, a mapping without version and workload file."""
        folder = pathlib.Path(self.folder.name)
        (folder / 'case.workload.json').write_text(json.dumps(workload), encoding='utf-8')
        experiment = {'stretto': 1, **experiment, 'policies': ['fifo'],
                      'workload': {'file': 'case.workload.json', **experiment.get('workload', {})}}
        (folder / 'case.yaml').write_text(json.dumps(experiment), encoding='utf-8')
        results = common.run_json(self.program, 'case.yaml', folder)
        return [row['step_time_s']['mean'] for row in results if row['policy'] == 'fifo']


ONE_STEP = {'iterations': 1, 'warm_up': 0, 'replications': 1}


def pipeline(buckets, backward, size):
    """A second of compute: one forward op, and `buckets` equal backward ops that share `backward` of it and end with
    a gradient of `size` bytes each."""
    each = round(backward * 1e12 / buckets)
    ops = [{'name': 'f', 'phase': 'forward', 'time_ps': 10**12 - buckets * each,
            'reads': [f'v{i}' for i in range(buckets)]}]
    ops += [{'name': f'b{i}', 'phase': 'backward', 'time_ps': each, 'inputs': [f'b{i - 1}' if i else 'f']}
            for i in range(buckets)]
    return {'format': 'stretto-workload', 'version': 1, 'name': 'pipeline', 'batch': 1, 'source': 'scoreboard',
            'ops': ops, 'parameters': [{'name': f'v{i}', 'bytes': size, 'gradient': f'b{i}'} for i in range(buckets)]}


def summary(errors):
    """n, mean, median and worst."""
    return {'n': len(errors), 'mean': statistics.mean(errors), 'median': statistics.median(errors),
            'worst': max(errors)}
