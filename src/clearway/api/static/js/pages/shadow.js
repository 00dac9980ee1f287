// A policy that is tried beside the one in force: what it would change, and the way to put it in force.
import { h, s } from "../dom.js";
import { post } from "../net.js";
import { code, confirm, empty, pairs, panel, table, told, when } from "../parts.js";
import { number, span } from "../format.js";

const MAY_TRY = new Set(["operator", "admin"]);
const SHOWN = 5;
const EDGE = { left: 72, right: 16, top: 14, bottom: 30 };
const WHY = { settings: "by the settings", promoted: "promoted", "rolled back": "by a rollback" };
const SIGHT = { beginning: "it has just begun", "catching up": "it comes to the newest records soon", watching: "up to now" };

/** The panel on the page of the policy. */
export function shadowPanel(policy, compared, who, again) {
  const { candidate, guard } = policy;
  const buttons = acts(policy, who, again);
  const note = candidate === null ? null : `${candidate.name} beside ${compared.in_force}, ${SIGHT[compared.state] ?? compared.state}`;
  const changes = history(policy.changes.slice(0, SHOWN));
  if (candidate === null) return panel("Tried beside it", { more: buttons }, standing(policy), empty("No other policy decides beside it.", ["One that is tried decides on the same events and does nothing: ", code("clearway policy shadow sjf")], "policy"), changes);
  const failed = compared.state === "failed" && h("p", { class: "body quiet", role: "status" }, `It is not followed: ${compared.reason}.${guard === null ? "" : " The guard sees nothing until it is."}`);
  return panel("Tried beside it", { more: buttons, note }, standing(policy), failed, compared.comparison === null ? empty("Nothing has come of it yet.", "The first jobs that start show here.", "find") : result(compared), changes);
}

function standing(policy) {
  const { guard, before, how, by } = policy;
  const rows = [["In force", [`${policy.called ?? "own words"}, ${WHY[how]}`, by && ` by ${by.slice(0, 40)}`, policy.since && [", since ", when(policy.since)]]]];
  if (how !== "settings") rows.push(["The settings say", `${policy.settings}; that holds again when another policy stands there`]);
  if (guard && guard.blind) rows.push(["The guard sees nothing", guard.blind]);
  if (guard) rows.push(["Guard", ["until ", when(guard.until), `: ${before} is put in force again where a tenant waits ${number(guard.bound)} % and ${span(guard.least_s)} longer, by the mean of ${number(guard.jobs)} jobs or more`]]);
  return h("div", { class: "body" }, pairs(rows));
}

function result({ comparison, candidate, in_force: before }) {
  const { whole } = comparison;
  const groups = [...comparison.tenants.map((one) => ["tenant", one]), ...comparison.queues.map((one) => ["queue", one])];
  const rows = [["all", whole], ...groups].filter(([, one]) => one.jobs > 0);
  if (rows.length === 0) return empty("Nothing has come of it yet.", "The first jobs that start show here.", "find");
  const columns = [
    { name: "Jobs of", head: true, cell: ([kind, one]) => (kind === "all" ? "all" : `${kind} ${one.name || "(none)"}`) },
    { name: "Jobs", right: true, cell: ([, one]) => number(one.jobs) },
    { name: "Mean wait", right: true, cell: ([, one]) => span(one.wait_s) },
    { name: "It would be", right: true, cell: ([, one]) => span(one.would_s) },
    { name: "Gain", cell: ([, one]) => gain(one) },
    { name: "Slowdown", right: true, cell: ([, one]) => (one.slowdown == null ? "–" : `${one.slowdown.toFixed(1)} → ${one.would_slowdown.toFixed(1)}`) },
    { name: "Same start", right: true, cell: ([, one]) => number(one.same) },
    { name: "Earlier", right: true, cell: ([, one]) => number(one.earlier) },
    { name: "Later", right: true, cell: ([, one]) => number(one.later) },
  ];
  const late = comparison.late && h("p", { class: "body quiet small" }, "Its first records are gone: it began later than it was set.");
  return [late, plot(comparison, before, candidate), h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Waits under both policies" }, table(columns, rows, { caption: "Waits under both policies" }))];
}

function gain(one) {
  const less = one.wait_s - one.would_s;
  if (Math.abs(less) < 0.5) return h("span", { class: "quiet" }, "none");
  return h("span", { class: "verdict", data: { verdict: less > 0 ? "sooner" : "later" } }, `${span(Math.abs(less))} ${less > 0 ? "less" : "longer"}`);
}

/** Mean waits over the time of the submits: a line for each policy. */
function plot(comparison, before, candidate) {
  const steps = comparison.over_time.filter((one) => one.jobs > 0);
  if (steps.length < 2) return null;
  const wide = Math.round(Math.min(1080, Math.max(300, document.getElementById("page").clientWidth - 90)));
  const tall = 200;
  const times = steps.map((one) => Date.parse(one.at));
  const most = Math.max(1, ...steps.map((one) => Math.max(one.wait_s, one.would_s)));
  const x = (at) => EDGE.left + ((at - times[0]) / (times.at(-1) - times[0])) * (wide - EDGE.left - EDGE.right);
  const y = (wait) => tall - EDGE.bottom - (wait / most) * (tall - EDGE.top - EDGE.bottom);
  const line = (name) => steps.map((one, n) => `${n === 0 ? "M" : "L"}${x(times[n]).toFixed(1)} ${y(one[name]).toFixed(1)}`).join("");
  const word = (at, down, anchor, text) => s("text", { class: "plot-word", x: at, y: down, "text-anchor": anchor }, text);
  const moment = (iso) => new Date(iso).toLocaleString([], { month: "short", day: "numeric", hour: "2-digit", minute: "2-digit" });
  const label = `Mean waits of jobs by the time of their submit, up to ${span(most)}, under ${before} and as they would be under ${candidate}. The table below has the means.`;
  return h(
    "div",
    { class: "body plot" },
    s(
      "svg",
      { width: wide, height: tall, viewBox: `0 0 ${wide} ${tall}`, role: "img", "aria-label": label },
      [0, 0.5, 1].map((part) => [s("path", { class: "plot-line", d: `M${EDGE.left} ${y(most * part)}H${wide - EDGE.right}` }), word(EDGE.left - 8, y(most * part) + 4, "end", span(most * part))]),
      word(EDGE.left, tall - 8, "start", moment(steps[0].at)),
      word(wide - EDGE.right, tall - 8, "end", moment(steps.at(-1).at)),
      s("path", { class: "plot-live", d: line("wait_s") }),
      s("path", { class: "plot-best", d: line("would_s") }),
    ),
    h("p", { class: "quiet small" }, `mean wait by the time of the submit; dashed: ${before}, in force; solid: as it would be under ${candidate}`),
  );
}

function history(changes) {
  if (changes.length === 0) return null;
  const why = ({ worse }) => (worse ? `${worse.tenant ? `tenant ${worse.tenant}` : "jobs without a tenant"}: ${number(worse.jobs)} jobs waited ${span(worse.wait_s)}, not ${span(worse.would_s)}` : "");
  const columns = [
    { name: "When", head: true, when: true, cell: (one) => when(one.at) },
    { name: "Policy", cell: (one) => h("span", { class: "name" }, one.name.slice(0, 60)) },
    { name: "What", cell: (one) => one.what },
    { name: "By", cell: (one) => h("span", { class: "name" }, one.by ?? (one.worse ? "the guard" : "–")) },
    { name: "Why", wide: true, cell: why },
  ];
  return [h("h3", { class: "body apart" }, "Last changes"), h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Last changes of policies" }, table(columns, changes, { caption: "Changes of policies, newest first" }))];
}

function acts(policy, who, again) {
  const button = (text, act) => h("button", { class: "button", type: "button", onclick: act }, text);
  const { candidate, guard, before } = policy;
  const done = async (asked, text) => {
    if (await asked) {
      told(text);
      again();
    }
  };
  const found = [];
  if (MAY_TRY.has(who.role) && guard === null) found.push(button("Try a policy", () => tryOne(policy, done)));
  if ((who.role === "admin" || (MAY_TRY.has(who.role) && guard === null)) && candidate !== null)
    found.push(button("Try it no longer", () => done(confirm(`Try ${candidate.name} no longer?`, guard ? "The guard goes by it, and ends with it. What is in force stays in force." : "What came of it so far is forgotten.", "Try it no longer", () => post("policy/shadow/end"), { grave: true }), "It is tried no longer.")));
  if (who.role === "admin" && candidate !== null && guard === null) found.push(button("Promote", () => promote(candidate, done)));
  if (who.role === "admin" && before !== null) found.push(button("Roll back", () => done(confirm(`Put ${before} in force again?`, "What runs goes on; from then on it is decided as before the promotion.", "Roll back", () => post("policy/rollback"), { grave: true }), `${before} is in force again.`)));
  return found;
}

function tryOne(policy, done) {
  const names = h("datalist", { id: "candidates" }, (policy.known ?? []).map((one) => h("option", { value: one })));
  const input = h("input", { maxlength: 1000, placeholder: "sjf, fifo+none, ..", list: "candidates" });
  const inside = h("div", { class: "grid form-grid" }, names, h("label", { class: "field" }, "Policy", input, h("span", { class: "quiet" }, "a bundle, or orders joined by +")));
  done(confirm("Try a policy beside the one in force?", "It decides on the same events, in a process of its own, and does nothing.", "Try it", () => post("policy/shadow", { policy: input.value.trim() }), { inside }), "It decides beside the one in force.");
}

function promote(candidate, done) {
  const input = (value, more) => h("input", { value, maxlength: 20, ...more });
  const inputs = { bound: input("20", { inputmode: "numeric" }), least: input("60s"), for: input("7d") };
  const field = (label, name, hint) => h("label", { class: "field" }, label, inputs[name], h("span", { class: "quiet" }, hint));
  const inside = h("div", { class: "grid form-grid" }, field("A tenant may wait longer by, %", "bound", "than under the policy before"), field("And by", "least", "in the mean, at least"), field("The guard looks for", "for", "then it stays"));
  const words = () => ({ bound: Number(inputs.bound.value), least: inputs.least.value.trim(), for: inputs.for.value.trim() });
  done(confirm(`Put ${candidate.name} in force?`, "Where a tenant waits longer than the bound, the controller takes it back by itself.", "Promote", () => post("policy/promote", words()), { inside }), `${candidate.name} is in force.`);
}
