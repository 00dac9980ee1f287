// What people do with a job, each asked about first.
import { h } from "../dom.js";
import { path, post } from "../net.js";
import { confirm, told } from "../parts.js";

const ACTS = {
  hold: ["Hold", "Hold this job back?", "It starts no attempt until it is released. An attempt that runs goes on."],
  release: ["Release", "Let this job go?", "It stands in the line again, with its first submit time."],
  suspend: ["Suspend", "Have this job stand still?", "It keeps what it holds, and does nothing until it is resumed."],
  resume: ["Resume", "Have this job go on?", "It goes on where it stood still."],
  requeue: ["Requeue", "Stop this attempt and have the job wait again?", "It keeps its first submit time. Work since its last checkpoint is lost."],
  cancel: ["Cancel", "End this job?", "Its tasks are told to stop, and it does not start again."],
};
const DONE = { hold: "held back", release: "released", suspend: "standing still", resume: "going on", requeue: "waiting again", cancel: "told to end" };

/** The buttons that fit what the job does now. */
export function actions(job, done) {
  return fitting(job).map((verb) => {
    const [name, title, text] = ACTS[verb];
    const act = async () => {
      const asked = await confirm(title, `${short(job.name)} (job ${job.id}). ${text}`, name, () => post(path("jobs", `id:${job.id}`, verb)), { grave: verb === "cancel" });
      if (asked) told(`Job ${job.id} is ${DONE[verb]}.`);
      done();
    };
    return h("button", { class: `button${verb === "cancel" ? " grave" : ""}`, type: "button", data: { verb }, onclick: act }, name);
  });
}

function fitting(job) {
  const now = job.inner_state ?? job.state;
  if (job.ended) return [];
  const held = job.held_by ? ["release"] : ["hold"];
  if (now === "suspended") return ["resume", "requeue", "cancel"];
  if (now === "running") return [...held, "suspend", "requeue", "cancel"];
  if (now === "pending") return [...held, "cancel"];
  return ["cancel"];
}

const short = (name) => (name.length > 80 ? `${name.slice(0, 79)}…` : name);
