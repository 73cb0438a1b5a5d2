# SPDX-License-Identifier: Apache-2.0
"""Small plots as SVG: panels with axes, lines with error bars, points and a legend. Numbers are rounded to 0.1 px and
written in the order given, so that equal data are equal files."""
import math
from xml.sax.saxutils import escape

# Okabe and Ito's colours, which colour-blind readers can tell apart.
COLOURS = ('#0072B2', '#D55E00', '#009E73', '#CC79A7', '#E69F00', '#56B4E9', '#000000')
MARGIN = {'left': 52, 'right': 10, 'top': 24, 'bottom': 36}


def text(x, y, words, size=11, anchor='start', more=''):
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}"{more}>{escape(words)}</text>'


def line(x1, y1, x2, y2, colour, width=1.0, dash=''):
    return (f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}" '
            f'stroke-width="{width}"{f" stroke-dasharray={chr(34)}{dash}{chr(34)}" if dash else ""}/>')


def nice_ticks(low, high, count=5):
    """Round numbers from below `low` to above `high`."""
    span = (high - low) or abs(high) or 1
    step = 10 ** math.floor(math.log10(span / count))
    step *= next(f for f in (1, 2, 5, 10) if span / (step * f) <= count)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [i * step for i in range(first, last + 1)]


class Axis:
    """Values to 0..1. `ticks`: the values that get a label; without them round ones around `values`."""

    def __init__(self, label, values=(), ticks=None, log=False, show=None):
        self.label, self.log = label, log
        self.ticks = list(ticks) if ticks else nice_ticks(min(values), max(values))
        self.show = show or (lambda v: f'{v:g}' if abs(v) < 1e-9 or abs(v) >= 1e-4 else f'{v:.0e}')
        known = [*self.ticks, *values]
        self.low, self.high = min(known), max(known)

    def at(self, value):
        if self.log:
            return math.log(max(value, self.low) / self.low) / math.log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)


class Panel:
    def __init__(self, title, x, y, width=230, height=170):
        self.title, self.x, self.y, self.width, self.height = title, x, y, width, height
        self.left = MARGIN['left']
        self.marks = []

    def place(self, x, y):
        left, top = self.left, MARGIN['top']
        return (left + self.x.at(x) * (self.width - left - MARGIN['right']),
                top + (1 - self.y.at(y)) * (self.height - top - MARGIN['bottom']))

    def add_line(self, points, colour, dash='', dots=True):
        """points: (x, y) or (x, y, low, high), joined in their order."""
        placed = [self.place(*p[:2]) for p in points]
        path = ' '.join(f'{x:.1f},{y:.1f}' for x, y in placed)
        dashes = f' stroke-dasharray="{dash}"' if dash else ''
        self.marks.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.5"{dashes}/>')
        for p in points:
            if len(p) == 4:
                (x, low), (_, high) = self.place(p[0], p[2]), self.place(p[0], p[3])
                self.marks.append(line(x, low, x, high, colour))
        if dots:
            self.add_points([p[:2] for p in points], colour, 2.2)

    def add_points(self, points, colour, radius=2.0, opacity=1.0):
        shade = f' fill-opacity="{opacity}"' if opacity < 1 else ''
        for p in points:
            x, y = self.place(*p)
            self.marks.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius}" fill="{colour}"{shade}/>')

    def note(self, words):
        self.marks.append(text(self.width - MARGIN['right'] - 4, MARGIN['top'] + 12, words, 10, 'end'))

    def draw(self):
        left, right = self.left, self.width - MARGIN['right']
        top, bottom = MARGIN['top'], self.height - MARGIN['bottom']
        out = [text((left + right) / 2, 15, self.title, 12, 'middle', ' font-weight="bold"')]
        for v in self.y.ticks:
            y = self.place(self.x.low, v)[1]
            out += [line(left, y, right, y, '#dddddd'), text(left - 5, y + 4, self.y.show(v), 10, 'end')]
        for v in self.x.ticks:
            x = self.place(v, self.y.low)[0]
            out += [line(x, bottom, x, bottom + 4, '#444444'), text(x, bottom + 15, self.x.show(v), 10, 'middle')]
        out += [line(left, bottom, right, bottom, '#444444'), line(left, top, left, bottom, '#444444'),
                text((left + right) / 2, bottom + 29, self.x.label, 11, 'middle'),
                text(0, 0, self.y.label, 11, 'middle', f' transform="translate(12 {(top + bottom) / 2:.1f}) '
                                                       'rotate(-90)"')]
        return [*out, *self.marks]


def figure(title, panels, columns, legend=()):
    """An SVG of panels in rows of `columns`; legend: (words, colour, dash) or (words, colour, None) for a dot."""
    wide, high = max(p.width for p in panels), max(p.height for p in panels)
    rows = -(-len(panels) // columns)
    head = 46 if legend else 26
    width, height = columns * wide + 8, rows * high + head + 4
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
           f'viewBox="0 0 {width} {height}" font-family="DejaVu Sans, Arial, sans-serif">',
           f'<rect width="{width}" height="{height}" fill="white"/>',
           text(width / 2, 17, title, 13, 'middle', ' font-weight="bold"')]
    x = 12.0
    for words, colour, dash in legend:
        out.append(f'<circle cx="{x + 12:.1f}" cy="34" r="3" fill="{colour}"/>' if dash is None
                   else line(x, 34, x + 24, 34, colour, 2, dash))
        out.append(text(x + 29, 38, words))
        x += 44 + 6.6 * len(words)
    for i, panel in enumerate(panels):
        out += [f'<g transform="translate({i % columns * wide + 4} {i // columns * high + head})">', *panel.draw(),
                '</g>']
    return '\n'.join([*out, '</svg>']) + '\n'
