// The tree of queues: what each may have, holds and waits for.
import { h, put } from "../dom.js";
import { get } from "../net.js";
import { watch } from "../live.js";
import { bones, empty, faultText, heading, meter, panel, table } from "../parts.js";
import { icon } from "../icons.js";
import { amounts, brief, number } from "../format.js";
import { edit } from "./queue_edit.js";

export function open(root) {
  const body = h("div", {}, bones(300));
  const add = h("button", { class: "button", type: "button", onclick: () => edit(null, names(), again) }, icon("plus"), "New queue");
  let rows = [];
  put(root, heading("Queues", { more: [add] }), body);
  const kept = watch((signal) => get("queues", {}, signal), show, { every: 5000, failed: (error) => put(body, empty("The queues could not be read.", faultText(error), "warn")) });
  return () => kept.stop();

  function again() {
    void kept.again();
  }
  function names() {
    return rows.map((row) => row.name);
  }
  function show({ queues }) {
    const now = JSON.stringify(queues);
    if (body.drawn === now) return;
    body.drawn = now;
    rows = queues;
    const largest = Math.max(1, ...queues.map((queue) => Math.max(gpus(queue.total_use ?? queue.use), gpus(queue.guarantee), gpus(queue.limit))));
    const columns = COLUMNS(largest).concat({
      name: "Edit",
      wide: true,
      cell: (queue) => h("button", { class: "button bare icon", type: "button", "aria-label": `Edit queue ${queue.name}`, onclick: () => edit(queue, names(), again) }, icon("edit")),
    });
    put(
      body,
      panel("All queues", { note: "GPUs, with all queues below" }, h("div", { class: "scroll" }, table(columns, tree(queues), { caption: "Queues as a tree, with guarantee, limit, use, share and what waits", className: "queues" }))),
      h("p", { class: "legend queue-legend" }, h("span", {}, h("i", { class: "bar-key", data: { kind: "running" } }), "holds"), h("span", {}, h("i", { class: "bar-key share-key" }), "fair share"), h("span", {}, h("i", { class: "bar-key line-key" }), "guarantee")),
    );
  }
}

const gpus = (map) => map?.gpus ?? 0;

/** Queues in the order of the tree, each with its depth. */
export function tree(queues) {
  const below = new Map();
  const known = new Set(queues.map((queue) => queue.name));
  for (const queue of queues) {
    const parent = known.has(queue.parent) ? queue.parent : null;
    below.set(parent, [...(below.get(parent) ?? []), queue]);
  }
  const found = [];
  const walk = (parent, depth) => {
    for (const queue of below.get(parent) ?? []) {
      found.push({ ...queue, depth });
      walk(queue.name, depth + 1);
    }
  };
  walk(null, 0);
  return found;
}

const COLUMNS = (largest) => [
  { name: "Queue", head: true, cell: (queue) => h("a", { class: "name queue-name", href: `#/jobs?queue=${encodeURIComponent(queue.name)}`, style: { "padding-left": `${queue.depth * 20}px` } }, queue.name) },
  { name: "Use", cell: (queue) => use(queue, largest) },
  { name: "Holds", right: true, cell: (queue) => number(gpus(queue.total_use ?? queue.use)) },
  { name: "Share", right: true, cell: (queue) => (queue.share ? number(Math.round((Object.values(queue.share)[0] ?? 0) * 10) / 10) : "–") },
  { name: "Guarantee", right: true, cell: (queue) => said(queue.guarantee) },
  { name: "Limit", right: true, cell: (queue) => said(queue.limit) },
  { name: "Weight", right: true, cell: (queue) => String(queue.weight) },
  { name: "Running", right: true, cell: (queue) => brief(queue.running) },
  { name: "Waiting", right: true, cell: (queue) => (queue.pending ? h("a", { href: `#/jobs?state=pending&queue=${encodeURIComponent(queue.name)}` }, brief(queue.pending)) : "0") },
];

function use(queue, largest) {
  const held = gpus(queue.total_use ?? queue.use);
  const share = queue.share?.gpus ?? null;
  const line = gpus(queue.guarantee) ? gpus(queue.guarantee) / largest : null;
  return meter(held / largest, { soft: share == null ? null : share / largest, line, label: `holds ${number(held)} GPUs, fair share ${share == null ? "not known" : number(share)}, guarantee ${said(queue.guarantee)}` });
}

const said = (map) => {
  const list = amounts(map);
  return list.length === 0 ? "–" : list.map((one) => one.replace(/ GPU$/, "")).join(", ");
};
