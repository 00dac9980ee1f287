// Plots of a search: the best so far over its trials, and each parameter with the values that it came to.
import { h, s } from "../dom.js";
import { empty } from "../parts.js";

const EDGE = { left: 64, right: 16, top: 14, bottom: 38 };
const MOST_PLOTS = 12;
const MOST_WORDS = 4;

export const short = (n) => Number(n.toPrecision(5)).toString();

/** What a trial is worth: its value, and of one that was stopped early its last report. */
export const worth = (trial) => (typeof trial.value === "number" ? trial.value : (trial.reports?.at(-1)?.value ?? null));

const told = (search) => search.trials.filter((trial) => typeof worth(trial) === "number");

/** Values in the order of the trials, with a line for the best so far; trials that were stopped early are crosses. */
export function progress(search) {
  const trials = told(search);
  if (trials.length === 0) return empty("No trial has given a number yet.", "Each trial shows here with the value that it gave.", "find");
  const wide = Math.round(Math.min(1080, Math.max(300, document.getElementById("page").clientWidth - 90)));
  const dots = trials.map((trial) => ({ trial, x: trial.number, y: worth(trial) }));
  const field = new Field(wide, 260, dots.map((dot) => dot.x), dots.map((dot) => dot.y));
  const label = `Values of ${trials.length} trials along their number, from ${short(field.y0)} to ${short(field.y1)}. The table below has each.`;
  return h("div", { class: "body plot" }, field.drawn(label, "number of the trial", [s("path", { class: "plot-best", d: staircase(search, field) }), dots.map((dot) => mark(search, field, dot))]), legend(search));
}

/** A small plot for each parameter: where in its range the good values lie. */
export function spread(search, inputs) {
  const trials = told(search);
  if (trials.length < 2) return null;
  return h("div", { class: "body plots" }, inputs.slice(0, MOST_PLOTS).map((input) => one(search, input, trials)));
}

function one(search, input, trials) {
  const given = trials.map((trial) => trial.point?.[input]);
  const places = given.every((value) => typeof value === "number") ? null : [...new Set(given.map((value) => JSON.stringify(value)))].sort();
  const dots = trials.map((trial, n) => ({ trial, y: worth(trial), x: places === null ? given[n] : places.indexOf(JSON.stringify(given[n])) }));
  const field = new Field(300, 190, dots.map((dot) => dot.x), dots.map((dot) => dot.y), places);
  return h("div", { class: "plot" }, field.drawn(`Values along ${input}`, input, dots.map((dot) => mark(search, field, dot))));
}

class Field {
  constructor(wide, tall, xs, ys, places = null) {
    [this.wide, this.tall, this.places] = [wide, tall, places];
    [this.x0, this.x1] = ends(xs);
    [this.y0, this.y1] = ends(ys);
  }

  x(at) {
    return EDGE.left + ((at - this.x0) / (this.x1 - this.x0)) * (this.wide - EDGE.left - EDGE.right);
  }

  y(at) {
    return this.tall - EDGE.bottom - ((at - this.y0) / (this.y1 - this.y0)) * (this.tall - EDGE.top - EDGE.bottom);
  }

  drawn(label, along, inside) {
    const lines = [0, 0.5, 1].map((part) => this.y0 + (this.y1 - this.y0) * part);
    const low = this.tall - 18;
    const word = (at, text, anchor) => s("text", { class: "plot-word", x: at, y: low, "text-anchor": anchor }, text);
    return s(
      "svg",
      { width: this.wide, height: this.tall, viewBox: `0 0 ${this.wide} ${this.tall}`, role: "img", "aria-label": label },
      lines.map((at) => [s("path", { class: "plot-line", d: `M${EDGE.left} ${this.y(at)}H${this.wide - EDGE.right}` }), s("text", { class: "plot-word", x: EDGE.left - 8, y: this.y(at) + 4, "text-anchor": "end" }, short(at))]),
      this.#ticks().map(([at, text], n, all) => word(this.x(at), text, all.length > 1 && n === 0 ? "start" : n === all.length - 1 && n > 0 ? "end" : "middle")),
      s("text", { class: "plot-word", x: (this.wide + EDGE.left) / 2, y: this.tall - 4, "text-anchor": "middle" }, along.slice(0, 40)),
      inside,
    );
  }

  #ticks() {
    if (this.places === null) return [this.x0, this.x1].map((at) => [at, short(at)]);
    return this.places.length > MOST_WORDS ? [] : this.places.map((text, n) => [n, text.replace(/^"|"$/g, "").slice(0, 12)]);
  }
}

function staircase(search, field) {
  const better = search.direction === "maximize" ? Math.max : Math.min;
  let best = null;
  let line = "";
  for (const trial of search.trials.filter((one) => typeof one.value === "number")) {
    best = best === null ? trial.value : better(best, trial.value);
    line += line === "" ? `M${field.x(trial.number)} ${field.y(best)}` : `H${field.x(trial.number)}V${field.y(best)}`;
  }
  return line === "" ? "M0 0" : `${line}H${field.x(field.x1)}`;
}

function mark(search, field, { trial, x, y }) {
  const [cx, cy] = [field.x(x), field.y(y)];
  const best = trial.number === search.best?.number;
  const words = s("title", {}, `trial ${trial.number}: ${short(y)}${trial.state === "stopped" ? ", stopped early" : ""}`);
  if (trial.state === "stopped") return s("path", { class: "plot-stopped", d: `M${cx - 4} ${cy - 4}l8 8m0 -8l-8 8` }, words);
  return s("circle", { class: "plot-dot", data: { best: best ? "" : null }, cx, cy, r: best ? 6 : 4 }, words);
}

function legend(search) {
  const stopped = search.stopped > 0 ? " × a trial that was stopped early, at its last report." : "";
  return h("p", { class: "quiet small" }, `● a trial, the largest the best; the line is the best so far.${stopped}`);
}

function ends(list) {
  const low = Math.min(...list);
  const high = Math.max(...list);
  return low === high ? [low - 0.5, high + 0.5] : [low, high];
}
