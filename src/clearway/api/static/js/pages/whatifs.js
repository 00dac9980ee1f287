// What-ifs: those that are kept, as a list, and the question that asks one more.
import { h } from "../dom.js";
import { post } from "../net.js";
import { code, confirm, empty, panel, state, table, told, when } from "../parts.js";
import { percent, span } from "../format.js";

const MAY_ASK = new Set(["operator", "admin"]);

/** The list on the page of the policy. */
export function whatifsPanel({ whatifs, kept }, policy, who, again) {
  const more = MAY_ASK.has(who.role) ? [h("button", { class: "button", type: "button", onclick: () => ask(policy, again) }, "Ask what if")] : [];
  if (whatifs.length === 0)
    return panel(
      "What if",
      { more },
      empty("No other policy has been tried here.", ["Replay your own past under another one, before it holds: ", code("clearway whatif --policy sjf --keep")], "policy"),
    );
  return panel("What if", { more, note: `the same jobs, as things are and as they would be; the latest ${kept} are kept` }, h("div", { class: "scroll" }, table(COLUMNS, whatifs, { caption: "What-ifs, newest first" })));
}

const COLUMNS = [
  { name: "What would be otherwise", head: true, long: true, cell: (one) => h("a", { class: "name", href: `#/policy/whatif/${one.id}` }, title(one)) },
  { name: "A job would be over", wide: true, cell: (one) => outcome(one) },
  { name: "Mean wait", right: true, cell: (one) => sides(one, "wait_mean", span) },
  { name: "Longest 5 %", right: true, cell: (one) => sides(one, "wait_p95", span) },
  { name: "Use", right: true, cell: (one) => sides(one, "use", percent) },
  { name: "Asked", wide: true, when: true, cell: (one) => [when(one.asked), one.by && h("span", { class: "quiet" }, ` by ${one.by.slice(0, 40)}`)] },
];

/** What is otherwise, in a line. */
export function title(one) {
  if (one.changes) return one.changes.join("; ");
  const { policy, fleet = [], queues = [], limits = [] } = one.words;
  const said = [policy && `policy ${typeof policy === "string" ? policy : JSON.stringify(policy)}`, ...[fleet, queues, limits].flat()];
  return said.filter(Boolean).join("; ") || `what-if ${one.id}`;
}

/** How much sooner or later, and how sure that is; or how far the work is. */
export function outcome(one) {
  if (one.state === "working") return h("span", { class: "state", data: { state: "running" } }, "being worked out…");
  if (one.state === "failed") return [state("failed"), h("span", { class: "name quiet" }, ` ${one.reason}`)];
  return sooner(one.completion);
}

/** A difference of times with what can be said of it. */
export function sooner(d) {
  if (d?.mean == null) return h("span", { class: "quiet" }, "no job both ways");
  if (d.mean === 0 && !d.low && !d.high) return h("span", { class: "sides" }, "when it is");
  const sure = d.low != null && (d.high < 0 || d.low > 0);
  const way = d.mean < 0 ? "sooner" : "later";
  return h("span", { class: "verdict", data: { verdict: sure ? way : "unclear" }, title: d.low == null ? "too few jobs for an interval" : `95 %: ${signed(d.low)} to ${signed(d.high)}` }, `${span(d.mean)} ${way}`, !sure && h("small", { class: "quiet" }, " unclear"));
}

export const signed = (seconds) => (seconds === 0 ? "0 s" : `${seconds < 0 ? "−" : "+"}${span(seconds)}`);

function sides(one, name, shown) {
  if (!one.figures) return "–";
  const { as_is: before, what_if: after } = one.figures;
  return h("span", { class: "sides" }, h("span", { class: "quiet" }, shown(before[name])), " → ", shown(after[name]));
}

/** Ask one more. */
async function ask(policy, again) {
  const names = h("datalist", { id: "policies" }, (policy.known ?? []).map((one) => h("option", { value: one })));
  const input = (hint, more) => h("input", { maxlength: 1000, placeholder: hint, ...more });
  const inputs = { policy: input("sjf, fifo+none, ..", { list: "policies" }), fleet: input("+8xH100"), queues: input("research.guarantee.gpus=16"), since: input("30d") };
  const field = (label, name, hint) => h("label", { class: "field" }, label, inputs[name], h("span", { class: "quiet" }, hint));
  const inside = h(
    "div",
    { class: "grid form-grid" },
    names,
    field("Policy", "policy", "a bundle, or orders joined by +"),
    field("Machines", "fleet", "more or fewer, one after another"),
    field("Words of queues", "queues", "one or several, with spaces between"),
    field("Since", "since", "a time, or so long ago; all by itself"),
  );
  const list = (name) => inputs[name].value.split(/[\s,]+/).filter(Boolean);
  const words = () => {
    const said = { policy: inputs.policy.value.trim() || null, fleet: list("fleet"), queues: list("queues"), since: inputs.since.value.trim() || null };
    return Object.fromEntries(Object.entries(said).filter(([, value]) => value !== null && value.length > 0));
  };
  const text = "The past is replayed twice beside the controller: as things are, and as they would be. Nothing that runs changes.";
  if (await confirm("What if it were otherwise?", text, "Work it out", () => post("whatifs", words()), { inside })) {
    told("It is being worked out; it shows here when it is done.");
    again();
  }
}

