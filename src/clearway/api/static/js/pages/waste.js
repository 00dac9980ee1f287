// What is held and does nothing, what is free and of no use, and who pays for it.
import { h, put, say } from "../dom.js";
import { get } from "../net.js";
import { watch } from "../live.js";
import { fleet } from "../data.js";
import { bones, choice, empty, faultText, figures, heading, jobLink, meter, panel, table, when } from "../parts.js";
import { brief, exact, local, now, number, percent, rough, seconds, span } from "../format.js";

const SHOWN = 12;
const SPANS = [["24", "24 h"], ["168", "7 d"], ["720", "30 d"]];

export function open(root) {
  let hours = 24;
  const doing = h("span", { class: "quiet small", role: "status" }, "what was held is added up…");
  const body = h("div", {}, bones(74, 240, 240));
  const time = choice("Time looked at", SPANS, "24", (value) => {
    hours = Number(value);
    say(doing, "what was held is added up…");
    void kept.again();
  });
  put(root, heading("Waste", { more: [doing, time] }), body);
  const ask = (signal) => {
    const asked = hours;
    const to = new Date();
    const from = new Date(to - hours * 3600e3);
    return Promise.all([get("waste", { from: from.toISOString(), to: to.toISOString() }, signal), fleet(signal), get("overview", {}, signal), asked]);
  };
  const kept = watch(ask, show, { wants: () => false, every: 15000, failed: (error) => (say(doing, ""), put(body, empty("This could not be worked out.", faultText(error), "warn"))) });
  return () => kept.stop();

  function show([waste, nodes, overview, asked]) {
    if (asked === hours) say(doing, "");
    put(body, numbers(waste, overview), h("div", { class: "grid" }, h("div", { class: waste.idle.length > 0 ? "grid" : "grid two" }, idle(waste, nodes), lacking(waste, overview)), budgets(waste), spent(waste)));
  }
}

const sentence = (text) => (text ? `${text[0].toUpperCase()}${text.slice(1)}.` : "");
const sum = (rows, name) => rows.reduce((total, row) => total + (row[name] ?? 0), 0);

function numbers(waste, overview) {
  const { gpus } = overview;
  const { now } = waste;
  return figures(
    [
      ["Free now", number(now.free_gpus), `of ${brief(gpus.total)} GPUs`],
      ["Free, yet of no use", number(now.fragmented_gpus), now.lacking_jobs ? `while ${brief(now.lacking_jobs)} wait for GPUs` : "nobody lacks any"],
      ["GPU-hours held", rough(sum(waste.held, "gpu_hours"))],
      waste.measured && ["GPU-hours idle", rough(sum(waste.held, "idle_gpu_hours")), `${percent(sum(waste.held, "idle_gpu_hours") / Math.max(1e-9, sum(waste.held, "measured_gpu_hours")))} of what is measured`],
      waste.held.some((row) => row.over_asked_gpu_hours != null) && ["GPU-hours over-asked", rough(sum(waste.held, "over_asked_gpu_hours")), "never used from start to end"],
      waste.held.some((row) => row.cost != null) && ["Money", rough(sum(waste.held, "cost")), waste.held.some((row) => row.idle_cost != null) ? `${rough(sum(waste.held, "idle_cost"))} for idle` : ""],
    ].filter(Boolean),
  );
}

function idle(waste, nodes) {
  const measured = nodes.some((node) => node.devices.some((device) => device.used != null));
  if (!measured) return panel("Held, but idle", {}, empty("Nothing here measures real use.", `${sentence(waste.why_not)} Where the NVIDIA driver answers, each device shows how much of it is really used.`, "waste"));
  const rows = waste.idle;
  if (rows.length === 0) return panel("Held, but idle", {}, empty("No job lets its devices do nothing.", "Whoever holds devices works on them.", "waste"));
  const columns = [
    { name: "Job", head: true, cell: (row) => jobLink(row.job, row.name) },
    { name: "Whose", wide: true, cell: (row) => h("span", { class: "name" }, [row.user, row.queue].filter(Boolean).join(" · ") || "–") },
    { name: "GPUs", right: true, cell: (row) => number(row.gpus) },
    { name: "Idle for", when: true, cell: (row) => h("time", { datetime: row.since, title: exact(row.since) }, span(now() - seconds(row.since))) },
    { name: "GPU-hours", right: true, cell: (row) => rough(row.idle_gpu_hours) },
    rows.some((row) => row.cost != null) && { name: "Money", right: true, cell: (row) => rough(row.cost) },
    { name: "Gives way", wide: true, when: true, cell: (row) => (row.gives_way_at == null ? h("span", { class: "quiet" }, "never") : Date.parse(row.gives_way_at) > Date.now() ? when(row.gives_way_at, { relative: true }) : "when somebody waits") },
  ].filter(Boolean);
  return panel("Held, but idle", { note: rows.length > SHOWN ? `the ${SHOWN} most wasteful of ${brief(rows.length)} jobs` : `${brief(rows.length)} ${rows.length === 1 ? "job" : "jobs"}` }, h("div", { class: "scroll" }, table(columns, rows.slice(0, SHOWN), { caption: "Jobs whose devices do nothing, the most wasteful first" })));
}

function lacking(waste, overview) {
  const rows = overview.waiting ?? [];
  if (rows.length === 0) return panel("Who waits meanwhile", {}, empty("Nobody waits.", "Whatever is free is there for the next one.", "jobs"));
  const columns = [
    { name: "Why", head: true, long: true, cell: (row) => h("span", { class: "name" }, local(row.text)) },
    { name: "Jobs", right: true, cell: (row) => brief(row.jobs) },
    { name: "GPUs wanted", right: true, cell: (row) => number(row.gpus) },
    { name: "Longest", wide: true, cell: (row) => row.longest && [jobLink(row.longest.id, row.longest.name), h("span", { class: "quiet" }, " ", when(row.longest.submitted, { relative: true }))] },
  ];
  return panel("Who waits meanwhile", {}, h("div", { class: "scroll" }, table(columns, rows, { caption: "Why jobs wait, most first" })));
}

function budgets(waste) {
  if (waste.budgets.length === 0) return null;
  const rows = waste.budgets.flatMap((one) => [
    one.most_gpu_hours != null && { one, what: "GPU-hours", used: one.gpu_hours, most: one.most_gpu_hours },
    one.most_cost != null && { one, what: "money", used: one.cost, most: one.most_cost },
  ]).filter(Boolean);
  const columns = [
    { name: "Budget", head: true, cell: ({ one }) => h("span", { class: "name" }, one.name) },
    { name: "Of", wide: true, cell: ({ one }) => h("span", { class: "name" }, one.tenant ? `tenant ${one.tenant}` : `queue ${one.queue}`) },
    { name: "Used", cell: ({ used, most }) => meter(Math.min(1, used / most), { label: `${percent(used / most)} used` }) },
    { name: "Amount", right: true, wide: true, cell: ({ what, used, most }) => `${rough(used)} of ${rough(most)} ${what}` },
    { name: "Period", wide: true, cell: ({ one }) => [`this ${one.period}, a new one begins `, when(one.until, { relative: true })] },
    { name: "State", cell: ({ one }) => (one.used_up ? h("strong", {}, "used up") : "open") },
  ];
  return panel("Budgets", {}, h("div", { class: "scroll" }, table(columns, rows, { caption: "Budgets and what is used of them" })));
}

function overAsked(row) {
  const money = row.over_asked_cost != null ? `, ${rough(row.over_asked_cost)} in money` : "";
  return row.over_asked_gpu_hours == null ? "" : h("span", { title: `held from start to end of a task, and never used${money}` }, rough(row.over_asked_gpu_hours));
}

function spent(waste) {
  if (waste.held.length === 0) return panel("Who held what", {}, empty("Nothing was held in this time.", "What jobs hold adds up here, by tenant and queue.", "queues"));
  const rows = [...waste.held].sort((a, b) => b.gpu_hours - a.gpu_hours);
  const most = rows[0].gpu_hours || 1;
  const columns = [
    { name: "Queue", head: true, cell: (row) => h("span", { class: "name" }, row.queue || "–") },
    { name: "Tenant", cell: (row) => h("span", { class: "name" }, row.tenant || "–") },
    { name: "Part", cell: (row) => meter((row.used_gpu_hours ?? row.gpu_hours) / most, { soft: row.gpu_hours / most, label: `${rough(row.gpu_hours)} GPU-hours` }) },
    { name: "GPU-hours", right: true, cell: (row) => rough(row.gpu_hours) },
    { name: "Used", right: true, cell: (row) => rough(row.used_gpu_hours) },
    { name: "Idle", right: true, cell: (row) => rough(row.idle_gpu_hours) },
    rows.some((row) => row.over_asked_gpu_hours != null) && { name: "Over-asked", right: true, cell: (row) => overAsked(row) },
    rows.some((row) => row.cost != null) && { name: "Money", right: true, cell: (row) => rough(row.cost) },
    rows.some((row) => row.idle_cost != null) && { name: "For idle", right: true, cell: (row) => rough(row.idle_cost) },
  ].filter(Boolean);
  const since = waste.since !== waste.from ? ["from ", when(waste.since), ", the earliest that is at hand"] : null;
  return panel("Who held what", { note: since }, h("div", { class: "scroll" }, table(columns, rows, { caption: "GPU-hours by queue and tenant" })));
}
