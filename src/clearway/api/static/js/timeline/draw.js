// Bars on a canvas. Where rows are thin, pixels are written as numbers: a hundred thousand bars take a few milliseconds.
const THIN = 5;
export const AXIS = 34;
const STEPS_S = [1, 5, 15, 60, 300, 900, 3600, 3 * 3600, 6 * 3600, 86400, 2 * 86400, 7 * 86400, 14 * 86400, 28 * 86400];
const KINDS = ["running", "succeeded", "failed", "preempted", "cancelled"];

const time = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });
const fine = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const day = new Intl.DateTimeFormat(undefined, { weekday: "short", day: "numeric", month: "short" });

export class Painter {
  constructor(canvas) {
    this.canvas = canvas;
    this.pen = canvas.getContext("2d", { alpha: false });
    this.sheet = null;
  }

  /** Learn the colours of the page anew. */
  colours() {
    const style = getComputedStyle(this.canvas);
    const read = (name) => style.getPropertyValue(name).trim();
    this.ink = { text: read("--ink"), quiet: read("--ink-3"), line: read("--line"), strong: read("--line-2"), panel: read("--panel"), band: read("--panel-2"), accent: read("--accent"), warn: read("--warn"), font: read("--font") };
    this.bars = KINDS.map((kind) => [read(`--bar-${kind}`), read(`--bar-${kind}-2`)]);
    this.words = this.bars.flatMap((pair) => pair.map(word));
    this.ground = word(this.ink.panel);
    this.onBar = KINDS.map((kind) => read(`--on-${kind}`));
  }

  size(width, height, gutter) {
    const scale = window.devicePixelRatio || 1;
    this.width = width;
    this.height = height;
    this.gutter = gutter;
    this.scale = scale;
    this.canvas.width = Math.round(width * scale);
    this.canvas.height = Math.round(height * scale);
    this.canvas.style.width = `${width}px`;
    this.canvas.style.height = `${height}px`;
    this.colours();
  }

  /** Draw all of it. `view`: from, to (ms), top (px), row (px). */
  paint(bars, rows, view, pointed) {
    const { pen, width, height, gutter, ink } = this;
    this.view = view;
    pen.setTransform(this.scale, 0, 0, this.scale, 0, 0);
    pen.fillStyle = ink.panel;
    pen.fillRect(0, 0, width, height);
    this.ticks = this.#ticks();
    this.#grid();
    this.#bookings(bars);
    if (view.row < THIN) this.#thin(rows);
    else this.#thick(bars, rows);
    this.#reservations(bars, rows);
    if (pointed >= 0) this.#point(bars, rows, pointed);
    this.#now();
    this.#labels(rows);
    this.#axis();
    return gutter;
  }

  x(at) {
    const { view } = this;
    return this.gutter + ((at - view.from) / (view.to - view.from)) * (this.width - this.gutter);
  }

  y(row) {
    return AXIS + row * this.view.row - this.view.top;
  }

  #visible(rows) {
    const { view } = this;
    const first = Math.max(0, Math.floor(view.top / view.row));
    return [first, Math.min(rows.labels.length, Math.ceil((view.top + this.height - AXIS) / view.row))];
  }

  #thick(bars, rows) {
    const { pen, view, width, gutter } = this;
    const [first, last] = this.#visible(rows);
    const begin = rows.first[Math.max(0, first - rows.tallest)];
    const end = rows.first[last];
    const now = view.now;
    const scale = (width - gutter) / (view.to - view.from);
    pen.save();
    pen.beginPath();
    pen.rect(gutter, AXIS, width - gutter, this.height - AXIS);
    pen.clip();
    pen.font = `500 11px ${this.ink.font}`;
    pen.textBaseline = "middle";
    const gap = view.row > 8 ? 2 : 1;
    for (let at = begin; at < end; at += 1) {
      const bar = rows.bar[at];
      const to = Math.min(bars.to[bar], now);
      if (to < view.from || bars.from[bar] > view.to || rows.row[at] + rows.tall[at] < first) continue;
      const left = gutter + (Math.max(bars.from[bar], view.from - 1e7) - view.from) * scale;
      const wide = Math.max(1, gutter + (Math.min(to, view.to + 1e7) - view.from) * scale - left - 1);
      const top = this.y(rows.row[at]);
      const tall = rows.tall[at] * view.row - gap;
      const kind = bars.kind[bar];
      pen.fillStyle = this.bars[kind][bars.job[bar] & 1];
      if (wide > 6 && tall > 6) {
        pen.beginPath();
        pen.roundRect(left, top, wide, tall, 3);
        pen.fill();
      } else pen.fillRect(left, top, wide, tall);
      if (kind === 3 && wide > 3) this.#notch(left + wide, top, tall);
      if (wide > 34 && view.row >= 12) this.#name(bars, bar, left, wide, top, tall, kind);
    }
    pen.restore();
  }

  #name(bars, bar, left, wide, top, tall, kind) {
    const { pen, gutter } = this;
    const from = Math.max(left, gutter) + 5;
    const room = left + wide - from - 4;
    if (room < 24) return;
    const name = bars.tables.names[bars.columns.name[bar]];
    pen.fillStyle = this.onBar[kind];
    const many = Math.floor(room / 6.5);
    pen.fillText(name.length > many ? `${name.slice(0, Math.max(1, many - 1))}…` : name, from, top + Math.min(tall, this.view.row * 1.5) / 2 + 0.5);
  }

  #notch(right, top, tall) {
    const { pen } = this;
    const half = Math.min(5, tall / 2);
    pen.fillStyle = this.ink.panel;
    pen.beginPath();
    pen.moveTo(right, top + tall / 2 - half);
    pen.lineTo(right - half, top + tall / 2);
    pen.lineTo(right, top + tall / 2 + half);
    pen.fill();
  }

  /** Rows of a pixel or few: fill spans of a picture, later bars over earlier ones. */
  #thin(rows) {
    const { view, gutter, scale } = this;
    const wide = Math.max(1, Math.round((this.width - gutter) * scale));
    const tall = Math.max(1, Math.round((this.height - AXIS) * scale));
    if (this.sheet === null || this.sheet.width !== wide || this.sheet.height !== tall) {
      this.sheet = new ImageData(wide, tall);
      this.pixels = new Uint32Array(this.sheet.data.buffer);
    }
    const { pixels, words } = this;
    pixels.fill(this.ground);
    const [first, last] = this.#visible(rows);
    const across = wide / (view.to - view.from);
    const { from, to, shade } = rows;
    const step = view.row * scale;
    const top = view.top * scale;
    const gap = step >= 3 ? 1 : 0;
    const end = rows.first[last];
    for (let at = rows.first[Math.max(0, first - rows.tallest)]; at < end; at += 1) {
      const begun = from[at];
      const until = to[at] < view.now ? to[at] : view.now;
      if (until < view.from || begun > view.to) continue;
      const x0 = begun < view.from ? 0 : Math.min(wide - 1, ((begun - view.from) * across) | 0);
      let x1 = until > view.to ? wide - 1 : ((until - view.from) * across) | 0;
      if (x1 <= x0) x1 = x0 + 1;
      const y0 = Math.max(0, (rows.row[at] * step - top) | 0);
      const y1 = Math.min(tall, Math.max(y0 + 1, (((rows.row[at] + rows.tall[at]) * step - top) | 0) - gap));
      const colour = words[shade[at]];
      for (let y = y0; y < y1; y += 1) {
        const end = y * wide + x1;
        for (let x = y * wide + x0; x < end; x += 1) pixels[x] = colour;
      }
    }
    this.pen.putImageData(this.sheet, Math.round(gutter * scale), Math.round(AXIS * scale));
  }

  #reservations(bars, rows) {
    const { pen, view, ink } = this;
    if (bars.reservations.length === 0) return;
    pen.save();
    pen.beginPath();
    pen.rect(this.gutter, AXIS, this.width - this.gutter, this.height - AXIS);
    pen.clip();
    pen.strokeStyle = ink.accent;
    pen.setLineDash([4, 3]);
    pen.lineWidth = 1.25;
    const length = Math.max(1800e3, (view.to - view.from) * 0.06);
    for (const one of bars.reservations) {
      if (one.from > view.to || one.from + length < view.from) continue;
      for (const [row, many] of rows.runs(one.node, one.devices)) {
        const top = this.y(row);
        if (top > this.height || top + many * view.row < AXIS) continue;
        pen.strokeRect(this.x(one.from) + 0.5, top + 0.5, this.x(one.from + length) - this.x(one.from), many * view.row - 2);
      }
    }
    pen.restore();
  }

  #bookings(bars) {
    const { pen, ink } = this;
    pen.font = `500 11px ${ink.font}`;
    for (const one of bars.bookings) {
      const left = Math.max(this.gutter, this.x(Date.parse(one.from)));
      const right = Math.min(this.width, this.x(Date.parse(one.to)));
      if (right <= left) continue;
      pen.fillStyle = ink.band;
      pen.fillRect(left, AXIS, right - left, this.height - AXIS);
      pen.strokeStyle = ink.strong;
      pen.beginPath();
      for (let x = left - (left % 12); x < right + this.height; x += 12) {
        pen.moveTo(Math.min(x, right), AXIS + Math.max(0, x - right));
        pen.lineTo(Math.max(left, x - this.height), AXIS + Math.min(this.height, x - left));
      }
      pen.globalAlpha = 0.35;
      pen.stroke();
      pen.globalAlpha = 1;
      pen.fillStyle = ink.text;
      pen.textBaseline = "alphabetic";
      if (right - left > 40) pen.fillText(`booked: ${one.name}`.slice(0, Math.floor((right - left) / 6.5)), left + 6, this.height - 8);
    }
  }

  #point(bars, rows, at) {
    const { pen, view } = this;
    const bar = rows.bar[at];
    const left = Math.max(this.gutter, this.x(bars.from[bar]));
    const right = Math.max(left + 2, Math.min(this.width, this.x(Math.min(bars.to[bar], view.now))));
    pen.strokeStyle = this.ink.text;
    pen.lineWidth = 1.5;
    pen.strokeRect(left - 0.5, this.y(rows.row[at]) - 0.5, right - left, Math.max(3, rows.tall[at] * view.row - 1));
  }

  #now() {
    const { pen, view, ink } = this;
    const x = this.x(view.now);
    if (x < this.gutter || x > this.width) return;
    pen.strokeStyle = ink.text;
    pen.lineWidth = 1;
    pen.beginPath();
    pen.moveTo(Math.round(x) + 0.5, AXIS - 6);
    pen.lineTo(Math.round(x) + 0.5, this.height);
    pen.stroke();
  }

  // --- ruler and names ---

  #ticks() {
    const { view } = this;
    const room = (this.width - this.gutter) / 84;
    const wanted = (view.to - view.from) / 1000 / Math.max(1, room);
    const step = (STEPS_S.find((one) => one >= wanted) ?? STEPS_S.at(-1)) * 1000;
    const shift = new Date(view.from).getTimezoneOffset() * 60000;
    const found = [];
    for (let at = Math.ceil((view.from - shift) / step) * step + shift; at <= view.to; at += step) found.push(at);
    this.step = step;
    return found;
  }

  #grid() {
    const { pen, ink } = this;
    pen.strokeStyle = ink.line;
    pen.lineWidth = 1;
    pen.beginPath();
    for (const at of this.ticks) {
      const x = Math.round(this.x(at)) + 0.5;
      pen.moveTo(x, AXIS);
      pen.lineTo(x, this.height);
    }
    pen.stroke();
  }

  #axis() {
    const { pen, ink, width } = this;
    pen.fillStyle = ink.panel;
    pen.fillRect(0, 0, width, AXIS - 1);
    pen.strokeStyle = ink.strong;
    pen.beginPath();
    pen.moveTo(0, AXIS - 0.5);
    pen.lineTo(width, AXIS - 0.5);
    pen.stroke();
    pen.font = `500 11px ${ink.font}`;
    pen.textBaseline = "middle";
    let last = "";
    for (const at of this.ticks) {
      const date = new Date(at);
      const today = day.format(date);
      const words = this.step >= 86400e3 ? today : `${(this.step < 60e3 ? fine : time).format(date)}`;
      const x = this.x(at);
      if (x < this.gutter - 2 || x > width - 20) continue;
      pen.fillStyle = ink.quiet;
      pen.fillText(words, x + 4, 22);
      if (today !== last && this.step < 86400e3) {
        pen.fillStyle = ink.text;
        pen.fillText(today, x + 4, 9);
      }
      last = today;
    }
  }

  #labels(rows) {
    const { pen, view, ink, gutter } = this;
    pen.fillStyle = ink.panel;
    pen.fillRect(0, AXIS, gutter, this.height - AXIS);
    pen.strokeStyle = ink.strong;
    pen.beginPath();
    pen.moveTo(gutter - 0.5, AXIS);
    pen.lineTo(gutter - 0.5, this.height);
    pen.stroke();
    const [first, last] = this.#visible(rows);
    pen.save();
    pen.beginPath();
    pen.rect(0, AXIS, gutter - 4, this.height - AXIS);
    pen.clip();
    pen.textBaseline = "middle";
    let free = AXIS;
    for (let row = first; row < last; row += 1) {
      const [name, part, group] = rows.labels[row];
      const top = this.y(row);
      const middle = top + view.row / 2;
      const head = name || (row === first ? group : "");
      if (head && middle >= free - 4) {
        pen.font = `560 11px ${ink.font}`;
        pen.fillStyle = ink.text;
        pen.fillText(fitted(pen, head, gutter - (part ? 38 : 20)), 12, Math.max(middle, AXIS + 7));
        free = Math.max(middle, AXIS + 7) + 14;
      }
      if (part && view.row >= 11) {
        pen.font = `450 11px ${ink.font}`;
        pen.fillStyle = ink.quiet;
        pen.textAlign = "right";
        pen.fillText(part, gutter - 10, middle);
        pen.textAlign = "left";
      }
    }
    pen.restore();
  }
}

/** As much of a text as has room. */
function fitted(pen, text, room) {
  if (pen.measureText(text).width <= room) return text;
  let letters = Math.min(text.length - 1, 60);
  while (letters > 1 && pen.measureText(`${text.slice(0, letters)}…`).width > room) letters -= 1;
  return `${text.slice(0, letters)}…`;
}

/** A colour as the number of its pixel. */
function word(colour) {
  const one = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  one.fillStyle = colour || "#888";
  one.fillRect(0, 0, 1, 1);
  return new Uint32Array(one.getImageData(0, 0, 1, 1).data.buffer)[0];
}
