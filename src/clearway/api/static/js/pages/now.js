// What is so now: who holds what, and who waits for what.
import { h, put } from "../dom.js";
import { get } from "../net.js";
import { onEvents, watch } from "../live.js";
import { fleet, someNodes } from "../data.js";
import { bones, choice, empty, figures, heading, panel } from "../parts.js";
import { ago, brief, number, percent } from "../format.js";
import { Fleet } from "../fleet/fleet.js";
import { attention } from "./attention.js";
import { Waiting } from "./waiting.js";

const MOST_NODES = 100; // of which news are asked for by name; more are all asked for
const ALL_MS = 10000;

export function open(root) {
  const top = h("div", {}, bones(74));
  const view = new Fleet();
  const waiting = new Waiting();
  const shown = choice("How the fleet is shown", [["map", "Map"], ["table", "Table"]], "map", (kind) => view.as(kind));
  const beside = h("div", { class: "grid beside" }, view.look, panel("Waiting", { id: "waiting" }, waiting.root));
  put(root, heading("Now"), top, h("div", { class: "grid now" }, panel("Fleet", { id: "fleet", more: [shown] }, view.root), beside));
  let counted = null;
  const all = watch(fleet, (nodes) => {
    view.show(nodes);
    if (counted) put(top, numbers(counted, nodes), attention(counted, nodes)); // what is really used is told with the devices
  }, { wants: () => false, every: ALL_MS });
  const counts = watch((signal) => get("overview", {}, signal), (told) => {
    counted = told;
    put(top, numbers(told, view.nodes), attention(told, view.nodes));
    waiting.count(told.waiting, Object.keys(told.jobs).length === 0);
  }, { every: ALL_MS });
  const news = touched(view, () => void all.again());
  const line = waiting.watch();
  return () => {
    for (const one of [all, counts, line]) one.stop();
    news();
    view.close();
  };
}

/** Have the nodes that events are about shown as they are now. */
function touched(view, everything) {
  let names = new Set();
  let busy = false;
  async function ask() {
    if (busy || names.size === 0) return;
    const mine = names;
    names = new Set();
    busy = true;
    try {
      if (mine.size > MOST_NODES) everything();
      else view.renew(await someNodes([...mine]));
    } catch {
      // the next look at all of them shows it
    } finally {
      busy = false;
    }
    void ask();
  }
  return onEvents((events) => {
    for (const event of events) {
      if (event.node) names.add(event.node);
      for (const node of event.kind === "started" ? event.nodes : []) names.add(node);
      if (event.kind === "attempt_ended" || event.kind === "resized") for (const node of view.nodesOf(event.job)) names.add(node);
    }
    view.drop(events.filter((event) => event.kind === "attempt_ended").map((event) => event.job));
    void ask();
  });
}

function numbers(told, nodes) {
  const { gpus, jobs, waiting } = told;
  const all = Object.values(told.nodes).reduce((sum, many) => sum + many, 0);
  if (all === 0) return empty("No node has joined yet.", "They show here as soon as the engine reports them.", "now");
  const measured = nodes.flatMap((node) => node.devices).filter((device) => device.used != null);
  const mean = measured.reduce((sum, device) => sum + device.used, 0) / measured.length;
  const longest = waiting.map((one) => one.longest?.submitted).filter(Boolean).sort()[0];
  const others = Object.entries(told.nodes).filter(([state]) => state !== "ready").map(([state, many]) => `${many} ${state}`);
  return figures(
    [
      ["GPUs held", number(gpus.held), `of ${brief(gpus.total)}`],
      ["GPUs free", number(gpus.free)],
      measured.length > 0 && ["Really used", percent(mean), "measured"],
      ["Jobs running", brief(jobs.running ?? 0)],
      ["Jobs waiting", brief(jobs.pending ?? 0), longest ? `longest ${ago(longest).replace(" ago", "")}` : ""],
      ["Nodes", brief(all), others.join(", ")],
    ].filter(Boolean),
  );
}
