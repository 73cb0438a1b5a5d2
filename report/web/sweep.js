// SPDX-License-Identifier: Apache-2.0
// The pages of a sweep: the answer in words, filters, a line plot, a heat map and the points as a table.

const FIGURE_WORDS = {
  step_time_s: 'step time (s)', samples_per_s: 'samples/s', scaling_efficiency: 'scaling efficiency',
  gain_over_random: 'gain over random', gain_over_fifo: 'gain over fifo', lower_bound_s: 'lower bound (s)',
  gap: 'gap above the bound', straggler_effect: 'straggler effect', busiest_utilisation: 'use of the busiest resource',
};
const SHARES = new Set(['scaling_efficiency', 'gain_over_random', 'gain_over_fifo', 'gap', 'straggler_effect',
  'busiest_utilisation']);
const MOST_BINS = 16;

const figureText = (figure, value) => value === null || value === undefined ? '-'
  : SHARES.has(figure) ? percent(value, figure.startsWith('gain')) : figure.endsWith('_s') && figure !== 'samples_per_s'
    ? timeText(value) : shortNumber(value);

/** The values of a path as numbers if all are numbers of one unit, else null. */
function numbersOf(texts) {
  const parts = texts.map((t) => /^\s*([-+]?[\d.]+(?:e[-+]?\d+)?)\s*(.*)$/i.exec(t));
  if (parts.some((p) => !p || p[2] !== parts[0][2] || !isFinite(Number(p[1])))) return null;
  return parts.map((p) => Number(p[1]));
}

/** Paths of the sweep with their values in order: {name, texts, numbers, bins of the values}. */
function pathsOf(sweep) {
  return sweep.paths.map((name, p) => {
    const texts = sweep.texts[p];
    const numbers = numbersOf(texts);
    const order = texts.map((_, i) => i);
    if (numbers) order.sort((a, b) => numbers[a] - numbers[b]);
    const bins = [];
    const binOf = new Int32Array(texts.length);
    const per = Math.ceil(order.length / MOST_BINS);
    for (let i = 0; i < order.length; i += per) {
      const members = order.slice(i, i + per);
      for (const m of members) binOf[m] = bins.length;
      const last = members[members.length - 1];
      bins.push({label: members.length === 1 ? texts[members[0]] : texts[members[0]] + ' \u2026 ' + texts[last],
        centre: numbers ? members.reduce((sum, m) => sum + numbers[m], 0) / members.length : bins.length});
    }
    return {name, texts, numbers, bins, binOf, values: sweep.values[p]};
  });
}

/** Least, median and most of any number of values; nulls of none. */
function spreadOf(list) {
  if (!list.length) return {least: null, median: null, most: null};
  const sorted = list.slice().sort((a, b) => a - b);
  const n = sorted.length;
  return {least: sorted[0], median: n % 2 ? sorted[(n - 1) / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2,
    most: sorted[n - 1]};
}

/** Positive values over more than a power of ten. */
function isWide(path) {
  const {least, most} = spreadOf(path.numbers || []);
  return least > 0 && most > 10 * least;
}

/** How many points there are, and what became of those without a result. */
function pointsDone(sweep) {
  const bad = sweep.deadlock + sweep.failed;
  return sweep.done + (sweep.done === 1 ? ' point is' : ' points are') + ' done' + (bad ? ', ' + sweep.deadlock +
    ' end in a deadlock and ' + sweep.failed + ' failed' : '') + (sweep.done + bad < sweep.size ? ' (of ' + sweep.size +
    ' before constraints).' : '.');
}

function policySummary(sweep) {
  const {wins} = winners(sweep);
  const heads = ['points', 'fastest at', 'step: least', 'median', 'most', 'over random: least', 'median', 'most',
    'over fifo: least', 'median', 'most'];
  return table('Policies over all points; fastest: or within 0.1 % of it', [{head: 'policy', text: true},
    ...heads.map((head) => ({head}))], sweep.policies.map((p, k) => {
    const known = (figure) => columnOf(sweep, k, figure).filter((v) => v !== null);
    const spread = (figure) => Object.values(spreadOf(known(figure))).map((v) => figureText(figure, v));
    return [p.name, known('step_time_s').length, wins[k], ...spread('step_time_s'), ...spread('gain_over_random'),
      ...spread('gain_over_fifo')];
  }));
}

/** Check boxes of the values of every path and of the policies. */
function filtersOf(sweep, paths, changed) {
  const on = paths.map((p) => p.bins.map(() => true));
  const policies = sweep.policies.map(() => true);
  const box = (title, labels, flags) => el('fieldset', {}, el('legend', {}, title), el('div', {}, labels.map((label,
    i) =>
    el('label', {}, el('input', {type: 'checkbox', checked: true, onchange: (event) => {
      flags[i] = event.target.checked;
      changed();
    }}), label))));
  const node = el('div', {class: 'filters'}, box('policies', sweep.policies.map((p) => p.name), policies),
    paths.map((p, k) => p.bins.length > 1 ? box(p.name, p.bins.map((b) => b.label), on[k]) : null));
  const passes = (i) => paths.every((p, k) => on[k][p.binOf[p.values[i]]]);
  return {node, passes, policies};
}

/** The points that pass, grouped by `key`: median, least and most of policy k's figure; of one point its interval. */
function grouped(sweep, points, k, figure, key) {
  const figures = columnOf(sweep, k, figure);
  const groups = new Map();
  for (const i of points) {
    if (figures[i] === null) continue;
    const at = key(i);
    if (!groups.has(at)) groups.set(at, []);
    groups.get(at).push(i);
  }
  return new Map([...groups].map(([at, list]) => {
    if (list.length === 1) {
      const one = withInterval(sweep, k, figure, list[0]);
      return [at, {median: one.mean, least: one.low, most: one.high, n: 1}];
    }
    return [at, {...spreadOf(list.map((i) => figures[i])), n: list.length}];
  }));
}

function linePlot(path, lines, figure, logX) {
  const width = 1100;
  const height = 360;
  const left = 84;
  const right = width - 20;
  const bottom = height - (path.numbers ? 46 : 62);
  const all = lines.flatMap((l) => [...l.groups.values()].flatMap((g) => [g.least, g.most]));
  if (!all.length) return el('p', {class: 'note'}, 'No point passes the filters.');
  const low = SHARES.has(figure) ? Math.min(0, ...all) : Math.min(...all);
  const high = Math.max(...all, low + 1e-12);
  const pad = (high - low) * 0.05 || 1e-12;
  const y = (v) => bottom - (v - low + pad) / (high - low + 2 * pad) * (bottom - 20);
  const position = (b) => logX ? Math.log(path.bins[b].centre) : path.numbers ? path.bins[b].centre : b;
  const places = path.bins.map((_, b) => position(b));
  const x0 = Math.min(...places);
  const x1 = Math.max(...places);
  const x = (b) => x1 > x0 ? left + 30 + (position(b) - x0) / (x1 - x0) * (right - left - 60) : (left + right) / 2;
  const svg = svgEl('svg', {viewBox: `0 0 ${width} ${height}`, width, id: 'lines', role: 'img', 'aria-label':
    (FIGURE_WORDS[figure] || figure) + ' over ' + path.name + '; the table below has the figures'});
  for (const t of ticks(low, high, 6))
    svg.append(svgEl('line', {x1: left, x2: right, y1: y(t), y2: y(t), class: 'grid'}),
      svgEl('text', {x: left - 8, y: y(t) + 4, 'text-anchor': 'end', class: 'quiet'},
        figure.endsWith('time_s') || figure.endsWith('bound_s') ? roundTime(t) : figureText(figure, t)));
  // Names have two lines, since none can be told from its neighbours.
  const free = path.numbers ? [-1e9] : [-1e9, -1e9];
  path.bins.forEach((bin, b) => {
    const label = bin.label.length > 24 ? bin.label.slice(0, 23) + '\u2026' : bin.label;
    const half = 3.6 * label.length;
    const line = free.findIndex((f) => x(b) - half >= f);
    if (line < 0) return;
    free[line] = x(b) + half;
    svg.append(svgEl('text', {x: x(b), y: bottom + 18 + 15 * line, 'text-anchor': 'middle', class: 'quiet'}, label));
  });
  svg.append(svgEl('text', {x: (left + right) / 2, y: height - 6, 'text-anchor': 'middle'}, path.name),
    svgEl('text', {x: 4, y: 13, class: 'quiet'}, FIGURE_WORDS[figure] || figure));
  const c = colours().series;
  lines.forEach((line, n) => {
    const list = [...line.groups].sort((a, b) => places[a[0]] - places[b[0]]);
    const offset = (n - (lines.length - 1) / 2) * 4;
    const colour = c[n % c.length];
    svg.append(svgEl('path', {d: list.map(([b, g], i) => (i ? 'L' : 'M') + (x(b) + offset) + ' ' +
      y(g.median)).join(''),
      fill: 'none', stroke: colour, 'stroke-width': 2.2, 'stroke-dasharray': n >= c.length ? '6 4' : null,
    // Nothing lies between two names.
    opacity: path.numbers ? null : 0.25}));
    for (const [b, g] of list) {
      if (g.most > g.least)
        svg.append(svgEl('line', {x1: x(b) + offset, x2: x(b) + offset, y1: y(g.least), y2: y(g.most), stroke: colour,
          'stroke-width': 1.5, opacity: 0.6}));
      svg.append(svgEl('circle', {cx: x(b) + offset, cy: y(g.median), r: 4, fill: colour}, svgEl('title', {},
        line.name +
        ', ' + path.bins[b].label + ': ' + figureText(figure, g.median) + (g.most > g.least ? ' (' + (g.n > 1 ? g.n +
          ' points, ' : '95 %: ') + figureText(figure, g.least) + ' to ' + figureText(figure, g.most) + ')' : ''))));
    }
  });
  return el('div', {}, el('ul', {class: 'legend'}, lines.map((l, n) => el('li', {},
    el('span', {class: 'swatch', style: {background: c[n % c.length]}}), l.name))), el('div', {class: 'scroll'}, svg));
}

// From dark blue over grey to yellow: in order of lightness for every kind of colour vision (cividis, Nunez et al.
// 2018).
const SCALE = [[0, 34, 78], [48, 70, 107], [87, 93, 109], [112, 113, 115], [138, 134, 120], [165, 156, 116],
  [195, 179, 105], [225, 204, 85], [254, 232, 56]];

function scaleColour(share) {
  const at = Math.min(1, Math.max(0, share)) * (SCALE.length - 1);
  const k = Math.min(SCALE.length - 2, Math.floor(at));
  const rgb = SCALE[k].map((v, i) => Math.round(v + (SCALE[k + 1][i] - v) * (at - k)));
  return {css: `rgb(${rgb.join(',')})`, dark: rgb[0] * 0.3 + rgb[1] * 0.59 + rgb[2] * 0.11 < 128};
}

function heatMap(px, py, groups, figure) {
  const values = [...groups.values()].map((g) => g.median);
  if (!values.length) return el('p', {class: 'note'}, 'No point passes the filters.');
  const low = Math.min(...values);
  const high = Math.max(...values);
  const left = Math.min(260, 20 + 7 * Math.max(...py.bins.map((b) => b.label.length)));
  const cell = Math.min(120, Math.max(56, (1100 - left) / px.bins.length));
  const width = left + cell * px.bins.length + 10;
  const height = 26 + 34 * py.bins.length + 44;
  const svg = svgEl('svg', {viewBox: `0 0 ${width} ${height}`, width, id: 'heat', role: 'img', 'aria-label':
    (FIGURE_WORDS[figure] || figure) + ' over ' + px.name + ' and ' + py.name + ': ' + figureText(figure, low) +
      ' to ' +
    figureText(figure, high)});
  svg.append(svgEl('text', {x: 0, y: 14, class: 'quiet'}, py.name));
  py.bins.forEach((by, r) => {
    svg.append(svgEl('text', {x: left - 8, y: 26 + r * 34 + 22, 'text-anchor': 'end'}, by.label));
    px.bins.forEach((bx, k) => {
      const g = groups.get(k * MOST_BINS * 2 + r);
      if (!g) return;
      const colour = scaleColour(high > low ? (g.median - low) / (high - low) : 0.5);
      svg.append(svgEl('rect', {x: left + k * cell, y: 26 + r * 34, width: cell, height: 34, fill: colour.css,
        class: 'cell'},
        svgEl('title', {}, px.name + ' = ' + bx.label + ', ' + py.name + ' = ' + by.label + ': ' +
          figureText(figure, g.median) + ' (' + g.n + ' points)')));
      svg.append(svgEl('text', {x: left + (k + 0.5) * cell, y: 26 + r * 34 + 22, 'text-anchor': 'middle',
        class: colour.dark ? 'on-dark' : 'on-light'}, figureText(figure, g.median).replace(' %', '')));
    });
  });
  px.bins.forEach((bx, k) => svg.append(svgEl('text', {x: left + (k + 0.5) * cell, y: 26 + py.bins.length * 34 + 18,
    'text-anchor': 'middle', class: 'quiet'}, bx.label.length * 7 > cell ? bx.label.slice(0, Math.floor(cell / 7)) +
      '\u2026'
    : bx.label, svgEl('title', {}, bx.label))));
  svg.append(svgEl('text', {x: left + cell * px.bins.length / 2, y: height - 6, 'text-anchor': 'middle'}, px.name));
  return el('div', {class: 'scroll'}, svg);
}

function pointTable(sweep, paths, points, policies, figure) {
  const f = sweep.figures.indexOf(figure);
  const shown = points.slice(0, MOST_POINTS_OF_TABLE);
  const used = sweep.policies.filter((_, k) => policies[k]);
  return table((FIGURE_WORDS[figure] || figure) + (points.length > shown.length ? ', the first ' + shown.length + ' of '
    : ', all ') + points.length + ' points that pass the filters', [{head: 'point'}, ...paths.map((p) =>
      ({head: p.name})),
    ...used.map((p) => ({head: p.name}))], shown.map((i) => [sweep.index[i], ...paths.map((p) => p.texts[p.values[i]]),
    ...used.map((p) => figureText(figure, p.figures[f][i]))]));
}

function sweepPart(sweep) {
  byId('subtitle').textContent = 'Sweep over ' + (sweep.paths.join(', ') || 'nothing');
  const answer = section('answer', 'Answer');
  answerOverPoints(answer, sweep, pointsDone(sweep));
  fill(answer, {}, [policySummary(sweep), sweep.errors.length ? table('Points without a result', [{head: 'point'},
    {head: 'why', text: true}], sweep.errors) : null]);
  const paths = pathsOf(sweep);
  const shown = Object.keys(FIGURE_WORDS);
  const wide = paths.map((_, k) => k).filter((k) => paths[k].bins.length > 1);
  // What has most values makes the best lines.
  const longest = wide.slice().sort((a, b) => paths[b].bins.length - paths[a].bins.length);
  const state = {figure: 'step_time_s', x: longest[0] || 0, hx: longest[0] || 0, hy: longest[1] || 0, policy: 0,
    log: longest.length > 0 && isWide(paths[longest[0]])};
  if (sweep.policies.length > 1) state.policy = Math.max(0, sweep.policies.findIndex((p) => p.name !== 'random' &&
    p.name !== 'fifo'));
  const lines = el('div', {});
  const heat = el('div', {});
  const points = el('div', {});
  const passing = el('span', {class: 'quiet', role: 'status', id: 'passing'});
  const filters = filtersOf(sweep, paths, () => draw());
  function draw() {
    const list = sweep.index.map((_, i) => i).filter(filters.passes);
    passing.textContent = list.length + ' of ' + sweep.index.length + ' points pass the filters';
    if (paths.length) {
      const px = paths[state.x];
      const log = state.log && px.numbers && px.numbers.every((v) => v > 0);
      const on = sweep.policies.map((_, k) => k).filter((k) => filters.policies[k]);
      lines.replaceChildren(linePlot(px, on.map((k) => ({name: sweep.policies[k].name, groups: grouped(sweep, list, k,
        state.figure, (i) => px.binOf[px.values[i]])})), state.figure, log));
    }
    if (wide.length > 1 && state.hx !== state.hy) {
      const [px, py] = [paths[state.hx], paths[state.hy]];
      heat.replaceChildren(heatMap(px, py, grouped(sweep, list, state.policy, state.figure, (i) =>
        px.binOf[px.values[i]] * MOST_BINS * 2 + py.binOf[py.values[i]]), state.figure));
    } else {
      heat.replaceChildren(el('p', {class: 'note'}, 'A heat map needs two different axes.'));
    }
    points.replaceChildren(pointTable(sweep, paths, list, filters.policies, state.figure));
  }
  const names = paths.map((p) => p.name);
  const choose = (label, id, options, key, at, values) => {
    const s = select(label, options, at, (i) => {
      state[key] = values ? values[i] : i;
      draw();
    });
    s.box.id = id;
    return s.node;
  };
  section('explore', 'Explore', el('div', {class: 'bar-row'}, choose('Figure: ', 'figure', shown.map((n) =>
    FIGURE_WORDS[n]),
    'figure', 0, shown), passing), filters.node);
  if (paths.length) {
    section('line-plot', 'Over one field', el('div', {class: 'bar-row'}, choose('Across: ', 'axis', names, 'x',
      state.x),
      el('label', {}, el('input', {type: 'checkbox', checked: state.log, onchange: (event) => {
        state.log = event.target.checked;
        draw();
      }}), 'logarithmic')), el('p', {class: 'quiet'},
        'Dots: median over the points that differ in other fields; lines: ' +
      'their least and most, of a single point its 95 % interval.'), lines);
  }
  if (wide.length > 1) {
    section('heat-map', 'Over two fields', el('div', {class: 'bar-row'}, choose('Across: ', 'heat-x', names, 'hx',
      state.hx),
      choose('Down: ', 'heat-y', names, 'hy', state.hy), choose('Policy: ', 'heat-policy', sweep.policies.map((p) =>
        p.name),
        'policy', state.policy)), heat);
  }
  section('points', 'Points', points);
  drawn(draw);
}
