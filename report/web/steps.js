// SPDX-License-Identifier: Apache-2.0
// The sections of simulated steps: two timelines on one axis of time, the critical paths, the use of every resource,
// and what the causes of a long step cost.

const MOST_ROWS_OF_TABLE = 300;

function legendOf(steps) {
  const used = new Set(steps.flatMap((s) => [...new Set(s.kind)]));
  const c = colours();
  return el('ul', {class: 'legend'}, KIND_WORDS.map((words, k) => used.has(k)
    ? el('li', {}, el('span', {class: 'swatch', style: {background: c.kinds[k]}}), words) : null),
  el('li', {}, el('span', {class: 'swatch path'}), 'critical path'));
}

function barTable(step, bars, what) {
  const rows = bars.slice(0, MOST_ROWS_OF_TABLE).map((i) => [step.names[step.name[i]], KINDS[step.kind[i]],
    step.rows[step.row[i]].process, timeText(step.begin[i]), timeText(step.length[i]), timeText(step.wait[i]),
    step.bytes[i] ? bytesText(step.bytes[i]) : '-']);
  const more = bars.length > rows.length ? ' (the first ' + rows.length + ' of ' + bars.length + ')' : '';
  return table(what + more, [{head: 'name', text: true}, {head: 'what', text: true}, {head: 'where', text: true},
    {head: 'begins'}, {head: 'lasts'}, {head: 'waited before'}, {head: 'bytes'}], rows);
}

function timelinePart(names, stepAt, chosen, onChoice) {
  const part = section('timeline', 'Timelines of two policies');
  const holder = el('div', {});
  const asTable = el('details', {}, el('summary', {}, 'As a table'), el('div', {}));
  const found = el('span', {class: 'quiet', role: 'status'});
  let view = makeView(0, 1);
  let lines = [];
  let hits = [];
  let hit = -1;

  const search = el('input', {type: 'search', id: 'search', placeholder: 'op, variable, worker', size: 22,
    oninput: () => find(), onkeydown: (event) => { if (event.key === 'Enter') next(event.shiftKey ? -1 : 1); }});
  const rowFilter = el('input', {type: 'search', id: 'row-filter', placeholder: 'worker 0', size: 14,
    oninput: () => filterRows()});
  const path = el('input', {type: 'checkbox', id: 'show-path', checked: true, onchange: () => {
    view.showPath = path.checked;
    view.changed();
  }});

  function find() {
    hits = [];
    lines.forEach((line) => {
      const list = searchBars(line.step, search.value);
      line.setHits(list);
      hits.push(...list.map((bar) => ({line, bar})));
    });
    hit = -1;
    found.textContent = search.value.trim() ? hits.length + ' found' : '';
    fillTable();
  }

  function next(by) {
    if (!hits.length) return;
    hit = (hit + by + hits.length) % hits.length;
    hits[hit].line.goTo(hits[hit].bar);
    found.textContent = (hit + 1) + ' of ' + hits.length + ' found';
  }

  function filterRows() {
    const wanted = rowFilter.value.trim().toLowerCase();
    for (const line of lines)
      line.setShown((row) => !wanted || (row.process + ' ' + row.track).toLowerCase().includes(wanted));
  }

  function fillTable() {
    if (!asTable.open) return;
    asTable.lastChild.replaceChildren(...lines.map((line) => {
      const list = search.value.trim() ? searchBars(line.step, search.value)
        : [...line.step.critical.keys()].filter((i) => line.step.critical[i]);
      return barTable(line.step, list, (search.value.trim() ? 'Bars found in ' : 'Bars on the critical path of ') +
        line.step.policy);
    }));
  }
  asTable.addEventListener('toggle', fillTable);

  function build() {
    for (const line of lines) line.close();
    const pair = chosen.map(stepAt);
    const before = view;
    view = makeView(Math.min(...pair.map((s) => s.first)), Math.max(...pair.map((s) => s.last)));
    view.showPath = path.checked;
    view.listeners.push(...before.listeners);
    lines = pair.map((step, k) => makeTimeline(step, view, 'Timeline ' + (k + 1) + ': ' + step.policy));
    holder.replaceChildren(legendOf(pair), ...lines.map((l) => l.node));
    filterRows();
    find();
    lines.forEach((line) => line.draw());
    onChoice(pair, view);
  }

  const pick = (k, text) => {
    const box = select(text, names, chosen[k], (i) => {
      chosen[k] = i;
      build();
    });
    box.box.id = 'policy-' + (k + 1);
    return box.node;
  };
  const button = (text, label, act) => el('button', {type: 'button', 'aria-label': label, onclick: act}, text);
  part.append(el('div', {class: 'bar-row'}, pick(0, 'Above: '), names.length > 1 ? pick(1, 'Below: ') : null,
    button('+', 'Zoom in', () => view.zoom(0.6)), button('\u2212', 'Zoom out', () => view.zoom(1.6)),
    button('\u2190', 'Earlier', () => view.pan(-0.3)), button('\u2192', 'Later', () => view.pan(0.3)),
    button('Fit', 'Show the whole step', () => view.fit()),
    el('label', {}, 'Search: ', search), button('Next', 'Next bar found', () => next(1)), found,
    el('label', {}, 'Rows: ', rowFilter), el('label', {}, path, 'critical path')), holder,
  el('p', {class: 'quiet help'}, 'Drag to pan, Ctrl and wheel to zoom, double click on a bar to go there. With the ' +
    'keyboard: + and \u2212, arrows, [ and ] from bar to bar, Home for all. A bar of a message is its time on the ' +
    'wire; its waits show when it is pointed at. Click on a name of a process to fold it.'), asTable);
  build();
  redrawers.push(() => lines.forEach((line) => line.draw()));
  redrawers.push(() => { if (holder.firstChild) holder.firstChild.replaceWith(legendOf(lines.map((l) => l.step))); });
}

/** Stacked bar of the parts of a critical path and the table of its links. */
function pathPart(holder, pair, kinds) {
  const c = colours().series;
  const shades = (k) => ({0: c[0], 1: c[1], 2: c[4], 3: c[5], 4: c[5], 5: c[6], 6: c[3], 7: c[7], 8: c[4], 9: c[2],
    10: c[1], 11: c[6], 12: c[7]}[k]);
  const most = Math.max(...pair.map((s) => s.stepTime));
  const used = kinds.map((_, k) => k).filter((k) => pair.some((s) => s.pathTotal[k] > 0));
  const rows = pair.map((s) => el('div', {}, el('p', {class: 'quiet', style: {margin: '6px 0 0'}},
    s.policy + ', ' + timeText(s.stepTime)),
  el('div', {class: 'split', style: {height: '22px', width: 100 * s.stepTime / most + '%'}}, used.map((k) =>
    el('i', {style: {width: 100 * s.pathTotal[k] / s.stepTime + '%', background: shades(k)},
      title: kinds[k] + ': ' + timeText(s.pathTotal[k])})))));
  holder.replaceChildren(el('p', {class: 'quiet'}, 'The chain of ops and transfers of which each was started by the ' +
    'one before it, from the begin of the step to its end. Shorten nothing on it and the step stays as long.'), ...rows,
  table('Time on the critical path', [{head: 'kind', text: true}, ...pair.flatMap((s) => [{head: s.policy},
    {head: 'share'}])], used.map((k) => [el('span', {}, el('span', {class: 'swatch', style: {background: shades(k)}}),
      ' ',
    kinds[k]), ...pair.flatMap((s) => [timeText(s.pathTotal[k]), percent(s.pathTotal[k] / s.stepTime)])])),
  ...pair.map((s) => whenOpen('Links of the path of ' + s.policy + ' (' + s.path.length + ')', () => [
    table('Critical path of ' + s.policy, [{head: 'link', text: true}, {head: 'from'}, {head: 'to'}, {head: 'lasts'},
      {head: 'mostly', text: true}], s.path.slice(0, MOST_ROWS_OF_TABLE).map((link) => {
      const k = link.parts_s.indexOf(Math.max(...link.parts_s));
      return [link.name, timeText(link.from_s), timeText(link.to_s), timeText(link.to_s - link.from_s), kinds[k]];
    })), s.path.length > MOST_ROWS_OF_TABLE ? el('p', {class: 'quiet'}, 'and ' + (s.path.length - MOST_ROWS_OF_TABLE) +
      ' more') : null])));
}

const USE_COLOURS = {device: 0, worker_nic_up: 4, worker_nic_down: 2, server_nic_up: 5, server_nic_down: 1,
  server_threads: 3, worker_threads: 3, copy_engine: 6, fabric: 7, inside_host: 7};
const USE_ROW = 24;
const MOST_USE_HEIGHT = 560;

/** Share of every resource in use over time, a row each; rows that are scrolled away are not drawn. */
function makeUse(step, view, rows) {
  const canvas = el('canvas', {role: 'img', tabindex: 0, 'aria-label': 'Use of resources over time under ' +
    step.policy +
    '; the table has the means'});
  const spacer = el('div', {}, canvas);
  const holder = el('div', {class: 'rows', tabindex: -1}, spacer);
  const node = el('div', {class: 'view'}, holder);
  const whole = AXIS + rows.length * USE_ROW;
  const height = Math.min(whole, MOST_USE_HEIGHT);
  const means = [];
  const mean = (r) => means[r] === undefined ? (means[r] = meanUse(step, rows[r])) : means[r];
  let width = 0;
  holder.style.maxHeight = MOST_USE_HEIGHT + 'px';
  spacer.style.height = whole + 'px';
  function draw() {
    const c = colours();
    width = Math.max(320, node.clientWidth || 580);
    const ratio = window.devicePixelRatio || 1;
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    canvas.style.width = width + 'px';
    canvas.style.height = height + 'px';
    const g = canvas.getContext('2d');
    g.setTransform(ratio, 0, 0, ratio, 0, 0);
    g.fillStyle = c.ground;
    g.fillRect(0, 0, width, height);
    const right = width - 56;
    const x = (t) => Math.min(right, Math.max(LABELS, LABELS +
      (t - view.from) / (view.to - view.from) * (right - LABELS)));
    g.font = '11.5px system-ui, sans-serif';
    const first = Math.floor(holder.scrollTop / USE_ROW);
    for (let r = first; r < Math.min(rows.length, first + Math.ceil(height / USE_ROW) + 1); ++r) {
      const use = rows[r];
      const y = AXIS + r * USE_ROW - holder.scrollTop;
      g.fillStyle = c.text;
      g.fillText(use.name, 8, y + 16, LABELS - 14);
      g.fillStyle = c.grid;
      g.fillRect(LABELS, y + USE_ROW - 2, right - LABELS, 1);
      g.fillStyle = c.series[USE_COLOURS[use.kind]];
      use.permille.forEach((share, i) => {
        const from = x(step.moments[i]);
        const to = x(step.moments[i + 1]);
        const high = share / 1000 * (USE_ROW - 5);
        if (to > from) g.fillRect(from, y + USE_ROW - 2 - high, to - from + 0.3, high);
      });
      g.fillStyle = c.quiet;
      g.fillText(percent(mean(r)), right + 6, y + 16, 48);
    }
    g.fillStyle = c.panel;
    g.fillRect(0, 0, width, AXIS);
    g.fillStyle = c.quiet;
    for (const t of ticks(view.from, view.to, Math.max(2, (right - LABELS) / 130)))
      if (x(t) < right - 40) g.fillText(roundTime(Math.abs(t) < 1e-15 ? 0 : t), x(t) + 3, 16);
  }
  holder.addEventListener('scroll', () => { hideTip(); requestAnimationFrame(draw); });
  canvas.addEventListener('pointermove', (event) => {
    const box = canvas.getBoundingClientRect();
    const r = Math.floor((event.clientY - box.top - AXIS + holder.scrollTop) / USE_ROW);
    const right = width - 56;
    const t = view.from + (event.clientX - box.left - LABELS) / (right - LABELS) * (view.to - view.from);
    const i = step.moments.findIndex((m, k) => m <= t && step.moments[k + 1] > t);
    if (!rows[r] || i < 0 || event.clientY - box.top < AXIS) return hideTip();
    showTip([el('strong', {}, rows[r].name), pairs([['from', timeText(step.moments[i])],
      ['to', timeText(step.moments[i + 1])], ['in use', percent((rows[r].permille[i] || 0) / 1000)],
      ['mean of the step', percent(mean(r))]])], event.clientX, event.clientY);
  });
  canvas.addEventListener('pointerleave', hideTip);
  return {node, draw};
}

function meanUse(step, use) {
  let sum = 0;
  use.permille.forEach((share, i) => { sum += share / 1000 * (step.moments[i + 1] - step.moments[i]); });
  const span = step.moments[step.moments.length - 1] - step.moments[0];
  return span > 0 ? sum / span : 0;
}

function usePart(holder, pair, view) {
  const kinds = [...new Set(pair[0].use.map((u) => u.kind))];
  let kind = null;
  const parts = el('div', {class: 'two'});
  let charts = [];
  const rows = (s) => s.use.filter((u) => kind === null || u.kind === kind);
  const draw = () => {
    charts = pair.map((s) => makeUse(s, view, rows(s)));
    parts.replaceChildren(...charts.map((chart, k) => el('div', {}, el('h3', {}, pair[k].policy), chart.node)));
    charts.forEach((chart) => chart.draw());
  };
  const choose = select('Show: ', ['everything', ...kinds.map((k) => k.replace(/_/g, ' ').replace('nic', 'NIC'))], 0,
    (i) => {
    kind = i === 0 ? null : kinds[i - 1];
    draw();
  });
  holder.replaceChildren(el('p', {class: 'quiet'}, 'Height: share of the device, NIC or thread pool in use, on the ' +
    'timelines\u2019 axis; on the right its mean over the step.'), el('div', {class: 'bar-row'}, choose.node), parts,
  whenOpen('As a table', () => table('Mean use over the drawn step', [{head: 'resource', text: true},
    ...pair.map((s) => ({head: s.policy}))], pair[0].use.map((use, i) => [use.name, ...pair.map((s) =>
    s.use[i] ? percent(meanUse(s, s.use[i])) : '-')]))));
  draw();
  return () => charts.forEach((chart) => chart.draw());
}

/** All sections that need steps. */
function stepsPart(data, points) {
  if (!data || !data.steps.length) {
    section('timeline', 'Timelines', el('p', {class: 'note'}, data && data.note ? data.note : 'There is no timeline.'));
    return;
  }
  const names = data.steps.map((s) => s.policy);
  const at = (policy) => names.indexOf(policy);
  const known = [];
  const stepAt = (i) => known[i] || (known[i] = decodeStep(dataOf('step-' + i)));
  const best = fastest(points[0].results);
  const first = Math.max(0, best ? at(best.policy) : 0);
  const other = [at('random'), at('fifo'), 0, 1].find((i) => i >= 0 && i !== first && i < names.length);
  const chosen = other === undefined ? [first] : [first, other];
  const holders = {path: el('div', {}), use: el('div', {})};
  let redrawUse = () => {};
  let redrawPath = () => {};
  timelinePart(names, stepAt, chosen, (pair, view) => {
    redrawPath = () => pathPart(holders.path, pair, data.path_kinds);
    redrawPath();
    view.listeners = view.listeners.filter((f) => f !== redrawUse);
    redrawUse = usePart(holders.use, pair, view);
    view.listeners.push(redrawUse);
  });
  const notes = [data.note];
  if (points.length > 1) notes.push('Point: ' + points[0].title + '.');
  const few = data.steps.find((s) => s.workers_drawn < s.workers);
  if (few) notes.push('Drawn are ' + few.workers_drawn + ' of ' + few.workers +
    ' workers, those of the critical path first; --bars N draws more.');
  byId('timeline').append(el('p', {class: 'quiet'}, notes.join(' ')));
  section('path', 'Critical path', holders.path);
  section('use', 'Use over time', holders.use);
  drawn(() => redrawUse());
  redrawers.push(() => redrawPath());
}

/** Shares of the step by cause, where they were asked for. */
function attributionPart(data) {
  const part = section('causes', 'What the causes cost');
  const words = {order: 'transfer order', links: 'link contention', servers: 'server contention',
    slow_workers: 'slow workers', noise: 'noise'};
  part.append(el('p', {class: 'quiet'}, 'Each cause was idealised in every combination with the others; its share is ' +
    'what it costs on average, so that all shares and what is left (compute and transfers alone) sum to the step.'));
  const holder = el('div', {});
  part.append(holder);
  const cell = (e, text) => text(e.mean) + (e.ci95_high > e.ci95_low
    ? ' \u00b1 ' + text((e.ci95_high - e.ci95_low) / 2) : '');
  drawn(() => {
    const c = colours().series;
    holder.replaceChildren(...data.results.map((r) => {
      const where = Object.entries(r.vary).map(([k, v]) => k + ' = ' + v).join(', ');
      const title = r.policy + (where ? ', ' + where : '');
      if (r.deadlock) return el('p', {class: 'note'}, title + ': deadlock: ' + r.deadlock);
      const rows = [...r.causes.map((x) => [words[x.cause] || x.cause, x]), ['left: compute and transfers alone',
        r.left]];
      return el('div', {}, el('h3', {}, title), barList('Shares of the step by cause', rows.map(([name, x], i) =>
        ({name, value: x.share.mean, text: percent(x.share.mean), colour: i === r.causes.length ? c[7] : c[i]}))),
      table('Costs of the causes for ' + title, [{head: 'cause', text: true}, {head: 'share of the step'},
        {head: 'time'},
        {head: 'saved if it alone goes'}], rows.map(([name, x]) => [name, cell(x.share, percent), cell(x.seconds,
          timeText),
        x.alone ? cell(x.alone, percent) : '-'])));
    }));
  });
}
