// SPDX-License-Identifier: Apache-2.0
// Many points at a glance, of a result or of a sweep: the answer over all of them in words, gains with intervals point
// by point, the fastest policy of each. All read the columns of a sweep: {paths, texts, values, index, figures,
// policies}.

const BASELINES = ['random', 'fifo'];
const MOST_POINTS_OF_CHART = 40;
const MOST_POINTS_OF_TABLE = 200;
const LONG_TITLE = 60;

const FIGURES_OF_RESULT = {
  step_time_s: (r) => r.step_time_s.mean,
  step_time_ci95_low_s: (r) => r.step_time_s.ci95_low,
  step_time_ci95_high_s: (r) => r.step_time_s.ci95_high,
  samples_per_s: (r) => r.samples_per_s,
  gain_over_random: (r) => r.gain_over_random,
  gain_over_random_ci95_low: (r) => r.gain_over_random_ci95?.low ?? null,
  gain_over_random_ci95_high: (r) => r.gain_over_random_ci95?.high ?? null,
  gain_over_fifo: (r) => r.gain_over_fifo,
  gain_over_fifo_ci95_low: (r) => r.gain_over_fifo_ci95?.low ?? null,
  gain_over_fifo_ci95_high: (r) => r.gain_over_fifo_ci95?.high ?? null,
  lower_bound_s: (r) => r.lower_bound_s,
  gap: (r) => r.gap,
};

/** The points of a result (pointsOf) as columns. */
function columnsOf(points) {
  const paths = Object.keys(points[0].results[0].vary);
  const texts = paths.map((path) => [...new Set(points.map((p) => p.results[0].vary[path]))]);
  const names = [...new Set(points.flatMap((p) => p.results.map((r) => r.policy)))];
  const figures = Object.keys(FIGURES_OF_RESULT);
  const figureOf = (p, policy, figure) => {
    const r = p.results.find((one) => one.policy === policy);
    return r && r.step_time_s ? FIGURES_OF_RESULT[figure](r) : null;
  };
  return {paths, texts, values: paths.map((path, k) => points.map((p) => texts[k].indexOf(p.results[0].vary[path]))),
    index: points.map((_, i) => i), figures,
    policies: names.map((name) => ({name, figures: figures.map((f) => points.map((p) => figureOf(p, name, f)))}))};
}

const columnOf = (data, k, figure) => data.policies[k].figures[data.figures.indexOf(figure)];

/** Paths that differ between points. */
const varying = (data) => data.paths.map((_, p) => p).filter((p) => data.texts[p].length > 1);

/** A name where one path differs, else "a = 1, b = 2"; the point's number where that is long. */
function titleOf(data, i) {
  const paths = varying(data);
  const named = paths.length > 1 || paths.some((p) => numbersOf(data.texts[p]));
  const title = paths.map((p) => (named ? data.paths[p] + ' = ' : '') + data.texts[p][data.values[p][i]]).join(', ');
  return title.length > LONG_TITLE ? 'point ' + data.index[i] : title;
}

/** A figure with its interval, {mean, low, high}, or null. */
function withInterval(data, k, figure, i) {
  const at = (name) => (columnOf(data, k, name) || [])[i];
  const mean = at(figure);
  if (mean === null || mean === undefined) return null;
  const [low, high] = figure === 'step_time_s' ? [at('step_time_ci95_low_s'), at('step_time_ci95_high_s')]
    : [at(figure + '_ci95_low'), at(figure + '_ci95_high')];
  return {mean, low: low ?? mean, high: high ?? mean};
}

/** How many points have a step time, at how many each policy is the fastest or as fast, and who is at most of them. */
function winners(data) {
  const steps = data.policies.map((_, k) => columnOf(data, k, 'step_time_s'));
  const wins = steps.map(() => 0);
  let compared = 0;
  for (let i = 0; i < data.index.length; ++i) {
    let least = Infinity;
    for (const s of steps) if (s[i] !== null && s[i] < least) least = s[i];
    if (!isFinite(least)) continue;
    ++compared;
    steps.forEach((s, k) => { if (s[i] !== null && s[i] <= least * (1 + TIE)) ++wins[k]; });
  }
  const most = Math.max(...wins);
  const best = wins.map((_, k) => k).filter((k) => wins[k] === most);
  const lead = best.find((k) => !BASELINES.includes(data.policies[k].name)) ?? best[0];
  return {compared, wins, most, best, lead};
}

const pointCount = (n, all) => n < all ? n + ' of ' + all + ' points'
  : n === 1 ? 'the one point' : n === 2 ? 'both points' : 'all ' + n + ' points';

const inBrackets = (title) => title ? ' (' + title + ')' : '';

/** "Against random tac does 12 % more steps in the median, from ... to ...; at 2 points the interval reaches zero." */
function gainsInWords(data, k, baseline) {
  const gains = [];
  data.index.forEach((_, i) => {
    const gain = withInterval(data, k, 'gain_over_' + baseline, i);
    if (gain) gains.push({...gain, i});
  });
  if (!gains.length) return '';
  gains.sort((a, b) => a.mean - b.mean);
  const {median} = spreadOf(gains.map((g) => g.mean));
  const end = (g) => gainText(g.mean, g) + inBrackets(titleOf(data, g.i));
  const unsure = gains.filter((g) => g.low < g.high && g.low <= 0 && g.high >= 0).length;
  return 'Against ' + baseline + ' it does ' + percent(Math.abs(median)) + (median < 0 ? ' fewer' : ' more') +
    ' steps' + (gains.length > 1 ? ' in the median, from ' + end(gains[0]) + ' to ' + end(gains[gains.length - 1])
    : '') +
    (unsure ? '; at ' + pointCount(unsure, gains.length) + ' the 95 % interval reaches zero' : '') + '. ';
}

/** What the bound leaves over all points. */
function leftInWords(data, k) {
  const gaps = columnOf(data, k, 'gap');
  const known = data.index.map((_, i) => i).filter((i) => gaps[i] !== null);
  if (!known.length) return '';
  const most = known.reduce((a, b) => gaps[b] > gaps[a] ? b : a);
  const few = known.filter((i) => gaps[i] < 0.01).length;
  if (few === known.length) return 'No other order could gain 1 % more anywhere. ';
  return 'Another order could gain at most ' + percent(gaps[most]) + ' more' + inBrackets(titleOf(data, most)) +
    (few ? ', and less than 1 % at ' + pointCount(few, known.length) : '') + '. ';
}

/** The answer over all points; '' where none has a step time. */
function overallAnswer(data) {
  const {compared, most, best, lead} = winners(data);
  if (!compared) return '';
  const names = best.map((k) => data.policies[k].name);
  let text = (names.length > 1 ? names.slice(0, -1).join(', ') + ' and ' + names[names.length - 1] + ' are' : names[0] +
    ' is') + ' the fastest, or within 0.1 % of it, at ' + pointCount(most, compared) + '. ';
  for (const baseline of BASELINES) if (!names.includes(baseline)) text += gainsInWords(data, lead, baseline);
  return text.replace('it does', data.policies[lead].name + ' does') + leftInWords(data, lead);
}

/** Points as rows: numbers of one path in their order, names by the gain of `lead`, combinations as they come. */
function pointOrder(data, lead, baseline) {
  const paths = varying(data);
  const rows = data.index.map((_, i) => i);
  if (paths.length !== 1) return rows;
  const numbers = numbersOf(data.texts[paths[0]]);
  const gain = (i) => withInterval(data, lead, 'gain_over_' + baseline, i)?.mean ?? -Infinity;
  return rows.sort((a, b) => numbers ? numbers[data.values[paths[0]][a]] - numbers[data.values[paths[0]][b]]
    : gain(b) - gain(a));
}

/** What no order can gain over the baseline at point i by the least bound of all policies, or null. */
function limitOf(data, baseline, i) {
  const base = data.policies.findIndex((p) => p.name === baseline);
  const bounds = data.policies.map((_, k) => columnOf(data, k, 'lower_bound_s')[i]).filter((b) => b > 0);
  const step = base < 0 ? null : columnOf(data, base, 'step_time_s')[i];
  return step === null || !bounds.length ? null : step / Math.min(...bounds) - 1;
}

/** A chart of gains with their 95 % intervals, a row per point; null where there is nothing to draw or too much. */
function gainsOverPoints(data) {
  if (data.index.length < 2 || data.index.length > MOST_POINTS_OF_CHART) return null;
  const panels = BASELINES.map((baseline) => ({baseline, lines: data.policies.map((_, k) => k).filter((k) =>
    data.policies[k].name !== 'random' && data.policies[k].name !== baseline &&
    columnOf(data, k, 'gain_over_' + baseline).some((g) => g !== null))})).filter((p) => p.lines.length);
  const shown = data.policies.map((_, k) => k).filter((k) => panels.some((p) => p.lines.includes(k)));
  if (!shown.length) return null;
  const rows = pointOrder(data, winners(data).lead, panels[0].baseline);
  const titles = rows.map((i) => varying(data).map((p) => data.texts[p][data.values[p][i]]).join(', '));
  const names = Math.min(280, 24 + 7 * Math.max(...titles.map((t) => t.length)));
  const height = Math.max(24, 9 * shown.length + 8);
  const top = 40;
  const bottom = top + rows.length * height;
  const width = 1180;
  const panel = (width - names - panels.length * 40) / panels.length;
  const c = colours();
  const svg = svgEl('svg', {viewBox: `0 0 ${width} ${bottom + 26}`, width, id: 'over-points', role: 'img',
    'aria-label': 'Gains over ' + panels.map((p) => p.baseline).join(' and ') + ' at every point with 95 % ' +
    'intervals; the table below has those of the fastest policy'});
  titles.forEach((title, r) => {
    const most = Math.floor((names - 10) / 7);
    svg.append(svgEl('text', {x: 0, y: top + (r + 0.5) * height + 4}, title.length > most ? title.slice(0, most - 1) +
      '\u2026' : title, svgEl('title', {}, titleOf(data, rows[r]))));
  });
  panels.forEach(({baseline, lines}, n) => {
    const gains = lines.map((k) => rows.map((i) => withInterval(data, k, 'gain_over_' + baseline, i)));
    const limits = rows.map((i) => limitOf(data, baseline, i));
    const ends = gains.flat().filter(Boolean).flatMap((g) => [g.low, g.high]);
    // Limits far beyond every gain would press the gains together.
    const far = 1.6 * Math.max(0.01, ...ends);
    const low = Math.min(0, ...ends);
    const high = Math.max(0.01, ...ends, ...limits.filter((l) => l !== null && l <= far));
    const pad = (high - low) * 0.06;
    const left = names + 20 + n * (panel + 40);
    const x = (v) => left + (v - low + pad) / (high - low + 2 * pad) * panel;
    svg.append(svgEl('text', {x: left, y: 16, class: 'quiet'}, 'gain over ' + baseline + ', 95 % interval'));
    limits.forEach((limit, r) => {
      if (limit === null || limit >= high + pad) return;
      svg.append(svgEl('rect', {x: x(limit), y: top + r * height + 1, width: left + panel - x(limit),
        height: height - 2, class: 'limit'},
      svgEl('title', {}, 'beyond the bound: no order can gain more than ' + percent(limit))));
    });
    for (const t of ticks(low, high, 5))
      svg.append(svgEl('line', {x1: x(t), x2: x(t), y1: top - 4, y2: bottom, class: 'grid'}),
        svgEl('text', {x: x(t), y: bottom + 18, 'text-anchor': 'middle', class: 'quiet'},
          Math.round(t * 1000) / 10 + ' %'));
    svg.append(svgEl('line', {x1: x(0), x2: x(0), y1: top - 4, y2: bottom, class: 'axis'}));
    rows.forEach((i, r) => {
      if (r) svg.append(svgEl('line', {x1: left, x2: left + panel, y1: top + r * height, y2: top + r * height,
        class: 'grid'}));
      lines.forEach((k, line) => {
        const g = gains[line][r];
        if (!g) return;
        const colour = c.series[shown.indexOf(k) % c.series.length];
        const y = top + r * height + 4 + (shown.indexOf(k) + 0.5) * (height - 8) / shown.length;
        const end = (at) => `M${x(at)} ${y - 3}V${y + 3}`;
        svg.append(svgEl('path', {d: end(g.low) + `M${x(g.low)} ${y}H${x(g.high)}` + end(g.high), stroke: colour,
          class: 'whisker'}), svgEl('circle', {cx: x(g.mean), cy: y, r: 3.8, fill: colour}, svgEl('title', {},
          data.policies[k].name + ', ' + titleOf(data, i) + ': ' + gainText(g.mean, g))));
      });
    });
  });
  return el('div', {}, el('ul', {class: 'legend'}, shown.map((k, n) => el('li', {}, el('span', {class: 'swatch', style:
    {background: c.series[n % c.series.length]}}), data.policies[k].name)),
  el('li', {}, el('span', {class: 'swatch limit'}), 'beyond the bound of every order'),
  el('li', {class: 'quiet'}, 'within a row from top to bottom as here')), el('div', {class: 'scroll'}, svg));
}

/** The fastest policy of every point; null where there are more than a table takes. */
function fastestOfPoints(data) {
  if (data.index.length < 2 || data.index.length > MOST_POINTS_OF_TABLE) return null;
  const paths = varying(data);
  const gain = (k, baseline, i) => {
    const g = withInterval(data, k, 'gain_over_' + baseline, i);
    return g ? gainText(g.mean, g) : '-';
  };
  return table('The fastest policy of each of ' + data.index.length + ' points; \u00b1 half a 95 % interval',
    [{head: 'point'}, ...paths.map((p) => ({head: data.paths[p], text: true})), {head: 'fastest', text: true},
      {head: 'step time'}, {head: 'samples/s'}, {head: 'vs random'}, {head: 'vs fifo'}, {head: 'left for any order'}],
    data.index.map((_, i) => {
      const head = [data.index[i], ...paths.map((p) => data.texts[p][data.values[p][i]])];
      let best = -1;
      data.policies.forEach((_, k) => {
        const steps = columnOf(data, k, 'step_time_s');
        if (steps[i] !== null && (best < 0 || steps[i] < columnOf(data, best, 'step_time_s')[i])) best = k;
      });
      if (best < 0) return [...head, 'none', '-', '-', '-', '-', '-'];
      const t = withInterval(data, best, 'step_time_s', i);
      return [...head, data.policies[best].name, estimateText({mean: t.mean, ci95_low: t.low, ci95_high: t.high}),
        rateText(columnOf(data, best, 'samples_per_s')[i]), gain(best, 'random', i), gain(best, 'fifo', i),
        percent(columnOf(data, best, 'gap')[i])];
    }));
}

/** Fills the section of the answer: words, chart and table. `done`: what is said of points without one. */
function answerOverPoints(node, data, done) {
  const chart = el('div', {});
  const stuck = data.index.length - winners(data).compared;
  const rest = done || (stuck ? pointCount(stuck, data.index.length) + ' end in a deadlock under every policy.' : '');
  node.append(el('p', {class: 'answer', id: 'answer-text'}, kept(overallAnswer(data) + rest)), chart);
  node.append(fastestOfPoints(data) || '');
  drawn(() => chart.replaceChildren(gainsOverPoints(data) || ''));
}
