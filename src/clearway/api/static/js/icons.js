// Small drawings: a shape for each state and page.
import { s } from "./dom.js";

const LINES = {
  now: "M3 3h6v6H3zM11 3h6v6h-6zM3 11h6v6H3zM11 11h6v6h-6z",
  timeline: "M3 5h8M6 10h11M4 15h6",
  jobs: "M4 5h12M4 10h12M4 15h8",
  queues: "M10 3v4M10 7H5v3M10 7h5v3M3 10h4v6H3zM13 10h4v6h-4z",
  workflows: "M3 8h4v4H3zM13 3h4v4h-4zM13 13h4v4h-4zM7 10h3M10 10V5h3M10 10v5h3",
  policy: "M4 6h7M15 6h1M13 4v4M4 14h1M9 14h7M7 12v4",
  forecasts: "M3 16h14M4 13l4-5 3 3 5-7M13 4h3v3",
  waste: "M10 3a7 7 0 1 0 7 7M10 6v4l3 2",
  find: "M9 4a5 5 0 1 0 0 10 5 5 0 0 0 0-10M13 13l4 4",
  sun: "M10 6.5a3.5 3.5 0 1 0 0 7 3.5 3.5 0 0 0 0-7M10 2v2M10 16v2M2 10h2M16 10h2M4.5 4.5l1.4 1.4M14.1 14.1l1.4 1.4M4.5 15.5l1.4-1.4M14.1 5.9l1.4-1.4",
  moon: "M16 12A7 7 0 1 1 8 4a5.5 5.5 0 0 0 8 8",
  system: "M3 4h14v9H3zM7 17h6M10 13v4",
  warn: "M10 3l8 14H2zM10 8v4M10 14.5v.5",
  close: "M5 5l10 10M15 5L5 15",
  next: "M7 4l6 6-6 6",
  back: "M13 4l-6 6 6 6",
  plus: "M10 4v12M4 10h12",
  minus: "M4 10h12",
  edit: "M4 16l1-4 8-8 3 3-8 8zM11 6l3 3",
  stop: "M5 5h10v10H5z",
};

const SHAPES = {
  pending: ["circle", { cx: 7, cy: 7, r: 4.5, fill: "none", stroke: "currentColor", "stroke-width": 2, "stroke-dasharray": "3 2" }],
  starting: ["path", { d: "M4 2.5L11.5 7 4 11.5z", fill: "none", stroke: "currentColor", "stroke-width": 1.6, "stroke-linejoin": "round" }],
  running: ["path", { d: "M3.5 2L12 7l-8.5 5z", fill: "currentColor" }],
  stopping: ["path", { d: "M3 3h8v8H3z", fill: "none", stroke: "currentColor", "stroke-width": 2 }],
  suspended: ["path", { d: "M3 2.5h3v9H3zM8 2.5h3v9H8z", fill: "currentColor" }],
  succeeded: ["path", { d: "M2.5 7.5l3 3 6-7", fill: "none", stroke: "currentColor", "stroke-width": 2.2, "stroke-linecap": "round", "stroke-linejoin": "round" }],
  failed: ["path", { d: "M3 3l8 8M11 3l-8 8", fill: "none", stroke: "currentColor", "stroke-width": 2.2, "stroke-linecap": "round" }],
  cancelled: ["path", { d: "M7 2a5 5 0 1 0 0 10A5 5 0 0 0 7 2M3.5 10.5l7-7", fill: "none", stroke: "currentColor", "stroke-width": 1.7 }],
  skipped: ["path", { d: "M2 3.5L6 7l-4 3.5zM7.5 3.5l4 3.5-4 3.5z", fill: "currentColor" }],
  other: ["circle", { cx: 7, cy: 7, r: 4, fill: "currentColor" }],
};

const SAME = {
  refused: "failed", upstream_failed: "failed", lost: "failed", timed_out: "failed", ready: "succeeded", up: "succeeded",
  quiet: "pending", leaving: "stopping", drained: "suspended", preempted: "stopping", evicted: "stopping", stuck: "pending",
};

/** Draw a sign, hidden from readers: a word stands beside it. */
export function icon(name) {
  const line = s("path", { d: LINES[name], fill: "none", stroke: "currentColor", "stroke-width": 1.6, "stroke-linecap": "round", "stroke-linejoin": "round" });
  return s("svg", { viewBox: "0 0 20 20", "aria-hidden": "true" }, line);
}

/** Return tag and words of the shape that a state has. */
export const shapeOf = (state) => SHAPES[state] ?? SHAPES[SAME[state]] ?? SHAPES.other;

/** Draw the shape of a state, hidden from readers. */
export function shape(state) {
  const [tag, words] = shapeOf(state);
  return s("svg", { viewBox: "0 0 14 14", "aria-hidden": "true" }, s(tag, words));
}
