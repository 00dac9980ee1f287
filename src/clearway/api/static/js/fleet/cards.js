// A card for each node, a tile for each device, NVLink islands in a frame of their own.
import { h, keyed, mark, put } from "../dom.js";
import { deviceState, islands } from "../data.js";
import { state } from "../parts.js";
import { number, percent } from "../format.js";
import { deviceText } from "./words.js";

export class Cards {
  constructor() {
    this.kind = "cards";
    this.root = h("ul", { class: "node-cards" });
    this.root.addEventListener("pointerover", (event) => this.#light(event.target));
    this.root.addEventListener("pointerleave", () => this.#light(null));
    this.root.addEventListener("focusin", (event) => this.#light(event.target));
  }

  show(nodes) {
    keyed(this.root, nodes, (node) => node.name, make, renew);
  }

  close() {}

  /** Light up all devices of the job that is pointed at. */
  #light(target) {
    const job = target?.closest?.("[data-job]")?.dataset.job ?? null;
    for (const tile of this.root.querySelectorAll("[data-job]")) mark(tile, "data-lit", job !== null && tile.dataset.job === job ? "" : null);
  }
}

function make(node) {
  const card = h("li", { class: "node-card" });
  return card;
}

function renew(card, node) {
  const now = JSON.stringify([node.state, node.free_gpus, node.devices, node.links]);
  if (card.drawn === now) return;
  card.drawn = now;
  const words = [node.gpu_model, node.rack && `rack ${node.rack}`].filter(Boolean).join(" · ");
  put(
    card,
    h("header", {}, h("strong", { class: "cut", title: node.name }, node.name), node.state === "ready" ? h("span", { class: "quiet small" }, `${number(node.free_gpus)} free`) : state(node.state)),
    words && h("p", { class: "quiet small cut", title: words }, words),
    node.devices.length === 0
      ? h("p", { class: "quiet small" }, "no GPUs")
      : h("div", { class: "islands" }, islands(node).map((island) => h("ul", { class: "island", data: { linked: String(island.linked) }, "aria-label": island.linked ? "NVLink island" : "devices" }, island.devices.map((device) => tile(node, device))))),
  );
}

function tile(node, device) {
  const kind = deviceState(node, device);
  const fill = h("i", { class: "fill", style: { height: `${Math.min(1, device.used ?? 0) * 100}%` } });
  const parts = device.holders.map((one) =>
    h("a", { class: "part", href: `#/jobs/${one.job}`, data: { job: one.job }, style: { flex: `${Math.max(0.12, one.share)} 1 0` }, title: String(one.name).slice(0, 200), "aria-label": `${one.name}: ${deviceText(node, device)} of ${node.name}` }, h("span", { class: "cut" }, one.name)),
  );
  const free = Math.max(0, 1 - device.held);
  return h(
    "li",
    { class: "device", data: { kind }, title: deviceText(node, device) },
    h("span", { class: "device-no" }, String(device.number), device.used != null && h("small", {}, ` ${percent(device.used)}`)),
    h("span", { class: "parts" }, parts, free > 0 && h("span", { class: "rest", style: { flex: `${free} 1 0` } }, parts.length === 0 && (kind === "free" ? "free" : kind === "ill" ? "ill" : "closed"))),
    device.used != null && fill,
  );
}
