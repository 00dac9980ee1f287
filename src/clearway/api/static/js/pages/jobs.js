// All jobs that are at hand, with filters.
import { h, put } from "../dom.js";
import { get } from "../net.js";
import { watch } from "../live.js";
import { bones, code, empty, faultText, heading, jobLink, pager, state, table, when } from "../parts.js";
import { icon } from "../icons.js";
import { brief, exact, local, now, number, seconds, span } from "../format.js";

const PAGE = 100;
const STATES = ["", "pending", "running", "succeeded", "failed", "cancelled", "refused"];

export function open(root, { words }) {
  const wish = { state: words.get("state") ?? "", queue: words.get("queue") ?? "", name: words.get("name") ?? "" };
  const cursors = [words.get("cursor") ?? ""];
  const list = h("div", { class: "panel" }, bones(320));
  const more = [h("a", { class: "button first", href: "#/submit" }, icon("plus"), "Submit a job")];
  put(root, heading("Jobs", { more }), filters(wish, again), list);
  const kept = watch(ask, show, { failed: (error) => put(list, empty("The jobs could not be listed.", faultText(error), "warn")) });
  return () => kept.stop();

  function again() {
    cursors.splice(1);
    const said = new URLSearchParams(Object.entries(wish).filter(([, value]) => value));
    history.replaceState(null, "", `#/jobs${said.size > 0 ? `?${said}` : ""}`);
    void kept.again();
  }

  function ask(signal) {
    const name = wish.name && !wish.name.endsWith("*") ? `${wish.name}*` : wish.name;
    return get("jobs", { state: wish.state, queue: wish.queue, name, everything: wish.state === "" ? "true" : "", cursor: cursors.at(-1), limit: PAGE }, signal);
  }

  function show({ jobs, next }) {
    const said = Object.values(wish).some(Boolean);
    if (jobs.length === 0 && cursors.length === 1) {
      put(list, empty(said ? "No job is like that." : "No job has been submitted yet.", said ? "Fewer or other words may find it. Jobs that ended long ago are found by their number." : ["Submit one here, or with the command: ", code("clearway run --gpus 1 -- python train.py")], "jobs"));
      return;
    }
    const first = (cursors.length - 1) * PAGE;
    const back = cursors.length > 1 && (() => (cursors.pop(), void kept.again()));
    const on = next && (() => (cursors.push(next), void kept.again()));
    put(list, h("div", { class: "scroll" }, table(COLUMNS, jobs, { caption: "Jobs, newest first", under: why })), (back || on) && pager(`${brief(first + 1)}–${brief(first + jobs.length)}, newest first`, back, on));
  }
}

function filters(wish, again) {
  const field = (name, input) => h("label", { class: "field" }, name, input);
  const typed = (word) => (event) => {
    wish[word] = event.target.value.trim();
    again();
  };
  const select = h("select", { onchange: typed("state") }, STATES.map((one) => h("option", { value: one, selected: one === wish.state }, one || "any")));
  const text = (word, hint) => h("input", { type: "search", value: wish[word], placeholder: hint, maxlength: 1000, onchange: typed(word) });
  return h("form", { class: "filters page-filters", role: "search", "aria-label": "Which jobs", onsubmit: (event) => event.preventDefault() }, field("State", select), field("Name begins with", text("name", "train-")), field("Queue", text("queue", "research")));
}

const COLUMNS = [
  { name: "Job", head: true, cell: (job) => jobLink(job.id, job.name) },
  { name: "Number", right: true, cell: (job) => String(job.id) },
  { name: "State", cell: (job) => state(job.inner_state ?? job.state) },
  { name: "Queue", wide: true, cell: (job) => h("span", { class: "name" }, job.queue) },
  { name: "User", extra: true, cell: (job) => h("span", { class: "name" }, job.user) },
  { name: "GPUs", right: true, cell: (job) => number(job.gpus) },
  { name: "Submitted", when: true, cell: (job) => when(job.submitted) },
  { name: "Ran", right: true, when: true, cell: ran },
];

/** How long it ran, or has run so far; when that began and ended is there to look at. */
function ran(job) {
  if (job.started == null) return h("span", { class: "quiet" }, "–");
  const end = job.ended ?? job.stopped;
  const length = (seconds(end) ?? now()) - seconds(job.started);
  return h("time", { datetime: job.started, title: `${exact(job.started)} – ${end ? exact(end) : "now"}` }, span(length));
}

const why = (job) => job.reason && h("span", { class: "name quiet", title: job.reason.text.slice(0, 2000) }, local(job.reason.text));
