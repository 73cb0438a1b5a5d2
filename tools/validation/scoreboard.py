#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The validation scoreboard: predicts public measurements, row by row, and says how far off it is.

usage: tools/validation/scoreboard.py [--stretto PROGRAM] [--only SOURCE...] [--tables] DATA

DATA holds the folders cmdare, cscs_tf, tf_benchmarks, tf_models, pollux, gavel, bcaffe_mgwfbp, nvidia_dle, vtrain,
tf_emulated and tf_ps. Fits each source on its stated part, predicts all of its rows by `stretto run` and writes, in
results/validation, the table of the README between its marks, scoreboard.svg (predicted against measured) and
scoreboard.json: what was fitted, errors, and a sample of rows by which --sample tells whether all this is stale.

--tables first makes cmdare.md, devices.md, tf_emulated.md and tf_ps.md again, --only does some sources and keeps the
others.
--sample writes nothing: predicts the sample again with what was fitted and prints it as JSON, with the fits that need
no simulation.
"""
import argparse
import json
import math
import pathlib
import subprocess
import sys
import time

import common
import score_base
import score_bert
import score_collectives
import score_exchange
import score_plot
import score_tables
import score_tensorflow

SOURCES = (score_tables.Cmdare, score_tensorflow.PizDaint, score_tensorflow.OneGpu, score_tensorflow.Distributed,
           score_exchange.PolluxSteps, score_exchange.PolluxExposed, score_exchange.Gavel, score_collectives.OpenMpi,
           score_collectives.Layers, score_bert.Bert, score_collectives.Nccl, score_collectives.NcclCounts,
           score_tables.Emulated, score_tables.Traced, score_tables.Devices)
NOT_IN_ALL = ('pollux_exposed', 'vtrain_four_from_two_and_eight')  # their rows count already
WITHOUT_RUNS = ('tf_benchmarks_one_gpu', 'gavel', 'bcaffe_all_reduce', 'bcaffe_layers', 'nvidia_bert',
                'vtrain_all_reduce', 'vtrain_four_from_two_and_eight')
FOLDER = common.ROOT / 'results/validation'
BEGIN, END = '<!-- scoreboard: made by tools/validation/scoreboard.py -->', '<!-- end of scoreboard -->'
SAMPLES = 12  # rows of a source


def score(source, run):
    """What scoreboard.json says of a source."""
    rows = source.rows()
    parameters = score_base.rounded(source.fit(run, [row for row in rows if row.role != 'predicted']))
    predicted = source.predict(run, parameters, rows)
    roles, groups = {'fitted': [], 'predicted': []}, {}
    for row, value in zip(rows, predicted, strict=True):
        if row.role != 'given':
            error = score_base.relative(row, value)
            roles[row.role].append(error)
            groups.setdefault(source.group(row), {'fitted': [], 'predicted': []})[row.role].append(error)
    cheap = [i for i, row in enumerate(rows) if source.cheap(row)]
    sample = [[i, score_base.rounded(predicted[i], 8)] for i in cheap[::max(1, math.ceil(len(cheap) / SAMPLES))]]
    notes = source.notes(rows, predicted) if hasattr(source, 'notes') else []

    def told(errors):
        return {role: score_base.rounded(score_base.summary(e), 4) for role, e in errors.items() if e}
    return {'title': source.title, 'unit': source.unit, 'fitted': source.fitted, 'left_out': source.left_out,
            'notes': notes, 'errors': told(roles), 'groups': {name: told(e) for name, e in sorted(groups.items())},
            'predicted': score_base.rounded(roles['predicted'], 3), 'parameters': parameters, 'sample': sample,
            'points': score_plot.points(rows, predicted)}


def percent(share):
    return f'{100 * share:.1f} %'


def cells(found):
    return f'{found["n"]} | ' + ' | '.join(percent(found[key]) for key in ('mean', 'median', 'worst'))


def render(board):
    """Markdown of the README between its marks."""
    every = [error for name, found in board.items() if name not in NOT_IN_ALL for error in found['predicted']]
    total = score_base.summary(every)
    medians = sorted(found['errors']['predicted']['median'] for found in board.values())
    few = [error for name, found in board.items() if name not in (*NOT_IN_ALL, 'vtrain_all_reduce')
           for error in found['predicted']]
    rest = score_base.summary(few)
    middle = medians[len(medians) // 2]
    lines = [BEGIN, '',
             f'**{total["n"]} rows predicted, median error {percent(total["median"])}**, mean '
             f'{percent(total["mean"])}. Without the {total["n"] - rest["n"]} rows of vTrain: {rest["n"]} rows, median '
             f'{percent(rest["median"])}, mean {percent(rest["mean"])}. The median of the {len(medians)} sources\' '
             f'medians is {percent(middle)}. {" and ".join(NOT_IN_ALL)} count in neither: their rows are those of '
             'other sources.', '',
             '| source | predicted | rows | mean error | median | worst |', '|---|---|---|---|---|---|']
    for name, found in board.items():
        lines.append(f'| [{name}](#{name}) | {found["title"]} | {cells(found["errors"]["predicted"])} |')
    lines += ['', '![predicted against measured](scoreboard.svg)', '']
    for name, found in board.items():
        lines += [f'### {name}', '', f'{found["title"]}; {found["unit"]}.', '', f'- Fitted: {found["fitted"]}',
                  f'- Left out: {found["left_out"]}', *(f'- {note}' for note in found['notes']), '',
                  '| | | rows | mean error | median | worst |', '|---|---|---|---|---|---|']
        for role in ('predicted', 'fitted'):
            if role in found['errors']:
                lines.append(f'| all | {role} | {cells(found["errors"][role])} |')
        for group, errors in found['groups'].items():
            if len(found['groups']) > 1 and 'predicted' in errors:
                lines.append(f'| {group} | predicted | {cells(errors["predicted"])} |')
        lines.append('')
    return '\n'.join([*lines, END])


def write_board(board):
    readme = FOLDER / 'README.md'
    text = readme.read_text(encoding='utf-8')
    if BEGIN not in text or END not in text:
        sys.exit(f'{readme} lacks the marks {BEGIN} and {END}')
    common.write(readme, text[:text.index(BEGIN)] + render(board) + text[text.index(END) + len(END):])
    common.write(FOLDER / 'scoreboard.svg', score_plot.svg(board))
    parts = [(name, ',\n'.join(f'  {json.dumps(key)}: {json.dumps(value)}' for key, value in found.items()))
             for name, found in board.items()]
    body = ',\n'.join(f'{json.dumps(name)}: {{\n{text}\n}}' for name, text in parts)
    common.write(FOLDER / 'scoreboard.json', '{\n' + body + '\n}\n')


def make_tables(data, program):
    for name, inputs in (('tf_emulated', sorted((data / 'tf_emulated').glob('*.json.gz'))),
                         ('tf_ps', sorted((data / 'tf_ps').glob('*_*'))), ('cmdare', [data / 'cmdare']),
                         ('devices', [data])):
        tool = pathlib.Path(__file__).with_name(f'{name}.py')
        subprocess.run([sys.executable, tool, '--stretto', program, *inputs, '-o', FOLDER / f'{name}.md'], check=True,
                       stdout=subprocess.DEVNULL)


def sample(sources, board, run):
    """What --sample prints."""
    out = {}
    for source in sources:
        found, rows = board[source.name], source.rows()
        chosen = [i for i, _ in found['sample']]
        out[source.name] = {'rows': len(rows), 'sample': list(zip(chosen, source.predict(
            run, found['parameters'], [rows[i] for i in chosen]), strict=True))}
        if isinstance(source, score_tables.Table):
            out[source.name]['errors'] = score(source, run)['errors']
        if source.name in WITHOUT_RUNS:
            fit = source.fit(run, [row for row in rows if row.role != 'predicted'])
            out[source.name]['parameters'] = score_base.rounded(fit)
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('data', type=pathlib.Path)
    parser.add_argument('--stretto', type=pathlib.Path, default=common.ROOT / 'build/release/app/stretto')
    parser.add_argument('--only', nargs='+', choices=[source.name for source in SOURCES])
    parser.add_argument('--tables', action='store_true')
    parser.add_argument('--sample', action='store_true')
    args = parser.parse_args()
    program = args.stretto.resolve()
    if not args.data.is_dir():
        sys.exit(f'{args.data} is no folder')
    path = FOLDER / 'scoreboard.json'
    known = json.loads(path.read_text(encoding='utf-8')) if path.exists() else {}
    sources = [source(args.data) for source in SOURCES if not args.only or source.name in args.only]
    run = score_base.Stretto(program)
    if args.sample:
        print(json.dumps(sample(sources, known, run)))
        return
    if args.tables:
        make_tables(args.data, program)
    for source in sources:
        begin = time.monotonic()
        known[source.name] = score(source, run)
        found = known[source.name]['errors']['predicted']
        print(f'{source.name}: {found["n"]} rows, mean error {100 * found["mean"]:.1f} %, median '
              f'{100 * found["median"]:.1f} %, {time.monotonic() - begin:.0f} s', flush=True)
    write_board({source.name: known[source.name] for source in SOURCES if source.name in known})


if __name__ == '__main__':
    main()
