// Who held what from when to when, what is promised and booked.
import { h, put, say } from "../dom.js";
import { watch } from "../live.js";
import { byDevice, byQueue, load } from "../timeline/bars.js";
import { Chart } from "../timeline/view.js";
import { bones, choice, empty, faultText, heading, jobLink, panel, state, table, when } from "../parts.js";
import { brief, number, span } from "../format.js";
import { icon } from "../icons.js";

const HOUR = 3600e3;
const SPANS = [[1, "1 h"], [6, "6 h"], [24, "24 h"], [168, "7 d"], [720, "30 d"]];
const AHEAD = 1.12; // of a time that is chosen so much more is in view, for what is promised
const TABLE_ROWS = 200;
const EDGE = 44; // of the page, below the chart
const LEAST = 260;
const SLACK = 0.5; // so much more than is seen is loaded, on both sides

export function open(root, { words }) {
  const page = new Page(words);
  put(root, page.root());
  return () => page.close();
}

class Page {
  constructor(words) {
    this.by = words.get("by") === "queues" ? "queues" : "devices";
    this.find = words.get("find") ?? "";
    this.row = 18;
    this.kind = "chart";
    this.bars = null;
    this.note = h("span", { class: "quiet small", role: "status" });
    this.tip = h("div", { class: "tip", hidden: true });
    this.hold = h("div", { class: "gantt-hold" });
    this.chart = new Chart({ moved: () => this.#moved(), pointed: (bar, x, y) => this.#tip(bar, x, y), chosen: (bar) => (location.hash = `#/jobs/${bar.job}`) });
    this.chart.canvas.chart = this.chart; // its numbers are looked at by the benchmark
    this.loaded = [0, 0];
    this.sizes = new ResizeObserver(() => this.#size());
    this.recolour = () => this.chart.recolour();
    this.dark = matchMedia("(prefers-color-scheme: dark)");
    this.dark.addEventListener("change", this.recolour);
    window.addEventListener("clearway-theme", this.recolour);
    this.tick = setInterval(() => document.hidden || this.chart.draw(), 1000);
    this.watch = watch((signal) => this.#load(signal), (bars) => this.#show(bars), { every: 10000, wants: wants(), failed: (error) => this.#failed(error) });
  }

  root() {
    const zoom = (name, sign, act) => h("button", { class: "button icon", type: "button", "aria-label": name, title: name, onclick: act }, icon(sign));
    const find = h("input", { type: "search", placeholder: "Node or queue", "aria-label": "Show only nodes or queues with these letters", value: this.find, maxlength: 200, oninput: (event) => this.#finding(event.target.value) });
    this.foot = h("p", { class: "gantt-foot" }, legend(), this.note);
    this.place = panel("Who held what", {
      more: [
        find,
        choice("Rows", [["devices", "Devices"], ["queues", "Queues"]], this.by, (by) => this.#rowsBy(by)),
        choice("Height of rows", [["18", "Rows"], ["0", "All"]], "18", (row) => this.#height(Number(row))),
        choice("How it is shown", [["chart", "Chart"], ["table", "Table"]], this.kind, (kind) => this.#as(kind)),
      ],
    }, this.hold, this.foot);
    put(this.hold, h("p", { class: "quiet small gantt-wait", role: "status" }, "Who held what is put together…"), bones(420));
    this.spans = choice("Time in view", SPANS, null, (hours) => this.#span(Number(hours)));
    const more = [
      this.spans,
      zoom("Zoom out", "minus", () => this.chart.zoom(1.5)),
      zoom("Zoom in", "plus", () => this.chart.zoom(1 / 1.5)),
      h("button", { class: "button", type: "button", onclick: () => this.chart.toNow() }, "Now"),
    ];
    return h("div", { class: "timeline-page" }, heading("Timeline", { more }), this.place);
  }

  close() {
    this.watch.stop();
    this.sizes.disconnect();
    clearInterval(this.tick);
    clearTimeout(this.soon);
    this.dark.removeEventListener("change", this.recolour);
    window.removeEventListener("clearway-theme", this.recolour);
  }

  // --- loading ---

  async #load(signal) {
    const { from, to } = this.chart.view;
    const more = (to - from) * SLACK;
    this.asked = [from - more, to + more];
    const bars = await load(from - more, to + more, signal);
    this.loaded = this.asked;
    return bars;
  }

  #show(bars) {
    if (!this.bars) this.#begin(bars);
    this.#pressed();
    this.bars = bars;
    const earlier = bars.since > this.loaded[0] ? ", the earliest that is at hand" : "";
    const out = bars.leftOut > 0 ? `; the ${brief(bars.leftOut)} shortest are left out` : "";
    put(this.note, `${brief(bars.count)} bars${earlier}${out}`);
    this.#rows();
  }

  /** Begin with a time that is filled: a young controller has no hours yet. */
  #begin(bars) {
    const { view } = this.chart;
    const first = bars.from.reduce((least, at) => Math.min(least, at), Infinity);
    if (first <= view.from || !Number.isFinite(first)) return;
    const length = Math.max(60e3, (bars.now - first) * 1.15);
    view.from = bars.now - length;
    view.to = bars.now + length * 0.15;
  }

  #failed(error) {
    if (!this.bars) put(this.hold, empty("The timeline could not be read.", faultText(error), "warn"));
  }

  /** Show which of the times to choose from is in view, if one is. */
  #pressed() {
    const hours = (this.chart.view.to - this.chart.view.from) / HOUR / AHEAD;
    for (const button of this.spans.children) button.setAttribute("aria-pressed", String(Math.abs(hours / Number(button.value) - 1) < 0.02));
  }

  #moved() {
    const { from, to } = this.chart.view;
    this.#pressed();
    if (from < this.loaded[0] || to > this.loaded[1]) {
      say(this.note, "earlier hours are put together…");
      clearTimeout(this.soon);
      this.soon = setTimeout(() => void this.watch.again(), 150);
    }
    if (this.kind === "table") {
      clearTimeout(this.later);
      this.later = setTimeout(() => this.#rows(), 200);
    }
  }

  // --- showing ---

  #rows() {
    if (!this.bars) return;
    const find = this.find.toLowerCase();
    const wanted = (name) => find === "" || name.toLowerCase().includes(find);
    this.rows = (this.by === "queues" ? byQueue : byDevice)(this.bars, wanted);
    if (this.rows.labels.length === 0) put(this.hold, empty(find ? "Nothing is called so." : "Nothing ran in this time.", find ? "Other letters may find it." : "Jobs show here from their start on; a longer time may show earlier ones.", "timeline"));
    else if (this.kind === "table") put(this.hold, this.#table());
    else {
      if (this.chart.canvas.parentElement !== this.hold) {
        put(this.hold, this.chart.canvas, this.tip);
        this.sizes.observe(this.hold);
        this.#size();
      }
      this.chart.show(this.bars, this.rows, this.row);
      this.#size();
    }
  }

  #size() {
    const width = this.hold.clientWidth;
    const rail = document.getElementById("rail").getBoundingClientRect();
    const low = rail.top > 200 ? rail.height : 0; // the pages to go to are at the bottom
    const around = this.hold.getBoundingClientRect().top + window.scrollY + this.foot.offsetHeight + low + EDGE;
    const tall = this.chart.wants(); // few rows need no tall chart
    const height = Math.round(Math.max(LEAST, Math.min(window.innerHeight - around, 900, tall)));
    if (width === 0 || this.sized === `${width} ${height}`) return;
    this.sized = `${width} ${height}`;
    this.chart.size(width, height);
  }

  #tip(bar, x, y) {
    this.tip.hidden = bar === null;
    if (bar === null) return;
    const until = Number.isFinite(bar.to) ? bar.to : Date.now();
    put(
      this.tip,
      h("strong", { class: "name" }, jobLink(bar.job, bar.name)),
      h("span", {}, state(bar.end ?? "running"), ` ${span((until - bar.from) / 1000)}`),
      h("span", { class: "quiet" }, `${bar.queue} · ${bar.node}${bar.devices.length > 0 ? `: ${bar.devices.join(", ")}` : ""}${bar.share > 0 && bar.share < 1000 ? ` (${number(bar.share / 1000)})` : ""}`),
      h("span", { class: "quiet" }, when(new Date(bar.from).toISOString()), " – ", Number.isFinite(bar.to) ? when(new Date(bar.to).toISOString()) : "now"),
    );
    const left = Math.min(x + 14, this.hold.clientWidth - this.tip.offsetWidth - 8);
    this.tip.style.left = `${Math.max(4, left)}px`;
    this.tip.style.top = `${y + 18 + this.tip.offsetHeight > this.hold.clientHeight ? y - this.tip.offsetHeight - 10 : y + 18}px`;
  }

  #table() {
    const { from, to } = this.chart.view;
    const seen = [];
    const met = new Set();
    for (let at = this.rows.bar.length - 1; at >= 0; at -= 1) {
      const bar = this.rows.bar[at];
      if (met.has(bar) || this.bars.to[bar] < from || this.bars.from[bar] > to) continue;
      met.add(bar);
      seen.push(bar);
    }
    seen.sort((a, b) => this.bars.from[b] - this.bars.from[a]);
    const rows = seen.slice(0, TABLE_ROWS).map((bar) => this.bars.at(bar));
    const iso = (at) => (Number.isFinite(at) ? new Date(at).toISOString() : null);
    const columns = [
      { name: "Job", head: true, cell: (bar) => jobLink(bar.job, bar.name) },
      { name: "Queue", cell: (bar) => h("span", { class: "name" }, bar.queue) },
      { name: "Node", cell: (bar) => h("span", { class: "name" }, bar.node) },
      { name: "Devices", cell: (bar) => bar.devices.join(", ") },
      { name: "From", when: true, cell: (bar) => when(iso(bar.from)) },
      { name: "To", when: true, cell: (bar) => (Number.isFinite(bar.to) ? when(iso(bar.to)) : "runs") },
      { name: "Ended", cell: (bar) => state(bar.end ?? "running") },
    ];
    return [
      h("div", { class: "scroll" }, table(columns, rows, { caption: "What ran in the time in view, latest first" })),
      seen.length > TABLE_ROWS && h("p", { class: "pages" }, `The latest ${TABLE_ROWS} of ${brief(seen.length)} in view. A shorter time, or letters of a node, show fewer.`),
    ];
  }

  // --- what people choose ---

  #finding(letters) {
    this.find = letters;
    this.#rows();
  }

  #rowsBy(by) {
    this.by = by;
    this.chart.view.top = 0;
    this.#rows();
  }

  #height(row) {
    this.row = row;
    this.#rows();
  }

  #as(kind) {
    this.kind = kind;
    this.#rows();
  }

  #span(hours) {
    const now = Date.now();
    this.chart.look(now - hours * HOUR, now + hours * HOUR * (AHEAD - 1));
  }
}

const KINDS = new Set(["started", "attempt_ended", "ended", "reserved", "booked", "booking_over", "resized", "node_lost"]);

/** Say that something changed, at most every two seconds: a whole time is read anew for it. */
function wants() {
  let last = 0;
  return (events) => {
    if (performance.now() - last < 2000 || !events.some((event) => KINDS.has(event.kind))) return false;
    last = performance.now();
    return true;
  };
}

const legend = () =>
  h("span", { class: "legend" }, [["running", "running"], ["succeeded", "succeeded"], ["failed", "failed"], ["preempted", "preempted or lost ◂"], ["cancelled", "cancelled"], ["reserved", "promised"], ["booked", "booked"]].map(([kind, words]) => h("span", {}, h("i", { class: "bar-key", data: { kind } }), words)));
