// A map of very many nodes on one canvas: a tile per node, a cell per device, islands a gap apart.
import { h, put } from "../dom.js";
import { deviceState, islands } from "../data.js";
import { deviceLine, nodeText } from "./words.js";
import { state } from "../parts.js";
import { number } from "../format.js";

const SIZES = [[200, 11], [500, 8], [Infinity, 5]]; // up to so many nodes: edge of a cell
const GAP = 1;
const ISLAND_GAP = 3;
const TILE_GAP = 5;
const DRAWN_ROWS = 2; // of an island's cells
const KINDS = ["free", "held", "held2", "part", "idle", "ill", "closed"];

export class Map_ {
  constructor(card) {
    this.kind = "map";
    this.nodes = [];
    this.at = -1; // the node that is looked at
    this.fixed = false;
    this.lit = new Set();
    this.canvas = h("canvas", { class: "fleet-map", tabindex: "0", role: "img" });
    this.card = card;
    this.root = h("div", { class: "fleet-map-hold" }, this.canvas);
    this.canvas.addEventListener("pointermove", (event) => !this.fixed && this.#look(this.#hit(event)));
    this.canvas.addEventListener("pointerleave", () => !this.fixed && this.#look(-1));
    this.canvas.addEventListener("click", (event) => this.#fix(this.#hit(event)));
    this.canvas.addEventListener("keydown", (event) => this.#key(event));
    this.sizes = new ResizeObserver(() => this.#lay());
    this.sizes.observe(this.root);
    this.theme = () => this.#draw();
    window.addEventListener("clearway-theme", this.theme);
    this.dark = matchMedia("(prefers-color-scheme: dark)");
    this.dark.addEventListener("change", this.theme);
  }

  show(nodes) {
    this.nodes = nodes;
    this.tiles = nodes.map((node) => ({ node, islands: islands(node) }));
    const free = nodes.reduce((sum, node) => sum + node.free_gpus, 0);
    this.canvas.setAttribute("aria-label", `Map of ${nodes.length} nodes, ${number(free)} devices free. Arrow keys go from node to node; the table shows the same in words.`);
    this.#lay();
    if (this.at >= 0) this.#tell();
    else this.#tellNothing();
  }

  close() {
    this.sizes.disconnect();
    window.removeEventListener("clearway-theme", this.theme);
    this.dark.removeEventListener("change", this.theme);
  }

  // --- where everything is ---

  #lay() {
    const width = this.root.clientWidth;
    if (width === 0 || this.nodes.length === 0) return;
    const cell = SIZES.find(([most]) => this.nodes.length <= most)[1];
    const widest = Math.max(...this.tiles.map((tile) => this.#width(tile, cell)));
    const height = DRAWN_ROWS * (cell + GAP) - GAP;
    const across = Math.max(1, Math.floor((width + TILE_GAP) / (widest + TILE_GAP)));
    this.place = { cell, across, step: widest + TILE_GAP, down: height + TILE_GAP, height, width };
    this.#draw();
  }

  #width(tile, cell) {
    const columns = tile.islands.map((island) => Math.ceil(island.devices.length / DRAWN_ROWS));
    return columns.reduce((sum, many) => sum + many * (cell + GAP) - GAP, 0) + Math.max(0, columns.length - 1) * ISLAND_GAP;
  }

  #hit(event) {
    const { across, step, down } = this.place;
    const box = this.canvas.getBoundingClientRect();
    const column = Math.floor((event.clientX - box.left) / step);
    const at = Math.floor((event.clientY - box.top) / down) * across + column;
    return column < across && at < this.nodes.length ? at : -1;
  }

  // --- drawing ---

  #draw() {
    if (!this.place) return;
    const { cell, across, step, down, height } = this.place;
    const tall = Math.ceil(this.nodes.length / across) * down;
    const scale = window.devicePixelRatio || 1;
    this.canvas.width = Math.round(across * step * scale);
    this.canvas.height = Math.round(tall * scale);
    this.canvas.style.width = `${across * step}px`;
    this.canvas.style.height = `${tall}px`;
    const pen = this.canvas.getContext("2d");
    pen.scale(scale, scale);
    const paths = Object.fromEntries(KINDS.map((kind) => [kind, new Path2D()]));
    const used = new Path2D();
    const lit = new Path2D();
    this.tiles.forEach((tile, at) => this.#trace(tile, (at % across) * step, Math.floor(at / across) * down, cell, paths, used, lit));
    this.#ink(pen, paths, used, lit, cell);
    if (this.at >= 0) {
      pen.strokeStyle = this.colour("--ink");
      pen.lineWidth = 1.5;
      pen.strokeRect((this.at % across) * step - 2, Math.floor(this.at / across) * down - 2 + 0.5, step - TILE_GAP + 4, height + 3);
    }
  }

  #trace(tile, left, top, cell, paths, used, lit) {
    let x = left;
    for (const island of tile.islands) {
      island.devices.forEach((device, n) => {
        const cx = x + Math.floor(n / DRAWN_ROWS) * (cell + GAP);
        const cy = top + (n % DRAWN_ROWS) * (cell + GAP);
        const kind = deviceState(tile.node, device);
        paths[kind === "held" && device.holders[0]?.job & 1 ? "held2" : kind].rect(cx, cy, cell, cell);
        if (kind === "part") used.rect(cx, cy + cell * (1 - device.held), cell, cell * device.held);
        else if (device.used > 0 && kind === "held") used.rect(cx, cy + cell * (1 - device.used), cell, cell * device.used);
        if (device.holders.some((one) => this.lit.has(one.job))) lit.rect(cx, cy, cell, cell);
      });
      x += Math.ceil(island.devices.length / DRAWN_ROWS) * (cell + GAP) - GAP + ISLAND_GAP;
    }
  }

  #ink(pen, paths, used, lit, cell) {
    const measured = this.nodes.some((node) => node.devices.some((device) => device.used != null));
    const colours = { free: "--map-free", held: measured ? "--map-soft" : "--map-held", held2: measured ? "--map-soft" : "--map-held-2", part: "--map-soft", idle: "--map-idle", ill: "--bad", closed: "--map-closed" };
    for (const kind of KINDS) {
      pen.fillStyle = this.colour(colours[kind]);
      pen.fill(paths[kind]);
    }
    pen.fillStyle = this.colour("--map-held");
    pen.fill(used);
    pen.fillStyle = this.colour("--ink");
    pen.fill(lit);
    this.cell = cell;
  }

  colour(name) {
    return getComputedStyle(this.canvas).getPropertyValue(name).trim();
  }

  // --- looking at one node ---

  #fix(at) {
    this.fixed = at >= 0 && !(this.fixed && at === this.at);
    this.#look(at);
  }

  #key(event) {
    const by = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: this.place?.across, ArrowUp: -(this.place?.across ?? 0), Home: -Infinity, End: Infinity }[event.key];
    if (event.key === "Escape") this.#fix(-1);
    if (by === undefined) return;
    event.preventDefault();
    this.fixed = true;
    this.#look(Math.max(0, Math.min(this.nodes.length - 1, this.at < 0 ? 0 : this.at + by)));
    this.#reach();
  }

  /** Scroll to the node that is looked at, where the map is taller than its place. */
  #reach() {
    const { across, down } = this.place;
    const top = Math.floor(this.at / across) * down;
    const low = this.root.scrollTop + this.root.clientHeight - down;
    if (top < this.root.scrollTop) this.root.scrollTop = top;
    else if (top > low) this.root.scrollTop += top - low;
  }

  #look(at) {
    if (at === this.at) return;
    this.at = at;
    this.lit = new Set(at < 0 ? [] : this.nodes[at].devices.flatMap((device) => device.holders.map((one) => one.job)));
    this.#draw();
    if (at < 0) this.#tellNothing();
    else this.#tell();
  }

  #tellNothing() {
    put(this.card, h("h2", {}, "No node chosen"), h("p", { class: "quiet small" }, "Point at a node on the map, or go there with the arrow keys, to see who holds it. A click keeps it in sight."));
  }

  #tell() {
    const node = this.nodes[this.at];
    if (!node) return this.#tellNothing();
    const words = [node.gpu_model, node.rack && `rack ${node.rack}`, node.zone && `zone ${node.zone}`].filter(Boolean).join(" · ");
    put(
      this.card,
      h("div", { class: "node-words" }, h("h2", { class: "name" }, node.name), state(node.state), words && h("span", { class: "quiet small" }, words), h("span", { class: "hidden" }, nodeText(node))),
      h("ul", { class: "lines" }, node.devices.map((device) => h("li", {}, deviceLine(node, device)))),
    );
  }
}
