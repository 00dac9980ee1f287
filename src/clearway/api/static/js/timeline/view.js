// The chart with its wheel, fingers and keys.
import { h } from "../dom.js";
import { AXIS, Painter } from "./draw.js";

const SHORTEST = 10e3;
const LONGEST = 120 * 86400e3;
const ZOOM = 1.25;
const EDGE = 2; // pixels

export class Chart {
  /** `moved(from, to)` is called when another time is in view, `pointed(bar, x, y)` for the bar pointed at or null. */
  constructor({ moved, pointed, chosen, pulled }) {
    this.canvas = h("canvas", { class: "gantt", tabindex: "0", role: "application", "aria-label": "Timeline. Arrow keys move, plus and minus zoom, N goes to now, Page keys scroll. The table shows the same in words." });
    this.moved = moved;
    this.pointed = pointed;
    this.chosen = chosen;
    this.pulled = pulled;
    this.painter = new Painter(this.canvas);
    this.bars = null;
    this.rows = null;
    this.at = -1;
    this.view = { from: Date.now() - 6 * 3600e3, to: Date.now() + 0.12 * 6 * 3600e3, top: 0, row: 18, now: Date.now() };
    this.fingers = new Map();
    this.spent = [];
    this.#listen();
  }

  /** Show bars in rows; `row` is a row's height, 0 for as high as all fit. */
  show(bars, rows, row) {
    this.bars = bars;
    this.rows = rows;
    this.wish = row;
    this.at = -1;
    this.#fit();
    this.draw();
  }

  size(width, height) {
    this.painter.size(width, height, width < 560 ? 104 : 172);
    this.#fit();
    this.draw();
  }

  /** How tall a chart would be that shows all rows at the height that is wished; no bound where that follows from it. */
  wants() {
    return this.wish && this.rows ? AXIS + this.rows.labels.length * this.wish + 24 : Infinity;
  }

  /** Look at another time. */
  look(from, to) {
    const length = Math.min(LONGEST, Math.max(SHORTEST, to - from));
    this.view.from = (from + to - length) / 2;
    this.view.to = this.view.from + length;
    this.draw();
    this.moved(this.view.from, this.view.to);
  }

  zoom(by, at = (this.view.from + this.view.to) / 2) {
    const { from, to } = this.view;
    this.look(at - (at - from) * by, at + (to - at) * by);
  }

  pan(part) {
    const by = (this.view.to - this.view.from) * part;
    this.look(this.view.from + by, this.view.to + by);
  }

  scroll(by) {
    const top = this.view.top;
    this.view.top = Math.max(0, Math.min(this.#tall() - this.#room(), top + by));
    if (this.view.top !== top) this.draw();
    return this.view.top !== top;
  }

  /** Draw with the next frame. */
  draw() {
    if (this.asked || !this.rows || !this.painter.width) return;
    this.asked = requestAnimationFrame(() => {
      this.asked = 0;
      this.paint();
    });
  }

  /** Draw now; what it took is kept, to be looked at. */
  paint() {
    const begun = performance.now();
    this.view.now = Date.now();
    this.painter.paint(this.bars, this.rows, this.view, this.at);
    this.spent.push(performance.now() - begun);
    if (this.spent.length > 600) this.spent.splice(0, 300);
  }

  recolour() {
    this.painter.colours();
    this.draw();
  }

  #tall() {
    return (this.rows?.labels.length ?? 0) * this.view.row + 8;
  }

  #room() {
    return this.painter.height - AXIS;
  }

  #fit() {
    if (!this.rows || !this.painter.height) return;
    const many = Math.max(1, this.rows.labels.length);
    this.view.row = this.wish || Math.min(18, Math.max(1 / (window.devicePixelRatio || 1) / 8, (this.#room() - 4) / many));
    this.view.top = Math.max(0, Math.min(this.#tall() - this.#room(), this.view.top));
  }

  // --- wheel, fingers, keys ---

  #listen() {
    const { canvas } = this;
    canvas.addEventListener("wheel", (event) => this.#wheel(event), { passive: false });
    canvas.addEventListener("pointerdown", (event) => this.#down(event));
    canvas.addEventListener("pointermove", (event) => this.#move(event));
    for (const name of ["pointerup", "pointercancel"]) canvas.addEventListener(name, (event) => this.#up(event));
    canvas.addEventListener("pointerleave", () => this.#point(-1));
    canvas.addEventListener("keydown", (event) => this.#key(event));
  }

  #where(event) {
    const box = this.canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }

  #time(x) {
    const { gutter, width } = this.painter;
    return this.view.from + ((x - gutter) / (width - gutter)) * (this.view.to - this.view.from);
  }

  #wheel(event) {
    const [x, y] = this.#where(event);
    const by = event.deltaMode === 1 ? event.deltaY * 20 : event.deltaY;
    if (Math.abs(event.deltaX) > Math.abs(event.deltaY) || event.shiftKey) {
      event.preventDefault();
      this.pan((event.deltaX || by) / (this.painter.width - this.painter.gutter));
    } else if (event.ctrlKey || event.metaKey || y < AXIS || this.#tall() <= this.#room()) {
      event.preventDefault();
      this.zoom(Math.exp(Math.max(-1, Math.min(1, by * (event.ctrlKey ? 0.01 : 0.002)))), this.#time(x));
    } else if (this.scroll(by)) event.preventDefault();
  }

  #down(event) {
    this.fingers.set(event.pointerId, this.#where(event));
    this.canvas.setPointerCapture(event.pointerId);
    this.far = 0;
  }

  #move(event) {
    const [x, y] = this.#where(event);
    const was = this.fingers.get(event.pointerId);
    if (!was) return this.#point(this.#hit(x, y), x, y);
    if (this.fingers.size === 1) {
      this.far += Math.abs(x - was[0]) + Math.abs(y - was[1]);
      this.pan((was[0] - x) / (this.painter.width - this.painter.gutter));
      this.scroll(was[1] - y);
    } else if (this.fingers.size === 2) {
      const [other] = [...this.fingers].filter(([id]) => id !== event.pointerId).map(([, at]) => at);
      const before = Math.hypot(was[0] - other[0], was[1] - other[1]);
      const after = Math.hypot(x - other[0], y - other[1]);
      if (after > 8) this.zoom(before / after, this.#time((x + other[0]) / 2));
      this.far = Infinity;
    }
    this.fingers.set(event.pointerId, [x, y]);
  }

  #up(event) {
    if (!this.fingers.delete(event.pointerId) || event.type !== "pointerup" || this.far > 6) return;
    const [x, y] = this.#where(event);
    const at = this.#hit(x, y);
    if (event.pointerType === "touch") this.#point(at, x, y);
    else if (at >= 0) this.chosen(this.bars.at(this.rows.bar[at]));
  }

  #key(event) {
    const { key } = event;
    const done = {
      ArrowLeft: () => this.pan(-0.15), ArrowRight: () => this.pan(0.15), ArrowUp: () => this.scroll(-60), ArrowDown: () => this.scroll(60),
      PageUp: () => this.scroll(-this.#room()), PageDown: () => this.scroll(this.#room()), Home: () => this.scroll(-Infinity), End: () => this.scroll(1e9),
      "+": () => this.zoom(1 / ZOOM), "=": () => this.zoom(1 / ZOOM), "-": () => this.zoom(ZOOM),
      n: () => this.toNow(), N: () => this.toNow(),
    }[key];
    if (!done || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    done();
  }

  toNow() {
    const length = this.view.to - this.view.from;
    this.look(Date.now() - length * 0.85, Date.now() + length * 0.15);
  }

  #hit(x, y) {
    if (!this.rows || x < this.painter.gutter || y < AXIS) return -1;
    const at = this.#time(x);
    const slack = (EDGE * (this.view.to - this.view.from)) / (this.painter.width - this.painter.gutter);
    const row = Math.floor((y - AXIS + this.view.top) / this.view.row);
    const { rows, bars } = this;
    if (row < 0 || row >= rows.labels.length) return -1;
    for (let n = rows.first[row + 1] - 1; n >= rows.first[Math.max(0, row - rows.tallest + 1)]; n -= 1) {
      const bar = rows.bar[n];
      if (rows.row[n] + rows.tall[n] <= row) continue;
      if (bars.from[bar] <= at + slack && Math.min(bars.to[bar], this.view.now) >= at - slack) return n;
    }
    return -1;
  }

  #point(at, x, y) {
    if (at === this.at) return;
    this.at = at;
    this.canvas.style.cursor = at >= 0 ? "pointer" : "grab";
    this.pointed(at < 0 ? null : this.bars.at(this.rows.bar[at]), x, y);
    this.draw();
  }
}
