// The fleet: cards where there are few nodes, a map where there are many, or a table.
import { h, put } from "../dom.js";
import { empty, state, table } from "../parts.js";
import { Cards } from "./cards.js";
import { Map_ } from "./map.js";
import { deviceLine, legend } from "./words.js";
import { pager } from "../parts.js";
import { brief, number } from "../format.js";

const FEW = 48; // nodes that are still cards
const PAGE = 50;

export class Fleet {
  constructor() {
    this.root = h("div", { class: "fleet" });
    this.look = h("div", { class: "panel node-look", hidden: true });
    this.nodes = [];
    this.places = new Map(); // a job's nodes
    this.kind = "map";
    this.page = 0;
    this.view = null;
  }

  /** Show as `map` or `table`. */
  as(kind) {
    this.kind = kind;
    this.#renew();
  }

  show(nodes) {
    this.nodes = nodes;
    this.#know();
    this.#renew();
  }

  /** Show some nodes as they are now. */
  renew(some) {
    const now = new Map(some.map((node) => [node.name, node]));
    const known = new Set(this.nodes.map((node) => node.name));
    this.nodes = [...this.nodes.map((node) => now.get(node.name) ?? node), ...some.filter((node) => !known.has(node.name))];
    this.#know();
    this.#renew();
  }

  /** Show devices without jobs whose attempts have ended, before the controller is asked. */
  drop(jobs) {
    const over = new Set(jobs.filter((job) => this.places.has(job)));
    if (over.size === 0) return;
    for (const node of this.nodes.filter((one) => jobs.some((job) => this.places.get(job)?.has(one.name))))
      for (const device of node.devices) {
        const gone = device.holders.filter((one) => over.has(one.job));
        if (gone.length === 0) continue;
        device.holders = device.holders.filter((one) => !over.has(one.job));
        device.held = device.holders.length === 0 ? 0 : device.held;
      }
    this.#know();
    this.#renew();
  }

  /** The nodes on which a job holds something, as was seen last. */
  nodesOf(job) {
    return this.places.get(job) ?? [];
  }

  #know() {
    const places = new Map();
    for (const node of this.nodes)
      for (const device of node.devices)
        for (const { job } of device.holders) {
          if (!places.has(job)) places.set(job, new Set());
          places.get(job).add(node.name);
        }
    this.places = places;
  }

  close() {
    this.view?.close();
    this.view = null;
  }

  #renew() {
    const wanted = this.nodes.length === 0 ? "none" : this.kind === "table" ? "table" : this.nodes.length <= FEW ? "cards" : "map";
    this.look.hidden = wanted !== "map";
    if (wanted === "table" || wanted === "none") {
      this.close();
      put(this.root, wanted === "none" ? empty("No nodes.", "Nothing has joined this fleet yet.", "now") : this.#table());
      return;
    }
    if (this.view?.kind !== wanted) {
      this.close();
      this.view = wanted === "cards" ? new Cards() : new Map_(this.look);
      put(this.root, legend(), this.view.root);
    }
    this.view.show(this.nodes);
  }

  #table() {
    const first = this.page * PAGE;
    const rows = this.nodes.slice(first, first + PAGE);
    const columns = [
      { name: "Node", head: true, cell: (node) => h("span", { class: "name" }, node.name) },
      { name: "State", cell: (node) => state(node.state) },
      { name: "Model", cell: (node) => node.gpu_model ?? "–" },
      { name: "GPUs", right: true, cell: (node) => number(node.gpus) },
      { name: "Free", right: true, cell: (node) => number(node.free_gpus) },
      { name: "Devices", long: true, cell: (node) => h("ul", { class: "lines" }, node.devices.map((device) => h("li", {}, deviceLine(node, device)))) },
    ];
    const step = (by) => () => {
      this.page += by;
      this.#renew();
    };
    const last = Math.ceil(this.nodes.length / PAGE) - 1;
    return [
      h("div", { class: "scroll" }, table(columns, rows, { caption: "Nodes with their devices and who holds them" })),
      last > 0 && pager(`${brief(first + 1)}–${brief(first + rows.length)} of ${brief(this.nodes.length)} nodes`, this.page > 0 && step(-1), this.page < last && step(1)),
    ];
  }
}
