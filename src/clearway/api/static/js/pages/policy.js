// What decides: the policy in force, how fast it decides, and what others would have done.
import { h, put } from "../dom.js";
import { get } from "../net.js";
import { watch } from "../live.js";
import { bones, empty, faultText, figures, heading, meter, pairs, panel, table, when } from "../parts.js";
import { number, span } from "../format.js";
import { shadowPanel } from "./shadow.js";
import { whatifsPanel } from "./whatifs.js";

const MEANINGS = {
  order: "who is next, compared in turn",
  backfill: "who may pass whom",
  preempt: "what may stop a job",
  estimate: "where run times come from",
  score: "which place is best",
};
const TIMES = new Set(["half_life", "min_runtime", "calm", "time_slice", "reservation_timeout", "lease", "ageing"]);

export function open(root) {
  const body = h("div", {}, bones(74, 260));
  put(root, heading("Policy"), body);
  const kept = watch((signal) => Promise.all(["policy", "status", "session", "whatifs", "policy/comparison"].map((name) => get(name, {}, signal))), show, { every: 5000, wants: (events) => events.some((event) => event.kind === "policy_changed"), failed: (error) => put(body, empty("The policy could not be read.", faultText(error), "warn")) });
  return () => kept.stop();

  function show([policy, status, who, whatifs, compared]) {
    const times = policy.decisions ?? null;
    put(body, numbers(policy, times), h("div", { class: "grid two" }, inForce(policy), h("div", { class: "grid" }, pace(times), itself(status, who))), h("div", { class: "grid after" }, shadowPanel(policy, compared, who, () => kept.again()), whatifsPanel(whatifs, policy, who, () => kept.again())));
  }
}

function numbers(policy, times) {
  const rows = [["In force", policy.called ?? "own words"]];
  if (times) {
    rows.push(["Decision time, median", times.median_ms == null ? "–" : `${number(times.median_ms)} ms`, `99 %: ${number(times.p99_ms)} ms`]);
    rows.push(["Turns looked at", number(times.turns), "of the last two hours"]);
  }
  if (policy.hash) rows.push(["Hash", policy.hash.slice(0, 10), "written with each decision"]);
  return figures(rows);
}

/** How long it took to decide, minute by minute. */
function pace(times) {
  if (!times || times.minutes.length === 0) return null;
  const rows = times.minutes.slice(-15).reverse();
  const most = Math.max(...rows.map((one) => one.p99_ms), 1e-9);
  const columns = [
    { name: "Minute", head: true, when: true, cell: (one) => when(one.at) },
    { name: "Turns", right: true, cell: (one) => number(one.turns) },
    { name: "Spread", cell: (one) => meter(one.median_ms / most, { soft: one.p99_ms / most, label: `median ${number(one.median_ms)} ms, 99 % within ${number(one.p99_ms)} ms` }) },
    { name: "Median, ms", right: true, cell: (one) => number(one.median_ms) },
    { name: "99 %, ms", right: true, cell: (one) => number(one.p99_ms) },
  ];
  return panel("How long it decides", { note: "the latest first" }, h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Decision times" }, table(columns, rows, { caption: "Decision times by minute", fold: false })));
}

function inForce(policy) {
  const words = policy.words ?? {};
  const first = Object.keys(MEANINGS).filter((name) => name in words);
  const rest = Object.keys(words).filter((name) => !(name in MEANINGS));
  return panel(
    "In force",
    {},
    h(
      "div",
      { class: "body grid" },
      h("dl", { class: "words" }, first.map((name) => h("div", {}, h("dt", {}, name, h("span", { class: "quiet small" }, ` ${MEANINGS[name]}`)), h("dd", {}, chain(words[name]))))),
      h("details", {}, h("summary", {}, "All other words"), pairs(rest.map((name) => [name.replaceAll("_", " "), said(name, words[name])]))),
    ),
  );
}

function chain(value) {
  const list = Array.isArray(value) ? value : value && typeof value === "object" ? Object.entries(value).map(([name, weight]) => `${name} × ${weight}`) : [String(value)];
  if (list.length === 0) return h("span", { class: "quiet" }, "never");
  return h("span", { class: "chips" }, list.map((one) => h("span", { class: "chip" }, one)));
}

function said(name, value) {
  if (value == null) return "none";
  if (TIMES.has(name)) return span(value);
  return typeof value === "boolean" ? (value ? "yes" : "no") : String(value);
}

function itself(status, who) {
  const { self_audit: audit, engine, controller } = status;
  const found = Object.values(audit.found ?? {}).reduce((sum, one) => sum + one, 0);
  return panel(
    "The controller",
    {},
    h(
      "div",
      { class: "body" },
      pairs([
        ["you are", `${who.name}, ${who.role}`],
        ["version", controller.version],
        ["running since", when(controller.since)],
        ["engine", engine.name],
        ["records", number(status.journal.records)],
        ["looked at itself", audit.at ? ["last ", when(audit.at), found ? `, ${number(found)} differences repaired` : ", all well"] : "not yet"],
        ...Object.entries(engine.enforced ?? {}).map(([name, how]) => [name, how]),
      ]),
    ),
  );
}
