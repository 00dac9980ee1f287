// How things stand for a job that waits: what it lacks, who holds that, and what would let it start at once.
import { h, put } from "../dom.js";
import { get, path } from "../net.js";
import { watch } from "../live.js";
import { bones, faultText, jobLink, panel } from "../parts.js";
import { local } from "../format.js";

/** Returns `{root, stop}`. It is worked out in a world beside the one in charge, so it is asked for seldom. */
export function outlookPanel(job) {
  const body = h("div", { class: "body grid" }, h("p", { class: "quiet small", role: "status" }, "It is tried out in a copy of all that is so; that may take some seconds…"), bones(60));
  const root = panel("What would let it start", {}, body);
  const kept = watch((signal) => get(path("jobs", `id:${job}`, "outlook"), {}, signal), (found) => put(body, told(found)), {
    wants: () => false,
    every: 30000,
    failed: (error) => put(body, h("p", { class: "quiet small" }, faultText(error))),
  });
  return { root, stop: kept.stop };
}

const begun = (text) => local(text && `${text[0].toUpperCase()}${text.slice(1)}`);

function told(found) {
  return [
    h("p", {}, begun(found.text)),
    found.lacks.length > 0 && h("ul", { class: "reasons" }, found.lacks.map(lack)),
    found.changes.length > 0 && h("div", {}, h("h3", {}, "It would start at once with"), h("ul", { class: "changes" }, found.changes.map((one) => h("li", {}, local(one.text))))),
    found.fits_text && h("p", { class: "quiet small" }, found.fits_text),
  ];
}

function lack(one) {
  return h(
    "li",
    {},
    h("p", {}, begun(one.text)),
    one.holders.length > 0 && h("p", { class: "quiet small" }, "Look at who holds it: ", one.holders.map((holder, at) => [at > 0 && ", ", jobLink(holder.job, holder.name)]), one.more_holders > 0 && ` and ${one.more_holders} more`),
    one.lifts_text && h("p", { class: "quiet small" }, `Lifted by ${one.lifts_text}.`),
  );
}
