// One workflow: its steps as a drawing that lives, and each step in words.
import { h, put } from "../dom.js";
import { get, path, post } from "../net.js";
import { watch } from "../live.js";
import { graph } from "../graph.js";
import { bones, confirm, empty, faultText, heading, jobLink, panel, pairs, state, table, told, when } from "../parts.js";
import { brief, local } from "../format.js";

const OVER = new Set(["succeeded", "failed", "cancelled"]);

export function open(root, { parts }) {
  const ref = parts[1];
  const top = h("div", {}, bones(60));
  const drawn = h("div", {});
  const steps = h("div", {});
  let chosen = null;
  let last = null;
  put(root, top, h("div", { class: "grid" }, drawn, steps));
  const mine = (events) => events.some((event) => event.flow === last?.id || event.kind === "ended" || event.kind === "started");
  const kept = watch((signal) => get(path("flows", ref), {}, signal), show, { every: 5000, wants: (events) => last === null || mine(events), failed });
  return () => kept.stop();

  function show(flow) {
    const same = last !== null && JSON.stringify(flow) === JSON.stringify(last);
    last = flow;
    if (same) return;
    const words = [state(flow.state), h("span", { class: "quiet small" }, `run ${flow.run}, began `, when(flow.began))];
    put(top, heading(flow.name, { more: acts(flow, () => kept.again()) }), h("p", { class: "flow-words" }, words, flow.reason && h("span", { class: "name quiet" }, flow.reason.text), flow.asks.length > 0 && h("span", { class: "name small" }, `waits for a person: ${flow.asks.slice(0, 3).join(", ")}`)));
    draw();
  }

  function draw() {
    const focus = document.activeElement?.getAttribute("aria-label");
    const { scrollLeft = 0 } = drawn.querySelector(".graph-hold") ?? {};
    put(drawn, panel("Steps", { note: `${brief(last.steps.length)} of them` }, graph(last.steps, chosen, choose)));
    const hold = drawn.querySelector(".graph-hold");
    hold.scrollLeft = scrollLeft;
    for (const step of hold.querySelectorAll(".graph-step")) if (step.getAttribute("aria-label") === focus) step.focus();
    put(steps, chosen === null ? list(last, choose) : one(last.steps.find((step) => step.name === chosen) ?? last.steps[0], last, () => kept.again()));
  }

  function choose(step) {
    chosen = chosen === step.name ? null : step.name;
    draw();
  }

  function failed(error) {
    if (last === null) put(top, heading("Workflow"), empty(error.status === 404 ? "There is no such workflow at hand." : "It could not be read.", faultText(error), "warn"));
  }
}

function acts(flow, done) {
  const button = (name, verb, title, text, grave) =>
    h("button", { class: `button${grave ? " grave" : ""}`, type: "button", onclick: async () => {
      if (await confirm(title, text, name, () => post(path("flows", `id:${flow.id}`, verb)), { grave })) told(`${flow.name.slice(0, 80)}: done.`);
      done();
    } }, name);
  if (!OVER.has(flow.state)) return [button("Cancel", "cancel", "End this workflow?", "What runs of it is stopped, and nothing else of it starts.", true)];
  return flow.state === "succeeded" ? [] : [button("Run again", "retry", "Run what has not succeeded again?", "Results of steps that succeeded stay.", false)];
}

function list({ steps }, choose) {
  const states = new Map(steps.map((step) => [step.name, step.state]));
  const columns = [
    { name: "Step", head: true, cell: (step) => h("span", { class: "name" }, step.name) },
    { name: "State", cell: (step) => state(step.state) },
    { name: "After", cell: (step) => h("span", { class: "name" }, step.after.join(", ") || "–") },
    { name: "Jobs", right: true, cell: (step) => brief(step.jobs) },
    { name: "Result", cell: (step) => h("span", { class: "name mono" }, text(step.result)) },
    { name: "Why", long: true, cell: (step) => why(step, states, choose) },
  ];
  return panel("Each step", {}, h("div", { class: "scroll" }, table(columns, steps, { caption: "The steps in words" })));
}

/** Why a step is not over or went wrong: what it asks, its reason, or what its job or the workflow inside it tells. */
function why(step, states, choose) {
  if (step.pause) return h("span", { class: "name" }, `waits for a person: ${step.pause} `, h("button", { class: "button", type: "button", onclick: () => choose(step) }, "Answer ..."));
  const said = (words, link) => h("span", { class: "name quiet" }, link, " ", words);
  if (step.reason) return said(step.reason.text);
  if (step.state === "pending") {
    const left = step.after.filter((name) => ["pending", "running"].includes(states.get(name)));
    return left.length > 0 && said(`waits for ${left.join(", ")}`);
  }
  if (step.job) return said(ofJob(step.job), jobLink(step.job.id, step.job.name));
  return step.inner && said(ofFlow(step.inner), flowLink(step.inner));
}

const flowLink = (flow) => h("a", { class: "name", href: `#/workflows/flow/${flow.id}` }, flow.name);
const ofFlow = (flow) => (flow.asks.length > 0 ? `waits for a person: ${flow.asks.slice(0, 3).join(", ")}` : (flow.reason?.text ?? flow.state));
const ofJob = (job) => (job.reason ? local(job.reason.text) : [job.state, job.nodes.length > 0 && `on ${job.nodes.slice(0, 3).join(", ")}`].filter(Boolean).join(" "));

/** An answer: JSON, or a text where it is none. */
function answered(words) {
  try {
    return JSON.parse(words);
  } catch {
    return words;
  }
}

function one(step, flow, done) {
  const answer = h("input", { value: "true", maxlength: 10000, "aria-label": "The answer: JSON, or a text" });
  const send = async () => {
    const value = answered(answer.value);
    await post(path("flows", `id:${flow.id}`, "resume"), { step: step.name, value });
  };
  const ask = h("button", { class: "button first", type: "button", onclick: async () => {
    if (await confirm("Answer this step?", `${step.name} goes on with ${answer.value.slice(0, 200)}`, "Answer", send)) told("The step has its answer.");
    done();
  } }, "Answer");
  return panel(
    step.name,
    { more: [state(step.state)] },
    h(
      "div",
      { class: "body grid" },
      step.pause && step.state === "running" && h("div", { class: "promise" }, h("p", {}, step.pause === true ? "It waits for a person." : String(step.pause)), h("div", { class: "filters" }, answer, ask)),
      step.reason && h("p", { class: "name" }, step.reason.text),
      step.job && h("p", { class: "name" }, jobLink(step.job.id, step.job.name), " ", ofJob(step.job)),
      step.inner && h("p", { class: "name" }, flowLink(step.inner), " ", ofFlow(step.inner)),
      pairs([["after", step.after.join(", ")], ["until", step.until], ["jobs", brief(step.jobs)], ["input", text(step.input)], ["result", text(step.result)]]),
      h("p", {}, h("a", { href: `#/jobs?name=${encodeURIComponent(`${flow.name}.${step.name}`)}` }, "Its jobs")),
    ),
  );
}

const text = (value) => (value == null ? "–" : JSON.stringify(value).slice(0, 2000));
