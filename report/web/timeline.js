// SPDX-License-Identifier: Apache-2.0
// A timeline on a canvas: rows of bars over time. Several may share one view, so that they zoom and pan together. What
// is off the screen is not drawn, and bars that fall into a pixel that is painted already are left out, so that a
// frame costs no more than the screen has pixels.

const LABELS = 168;
const AXIS = 24;
const MOST_HEIGHT = 440;

/** The span of time that timelines show, and what is marked in all of them. */
function makeView(first, last) {
  const view = {first, last, from: first, to: last, showPath: true, listeners: [], mark: null};
  view.changed = () => view.listeners.forEach((f) => f());
  view.show = (from, to) => {
    const whole = view.last - view.first;
    const span = Math.min(whole, Math.max(whole * 1e-7, to - from));
    view.from = Math.min(Math.max(from, view.first), view.last - span);
    view.to = view.from + span;
    view.changed();
  };
  view.zoom = (factor, at) => {
    const centre = at === undefined ? (view.from + view.to) / 2 : at;
    view.show(centre - (centre - view.from) * factor, centre + (view.to - centre) * factor);
  };
  view.pan = (share) => view.show(view.from + share * (view.to - view.from), view.to + share * (view.to - view.from));
  view.fit = () => view.show(view.first, view.last);
  return view;
}

function makeTimeline(step, view, label) {
  const canvas = el('canvas', {tabindex: 0, role: 'img', 'aria-label': label +
    '. Plus and minus zoom, left and right pan, up and down scroll, brackets go from bar to bar, Home shows all.'});
  const spacer = el('div', {});
  const rows = el('div', {class: 'rows', tabindex: -1}, spacer);
  spacer.append(canvas);
  const node = el('div', {class: 'view'}, rows);
  const folded = new Set();
  let shown = () => true;
  let layout = itemsOf(step, shown, folded);
  let hits = new Set();
  let focus = -1;
  let queued = false;
  let width = 0;

  const timeAt = (x) => view.from + (x - LABELS) / (width - LABELS) * (view.to - view.from);
  const xOf = (t) => LABELS + (t - view.from) / (view.to - view.from) * (width - LABELS);
  const visibleHeight = () => Math.min(MOST_HEIGHT, AXIS + layout.height);

  function resize() {
    width = Math.max(320, node.clientWidth || 1180);
    const ratio = window.devicePixelRatio || 1;
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(visibleHeight() * ratio);
    canvas.style.width = width + 'px';
    canvas.style.height = visibleHeight() + 'px';
    spacer.style.height = AXIS + layout.height + 'px';
  }

  function drawRow(g, c, item, y) {
    const row = step.rows[item.row];
    const pixel = (view.to - view.from) / (width - LABELS);
    row.lanes.forEach((lane, l) => {
      const top = y + 1 + l * row.laneHeight;
      const height = row.laneHeight - 1;
      let painted = LABELS - 1;
      for (let k = firstAfter(step, lane, view.from); k < lane.length; ++k) {
        const i = lane[k];
        if (step.begin[i] >= view.to) break;
        const left = Math.max(LABELS, xOf(step.begin[i]));
        const right = Math.min(width, xOf(step.begin[i] + step.length[i]));
        const special = i === focus || hits.has(i);
        if (right <= painted && !special) continue;
        const from = Math.max(left, Math.min(painted, right - 1));
        const size = Math.max(1, right - from - (step.length[i] > 3 * pixel ? 0.5 : 0));
        g.globalAlpha = hits.size && !special ? 0.28 : 1;
        g.fillStyle = c.kinds[step.kind[i]];
        g.fillRect(from, top, size, height);
        g.globalAlpha = 1;
        if (view.showPath && step.critical[i]) {
          g.fillStyle = c.text;
          g.fillRect(from, top + height - Math.min(4, height / 2), size, Math.min(4, height / 2));
        }
        if (special || (view.mark && view.mark.name === step.names[step.name[i]] && view.mark.kind === step.kind[i])) {
          g.strokeStyle = i === focus ? c.focus : c.text;
          g.lineWidth = i === focus ? 3 : 1.5;
          g.strokeRect(left + 0.5, top + 0.5, Math.max(2, right - left - 1), height - 1);
        }
        if (height >= 10 && right - left > 46) {
          g.fillStyle = c.ground;
          g.font = '11px system-ui, sans-serif';
          const text = step.names[step.name[i]];
          const fits = Math.floor((right - left - 8) / 6.2);
          g.fillText(text.length > fits ? text.slice(0, Math.max(1, fits - 1)) + '\u2026' : text, left + 4, top +
            height - 4,
            right - left - 6);
        }
        painted = Math.max(painted, Math.ceil(right));
      }
    });
  }

  // The wait of the bar in focus, from ready to its begin.
  function drawWait(g, c, item, y) {
    const row = step.rows[item.row];
    if (focus < 0 || (step.row[focus] !== item.row && step.other[focus] !== item.row)) return;
    const lane = row.lanes.findIndex((l) => l.includes(focus));
    const from = Math.max(LABELS, xOf(step.begin[focus] - step.wait[focus]));
    const to = Math.min(width, xOf(step.begin[focus]));
    if (to - from < 1) return;
    const middle = y + 1 + lane * row.laneHeight + row.laneHeight / 2;
    g.strokeStyle = c.focus;
    g.lineWidth = 2;
    g.setLineDash([4, 3]);
    g.beginPath();
    g.moveTo(from, middle);
    g.lineTo(to, middle);
    g.moveTo(from, middle - 5);
    g.lineTo(from, middle + 5);
    g.stroke();
    g.setLineDash([]);
  }

  function drawAxis(g, c, height) {
    g.fillStyle = c.panel;
    g.fillRect(0, 0, width, AXIS);
    g.font = '11.5px system-ui, sans-serif';
    for (const t of ticks(view.from, view.to, Math.max(2, (width - LABELS) / 130))) {
      const x = xOf(t);
      g.fillStyle = c.quiet;
      g.fillText(roundTime(Math.abs(t) < 1e-15 ? 0 : t), x + 3, 16);
      g.fillRect(x, AXIS - 7, 1, 7);
    }
    g.fillStyle = c.text;
    for (const t of [0, step.stepTime])
      if (t >= view.from && t <= view.to) g.fillRect(Math.min(width - 1, xOf(t)), AXIS - 10, 1.5, height);
    g.fillText(step.policy.length > 22 ? step.policy.slice(0, 21) + '\u2026' : step.policy, 8, 16, LABELS - 12);
  }

  function draw() {
    queued = false;
    const c = colours();
    const height = visibleHeight();
    const g = canvas.getContext('2d');
    const ratio = window.devicePixelRatio || 1;
    g.setTransform(ratio, 0, 0, ratio, 0, 0);
    g.fillStyle = c.ground;
    g.fillRect(0, 0, width, height);
    const scroll = rows.scrollTop;
    for (const item of layout.items) {
      const y = AXIS + item.y - scroll;
      if (y + item.height < AXIS || y > height) continue;
      if (item.row === undefined) {
        g.fillStyle = c.panel;
        g.fillRect(0, y, width, item.height);
        g.fillStyle = c.text;
        g.font = '600 12px system-ui, sans-serif';
        g.fillText((item.folded ? '\u25b8 ' : '\u25be ') + item.process, 8, y + 14, width - 16);
        continue;
      }
      drawRow(g, c, item, y);
      drawWait(g, c, item, y);
      g.fillStyle = c.ground;
      g.fillRect(0, y, LABELS, item.height);
      g.fillStyle = c.quiet;
      g.font = '12px system-ui, sans-serif';
      g.fillText(step.rows[item.row].track, 20, y + 13, LABELS - 26);
      g.fillStyle = c.grid;
      g.fillRect(0, y + item.height - 1, width, 1);
    }
    drawAxis(g, c, height);
  }

  function redraw() {
    if (queued) return;
    queued = true;
    requestAnimationFrame(draw);
  }

  // The bar under a point of the canvas, or -1; `near` pixels beside thin bars count too.
  function barAt(x, y) {
    const item = x < LABELS ? undefined : itemAt(y);
    if (!item || item.row === undefined) return -1;
    const row = step.rows[item.row];
    const lane = row.lanes[Math.floor((y - AXIS + rows.scrollTop - item.y - 1) / row.laneHeight)];
    if (!lane) return -1;
    const near = 2 * (view.to - view.from) / (width - LABELS);
    const time = timeAt(x);
    const k = firstAfter(step, lane, time - near);
    return k < lane.length && step.begin[lane[k]] <= time + near ? lane[k] : -1;
  }

  function itemAt(y) {
    const place = y - AXIS + rows.scrollTop;
    return y < AXIS ? undefined : layout.items.find((i) => place >= i.y && place < i.y + i.height);
  }

  function setFocus(bar) {
    if (bar === focus) return;
    focus = bar;
    view.mark = bar < 0 ? null : {name: step.names[step.name[bar]], kind: step.kind[bar]};
    view.changed();
  }

  function relayout() {
    layout = itemsOf(step, shown, folded);
    resize();
    redraw();
  }

  const place = (event) => {
    const box = canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };
  let drag = null;
  canvas.addEventListener('pointerdown', (event) => {
    const [x, y] = place(event);
    drag = {x: event.clientX, from: view.from, to: view.to, moved: false};
    canvas.setPointerCapture(event.pointerId);
    const item = itemAt(y);
    if (item && item.row === undefined && x < width) drag.fold = item.process;
  });
  canvas.addEventListener('pointermove', (event) => {
    const [x, y] = place(event);
    if (drag) {
      const by = (drag.x - event.clientX) / (width - LABELS) * (drag.to - drag.from);
      if (Math.abs(event.clientX - drag.x) > 3) drag.moved = true;
      if (drag.moved) view.show(drag.from + by, drag.to + by);
      return;
    }
    const bar = barAt(x, y);
    setFocus(bar);
    if (bar >= 0) showTip(barTip(step, bar), event.clientX, event.clientY);
    else hideTip();
  });
  canvas.addEventListener('pointerup', () => {
    if (drag && !drag.moved && drag.fold !== undefined) {
      if (!folded.delete(drag.fold)) folded.add(drag.fold);
      relayout();
    }
    drag = null;
  });
  canvas.addEventListener('pointerleave', () => {
    if (drag) return;
    setFocus(-1);
    hideTip();
  });
  canvas.addEventListener('dblclick', (event) => {
    const bar = barAt(...place(event));
    if (bar >= 0) goTo(bar);
  });
  canvas.addEventListener('wheel', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) {
      event.preventDefault();
      view.zoom(event.deltaY > 0 ? 1.25 : 0.8, timeAt(place(event)[0]));
    } else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      event.preventDefault();
      view.pan(Math.sign(event.deltaX || event.deltaY) * 0.1);
    }
  }, {passive: false});
  canvas.addEventListener('keydown', (event) => {
    const act = {'+': () => view.zoom(0.7), '=': () => view.zoom(0.7), '-': () => view.zoom(1.4), 'Home': view.fit,
      'ArrowLeft': () => view.pan(-0.15), 'ArrowRight': () => view.pan(0.15),
      'ArrowUp': () => rows.scrollBy(0, -40), 'ArrowDown': () => rows.scrollBy(0, 40),
      ']': () => beside(1), '[': () => beside(-1), 'Escape': () => { setFocus(-1); hideTip(); }}[event.key];
    if (!act || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    act();
  });
  rows.addEventListener('scroll', () => { hideTip(); redraw(); });

  // The bar before or behind the one in focus, in its lane.
  function beside(by) {
    if (focus < 0) return goTo(step.rows[0].lanes[0][0]);
    const lane = step.rows[step.row[focus]].lanes.find((l) => l.includes(focus));
    const bar = lane[lane.indexOf(focus) + by];
    if (bar !== undefined) goTo(bar);
  }

  /** Brings a bar to the middle and says what it is. */
  function goTo(bar) {
    focus = -1;
    const span = Math.min(view.to - view.from, Math.max(step.length[bar] * 12, (view.last - view.first) / 200));
    const middle = step.begin[bar] + step.length[bar] / 2;
    const item = layout.items.find((i) => i.row === step.row[bar]);
    if (item) rows.scrollTop = Math.max(0, item.y - 120);
    view.show(middle - span / 2, middle + span / 2);
    setFocus(bar);
    const box = canvas.getBoundingClientRect();
    showTip(barTip(step, bar), box.left + xOf(middle), box.top + (item ? AXIS + item.y - rows.scrollTop + 20 : 60));
    say(barWords(step, bar));
  }

  view.listeners.push(redraw);
  return {
    node, step, goTo,
    draw: () => { resize(); draw(); },
    setShown: (f) => { shown = f; relayout(); },
    setHits: (list) => { hits = new Set(list); redraw(); },
    close: () => { view.listeners = view.listeners.filter((f) => f !== redraw); },
  };
}

// What is said of a bar.

function barWords(step, i) {
  return KINDS[step.kind[i]] + ' ' + step.names[step.name[i]] + ' of ' + step.rows[step.row[i]].process + ', from ' +
    timeText(step.begin[i]) + ' to ' + timeText(step.begin[i] + step.length[i]) + ', ' + timeText(step.length[i]) +
    ' long, ready ' + timeText(step.wait[i]) + ' before';
}

function barTip(step, i) {
  const c = colours().series;
  const parts = partsOf(step, i).filter(([, seconds]) => seconds > 0);
  const whole = parts.reduce((sum, [, seconds]) => sum + seconds, 0);
  const other = step.other[i] >= 0 ? ' and ' + step.rows[step.other[i]].process : '';
  const list = [['what', KINDS[step.kind[i]] + (step.critical[i] ? ', on the critical path' : '')],
    ['where', step.rows[step.row[i]].process + other],
    ['begins', timeText(step.begin[i])], ['ends', timeText(step.begin[i] + step.length[i])],
    ['lasts', timeText(step.length[i])]];
  if (step.bytes[i] > 0) {
    list.push(['bytes', bytesText(step.bytes[i]) + ' (' + step.bytes[i] + ' B)']);
    if (isMessage(step.kind[i]) && step.length[i] > 0)
      list.push(['mean rate', (step.bytes[i] * 8e-9 / step.length[i]).toFixed(2) + ' Gbit/s']);
  }
  return [el('strong', {}, step.names[step.name[i]]), pairs(list),
    el('div', {class: 'split'}, parts.map(([, seconds, colour]) =>
      el('i', {style: {width: 100 * seconds / whole + '%', background: c[colour]}}))),
    pairs(parts.map(([words, seconds]) => [words, timeText(seconds)]))];
}

function showTip(children, x, y) {
  const tip = byId('tip');
  tip.replaceChildren(...children);
  tip.hidden = false;
  const box = tip.getBoundingClientRect();
  tip.style.left = Math.max(4, Math.min(x + 14, window.innerWidth - box.width - 8)) + 'px';
  tip.style.top = Math.max(4, y + 18 + box.height > window.innerHeight ? y - box.height - 12 : y + 18) + 'px';
}

function hideTip() {
  byId('tip').hidden = true;
}
