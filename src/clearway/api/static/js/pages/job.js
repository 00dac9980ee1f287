// One job: what it is, what it holds, why, what would change that, what it wrote.
import { h, keyed, put } from "../dom.js";
import { get, path } from "../net.js";
import { watch } from "../live.js";
import { bones, empty, faultText, figures, heading, meter, pairs, panel, state, table, when } from "../parts.js";
import { amount, brief, exact, local, moment, now, number, percent, seconds, span } from "../format.js";
import { actions } from "./job_acts.js";
import { Log } from "./job_log.js";
import { outlookPanel } from "./job_outlook.js";

export function open(root, { parts }) {
  const ref = parts[0];
  const place = Object.fromEntries(["top", "why", "held", "outlook", "attempts", "asked", "events"].map((name) => [name, h("div", {})]));
  const log = new Log(ref);
  put(root, place.top, h("div", { class: "grid wide-left job" }, h("div", { class: "grid" }, place.why, place.outlook, log.root, place.attempts, place.events), h("div", { class: "grid" }, place.held, place.asked)));
  put(place.top, bones(120));
  let known = null;
  let outlook = null;
  const mine = (events) => events.some((event) => event.job === known?.id || event.kind === "waits");
  const kept = watch((signal) => Promise.all([get(path("jobs", ref), {}, signal), get(path("jobs", ref, "why"), {}, signal), get(path("jobs", ref, "events"), {}, signal)]), show, { wants: (events) => known === null || mine(events), every: 10000, failed });

  function show([job, why, { events }]) {
    known = job;
    put(place.top, heading(job.name, { note: `job ${job.id}`, more: actions(job, () => kept.again()) }), summary(job));
    put(place.why, whyPanel(job, why));
    put(place.held, heldPanel(job));
    put(place.attempts, attemptsPanel(job));
    put(place.asked, askedPanel(job));
    put(place.events, eventsPanel(events));
    log.show(job);
    if (job.state === "pending" && outlook === null) {
      outlook = outlookPanel(job.id);
      put(place.outlook, outlook.root);
    } else if (job.state !== "pending" && outlook !== null) {
      outlook.stop();
      outlook = null;
      put(place.outlook);
    }
  }

  function failed(error) {
    if (known === null) put(place.top, heading("Job"), empty(error.status === 404 ? "There is no such job at hand." : "The job could not be read.", faultText(error), "warn"));
  }

  return () => {
    kept.stop();
    log.close();
    outlook?.stop();
  };
}

function summary(job) {
  const began = job.started ?? null;
  const end = job.ended ?? job.stopped;
  const left = job.left?.median_s == null ? null : job.left;
  const rows = [
    ["State", h("span", {}, state(job.inner_state ?? job.state))],
    ["Queue", job.queue || "–"],
    ["GPUs", number(job.gpus), job.tasks > 1 ? `in ${brief(job.tasks)} tasks` : ""],
    ["Waited", span((seconds(began) ?? now()) - seconds(job.submitted))],
    began && ["Ran", span((job.state === "running" ? now() : (seconds(end) ?? now())) - seconds(began)), job.attempt > 1 ? `attempt ${job.attempt}` : ""],
    left && ["Left", `about ${span(left.median_s)}`, `8 of 10: ${span(left.low_s)} to ${span(left.high_s)}`],
    job.odd && ["Not as foreseen", job.odd.text],
    job.left?.step != null && ["Step", job.left.total ? `${brief(job.left.step)} of ${brief(job.left.total)}` : brief(job.left.step), `told ${moment(job.left.told, true)}`],
  ].filter(Boolean);
  return h("dl", { class: "figures job-figures" }, rows.map(([name, value, small]) => h("div", {}, h("dt", {}, name), h("dd", { class: "cut", title: typeof value === "string" ? value.slice(0, 300) : null }, value, small && h("small", {}, ` ${small}`)))));
}

function whyPanel(job, why) {
  const title = { pending: "Why it waits", running: "Why it runs here and now" }[job.state] ?? "Why it ended so";
  const reasons = why.reasons.length === 0 ? [h("p", { class: "quiet" }, "Nothing is recorded beyond its state.")] : why.reasons.map((one) => h("li", {}, h("span", { class: "chip" }, one.code), h("p", {}, local(one.text))));
  const causes = why.causes.slice(-6).reverse();
  return panel(
    title,
    { note: why.reasons_since ? `since ${moment(why.reasons_since, true)}` : "" },
    h(
      "div",
      { class: "body grid why" },
      why.expected && h("p", { class: "promise" }, "Promised to start by ", when(why.expected.start), ` on ${why.expected.nodes.join(", ")}.`),
      h("ul", { class: "reasons" }, reasons),
      orders(why.order),
      causes.length > 0 && h("details", {}, h("summary", {}, "What caused what"), h("ol", { class: "causes" }, causes.map((one) => h("li", {}, when(one.at, { withSeconds: true }), " ", h("strong", {}, one.kind.replaceAll("_", " ")), one.attempt ? ` (attempt ${one.attempt})` : "", `: ${local(one.text)}`)))),
    ),
  );
}

function orders(order) {
  if (!order) return null;
  const said = Object.entries(order.parts).map(([name, part]) => h("span", { class: "chip" }, name, h("b", {}, number(part))));
  return h("div", {}, h("p", { class: "quiet small" }, order.summed ? "Its place in the order is the sum of these, the smaller first:" : "Its place in the order is compared by these in turn, the smaller first:"), h("div", { class: "chips" }, said));
}

function heldPanel(job) {
  const nodes = Object.entries(job.devices ?? {});
  if (nodes.length === 0) return panel("What it holds", {}, h("div", { class: "body" }, h("p", { class: "quiet small" }, job.state === "pending" ? "Nothing yet." : "Nothing any more.")));
  const columns = [
    { name: "Node", head: true, cell: ([node]) => h("span", { class: "name" }, node) },
    { name: "Devices", cell: ([, devices]) => (devices.length > 0 ? devices.join(", ") : "no GPU") },
  ];
  return panel(job.ended ? "What it held" : "What it holds", {}, table(columns, nodes, { caption: "Nodes and devices", fold: false }), useOf(job));
}

/** What it really uses of what it holds, now; against what it asked for, where it asked for an amount. */
function useOf(job) {
  const use = job.use;
  if (!use) return job.state === "running" && h("div", { class: "body" }, h("p", { class: "quiet small" }, "What it really uses has not been measured yet."));
  const words = job.words ?? {};
  const asked = (name) => (words[name] > 0 && words[name] * job.tasks) || null;
  const rows = [
    job.gpus > 0 && ["GPUs", use.gpus, use.gpus == null ? "not measured here" : `${percent(use.gpus)} of the time at work`],
    use.gpu_memory > 0 && ["GPU memory", null, amount("gpu_memory", use.gpu_memory)],
    use.cpus != null && ["CPUs", asked("cpus") && use.cpus / asked("cpus"), asked("cpus") ? `${number(round(use.cpus))} of ${number(asked("cpus"))}` : number(round(use.cpus))],
    use.memory != null && ["Memory", asked("memory") && use.memory / asked("memory"), asked("memory") ? `${amount("memory", use.memory)} of ${amount("memory", asked("memory"))}` : amount("memory", use.memory)],
  ].filter(Boolean);
  const line = ([name, part, text]) => [h("dt", {}, name), h("dd", {}, part != null && meter(part, { label: `${name}: ${text}` }), h("span", {}, text))];
  return h("div", { class: "body" }, h("h3", { class: "small" }, "Really used now"), h("dl", { class: "uses" }, rows.flatMap(line)));
}

const round = (n) => Math.round(n * 100) / 100;

/** What an attempt used, in a few words. */
function usedWords(used) {
  if (!used) return null;
  const said = [
    used.gpus != null && `GPUs ${percent(used.gpus)}`,
    used.peak_gpu_memory != null && `GPU memory up to ${amount("gpu_memory", used.peak_gpu_memory)}`,
    used.cpus != null && `CPUs ${number(round(used.cpus))}, at most ${number(round(used.peak_cpus))}`,
    used.peak_memory != null && `memory up to ${amount("memory", used.peak_memory)}`,
  ].filter(Boolean);
  return h("ul", { class: "lines" }, said.map((text) => h("li", {}, text)));
}

function attemptsPanel(job) {
  if (job.attempts.length === 0) return null;
  const columns = [
    { name: "Attempt", head: true, cell: (one) => `Attempt ${one.number}` },
    { name: "From", when: true, cell: (one) => when(one.from, { withSeconds: true }) },
    { name: "Lasted", right: true, when: true, cell: (one) => span((seconds(one.to) ?? now()) - seconds(one.from)) },
    { name: "Ended", cell: (one) => state(one.end ?? "running") },
    { name: "Used", long: true, cell: (one) => usedWords(one.used) },
    { name: "Where", cell: (one) => h("span", { class: "name" }, [...new Set(one.tasks.map((task) => task.node))].join(", ")) },
    { name: "Why", long: true, cell: (one) => one.cause && h("span", { class: "name quiet" }, local(one.cause)) },
  ];
  return panel("Attempts", {}, h("div", { class: "scroll" }, table(columns, [...job.attempts].reverse(), { caption: "Its attempts, latest first" })));
}

const IN_SECONDS = new Set(["time_limit", "time_estimate", "start_deadline", "retry_backoff", "retry_backoff_max", "retry_window"]);
const NOTHING = new Set(["gpu_memory", "cpus", "memory", "disk", "bandwidth", "max_retries"]); // not asked for
const FIRST = ["tasks", "gpus", "gpu_model", "gpu_memory", "cpus", "memory", "priority", "time_limit", "time_estimate", "deadline", "after", "uses", "topology", "max_retries", "preemptible", "user", "tenant", "labels", "workdir"];

function askedPanel(job) {
  const words = job.words ?? {};
  const rows = FIRST.map((name) => [name.replaceAll("_", " "), shown(name, words[name])]);
  const run = job.command?.run;
  return panel(
    "What it asked for",
    {},
    h("div", { class: "body grid" }, run && h("pre", { class: "command", tabindex: "0" }, Array.isArray(run) ? run.join(" ") : run), pairs(rows)),
  );
}

function shown(name, value) {
  if (value == null || value === "" || (Array.isArray(value) && value.length === 0)) return null;
  if (value === 0 && NOTHING.has(name)) return null;
  if (IN_SECONDS.has(name)) return span(value);
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value === "number") return amount(name, value);
  if (Array.isArray(value)) return value.map((one) => (typeof one === "object" ? JSON.stringify(one) : String(one))).join(", ");
  if (typeof value === "object") {
    const said = Object.entries(value).map(([key, one]) => `${key}: ${one}`);
    return said.length > 0 ? said.join(", ") : null;
  }
  return name === "deadline" ? exact(value) : String(value);
}

function eventsPanel(events) {
  const list = h("ol", { class: "events" });
  keyed(list, [...events].reverse().slice(0, 100), (event) => `${event.at} ${event.kind} ${event.attempt ?? ""}`, (event) => h("li", {}, when(event.at, { withSeconds: true }), h("strong", {}, event.kind.replaceAll("_", " ")), (event.cause ?? event.text) && h("span", { class: "quiet name" }, local(event.cause ?? event.text))));
  return panel("Events", { note: events.length > 100 ? `the latest 100 of ${brief(events.length)}` : "latest first" }, h("div", { class: "body" }, list));
}
