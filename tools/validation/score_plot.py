# SPDX-License-Identifier: Apache-2.0
"""Scoreboard: predicted against measured as SVG, one panel with logarithmic axes for each source."""
import html
import math

SIDE, GAP, COLUMNS = 190, 46, 4
COLOURS = {'fitted': '#b0b0b0', 'predicted': '#1f5fa8'}


def points(rows, predicted):
    """{role: [[x, y]]} in pixels, doubles left out, and the range of the axes."""
    pairs = [(row.role, row.measured, value) for row, value in zip(rows, predicted, strict=True)
             if row.role != 'given' and value > 0]
    values = [value for _, *pair in pairs for value in pair]
    low, high = min(values) / 1.15, max(values) * 1.15

    def at(value):
        return round(SIDE * math.log(value / low) / math.log(high / low), 1)
    out = {'range': [low, high]}
    for role in COLOURS:
        cells = {}
        for kind, measured, value in pairs:
            if kind == role:
                x, y = at(measured), at(value)
                cells[round(x / 1.5), round(y / 1.5)] = [x, y]  # those that would cover each other
        if cells:
            out[role] = list(cells.values())
    return out


def number(value):
    return f'{value:.3g}'


def panel(name, found, x, y):
    low, high = found['points']['range']
    tenth = SIDE * math.log(1.1) / math.log(high / low)
    worst = found['errors']['predicted']
    lines = [f'<g transform="translate({x},{y})">',
             f'<rect width="{SIDE}" height="{SIDE}" fill="none" stroke="#888"/>',
             f'<text x="0" y="-18" font-weight="bold">{html.escape(name)}</text>',
             f'<text x="0" y="-5">{worst["n"]} predicted, mean {100 * worst["mean"]:.1f} %, median '
             f'{100 * worst["median"]:.1f} %</text>',
             f'<line x1="0" y1="{SIDE}" x2="{SIDE}" y2="0" stroke="#444"/>']
    for shift in (tenth, -tenth):
        a, b = max(0, -shift), min(SIDE, SIDE - shift)
        lines.append(f'<line x1="{a:.1f}" y1="{SIDE - a - shift:.1f}" x2="{b:.1f}" y2="{SIDE - b - shift:.1f}" '
                     'stroke="#999" stroke-dasharray="3 3"/>')
    for role, colour in COLOURS.items():
        marks = ''.join(f'M{px:g} {SIDE - py:g}h.01' for px, py in found['points'].get(role, ()))
        if marks:
            lines.append(f'<path d="{marks}" stroke="{colour}" stroke-width="2.6" stroke-linecap="round" fill="none"/>')
    unit = html.escape(found['unit'])
    lines += [f'<text x="0" y="{SIDE + 12}">{number(low)}</text>',
              f'<text x="{SIDE}" y="{SIDE + 12}" text-anchor="end">{number(high)} {unit}</text>', '</g>']
    return lines


def svg(board):
    rows = -(-len(board) // COLUMNS)
    width, height = COLUMNS * (SIDE + GAP) + GAP, rows * (SIDE + 2 * GAP) + GAP
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
             f'viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="9.5">',
             f'<rect width="{width}" height="{height}" fill="white"/>',
             f'<text x="{GAP}" y="20" font-size="12">Predicted (up) against measured (right), both logarithmic; '
             f'dashed: 10 % off; <tspan fill="{COLOURS["predicted"]}">predicted rows</tspan>, '
             '<tspan fill="#808080">rows fitted on</tspan></text>']
    for i, (name, found) in enumerate(board.items()):
        lines += panel(name, found, GAP + i % COLUMNS * (SIDE + GAP), 2 * GAP + 10 + i // COLUMNS * (SIDE + 2 * GAP))
    return '\n'.join([*lines, '</svg>']) + '\n'
