// Who waits, for what above all, and until when.
import { h, put } from "../dom.js";
import { get } from "../net.js";
import { watch } from "../live.js";
import { bones, code, empty, jobLink, table, when } from "../parts.js";
import { brief, local, number, now, reason, seconds, span } from "../format.js";

const SHOWN = 12;
const KINDS = new Set(["submitted", "started", "requeued", "reserved", "ended", "held", "released", "changed"]);

export class Waiting {
  constructor() {
    this.chips = h("div", { class: "body chips", role: "group", "aria-label": "Why they wait" });
    this.list = h("div", {}, h("div", { class: "body" }, bones(160)));
    this.root = h("div", {}, this.chips, this.list);
    this.reason = "";
    this.reasons = [];
  }

  /** Keep the list up to date; returns what stops that. */
  watch() {
    this.kept = watch((signal) => this.#load(signal), ({ jobs, next }) => this.#show(jobs, next), { every: 15000, wants: (events) => events.some((event) => KINDS.has(event.kind)) });
    return this.kept;
  }

  /** Show how many wait for what. */
  count(reasons, unused = false) {
    this.unused = unused;
    const now = JSON.stringify([reasons, this.reason]);
    if (this.drawn === now) return;
    this.drawn = now;
    this.reasons = reasons;
    if (unused) void this.kept?.again();
    put(this.chips, reasons.map((one) => this.#chip(one)));
    this.chips.hidden = reasons.length === 0;
  }

  #chip({ code, jobs, text }) {
    const pressed = this.reason === code;
    const pick = () => {
      this.reason = pressed ? "" : code;
      this.count(this.reasons);
      void this.kept.again();
    };
    return h("button", { class: "chip", type: "button", "aria-pressed": String(pressed), title: text.slice(0, 500), onclick: pick }, h("b", {}, brief(jobs)), reason(code));
  }

  #load(signal) {
    return get("jobs", { state: "pending", limit: SHOWN, oldest: "true", reason: this.reason }, signal);
  }

  #show(jobs, next) {
    if (jobs.length === 0) {
      const first = ["Submit the first job ", h("a", { href: "#/submit" }, "here"), ", or with the command: ", code("clearway run --gpus 1 -- python train.py")];
      put(this.list, empty("Nobody waits.", this.unused ? first : "Every job that was submitted runs, or is over.", "jobs"));
      return;
    }
    put(this.list, h("div", { class: "scroll" }, table(COLUMNS, jobs, { caption: "Jobs that wait, first come first", className: "waiting", fold: false, under: why })), next && h("p", { class: "pages" }, h("a", { href: "#/jobs?state=pending" }, "All that wait")));
  }
}

const why = (job) => h("span", { class: "name quiet", title: job.reason?.text?.slice(0, 2000) }, local(job.reason?.text) ?? "it has just come");

const COLUMNS = [
  { name: "Job", head: true, cell: (job) => h("div", { class: "who" }, jobLink(job.id, job.name), h("span", { class: "cut quiet small" }, job.queue)) },
  { name: "GPUs", right: true, cell: (job) => number(job.gpus) },
  { name: "Waits", right: true, when: true, cell: (job) => span(now() - seconds(job.submitted)) },
  { name: "Starts by", right: true, when: true, cell: (job) => (job.promised ? when(job.promised) : h("span", { class: "quiet" }, "not known")) },
];
