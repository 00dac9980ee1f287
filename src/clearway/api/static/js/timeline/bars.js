// Bars as columns of numbers, and the rows they lie in. Nothing here draws.
import { get } from "../net.js";

const OPEN = -1;
const WHOLE = 1000; // thousandths of a device
const MOST_BESIDE = 8; // rows of one device
const natural = new Intl.Collator("en", { numeric: true }).compare;
export const STATES = ["running", "succeeded", "failed", "preempted", "cancelled"];
const KIND_OF = { succeeded: 1, failed: 2, timed_out: 2, preempted: 3, evicted: 3, lost: 3, cancelled: 4 };

/** Ask for the bars of a time, in milliseconds since 1970. */
export async function load(from, to, signal) {
  const told = await get("timeline", { from: new Date(from).toISOString(), to: new Date(to).toISOString() }, signal);
  return new Bars(told);
}

export class Bars {
  constructor(told) {
    const { bars, tables } = told;
    this.count = bars.job.length;
    this.tables = tables;
    this.job = bars.job;
    this.columns = bars;
    this.from = Float64Array.from(bars.from);
    this.to = Float64Array.from(bars.to, (at) => (at === OPEN ? Infinity : at));
    this.kind = Uint8Array.from(bars.end, (end, at) => (bars.to[at] === OPEN ? 0 : end === OPEN ? 0 : (KIND_OF[tables.ends[end]] ?? 2)));
    this.since = told.since;
    this.now = told.now;
    this.leftOut = told.left_out;
    this.reservations = told.reservations;
    this.bookings = told.bookings;
  }

  /** All that is known of one bar. */
  at(index) {
    const { tables, columns } = this;
    const end = columns.end[index];
    const cause = columns.cause[index];
    return {
      job: columns.job[index],
      name: tables.names[columns.name[index]],
      queue: tables.queues[columns.queue[index]],
      attempt: columns.attempt[index],
      node: tables.nodes[columns.node[index]],
      devices: tables.devices[columns.devices[index]],
      share: columns.share[index],
      from: this.from[index],
      to: this.to[index],
      end: end === OPEN ? null : tables.ends[end],
      cause: cause === OPEN ? null : tables.causes[cause],
    };
  }
}

/**
 * Where bars lie. `labels`: a row's two names; `row`, `tall`: of a piece of a bar; pieces are sorted by row and begin,
 * `first[row]` is a row's first piece.
 */
export class Rows {
  constructor(labels, pieces, bars) {
    this.labels = labels;
    const order = pieces.bar.map((_, at) => at).sort((a, b) => pieces.row[a] - pieces.row[b] || pieces.from[a] - pieces.from[b]);
    this.bar = Int32Array.from(order, (at) => pieces.bar[at]);
    this.row = Int32Array.from(order, (at) => pieces.row[at]);
    this.tall = Int32Array.from(order, (at) => pieces.tall[at]);
    this.first = new Int32Array(labels.length + 1);
    let at = 0;
    for (let row = 0; row <= labels.length; row += 1) {
      while (at < this.row.length && this.row[at] < row) at += 1;
      this.first[row] = at;
    }
    // What each frame reads of every piece, side by side in the order in which it is read.
    this.from = Float64Array.from(this.bar, (one) => bars.from[one]);
    this.to = Float64Array.from(this.bar, (one) => bars.to[one]);
    this.shade = Uint8Array.from(this.bar, (one) => bars.kind[one] * 2 + (bars.job[one] & 1));
    this.tallest = this.tall.reduce((most, one) => Math.max(most, one), 1);
  }
}

/** A row for each device; the place of a device is `rowOf(node, device)`. */
export function byDevice(bars, wanted) {
  const nodes = new Map();
  const note = (node, devices) => {
    if (!wanted(node)) return;
    const seen = nodes.get(node) ?? new Set();
    for (const device of devices) seen.add(device);
    if (devices.length === 0) seen.add(-1);
    nodes.set(node, seen);
  };
  const { tables, columns } = bars;
  const met = new Set();
  for (let at = 0; at < bars.count; at += 1) {
    const key = columns.node[at] * 65536 + columns.devices[at];
    if (met.has(key)) continue;
    met.add(key);
    note(tables.nodes[columns.node[at]], tables.devices[columns.devices[at]]);
  }
  for (const one of bars.reservations) note(one.node, one.devices);
  const side = beside(bars, wanted);
  const labels = [];
  const places = new Map();
  for (const node of [...nodes.keys()].sort(natural)) {
    const devices = [...nodes.get(node)].sort((a, b) => a - b);
    const numbered = new Map();
    devices.forEach((device, n) => {
      const many = side.many(node, device);
      numbered.set(device, [labels.length, many]);
      for (let lane = 0; lane < many; lane += 1) labels.push([n + lane === 0 ? node : "", lane > 0 ? "" : device < 0 ? "–" : String(device), node]);
    });
    places.set(node, numbered);
  }
  const pieces = { bar: [], row: [], tall: [], from: [] };
  for (let at = 0; at < bars.count; at += 1) {
    const numbered = places.get(tables.nodes[columns.node[at]]);
    if (!numbered) continue;
    const devices = tables.devices[columns.devices[at]];
    const lane = side.lane.get(at);
    if (lane !== undefined) add(pieces, at, numbered.get(devices[0])[0] + lane, 1, bars.from[at]);
    else for (const [row, tall] of runs(numbered, devices)) add(pieces, at, row, tall, bars.from[at]);
  }
  const rows = new Rows(labels, pieces, bars);
  rows.runs = (node, devices) => (places.has(node) ? runs(places.get(node), devices) : []);
  return rows;
}

/** Which of a device's rows a bar of a part of it lies in, and how many rows a device has: jobs on it side by side. */
function beside(bars, wanted) {
  const { tables, columns } = bars;
  const parts = [];
  for (let at = 0; at < bars.count; at += 1) {
    const share = columns.share[at];
    if (share > 0 && share < WHOLE && tables.devices[columns.devices[at]].length === 1 && wanted(tables.nodes[columns.node[at]])) parts.push(at);
  }
  parts.sort((a, b) => bars.from[a] - bars.from[b]);
  const lanes = new Map();
  const lane = new Map();
  const key = (node, device) => `${device} ${node}`;
  for (const at of parts) {
    const where = key(tables.nodes[columns.node[at]], tables.devices[columns.devices[at]][0]);
    if (!lanes.has(where)) lanes.set(where, []);
    const mine = lanes.get(where);
    const free = mine.findIndex((until) => until <= bars.from[at]);
    const n = free >= 0 ? free : mine.length < MOST_BESIDE ? mine.length : MOST_BESIDE - 1;
    mine[n] = Math.max(mine[n] ?? 0, bars.to[at]);
    lane.set(at, n);
  }
  return { lane, many: (node, device) => lanes.get(key(node, device))?.length ?? 1 };
}

function runs(numbered, devices) {
  const at = (devices.length === 0 ? [-1] : devices).map((device) => numbered.get(device)).filter(Boolean);
  const found = [];
  for (const [row, many] of at.sort((a, b) => a[0] - b[0])) {
    const last = found.at(-1);
    if (last && last[0] + last[1] === row) last[1] += many;
    else found.push([row, many]);
  }
  return found;
}

/** Rows for each queue, as many as it ever needs side by side. */
export function byQueue(bars, wanted) {
  const { tables, columns } = bars;
  const lanes = new Map();
  for (const queue of [...tables.queues].sort(natural)) if (wanted(queue)) lanes.set(queue, []);
  const placed = [];
  for (let at = 0; at < bars.count; at += 1) {
    const mine = lanes.get(tables.queues[columns.queue[at]]);
    if (!mine) continue;
    placed.push([at, tables.queues[columns.queue[at]], lane(mine, bars.from[at], bars.to[at])]);
  }
  const labels = [];
  const starts = new Map();
  for (const [queue, mine] of lanes) {
    if (mine.length === 0) continue;
    starts.set(queue, labels.length);
    mine.forEach((_, n) => labels.push([n === 0 ? queue : "", "", queue]));
  }
  const pieces = { bar: [], row: [], tall: [], from: [] };
  for (const [at, queue, n] of placed) add(pieces, at, starts.get(queue) + n, 1, bars.from[at]);
  const rows = new Rows(labels, pieces, bars);
  rows.runs = () => [];
  return rows;
}

/** Take the first lane that is free at `from`; `mine` holds when each is free again, with a hint where to begin. */
function lane(mine, from, to) {
  const many = mine.length;
  const begin = mine.hint ?? 0;
  for (let n = 0; n < many; n += 1) {
    const at = (begin + n) % many;
    if (mine[at] <= from) {
      mine[at] = to;
      mine.hint = at + 1;
      return at;
    }
  }
  mine.push(to);
  mine.hint = 0;
  return many;
}

function add(pieces, bar, row, tall, from) {
  pieces.bar.push(bar);
  pieces.row.push(row);
  pieces.tall.push(tall);
  pieces.from.push(from);
}
