# SPDX-License-Identifier: Apache-2.0
"""The plots of results/paper/, by file name: functions from the loaded paper.json to SVG."""
import svg_plot
from svg_plot import COLOURS, Axis, Panel

KINDS = (('inference', 'tic', COLOURS[0], ''), ('inference', 'tac', COLOURS[5], '4 3'),
         ('training', 'tic', COLOURS[1], ''), ('training', 'tac', COLOURS[4], '4 3'))
SIZES = ((1, 1), (2, 1), (4, 1), (8, 2), (16, 4))  # workers, servers
LEGEND = [(f'{policy.upper()}, {mode}', colour, dash) for mode, policy, colour, dash in KINDS]


def pick(rows, **values):
    return [r for r in rows if all(r[k] == v for k, v in values.items())]


def sized(data):
    """Rows of question 1: the paper's four workers a server, and fewer workers on one."""
    return [r for r in data['workers'] + data['sixteen'] + data['servers'] if (r['workers'], r['servers']) in SIZES]


def of_eight(data):
    return pick(data['workers'] + data['servers'], workers=8)


def models(data):
    return list(dict.fromkeys(r['model'] for r in data['workers']))


def percent(value):
    return f'{100 * value:g}'


def gains(data, title, rows, key, label, ticks):
    """A panel per network: gain over random with intervals, by `key`."""
    values = [r[f] for r in rows if r['policy'] in ('tic', 'tac')
              for f in ('gain_over_random_ci95_low', 'gain_over_random_ci95_high')]
    y = Axis('gain over random, %', [0, *values], show=percent)
    panels = []
    for model in models(data):
        xs = sorted({r[key] for r in rows})
        panel = Panel(model, Axis(label, xs, ticks, log=True), y)
        for mode, policy, colour, dash in KINDS:
            mine = [r for r in rows if (r['model'], r['mode'], r['policy']) == (model, mode, policy)]
            mine.sort(key=lambda r: r[key])
            panel.add_line([(r[key], r['gain_over_random'], r['gain_over_random_ci95_low'],
                             r['gain_over_random_ci95_high']) for r in mine], colour, dash)
        panels.append(panel)
    return svg_plot.figure(title, panels, 5, LEGEND)


def workers(data):
    return gains(data, 'Gain against workers, four a server (one server for fewer)', sized(data), 'workers', 'workers',
                 tuple(w for w, _ in SIZES))


def servers(data):
    return gains(data, 'Gain against servers, eight workers', of_eight(data), 'servers', 'servers', (1, 2, 4))


def ratio(data):
    return gains(data, 'Gain against transfers / compute, four workers, one server', data['ratio'], 'ratio',
                 'transfers / compute', (0.01, 0.1, 1, 10, 100))


def dots(title, names, series, label, ticks):
    """Rows of dots: names down the side, a logarithmic axis below. series: (words, colour, {name: value})."""
    x = Axis(label, [v for _, _, values in series for v in values.values() if v >= ticks[0]], ticks, log=True,
             show=lambda v: f'{100 * v:g}')
    y = Axis('', [0, len(names) + 1], list(range(1, len(names) + 1)), show=lambda i: names[len(names) - int(i)])
    panel = Panel(title, x, y, 560, 60 + 17 * len(names))
    panel.left = 130
    for k, (_, colour, values) in enumerate(series):  # smaller and smaller, so that equal ones stay visible
        panel.add_points([(max(values[n], ticks[0]), len(names) - i) for i, n in enumerate(names)], colour, 6 - 1.3 * k,
                         0.85)
    return panel


def stragglers(data):
    shades = dict(zip(('random', 'fixed_random', 'tic', 'tac'), (COLOURS[1], COLOURS[4], COLOURS[0], COLOURS[5])))
    panels = []
    for workers_, mode in ((4, 'inference'), (4, 'training'), (16, 'inference'), (16, 'training')):
        rows = [r for r in (data['workers'] if workers_ == 4 else data['sixteen'])
                if r['workers'] == workers_ and r['mode'] == mode]
        series = [(p, colour, {r['model']: r['straggler_effect'] for r in rows if r['policy'] == p})
                  for p, colour in shades.items()]
        panels.append(dots(f'{workers_} workers, {mode}', models(data), series,
                           'straggler effect, % (0.1 or less at the left '
                           'edge)', (0.001, 0.003, 0.01, 0.03, 0.1, 0.3)))
    return svg_plot.figure('Straggler effect by order; op times vary by 5 %', panels, 2,
                           [(p, c, None) for p, c in shades.items()])


def efficiency(data):
    panels = []
    for o in data['orders']:
        if o['mode'] != 'training':
            continue
        es, ts = [p[0] for p in o['points']], [p[1] for p in o['points']]
        panel = Panel(o['model'], Axis('ordering efficiency E', es), Axis('step time, s', ts))
        panel.add_points(o['points'], COLOURS[0], 1.8, 0.6)
        ends = [panel.x.low, panel.x.high]
        if o['slope'] != 0:  # within the panel
            met = sorted((t - o['intercept']) / o['slope'] for t in (panel.y.low, panel.y.high))
            ends = [min(max(e, met[0]), met[1]) for e in ends]
        panel.add_line([(e, o['intercept'] + o['slope'] * e) for e in ends], COLOURS[1], dots=False)
        panel.note(f'R² = {o["r2"]:.3f}')
        panels.append(panel)
    return svg_plot.figure('Step time against ordering efficiency, training, one worker (120 of 1000 random orders, '
                           'line of all)',
                           panels, 5)


def gap(data):
    shades = dict(zip(('random', 'fifo', 'tic', 'tac'), (COLOURS[1], COLOURS[2], COLOURS[0], COLOURS[5])))
    panels = []
    for workers_, mode in ((1, 'inference'), (1, 'training'), (4, 'inference'), (4, 'training')):
        rows = [r for r in data['bound'] if r['workers'] == workers_ and r['mode'] == mode]
        series = [(p, colour, {r['model']: r['gap'] for r in rows if r['policy'] == p}) for p, colour in shades.items()]
        panels.append(dots(f'{workers_} worker{"s" if workers_ > 1 else ""}, {mode}', models(data), series,
                           'above the lower bound, % (0.001 or less at the left edge)',
                           (1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1)))
    return svg_plot.figure('Step time above the proven lower '
                           'bound', panels, 2, [(p, c, None) for p, c in shades.items()])


PLOTS = {'workers': workers, 'servers': servers, 'ratio': ratio, 'stragglers': stragglers, 'efficiency': efficiency,
         'gap': gap}
