// A drawing of steps and what comes after what: columns from left to right, each step once.
import { h, s } from "./dom.js";
import { shapeOf } from "./icons.js";

const WIDEST = 184;
const NARROWEST = 148;
const LEAST = 0.8; // so much smaller a drawing may be
const TALL = 46;
const FAR = 56;
const NEAR = 28;
const DOWN = 16;
const MOST_LANES = 60;

/** Return the columns of steps: each one right of all that it comes after. */
export function columns(steps) {
  const known = new Map(steps.map((step) => [step.name, step]));
  const depth = new Map();
  const deep = (name, path) => {
    if (depth.has(name)) return depth.get(name);
    if (path.has(name)) return 0;
    const before = known.get(name).after.filter((one) => known.has(one));
    const found = Math.max(-1, ...before.map((one) => deep(one, new Set(path).add(name)))) + 1;
    depth.set(name, found);
    return found;
  };
  const found = [];
  for (const step of steps) (found[deep(step.name, new Set())] ??= []).push(step);
  const place = new Map();
  for (const column of found) {
    const middle = (step) => {
      const before = step.after.map((one) => place.get(one)).filter((at) => at !== undefined);
      return before.length > 0 ? before.reduce((sum, at) => sum + at, 0) / before.length : Infinity;
    };
    column.sort((a, b) => middle(a) - middle(b) || 0);
    column.forEach((step, at) => place.set(step.name, at - (column.length - 1) / 2));
  }
  return found;
}

/** Put lanes beside the steps that a line would pass under; where that would be very many, lines pass under them. */
function spread(steps) {
  const depth = new Map(columns(steps).flatMap((column, x) => column.map((step) => [step.name, x])));
  const lanes = [];
  const found = steps.map((step) => ({ ...step, after: step.after.map((before) => {
    let last = before;
    for (let x = (depth.get(before) ?? Infinity) + 1; x < depth.get(step.name); x += 1) {
      const lane = { name: `${before} ${step.name} ${x}`, after: [last], lane: true };
      lanes.push(lane);
      last = lane.name;
    }
    return last;
  }) }));
  return lanes.length > MOST_LANES ? steps : [...found, ...lanes];
}

/** How wide a step is, and how far from the next: so that all are seen at once, where the page has room for that. */
function measures(many) {
  const room = document.getElementById("page").clientWidth - 90;
  const wide = Math.max(NARROWEST, Math.min(WIDEST, Math.floor((room - 8 - (many - 1) * NEAR) / many)));
  const across = Math.max(NEAR, Math.min(FAR, Math.floor((room - 8 - many * wide) / Math.max(1, many - 1))));
  return { wide, across };
}

/** Draw steps; `choose(step)` is called for the one that is picked. */
export function graph(steps, chosen, choose) {
  const found = columns(spread(steps));
  const most = Math.max(...found.map((column) => column.length));
  const { wide, across } = measures(found.length);
  const width = found.length * (wide + across) - across + 8;
  const height = most * (TALL + DOWN) - DOWN + 8;
  const at = new Map();
  found.forEach((column, x) => {
    const top = (height - (column.length * (TALL + DOWN) - DOWN)) / 2;
    column.forEach((step, y) => at.set(step.name, [4 + x * (wide + across), top + y * (TALL + DOWN)]));
  });
  const all = found.flat();
  const lines = all.flatMap((step) => step.after.filter((one) => at.has(one)).map((one) => line(at.get(one), at.get(step.name), wide)));
  const lanes = all.filter((step) => step.lane).map((step) => at.get(step.name)).map(([x, y]) => s("path", { d: `M${x} ${y + TALL / 2}H${x + wide}` }));
  // A little smaller where that shows all of it.
  const drawing = s("svg", { class: "graph", style: { width: `clamp(${Math.round(width * LEAST)}px, 100%, ${width}px)` }, viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": `${steps.length} steps` }, s("g", { class: "graph-lines", "aria-hidden": "true" }, lines, lanes), steps.map((step) => box(step, at.get(step.name), wide, step.name === chosen, choose)));
  return h("div", { class: "graph-hold", tabindex: "0", role: "region", "aria-label": "The steps as a drawing" }, drawing);
}

function line([x1, y1], [x2, y2], wide) {
  const from = x1 + wide;
  const half = Math.max(24, (x2 - from) / 2);
  return s("path", { d: `M${from} ${y1 + TALL / 2}C${from + half} ${y1 + TALL / 2} ${x2 - half} ${y2 + TALL / 2} ${x2} ${y2 + TALL / 2}` });
}

function box(step, [x, y], wide, pressed, choose) {
  const [tag, shape] = shapeOf(step.state);
  const letters = Math.floor((wide - 37) / 7);
  const name = step.name.length > letters ? `${step.name.slice(0, letters - 1)}…` : step.name;
  const jobs = step.jobs > 1 ? ` · ${step.jobs} jobs` : "";
  const act = (event) => {
    if (event.type === "keydown" && event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    choose(step);
  };
  return s(
    "g",
    { class: "graph-step", tabindex: "0", role: "button", "aria-pressed": String(pressed), "aria-label": `${step.name}: ${step.state}`, data: { state: step.state }, transform: `translate(${x} ${y})`, onclick: act, onkeydown: act },
    s("rect", { width: wide, height: TALL, rx: 9 }),
    s("svg", { x: 12, y: 10, width: 14, height: 14, viewBox: "0 0 14 14", class: "graph-shape" }, s(tag, shape)),
    s("text", { x: 33, y: 21, class: "graph-name" }, name),
    s("text", { x: 33, y: 37, class: "graph-state" }, `${words(step)}${jobs}`),
  );
}

/** What is written on a step: its state, or that it waits though it has begun. */
const words = (step) => (step.pause ? "waits for a person" : step.job?.state === "pending" ? "waits" : step.state.replaceAll("_", " "));
