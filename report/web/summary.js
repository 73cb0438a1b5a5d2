// SPDX-License-Identifier: Apache-2.0
// The answer of a result: in words, as cards, as a chart with intervals and as a table; what would help; what servers
// hold; the points of `vary`.

/** Results of each point of `vary`, in order: [{title, results}]. */
function pointsOf(result) {
  const points = [];
  for (const r of result.results) {
    const title = Object.entries(r.vary).map(([path, value]) => path + ' = ' + value).join(', ');
    if (!points.length || points[points.length - 1].title !== title) points.push({title, results: []});
    points[points.length - 1].results.push(r);
  }
  return points;
}

/** The result with the least step time, or null if all end in deadlocks. */
function fastest(results) {
  let best = null;
  for (const r of results)
    if (r.step_time_s && (!best || r.step_time_s.mean < best.step_time_s.mean)) best = r;
  return best;
}

const TIE = 1e-3;

/** "19.7 % \u00b1 0.5 more steps than random". */
function gainWords(baseline, mean, interval) {
  return gainText(Math.abs(mean), interval).replace('+', '') + (mean < 0 ? ' fewer' : ' more') + ' steps than ' +
    baseline;
}

function answerText(results) {
  const best = fastest(results);
  if (!best) return 'No policy finishes its step: every one ends in a deadlock.';
  const ties = results.filter((r) => r !== best && r.step_time_s &&
    r.step_time_s.mean <= best.step_time_s.mean * (1 + TIE)).map((r) => r.policy);
  let text = best.policy + ' is the fastest: ' + estimateText(best.step_time_s) + ' a step';
  if (ties.length) text += ', and ' + ties.join(', ') + (ties.length === 1 ? ' is' : ' are') + ' as fast';
  text += '. ';
  const against = [];
  if (best.gain_over_random !== null)
    against.push(gainWords('random', best.gain_over_random, best.gain_over_random_ci95));
  if (best.gain_over_fifo !== null && !ties.includes('fifo'))
    against.push(gainWords('fifo', best.gain_over_fifo, best.gain_over_fifo_ci95));
  if (against.length) text += 'It does ' + against.join(' and ') + '. ';
  if (best.gap !== null) {
    text += best.gap < 5e-4 ? 'No order of this layout can be faster.'
      : 'At most ' + percent(best.gap) + ' is left for any order of this layout.';
  }
  return text;
}

function card(name, value, small, tone) {
  return el('div', {class: 'card'}, el('p', {class: 'name'}, name), el('p', {class: 'value ' + (tone || '')}, value),
    el('p', {class: 'small'}, small));
}

const tone = (gain) => gain === null || Math.abs(gain) < 5e-4 ? '' : gain > 0 ? 'good' : 'bad';

/** "95 %: 19.2 % to 20.2 %; ", or nothing without an interval. */
const spread = (interval) => interval && interval.high > interval.low
  ? '95 % interval ' + percent(interval.low, true) + ' to ' + percent(interval.high, true) + '; ' : '';

function cards(results) {
  const best = fastest(results);
  if (!best) return el('div', {});
  const any = best.lower_bound_any_layout_s;
  const helps = best.what_if.slice().sort((a, b) => b.gain - a.gain)[0];
  return el('div', {class: 'cards'},
    card('Step time of ' + best.policy, estimateText(best.step_time_s), rateText(best.samples_per_s) + ' samples/s' +
      (best.scaling_efficiency === null ? '' : ', scaling ' + percent(best.scaling_efficiency))),
    card('Against random', percent(best.gain_over_random, true), best.gain_over_random === null
      ? best.gain_over_random_reason : spread(best.gain_over_random_ci95) + 'more steps in the same time; random is ' +
        'what TensorFlow does by itself', tone(best.gain_over_random)),
    card('Against fifo', percent(best.gain_over_fifo, true), best.gain_over_fifo === null ? best.gain_over_fifo_reason
      : spread(best.gain_over_fifo_ci95) + 'fifo: transfers in the order of first use', tone(best.gain_over_fifo)),
    card('Lower bound', timeText(best.lower_bound_s), best.lower_bound_s === null ? best.lower_bound_s_reason
      : best.lower_bound_name + (any === null ? '' : '; any layout: ' + timeText(any))),
    card('Left for any order', percent(best.gap), best.gap === null ? best.gap_reason
      : 'the step is this much above the bound'),
    helps ? card('What would help most', percent(helps.gain, true), helps.change, tone(helps.gain)) : null);
}

/** Step time with the bound, gain over random and gain over fifo, a row per policy, fastest first. */
function gainsChart(results) {
  const rows = results.filter((r) => r.step_time_s).sort((a, b) => a.step_time_s.mean - b.step_time_s.mean);
  if (!rows.length) return el('p', {}, 'Nothing to draw.');
  const names = Math.min(220, 24 + 7 * Math.max(...rows.map((r) => r.policy.length)));
  const height = 26;
  const top = 40;
  const bottom = top + rows.length * height;
  const width = 1180;
  const panel = (width - names - 3 * 40) / 3;
  const svg = svgEl('svg', {viewBox: `0 0 ${width} ${bottom + 34}`, width, role: 'img',
    'aria-label': 'Step times, gains over random and over fifo of every policy; the table below has the figures'});
  rows.forEach((r, i) => {
    const label = r.policy.length > 29 ? r.policy.slice(0, 28) + '\u2026' : r.policy;
    svg.append(svgEl('text', {x: 0, y: top + i * height + 17, class: i === 0 ? 'best' : null}, label,
      svgEl('title', {}, r.policy)));
  });
  const panelAt = (k) => names + 20 + k * (panel + 40);
  const axis = (k, title, low, high, text) => {
    const x0 = panelAt(k);
    const x = (v) => x0 + (v - low) / (high - low) * panel;
    svg.append(svgEl('text', {x: x0, y: 16, class: 'quiet'}, title));
    for (const t of ticks(low, high, 4))
      svg.append(svgEl('line', {x1: x(t), x2: x(t), y1: top - 4, y2: bottom, class: 'grid'}),
        svgEl('text', {x: x(t), y: bottom + 16, 'text-anchor': 'middle', class: 'quiet'}, text(t)));
    return x;
  };
  const palette = colours();
  const c = palette.series;
  // Step times.
  const most = Math.max(...rows.map((r) => r.step_time_s.ci95_high));
  const xt = axis(0, 'step time; \u25c6 lower bound of its layout', 0, most * 1.02, roundTime);
  rows.forEach((r, i) => {
    const y = top + i * height + height / 2;
    const t = r.step_time_s;
    svg.append(svgEl('rect', {x: xt(0), y: y - 7, width: xt(t.mean) - xt(0), height: 14, fill: c[0], opacity: .8},
      svgEl('title', {}, r.policy + ': ' + estimateText(t))));
    svg.append(svgEl('line', {x1: xt(t.ci95_low), x2: xt(t.ci95_high), y1: y, y2: y, stroke: palette.text,
      class: 'whisker'}));
    if (r.lower_bound_s !== null) {
      const b = xt(r.lower_bound_s);
      svg.append(svgEl('path', {d: `M${b} ${y - 7}L${b + 5} ${y}L${b} ${y + 7}L${b - 5} ${y}Z`, fill: palette.ground,
        stroke: palette.text, 'stroke-width': 1.5},
      svgEl('title', {}, 'bound: ' + timeText(r.lower_bound_s) + ', ' + r.lower_bound_name)));
    }
  });
  // Gains with intervals, and how far the best bound would reach.
  const bounds = rows.map((r) => r.lower_bound_s).filter((b) => b !== null && b > 0);
  [['gain_over_random', 'random'], ['gain_over_fifo', 'fifo']].forEach(([key, baseline], n) => {
    const base = rows.find((r) => r.policy === baseline);
    const limit = base && bounds.length ? base.step_time_s.mean / Math.min(...bounds) - 1 : null;
    const values = rows.flatMap((r) => r[key] === null ? [0] : [r[key + '_ci95'].low, r[key + '_ci95'].high]);
    const low = Math.min(0, ...values);
    const high = Math.max(0.01, limit || 0, ...values);
    const pad = (high - low) * 0.06;
    const x = axis(n + 1, 'gain over ' + baseline + ', 95 % interval', low - pad, high + pad,
      (t) => (Math.round(t * 1000) / 10) + ' %');
    if (limit !== null) {
      svg.append(svgEl('rect', {x: x(limit), y: top - 4, width: x(high + pad) - x(limit), height: bottom - top + 4,
        class: 'limit'}));
      const right = x(limit) > panelAt(n + 1) + panel / 2;
      svg.append(svgEl('text', {x: right ? x(high + pad) : x(limit), y: top - 9, class: 'limit-text',
        'text-anchor': right ? 'end' : 'start'}, 'beyond the bound (' + percent(limit, true) + ')'));
    }
    svg.append(svgEl('line', {x1: x(0), x2: x(0), y1: top - 4, y2: bottom, class: 'axis'}));
    rows.forEach((r, i) => {
      const y = top + i * height + height / 2;
      if (r[key] === null) {
        svg.append(svgEl('text', {x: x(0) + 6, y: y + 4, class: 'quiet'}, r.policy === baseline ? 'baseline' : '-'));
        return;
      }
      const ci = r[key + '_ci95'];
      const colour = r[key] < 0 ? c[1] : c[2];
      const end = (at) => `M${x(at)} ${y - 5}V${y + 5}`;
      svg.append(svgEl('path', {d: end(ci.low) + `M${x(ci.low)} ${y}H${x(ci.high)}` + end(ci.high),
        stroke: colour, class: 'whisker'}));
      svg.append(svgEl('circle', {cx: x(r[key]), cy: y, r: 4.5, fill: colour},
        svgEl('title', {}, r.policy + ': ' + gainText(r[key], ci))));
    });
  });
  return el('div', {class: 'scroll'}, svg);
}

function policyTable(results) {
  const best = fastest(results);
  const columns = [{head: 'policy', text: true}, {head: 'step time'}, {head: 'samples/s'}, {head: 'vs random'},
    {head: 'vs fifo'}, {head: 'lower bound'}, {head: 'gap'}, {head: 'straggler effect'}, {head: 'scaling'},
    {head: 'replications'}];
  return table('All policies; gains are of the mean step time, \u00b1 half a 95 % interval', columns, results.map((r) =>
    r.step_time_s ? [r.policy, estimateText(r.step_time_s), rateText(r.samples_per_s),
      gainText(r.gain_over_random, r.gain_over_random_ci95), gainText(r.gain_over_fifo, r.gain_over_fifo_ci95),
      timeText(r.lower_bound_s), percent(r.gap), percent(r.straggler_effect), percent(r.scaling_efficiency),
      r.step_time_s.n] : [r.policy, 'deadlock', '-', '-', '-', '-', '-', '-', '-', '-']), results.indexOf(best));
}

/** Horizontal bars from zero: [{name, value, text, colour}]. */
function barList(caption, items) {
  const low = Math.min(0, ...items.map((i) => i.value));
  const span = Math.max(1e-12, ...items.map((i) => i.value)) - low;
  return el('ul', {class: 'bars', 'aria-label': caption}, items.map((item) => el('li', {}, el('span', {}, item.name),
    el('span', {class: 'track'}, el('i', {style: {left: 100 * (Math.min(0, item.value) - low) / span + '%',
      width: 100 * Math.abs(item.value) / span + '%', background: item.colour}})), el('span', {class: 'figure'},
        item.text))));
}

function whatHelps(best) {
  const kinds = {hardware: 0, mode: 3, layout: 2, order: 4};
  const list = best.what_if.slice().sort((a, b) => b.gain - a.gain);
  if (!list.length) return [el('p', {class: 'quiet'}, 'No change was tried.')];
  const c = colours().series;
  return [el('p', {class: 'quiet'}, 'Each change was simulated alone with ' + best.policy +
    '; the gain is in steps per time.'),
  el('ul', {class: 'legend'}, Object.entries(kinds).filter(([k]) => list.some((w) => w.kind === k)).map(([k, i]) =>
    el('li', {}, el('span', {class: 'swatch', style: {background: c[i]}}), {hardware: 'hardware',
      mode: 'how the job synchronises', layout: 'placement and partition', order: 'order'}[k]))),
  barList('Gains of changes', list.map((w) =>
    ({name: w.change, value: w.gain, text: percent(w.gain, true), colour: c[kinds[w.kind]]})))];
}

function serverPart(best) {
  if (!best.servers.length) return [el('p', {class: 'quiet'}, 'All-reduce: there are no servers.')];
  const moved = (kind, i) => {
    const list = best.resources.filter((r) => r.kind === kind);
    return list.length === best.servers.length ? list[i] : null;
  };
  const c = colours().series;
  return [
    barList('Bytes of variables per server', best.servers.slice(0, 40).map((s) =>
      ({name: s.name, value: s.bytes, text: bytesText(s.bytes), colour: c[0]}))),
    table('What every server holds, and what its NIC moves a step', [{head: 'server', text: true}, {head: 'holds'},
      {head: 'transfers'}, {head: 'largest variable', text: true}, {head: 'its bytes here'}, {head: 'sends a step'},
      {head: 'NIC up used'}, {head: 'receives a step'}, {head: 'NIC down used'}], best.servers.map((s, i) => {
      const up = moved('server_nic_up', i);
      const down = moved('server_nic_down', i);
      return [s.name, bytesText(s.bytes), s.transfers, s.largest, bytesText(s.largest_bytes),
        up ? bytesText(up.bytes_per_step) : '-', up ? percent(up.utilisation) : '-',
        down ? bytesText(down.bytes_per_step) : '-', down ? percent(down.utilisation) : '-'];
    }))];
}

const STAGES = [['sender_not_ready', 'not ready at the sender'], ['turn', 'waiting for its turn'],
  ['service', 'service at hosts'], ['wire_queue', 'behind others on its connection'],
  ['wire_own', 'moving its own bytes'], ['wire_shared', 'wire lost to others']];

function waitsPart(results) {
  const rows = results.filter((r) => r.step_time_s).flatMap((r) => [['pulls', r.pull_waits_s], ['pushes',
    r.push_waits_s]]
    .filter(([, w]) => w).map(([what, w]) => [r.policy + ', ' + what, ...STAGES.map(([key]) => timeText(w[key]))]));
  return table('Where the time of messages goes: mean per worker and step, summed over messages that overlap',
    [{head: 'policy', text: true}, ...STAGES.map(([, head]) => ({head}))], rows);
}

function stalenessPart(results) {
  const known = results.filter((r) => r.staleness || r.dropped_gradients !== null);
  if (!known.length) return null;
  return table('Age and loss of gradients', [{head: 'policy', text: true}, {head: 'mean staleness (updates)'},
    {head: 'most'}, {head: 'dropped gradients'}], known.map((r) => [r.policy,
    r.staleness ? r.staleness.mean.toFixed(2) : '-', r.staleness ? r.staleness.max : '-',
      percent(r.dropped_gradients)]));
}

/** The sections of one point; called again for another. */
function drawPoint(point, holders) {
  const best = fastest(point.results);
  holders.answer.replaceChildren(el('p', {class: 'answer', id: holders.words}, kept(answerText(point.results))),
    cards(point.results), el('p', {class: 'verdict'}, kept(best ? best.verdict : point.results[0].verdict)));
  for (const r of point.results.filter((r) => r.deadlock))
    holders.answer.append(el('p', {class: 'note'}, r.policy + ' ends in a deadlock: ' + r.deadlock));
  holders.gains.replaceChildren(gainsChart(point.results), policyTable(point.results));
  holders.helps.replaceChildren(...(best ? whatHelps(best) : []));
  holders.servers.replaceChildren(...(best ? serverPart(best) : []));
  holders.waits.replaceChildren(...[waitsPart(point.results), stalenessPart(point.results)].filter(Boolean));
}

/** Sections of a result; between them `middle` makes those of its timelines. */
function resultPart(result, middle) {
  const points = pointsOf(result);
  const holders = {};
  for (const name of ['answer', 'gains', 'helps', 'servers', 'waits']) holders[name] = el('div', {});
  let current = 0;
  const redraw = () => drawPoint(points[current], holders);
  if (points.length > 1) {
    // Step times of different jobs are no contest.
    const overall = result.results.some((r) => r.job) ? null : columnsOf(points);
    const choose = select('Point: ', points.map((p) => p.title), 0, (i) => {
      current = i;
      redraw();
      say(answerText(points[i].results));
    });
    choose.box.id = 'point';
    byId('subtitle').textContent = points.length + ' points over ' + Object.keys(points[0].results[0].vary).join(', ') +
      '; the first: ' + result.setup;
    if (overall) answerOverPoints(section('answer', 'Answer'), overall);
    holders.words = overall ? 'point-text' : 'answer-text';
    section(overall ? 'one-point' : 'answer', overall ? 'One point' : 'Answer', el('div', {class: 'bar-row'},
      choose.node, el('span', {class: 'quiet'}, 'What stands below is of this point, timelines of the first.')),
    holders.answer);
  } else {
    holders.words = 'answer-text';
    section('answer', 'Answer', holders.answer);
  }
  section('gains', 'Gains and what is left', holders.gains);
  section('helps', 'What would help', holders.helps);
  middle(points);
  section('servers', 'Servers', holders.servers);
  section('waits', 'Where messages wait', holders.waits);
  drawn(redraw);
}
