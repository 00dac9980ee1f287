// What is not as it should be, and what to do about it.
import { h } from "../dom.js";
import { icon } from "../icons.js";
import { code, jobLink, when } from "../parts.js";
import { brief, local, many, moment } from "../format.js";

const NAMED = 4;

/** A list of what is wrong, or nothing. */
export function attention({ failed, odd }, nodes) {
  const said = [lost(nodes), silent(nodes), ill(nodes), oddities(odd), failures(failed)].filter(Boolean);
  if (said.length === 0) return null;
  return h("section", { class: "panel attention", "aria-label": "Needs a look" }, h("ul", {}, said.map(([title, text]) => h("li", {}, icon("warn"), h("div", {}, h("strong", {}, title), h("p", { class: "quiet small" }, text))))));
}

const names = (list) => list.slice(0, NAMED).join(", ") + (list.length > NAMED ? ` and ${brief(list.length - NAMED)} more` : "");
const are = (n) => (n === 1 ? "is" : "are");

function lost(nodes) {
  const gone = nodes.filter((node) => node.state === "lost").map((node) => node.name);
  if (gone.length === 0) return null;
  return [`${many(gone.length, "node")} ${are(gone.length)} lost: ${names(gone)}`, "Jobs that ran there are tried again elsewhere, where their retries allow. A node is back as soon as it is heard of; look at its machine, or at the engine."];
}

function silent(nodes) {
  const quiet = nodes.filter((node) => node.state === "quiet");
  if (quiet.length === 0) return null;
  const since = quiet.map((node) => node.quiet_since).filter(Boolean).sort()[0];
  return [`${many(quiet.length, "node")} ${are(quiet.length)} silent: ${names(quiet.map((node) => node.name))}`, `${since ? `Since ${moment(since)}. ` : ""}Nothing new starts there. When its lease is over a silent node counts as lost.`];
}

function ill(nodes) {
  const found = nodes.map((node) => [node.name, node.devices.filter((device) => !device.healthy).length]).filter(([, count]) => count > 0);
  const all = found.reduce((sum, [, count]) => sum + count, 0);
  if (all === 0) return null;
  return [`${many(all, "GPU")} ${are(all)} not healthy, on ${names(found.map(([name]) => name))}`, [`Nothing new starts on ${all === 1 ? "it" : "them"}. Before somebody opens a node, let it run empty: `, code("clearway drain NODE")]];
}

function failures(failed) {
  if (!failed || failed.jobs === 0) return null;
  const latest = failed.latest.map((job, at) => [at > 0 && "; ", jobLink(job.id, job.name), ` ${local(job.text)} (`, when(job.ended, { relative: true }), ")"]);
  return [`${many(failed.jobs, "job")} failed in the last hour`, [...latest, failed.jobs > failed.latest.length && [". ", h("a", { href: "#/jobs?state=failed" }, "All that failed")]]];
}

function oddities(odd) {
  if (!odd || odd.jobs === 0) return null;
  const longest = odd.longest.map((job, at) => [at > 0 && "; ", jobLink(job.id, job.name), ` ${job.text}`]);
  return [`${many(odd.jobs, "running job")} ${are(odd.jobs)} not as foreseen`, [...longest, odd.jobs > odd.longest.length && "; .."]];
}
