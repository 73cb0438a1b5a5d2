// SPDX-License-Identifier: Apache-2.0
// What all parts of the page share: data, elements, numbers in words, colours, tables, axes. Text from the data reaches
// the page through text nodes only.

/** The JSON that lies in the file under this name, or null. */
function dataOf(name) {
  const holder = document.getElementById('data-' + name);
  return holder ? JSON.parse(holder.textContent) : null;
}

function fill(node, attributes, children) {
  for (const [key, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith('on')) node.addEventListener(key.slice(2), value);
    else if (key === 'style') Object.assign(node.style, value);
    else node.setAttribute(key, value === true ? '' : String(value));
  }
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined) continue;
    node.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
  return node;
}

/** An element with attributes ("onclick": a function; "style": an object) and children (nodes or text). */
const el = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
const svgEl = (tag, attributes, ...children) =>
  fill(document.createElementNS('http://www.w3.org/2000/svg', tag), attributes, children);

const byId = (id) => document.getElementById(id);

// Numbers in words: the same rounding as the program's own text.

function percent(fraction, sign) {
  if (fraction === null || fraction === undefined) return '-';
  let value = Math.round(fraction * 1000) / 10;
  if (Object.is(value, -0)) value = 0;
  const text = Math.abs(value).toFixed(1) + ' %';
  return value < 0 ? '-' + text : sign ? '+' + text : text;
}

function timeText(seconds) {
  if (seconds === null || seconds === undefined) return '-';
  if (seconds === 0) return '0 s';
  const units = ['s', 'ms', 'us', 'ns', 'ps'];
  let value = seconds;
  let unit = 0;
  while (unit + 1 < units.length && Math.abs(value) < 1) {
    value *= 1000;
    ++unit;
  }
  const size = Math.abs(value);
  return value.toFixed(size < 9.9995 ? 3 : size < 99.995 ? 2 : size < 999.95 ? 1 : 0) + ' ' + units[unit];
}

/** The mean with half its interval in the same unit: "1.127 s \u00b1 0.004". */
function estimateText(time) {
  const half = (time.ci95_high - time.ci95_low) / 2;
  const text = timeText(time.mean);
  if (!(half > 0)) return text;
  const [number, unit] = text.split(' ');
  const decimals = (number.split('.')[1] || '').length;
  return text + ' \u00b1 ' + (half * {s: 1, ms: 1e3, us: 1e6, ns: 1e9, ps: 1e12}[unit]).toFixed(decimals);
}

/** A time without zeros at its end, for axes. */
const roundTime = (seconds) => timeText(seconds).replace(/(\.\d*?)0+ /, '$1 ').replace('. ', ' ');

/** Numbers stay with their units at the end of a line. */
const kept = (text) => text.replace(/ \u00b1 /g, '\u00a0\u00b1\u00a0').replace(
  /(\d) (?=(?:%|[KMGT]iB|B|ms|us|ns|s|[KMG]?bit\/s)(?![A-Za-z]))/g, '$1\u00a0');

function gainText(mean, interval) {
  if (mean === null || mean === undefined) return '-';
  const half = interval ? (interval.high - interval.low) / 2 : 0;
  return percent(mean, true) + (half > 0 ? ' \u00b1 ' + (half * 100).toFixed(1) : '');
}

function bytesText(bytes) {
  if (bytes === null || bytes === undefined) return '-';
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let unit = 0;
  while (unit + 1 < units.length && Math.abs(bytes) >= 1023.95) {
    bytes /= 1024;
    ++unit;
  }
  const whole = Math.abs(bytes) >= 99.95 || Math.abs(bytes - Math.round(bytes)) < 0.05;
  return bytes.toFixed(whole ? 0 : 1) + ' ' + units[unit];
}

function rateText(perSecond) {
  if (perSecond === null || perSecond === undefined) return '-';
  return perSecond.toFixed(perSecond < 10 ? 3 : perSecond < 100 ? 2 : perSecond < 1000 ? 1 : 0);
}

/** Four digits, for axes and figures of any kind. */
function shortNumber(value) {
  if (value === null || value === undefined) return '-';
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-3 || size >= 1e6)) return value.toExponential(2);
  return String(Number(value.toPrecision(4)));
}

// Colours come from the style sheet, so that canvases follow dark, light and print.

function colours() {
  const style = getComputedStyle(document.documentElement);
  const get = (name) => style.getPropertyValue('--' + name).trim();
  return {
    kinds: [0, 1, 2, 3, 4, 5, 6].map((k) => get('k' + k)),
    series: [0, 1, 2, 3, 4, 5, 6, 7].map((k) => get('s' + k)),
    ground: get('ground'), panel: get('panel'), text: get('text'), quiet: get('quiet'), grid: get('grid'),
    focus: get('focus'),
  };
}

const redrawers = [];
/** Calls draw now and whenever colours or sizes change. */
function drawn(draw) {
  redrawers.push(draw);
  draw();
}
function redrawAll() {
  for (const draw of redrawers) draw();
}

/**
 * A table with its caption. Columns: {head, text: left aligned}; cells are text or nodes; the first is the
 * row's head.
 */
function table(caption, columns, rows, best) {
  const headCell = (c) => el('th', {scope: 'col', class: c.text ? 'text' : null, title: c.title}, c.head);
  return el('div', {class: 'scroll', tabindex: 0, role: 'region', 'aria-label': caption},
    el('table', {}, el('caption', {}, caption), el('thead', {}, el('tr', {}, columns.map(headCell))),
      el('tbody', {}, rows.map((row, i) => el('tr', {class: i === best ? 'best' : null},
        row.map((cell, k) => k === 0
          ? el('th', {scope: 'row', class: columns[k].text ? 'text' : null}, cell)
          : el('td', {class: columns[k].text ? 'text' : null}, cell)))))));
}

/** Details whose content is made when they are first opened. */
function whenOpen(title, make) {
  const node = el('details', {}, el('summary', {}, title));
  node.addEventListener('toggle', () => fill(node, {}, [make()]), {once: true});
  return node;
}

/** A section of the page with its entry in the contents. */
function section(id, title, ...children) {
  byId('contents').append(el('a', {href: '#' + id}, title));
  const node = el('section', {id, 'aria-labelledby': id + '-title'}, el('h2', {id: id + '-title'}, title), children);
  byId('main').append(node);
  return node;
}

/** Round positions of an axis from low to high, about `count` of them. */
function ticks(low, high, count) {
  if (!(high > low)) return [low];
  const raw = (high - low) / Math.max(1, count);
  const power = Math.pow(10, Math.floor(Math.log10(raw)));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= raw * 0.999);
  const list = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + step * 1e-9; ++k) list.push(k * step);
  return list;
}

function select(label, options, chosen, onChange) {
  const box = el('select', {onchange: () => onChange(box.selectedIndex)},
    options.map((text, i) => el('option', {value: i, selected: i === chosen}, text)));
  return {node: el('label', {}, label, box), box};
}

function pairs(list) {
  return el('dl', {class: 'pairs'}, list.filter(Boolean).map(([name, value]) => [el('dt', {}, name), el('dd', {},
    value)]));
}

/** Says it to a screen reader. */
function say(text) {
  byId('spoken').textContent = text;
}
