// One what-if: what would change, for whom, and how far to believe it.
import { h, put } from "../dom.js";
import { address, get, path, post } from "../net.js";
import { watch } from "../live.js";
import { bones, choice, confirm, empty, faultText, figures, heading, pairs, panel, table, told, when } from "../parts.js";
import { brief, local, number, percent, span } from "../format.js";
import { outcome, signed, sooner, title } from "./whatifs.js";

const KINDS = [["queue", "Queues"], ["user", "Users"], ["tenant", "Tenants"], ["size", "Sizes"]];
const SHOWN = 12;

export function open(root, { parts }) {
  const body = h("div", {}, bones(74, 240, 240));
  let last = null;
  let kind = "queue";
  put(root, body);
  const kept = watch((signal) => Promise.all([get(path("whatifs", parts[1] ?? ""), {}, signal), get("session", {}, signal)]), show, { every: 3000, wants: () => false, failed });
  return () => kept.stop();

  function show([one, who]) {
    const now = JSON.stringify(one);
    if (last === now) return;
    last = now;
    const done = one.state === "done";
    put(
      body,
      heading(title(one), { note: `what-if ${one.id}`, more: acts(one, who) }),
      done ? numbers(one) : h("p", { class: "flow-words" }, outcome(one)),
      done && h("div", { class: "grid" }, panel("What would change", {}, h("div", { class: "body" }, h("p", { class: "promise" }, one.summary)), h("div", { class: "scroll" }, measures(one.answer))), winners(one.answer), h("div", { class: "grid two" }, believe(one), asked(one))),
    );
  }

  function winners(answer) {
    const present = KINDS.filter(([name]) => answer.groups.filter((group) => group.kind === name).length > 0);
    if (present.length === 0) return null;
    if (!present.some(([name]) => name === kind)) [[kind]] = present;
    const place = h("div", { class: "scroll" }, groups(answer, kind));
    const pick = (value) => {
      kind = value;
      put(place, groups(answer, kind));
    };
    return panel("Who wins, who loses", { more: [choice("Jobs by", present, kind, pick)] }, place);
  }

  function failed(error) {
    if (last === null || error.status === 404) put(body, heading("What if"), empty(error.status === 404 || error.status === 422 ? "There is no such what-if any more." : "It could not be read.", faultText(error), "warn"));
  }

  function acts(one, who) {
    const report = one.state === "done" && h("a", { class: "button first", href: address(`${path("whatifs", one.id)}/page`) }, "Download the report");
    const drop = async () => {
      const gone = await confirm("Forget this what-if?", one.state === "working" ? "The work on it ends." : "Its answer is removed.", "Remove", () => post(`${path("whatifs", one.id)}/remove`), { grave: true });
      if (gone) {
        told(`What-if ${one.id} is removed.`);
        location.hash = "#/policy";
      }
    };
    const may = who.role === "operator" || who.role === "admin";
    return [report, may && h("button", { class: "button grave", type: "button", onclick: drop }, "Remove")].filter(Boolean);
  }
}

function numbers(one) {
  const { as_is: before, what_if: after } = one.figures;
  const row = (name, word, shown) => [name, shown(after[word]), `now ${shown(before[word])}`];
  return figures([row("Mean wait", "wait_mean", span), row("Longest 5 % wait", "wait_p95", span), row("From submit to end", "completion_mean", span), row("Use", "use", percent), row("Preemptions", "preemptions", number)]);
}

/** The differences of the same jobs, paired. */
function measures({ comparison }) {
  const [found] = Object.values(comparison.differences);
  if (!found?.jobs) return empty("No job finished both ways.", null, "policy");
  const rows = [["wait", "Wait"], ["completion", "From submit to end"]].filter(([word]) => found[word]).map(([word, name]) => ({ name, ...found[word] }));
  const columns = [
    { name: "Of the same jobs", head: true, cell: (row) => row.name },
    { name: "Mean difference", wide: true, cell: (row) => sooner(row) },
    { name: "95 %", right: true, cell: (row) => (row.low == null ? "too few" : `${signed(row.low)} to ${signed(row.high)}`) },
    { name: "Jobs", right: true, cell: () => brief(found.jobs) },
  ];
  return table(columns, rows, { caption: "Mean differences with their intervals" });
}

function groups(answer, kind) {
  const all = answer.groups.filter((group) => group.kind === kind);
  const rows = kind === "size" ? all : [...all].sort((a, b) => Math.abs(b.completion.mean * b.jobs) - Math.abs(a.completion.mean * a.jobs));
  const columns = [
    { name: kind === "size" ? "GPUs of a job" : "Name", head: true, cell: (row) => h("span", { class: "name" }, row.name || "–") },
    { name: "Jobs", right: true, cell: (row) => brief(row.jobs) },
    { name: "Wait now", right: true, cell: (row) => span(row.wait_before) },
    { name: "Wait then", right: true, cell: (row) => span(row.wait_after) },
    { name: "Would be over", wide: true, cell: (row) => sooner(row.completion) },
    { name: "A minute sooner", right: true, cell: (row) => brief(row.better) },
    { name: "A minute later", right: true, cell: (row) => brief(row.worse) },
  ];
  return [table(columns, rows.slice(0, SHOWN), { caption: "Groups of jobs, those that change most first" }), rows.length > SHOWN && h("p", { class: "pages" }, `and ${brief(rows.length - SHOWN)} that change less, in the report`)];
}

function believe(one) {
  return panel("How far to believe it", {}, h("ul", { class: "body changes small" }, one.answer.caveats.map((text) => h("li", {}, text))));
}

function asked(one) {
  const rows = [["the past", local(one.past)], ["as is", one.answer.as_is], ["what if", one.changes.join("; ")], ["asked", [when(one.asked), ` by ${one.by}`]], ["worked", span(one.took_s)]];
  return panel("What was asked", {}, h("div", { class: "body" }, pairs(rows)));
}
