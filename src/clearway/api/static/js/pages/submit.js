// A job from a form: the words that most jobs need.
import { h, put } from "../dom.js";
import { get, post } from "../net.js";
import { faultText, heading, panel, told } from "../parts.js";

const FIELDS = [
  ["run", "Command", "python train.py", { required: true }],
  ["name", "Name", "finetune", {}],
  ["workdir", "Folder it runs in", "/srv/project", {}],
  ["gpus", "GPUs, of each task", "1", { type: "number", min: 0, step: "any" }],
  ["tasks", "Tasks", "1", { type: "number", min: 1, step: 1 }],
  ["cpus", "CPUs", "as it comes", { type: "number", min: 0, step: "any" }],
  ["memory", "Memory", "16GiB", {}],
  ["time_estimate", "How long it takes, about", "2h", {}],
  ["priority", "Priority", "0", { type: "number", step: 1 }],
];
const COUNTS = new Set(["gpus", "tasks", "cpus", "priority"]);

export function open(root) {
  const inputs = Object.fromEntries(FIELDS.map(([word, , hint, more]) => [word, h("input", { placeholder: hint, maxlength: 4000, ...more })]));
  const queue = h("select", {}, h("option", { value: "" }, "default"));
  const fault = h("div", { role: "alert" });
  const advice = h("div", { "aria-live": "polite" });
  const fields = FIELDS.map(([word, label]) => h("label", { class: "field", data: { word } }, label, inputs[word]));
  const form = h(
    "form",
    { class: "body grid", onsubmit: submit },
    h("div", { class: "form-grid" }, fields, h("label", { class: "field" }, "Queue", queue)),
    fault,
    advice,
    h("div", { class: "filters" }, h("button", { class: "button first", type: "submit" }, "Submit"), h("button", { class: "button", type: "button", onclick: advise }, "How would it stand?")),
  );
  put(root, heading("Submit a job"), panel("What it needs", {}, form));
  void get("queues").then(({ queues }) => queue.append(...queues.map((one) => one.name).filter((name) => name !== "default").map((name) => h("option", { value: name }, name.slice(0, 80)))), () => {});

  function words() {
    const said = {};
    for (const [word, input] of Object.entries(inputs)) {
      if (input.value !== "") said[word] = COUNTS.has(word) ? Number(input.value) : input.value;
    }
    if (queue.value) said.queue = queue.value;
    return { ...said, name: said.name ?? "job" };
  }
  async function submit(event) {
    event.preventDefault();
    try {
      const { jobs } = await post("jobs", { jobs: [words()] });
      told(`Job ${jobs[0].id} is submitted.`);
      location.hash = `#/jobs/${jobs[0].id}`;
    } catch (error) {
      refused(error);
    }
  }
  async function advise() {
    put(fault);
    put(advice, h("p", { class: "quiet small" }, "It is worked out…"));
    try {
      const { jobs } = await post("advice", { jobs: [words()] });
      put(advice, h("p", { class: "promise" }, jobs[0].text), jobs[0].changes.length > 0 && h("ul", { class: "changes" }, jobs[0].changes.map((one) => h("li", {}, one.text))));
    } catch (error) {
      refused(error);
    }
  }
  function refused(error) {
    put(advice);
    put(fault, h("p", { class: "fault" }, faultText(error)));
    inputs[error.field]?.focus();
  }
}
