// Workflows, schedules and searches.
import { h, put } from "../dom.js";
import { get, path, post } from "../net.js";
import { watch } from "../live.js";
import { bones, code, confirm, empty, faultText, heading, meter, panel, state, table, told, when } from "../parts.js";
import { brief } from "../format.js";
import { short } from "./search_plot.js";

const KINDS = new Set(["flow_began", "flow_step", "flow_ended", "search_began", "search_ended", "schedule_changed", "tick", "ended", "started"]);

export function open(root) {
  const body = h("div", { class: "grid" }, bones(200, 160, 160));
  put(root, heading("Workflows"), body);
  const ask = (signal) => Promise.all(["flows", "schedules", "searches"].map((name) => get(name, {}, signal)));
  const kept = watch(ask, show, { every: 10000, wants: (events) => events.some((event) => KINDS.has(event.kind)), failed: (error) => put(body, empty("They could not be read.", faultText(error), "warn")) });
  return () => kept.stop();

  function show([{ flows }, { schedules }, { searches }]) {
    put(body, flowsPanel(flows.filter((flow) => flow.part_of == null)), schedulesPanel(schedules, kept.again), searchesPanel(searches));
  }
}

function flowsPanel(flows) {
  if (flows.length === 0) return panel("Workflows", {}, empty("No workflow has been entered.", ["Write steps into a file, then: ", code("clearway flow run FILE")], "workflows"));
  const columns = [
    { name: "Workflow", head: true, cell: (flow) => h("a", { class: "name", href: `#/workflows/flow/${flow.id}` }, flow.name) },
    { name: "State", cell: (flow) => state(flow.state) },
    { name: "Run", right: true, cell: (flow) => String(flow.run) },
    { name: "Began", when: true, cell: (flow) => when(flow.began) },
    { name: "Steps", wide: true, cell: (flow) => h("span", { class: "chips" }, Object.entries(flow.steps).map(([name, many]) => h("span", { class: "chip" }, h("b", {}, brief(many)), name.replaceAll("_", " ")))) },
    { name: "Why", long: true, cell: (flow) => (flow.reason ?? flow.asks.length > 0) && h("span", { class: "name quiet" }, flow.reason?.text ?? `waits for a person: ${flow.asks.slice(0, 3).join(", ")}`) },
  ];
  return panel("Workflows", {}, h("div", { class: "scroll" }, table(columns, flows, { caption: "Workflows, newest first" })));
}

function schedulesPanel(schedules, again) {
  if (schedules.length === 0) return panel("Schedules", {}, empty("No schedule is set.", ["A job or workflow at fixed times: ", code("clearway schedule set FILE")], "timeline"));
  const change = (schedule) => async () => {
    const verb = schedule.paused ? "resume" : "pause";
    const name = schedule.name.slice(0, 80);
    const done = await confirm(schedule.paused ? `Have ${name} fire again?` : `Let the ticks of ${name} pass?`, "Runs that are there go on.", schedule.paused ? "Resume" : "Pause", () => post(path("schedules", schedule.name, verb)));
    if (done) told(`Schedule ${name}: ${verb}d.`);
    void again();
  };
  const columns = [
    { name: "Schedule", head: true, cell: (one) => h("span", { class: "name" }, one.name) },
    { name: "When", wide: true, cell: (one) => h("span", { class: "name" }, `${one.cron} ${one.timezone}`) },
    { name: "Next", wide: true, when: true, cell: (one) => (one.paused ? state("suspended") : when(one.next)) },
    { name: "Runs now", cell: (one) => h("span", { class: "name" }, one.active.join(", ") || "–") },
    { name: "Last", cell: (one) => h("span", { class: "name" }, one.last ?? "–") },
    { name: "Do", cell: (one) => h("button", { class: "button", type: "button", onclick: change(one) }, one.paused ? "Resume" : "Pause") },
  ];
  return panel("Schedules", {}, h("div", { class: "scroll" }, table(columns, schedules, { caption: "Schedules with their next ticks" })));
}

function searchesPanel(searches) {
  if (searches.length === 0) return panel("Searches", {}, empty("No search has been entered.", ["Try many settings side by side: ", code("clearway search run FILE")], "find"));
  const columns = [
    { name: "Search", head: true, cell: (one) => h("a", { class: "name", href: `#/workflows/search/${encodeURIComponent(one.name)}` }, one.name) },
    { name: "State", cell: (one) => state(one.state) },
    { name: "Trials", cell: (one) => meter(one.completed / Math.max(1, one.wanted), { label: `${one.completed} of ${one.wanted} trials` }) },
    { name: "Done", right: true, cell: (one) => `${brief(one.completed)} of ${brief(one.wanted)}` },
    { name: "Failed", right: true, cell: (one) => brief(one.failed) },
    { name: "Best", wide: true, cell: (one) => one.best && h("span", { class: "name" }, `${typeof one.best.value === "number" ? short(one.best.value) : JSON.stringify(one.best.value)} at ${Object.entries(one.best.point).map(([name, value]) => `${name} ${typeof value === "string" ? value : typeof value === "number" ? short(value) : JSON.stringify(value)}`).join(", ")}`) },
  ];
  return panel("Searches", {}, h("div", { class: "scroll" }, table(columns, searches, { caption: "Searches, newest first" })));
}
