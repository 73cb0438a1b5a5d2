// SPDX-License-Identifier: Apache-2.0
// From the columns of a step in the file to rows, lanes and bars that can be drawn and found. Times in seconds.

const KINDS = ['op', 'pull', 'push', 'collective', 'sum', 'update', 'copy'];
const KIND_WORDS = ['ops', 'pulls', 'pushes', 'collectives', 'sums of gradients', 'updates', 'copies'];
const isMessage = (kind) => kind >= 1 && kind <= 3;
const MOST_LANES = 24;

/** A column as a typed array, each number times `scale`. Plain loops: from() takes ten times as long. */
function typed(Type, column, scale) {
  const array = new Type(column.length);
  for (let i = 0; i < column.length; ++i) array[i] = column[i] * scale;
  return array;
}

/** The bars of a step as typed arrays. */
function decodeStep(raw) {
  const bars = raw.bars;
  const n = bars.kind.length;
  const seconds = (column) => typed(Float64Array, column, raw.tick_s);
  const step = {
    policy: raw.policy, n, stepTime: raw.step_s, names: raw.names, processes: raw.processes, tracks: raw.tracks,
    path: raw.path, pathTotal: raw.path_total_s,
    moments: raw.moments_s, use: raw.use, kind: typed(Uint8Array, bars.kind, 1), row: typed(Int32Array, bars.row, 1),
    other: typed(Int32Array, bars.other_row, 1), name: typed(Int32Array, bars.name, 1),
    critical: typed(Uint8Array, bars.critical, 1), bytes: typed(Float64Array, bars.bytes, 1),
      begin: new Float64Array(n), wait: seconds(bars.wait),
    turn: seconds(bars.turn), send: seconds(bars.send), length: seconds(bars.length), receive: seconds(bars.receive),
    alone: seconds(bars.alone), latency: seconds(bars.latency),
  };
  let last = 0;
  step.first = 0;
  step.last = raw.step_s;
  for (let i = 0; i < n; ++i) {
    last += bars.begin_after_last[i];
    step.begin[i] = last * raw.tick_s;
    step.first = Math.min(step.first, step.begin[i]);
    step.last = Math.max(step.last, step.begin[i] + step.length[i]);
  }
  step.rows = rowsOf(step);
  return step;
}

/**
 * Bars of each row in lanes, so that no two of a lane overlap (up to MOST_LANES; then the last lanes hold the
 * rest).
 */
function rowsOf(step) {
  const rows = step.processes.map((process, i) => ({process, track: step.tracks[i], lanes: [], ends: []}));
  const slack = step.stepTime * 1e-9;
  const put = (row, bar) => {
    let lane = 0;
    while (lane < row.lanes.length && row.ends[lane] > step.begin[bar] + slack) ++lane;
    if (lane === row.lanes.length) {
      if (lane < MOST_LANES) {
        row.lanes.push([]);
        row.ends.push(0);
      } else {
        lane = row.ends.indexOf(Math.min(...row.ends));
      }
    }
    row.lanes[lane].push(bar);
    row.ends[lane] = Math.max(row.ends[lane], step.begin[bar] + step.length[bar]);
  };
  for (let i = 0; i < step.n; ++i) {
    put(rows[step.row[i]], i);
    if (step.other[i] >= 0) put(rows[step.other[i]], i);
  }
  for (const row of rows) {
    row.lanes = row.lanes.map((lane) => Int32Array.from(lane));
    const lanes = row.lanes.length;
    row.laneHeight = lanes <= 1 ? 17 : lanes <= 3 ? 12 : lanes <= 8 ? 7 : 4;
    row.height = Math.max(17, lanes * row.laneHeight) + 3;
    delete row.ends;
  }
  return rows;
}

/** What is drawn from top to bottom: heads of processes and their rows, those that `shown` lets through. */
function itemsOf(step, shown, folded) {
  const items = [];
  let y = 0;
  const add = (item, height) => {
    items.push({...item, y, height});
    y += height;
  };
  for (let i = 0; i < step.rows.length;) {
    const process = step.rows[i].process;
    const rows = [];
    for (; i < step.rows.length && step.rows[i].process === process; ++i)
      if (shown(step.rows[i], i)) rows.push(i);
    if (!rows.length) continue;
    add({process, folded: folded.has(process)}, 20);
    if (!folded.has(process)) for (const row of rows) add({row}, step.rows[row].height);
  }
  return {items, height: y};
}

/** The first of the lane's bars that ends after `time`. */
function firstAfter(step, lane, time) {
  let low = 0;
  let high = lane.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (step.begin[lane[middle]] + step.length[lane[middle]] <= time) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Parts of a bar's time from ready to end, in order: [words, seconds, colour index]. */
function partsOf(step, i) {
  const own = Math.min(step.alone[i], step.length[i]);
  const rest = Math.max(0, step.length[i] - own);
  if (!isMessage(step.kind[i])) {
    const op = step.kind[i] === 0;
    return [[op ? 'waiting for the device' : 'waiting for a thread or engine', step.wait[i], 5],
      [op ? 'compute, as long as it should take' : 'in work', own, 0], ['added by noise and slowness', rest, 1]];
  }
  const onWire = step.wait[i] - step.turn[i] - step.send[i];
  const latency = Math.min(step.latency[i], Math.max(0, onWire));
  return [['waiting for its turn', step.turn[i], 5], ['service of the sender', step.send[i], 3],
    ['behind others on its connection', Math.max(0, onWire - latency), 4], ['latency', latency, 7],
    ['moving its own bytes', own, 2], ['wire lost to others', rest, 1], ['service of the receiver', step.receive[i],
      3]];
}

/** Bars whose name, process or kind holds the text, in order of begin. */
function searchBars(step, text) {
  const wanted = text.trim().toLowerCase();
  if (!wanted) return [];
  const named = step.names.map((name) => name.toLowerCase().includes(wanted));
  const inRow = step.rows.map((row) => (row.process + ' ' + row.track).toLowerCase().includes(wanted));
  const hits = [];
  for (let i = 0; i < step.n; ++i)
    if (named[step.name[i]] || inRow[step.row[i]] || (step.other[i] >= 0 && inRow[step.other[i]])) hits.push(i);
  return hits;
}
