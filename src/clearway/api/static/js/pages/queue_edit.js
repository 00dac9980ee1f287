// Other words for a queue; what they would change is shown before they hold.
import { h, put } from "../dom.js";
import { path, post } from "../net.js";
import { confirm, faultText, jobLink, told } from "../parts.js";
import { brief, number } from "../format.js";

const AMOUNTS = [["guarantee", "Guarantee, GPUs", "what it can claim back from others"], ["limit", "Limit, GPUs", "never more than this"]];
const SHOWN = 8;

/** Ask for the words of a queue, or of a new one. */
export async function edit(queue, names, done) {
  const fields = form(queue, names);
  const effect = h("div", { class: "effect", "aria-live": "polite" });
  const look = h("button", { class: "button", type: "button", onclick: () => preview() }, "Show the effect");
  const inside = h("div", { class: "grid" }, fields.root, look, effect);

  async function preview() {
    put(effect, h("p", { class: "quiet small" }, "Trying it in a copy of what is so now…"));
    look.disabled = true;
    try {
      put(effect, shown(await post(path("queues", fields.name(), "preview"), fields.words())));
    } catch (error) {
      put(effect, h("p", { class: "fault" }, faultText(error)));
    } finally {
      look.disabled = false;
    }
  }

  const title = queue ? `Queue ${queue.name.slice(0, 80)}` : "New queue";
  const kept = await confirm(title, "Its words hold at once, also for those who wait.", "Apply", () => post(path("queues", fields.name()), fields.words()), { inside });
  if (kept) {
    told(`Queue ${fields.name().slice(0, 80)} is as you said.`);
    done();
  }
}

function form(queue, names) {
  const field = (label, input, hint) => h("label", { class: "field" }, label, input, hint && h("span", { class: "quiet" }, hint));
  const name = h("input", { required: true, maxlength: 200, placeholder: "team-a" });
  const parent = h("select", {}, [h("option", { value: "" }, "none"), names.map((one) => h("option", { value: one }, one.slice(0, 60)))]);
  const numbers = Object.fromEntries(AMOUNTS.map(([word]) => [word, h("input", { type: "number", min: 0, step: "any", value: queue?.[word]?.gpus ?? "", placeholder: "none" })]));
  const weight = h("input", { type: "number", min: 0, step: 1, value: queue?.weight ?? 1 });
  const ticks = Object.fromEntries(["borrow", "lend"].map((word) => [word, h("input", { type: "checkbox", checked: queue?.[word] ?? true })]));
  const before = queue ? read() : {};

  function read() {
    const words = Object.fromEntries(AMOUNTS.map(([word]) => [word, numbers[word].value === "" ? null : Number(numbers[word].value)]));
    return { ...words, weight: Number(weight.value), borrow: ticks.borrow.checked, lend: ticks.lend.checked };
  }
  function words() {
    const now = read();
    const said = {};
    for (const [word, value] of Object.entries(now)) {
      if (queue && value === before[word]) continue;
      if (word === "guarantee" || word === "limit") {
        if (value === null && !queue) continue;
        const others = { ...(queue?.[word] ?? {}) };
        delete others.gpus;
        said[word] = value === null ? others : { ...others, gpus: value };
      } else said[word] = value;
    }
    if (!queue && parent.value) said.parent = parent.value;
    return said;
  }
  const root = h(
    "div",
    { class: "form-grid" },
    !queue && field("Name", name),
    !queue && field("Below", parent),
    AMOUNTS.map(([word, label, hint]) => field(label, numbers[word], hint)),
    field("Weight", weight, "its share of what is left over"),
    h("div", { class: "ticks" }, h("label", { class: "tick" }, ticks.borrow, "may borrow"), h("label", { class: "tick" }, ticks.lend, "lends")),
  );
  return { root, words, name: () => queue?.name ?? name.value.trim() };
}

function shown(effect) {
  const { starts, stops, queues, starting: many, stopping } = effect;
  const changed = queues.filter((one) => one.share_before !== one.share_after);
  return [
    h("p", {}, many === 0 && stopping === 0 ? "Nobody would start or stop for it now." : `At once ${brief(many)} would start, and ${brief(stopping)} would be stopped.`),
    list("Would start", starts),
    list("Would be stopped", stops),
    changed.length > 0 && h("div", {}, h("h3", {}, "Fair shares"), h("ul", { class: "lines" }, changed.slice(0, SHOWN).map((one) => h("li", { class: "name" }, `${one.name}: ${number(one.share_before)} → ${number(one.share_after)}`)))),
  ];
}

const list = (title, jobs) => jobs.length > 0 && h("div", {}, h("h3", {}, title), h("ul", { class: "lines" }, jobs.slice(0, SHOWN).map((job) => h("li", { class: "cut" }, jobLink(job.job, job.name), h("span", { class: "quiet" }, ` ${job.queue}`)))));
