// How good forecasts were, beside what came; and what load is to come.
import { h, put, s } from "../dom.js";
import { get } from "../net.js";
import { bones, choice, empty, faultText, figures, heading, panel, table, when } from "../parts.js";
import { brief, moment, number, span } from "../format.js";

const SPANS = [["7d", "7 d"], ["30d", "30 d"], ["90d", "90 d"]];
const BY = [["queue", "Queue"], ["tenant", "Tenant"], ["user", "User"], ["basis", "Basis"], ["length", "Length"]];
const SHOWN = 20;
const SIDE = 260;
const EDGE = 40;
const LOADS = { arrivals: "Arrivals in 5 min", gpus: "GPUs in use" };

export function open(root) {
  const asked = { since: "30d", by: "queue" };
  const scores = h("div", {});
  const starts = h("div", {});
  const load = h("div", {}, bones(160));
  const stop = new AbortController();
  const word = (label, options, name) =>
    choice(label, options, asked[name], (value) => {
      asked[name] = value;
      void judge();
    });
  put(root, heading("Forecasts", { more: [word("Forecasts made within", SPANS, "since"), word("A row for each", BY, "by")] }), h("div", { class: "grid" }, scores, starts, load));
  offer();
  void judge();
  void ahead();
  return () => stop.abort();

  async function into(place, ask, show) {
    try {
      const found = await ask();
      if (!stop.signal.aborted) put(place, show(found));
    } catch (error) {
      if (!stop.signal.aborted) put(place, empty("This could not be worked out.", faultText(error), "warn"));
    }
  }

  function judge() {
    put(scores, h("p", { class: "quiet small", role: "status" }, "Each run of the time is judged by what was forecast for it; a long past takes a minute or two…"), bones(74, 240));
    return into(scores, () => get("forecasts", asked, stop.signal), (found) => judged(found));
  }

  function ahead() {
    return into(load, () => get("load", { since: "30d" }, stop.signal), loadAhead);
  }

  function offer() {
    const button = h("button", { class: "button", type: "button", onclick: () => void look() }, "Look at starts");
    put(starts, panel("Starts", { more: [button] }, empty("ETAs are judged when you ask.", "At moments of the past it is worked out when those would start who waited then, and compared with what came. It takes up to a minute.", "timeline")));
  }

  function look() {
    put(starts, panel("Starts", {}, h("p", { class: "body", role: "status" }, "The past is run through again; it takes up to a minute…")));
    return into(starts, () => get("forecasts", { ...asked, starts: "true" }, stop.signal), (found) => startsJudged(found.starts));
  }
}

const part = (value) => (value == null ? "–" : `${value.toFixed(1)} %`);
const factor = (value) => (value == null ? "–" : `${value < 100 ? value.toFixed(2) : number(Math.round(value))}×`);
const seconds = (value) => (value == null ? "–" : span(value));

function judged(found) {
  const [all, ...rows] = found.runs;
  if (all.runs === 0) return panel("Run times", {}, empty("Nothing can be judged yet.", "Each job is forecast when it joins the line; once jobs have ended, what was said stands here beside what came.", "jobs"));
  const rest = found.broken_off ? `${brief(found.broken_off)} broken off` : "";
  const numbers = figures([
    ["Runs", brief(all.runs), rest],
    ["Inside 80 %", part(all.within_80), "of the runs"],
    ["Inside 95 %", part(all.within_95), "of the runs"],
    ["Off by", factor(all.error), "in the middle"],
    ["The last run", factor(all.last_error), "would have been off by"],
    all.estimate_error != null && ["Users", factor(all.estimate_error), "were off by"],
  ].filter(Boolean));
  const drift = found.drifted ? empty("Run times have drifted.", "The last fifty or so were held for less than half as likely as usual. Newer runs take over.", "warn") : null;
  return h("div", { class: "grid" }, numbers, drift, h("div", { class: "grid two" }, calibration(all, found.levels), months(found.months)), groups(rows));
}

function groups(rows) {
  const columns = [
    { name: "Runs of", head: true, cell: (row) => h("span", { class: "name" }, row.name || "–") },
    { name: "Runs", right: true, cell: (row) => brief(row.runs) },
    { name: "In 80 %", right: true, cell: (row) => part(row.within_80) },
    { name: "In 95 %", right: true, cell: (row) => part(row.within_95) },
    { name: "Width", right: true, cell: (row) => factor(row.width) },
    { name: "Off by", right: true, cell: (row) => factor(row.error) },
    { name: "Estimate", right: true, cell: (row) => factor(row.estimate_error) },
    { name: "Last run", right: true, cell: (row) => factor(row.last_error) },
    { name: "Median", right: true, cell: (row) => factor(row.median_error) },
  ];
  const note = rows.length > SHOWN ? `the ${SHOWN} with most runs of ${brief(rows.length)}` : "factors: 1.5× is half as long again, or two thirds";
  return panel("Run times", { note }, h("div", { class: "scroll" }, table(columns, rows.slice(0, SHOWN), { caption: "Forecasts of run times, beside estimates, the last run of the user and the median of the like" })));
}

function months(rows) {
  const columns = [
    { name: "Month", head: true, cell: (row) => row.month },
    { name: "Runs", right: true, cell: (row) => brief(row.runs) },
    { name: "In 80 %", right: true, cell: (row) => part(row.within_80) },
    { name: "In 95 %", right: true, cell: (row) => part(row.within_95) },
    { name: "Off by", right: true, cell: (row) => factor(row.error) },
  ];
  return panel("By month", {}, h("div", { class: "scroll" }, table(columns, rows, { caption: "By the month in which runs ended" })));
}

/** What was promised along, what came up: on the diagonal both are the same. */
function calibration(all, levels) {
  const at = (value) => EDGE + (value / 100) * (SIDE - EDGE - 10);
  const up = (value) => SIDE - at(value);
  const points = levels.map((level, n) => [level, all.below[n]]);
  const label = `Of ${all.runs} runs: ${points.map(([level, came]) => `${came.toFixed(0)} % were not longer than stated at ${level} %`).join(", ")}.`;
  const word = (x, y, anchor, text) => s("text", { class: "plot-word", x, y, "text-anchor": anchor }, text);
  const drawn = s(
    "svg",
    { width: SIDE, height: SIDE, viewBox: `0 0 ${SIDE} ${SIDE}`, role: "img", "aria-label": label },
    s("path", { class: "plot-line", "stroke-width": 2, "stroke-dasharray": "5 4", d: `M${at(0)} ${up(0)}L${at(100)} ${up(100)}` }),
    [0, 50, 100].map((value) => [word(at(value), SIDE - 22, "middle", `${value}`), word(EDGE - 8, up(value) + 4, "end", `${value}`)]),
    word(at(50), SIDE - 6, "middle", "stated, %"),
    s("path", { class: "plot-best", d: points.map(([x, y], n) => `${n ? "L" : "M"}${at(x)} ${up(y)}`).join("") }),
    points.map(([x, y]) => s("circle", { class: "plot-dot", cx: at(x), cy: up(y), r: 3 }, s("title", {}, `stated ${x} %, came ${y.toFixed(1)} %`))),
  );
  return panel("What was promised, and what came", { note: "% of the runs not longer than stated; on the line it is as promised" }, h("div", { class: "body plot" }, drawn));
}

function startsJudged(found) {
  if (found.judged === 0) return panel("Starts", {}, empty("Nobody waited at the moments that were looked at.", "Where jobs start at once there is nothing to say of it.", "timeline"));
  return panel("Starts", { note: `asked at ${found.moments} moments about those who waited then` }, figures([
    ["Answers", brief(found.judged)],
    ["Inside 80 %", part(found.within_80), "of the starts"],
    ["Off by", seconds(found.error), "in the middle"],
    ["Place in the queue", seconds(found.place_error), "times mean run time would have been off by"],
    ["Waited", seconds(found.wait), "in the middle"],
  ]));
}

function loadAhead(found) {
  const rows = found.series.flatMap((series) => series.ahead.map((row) => ({ series, ...row })));
  const between = (within) => (within === null ? "–" : `${number(Math.round(within[0] * 10) / 10)} to ${number(Math.round(within[1] * 10) / 10)}`);
  const columns = [
    { name: "Load", head: true, cell: (row) => LOADS[row.series.name] },
    { name: "In", right: true, cell: (row) => span(row.horizon) },
    { name: "Now", right: true, wide: true, cell: (row) => number(row.series.now) },
    { name: "Then", right: true, cell: (row) => number(Math.round(row.middle * 10) / 10) },
    { name: "80 %", right: true, cell: (row) => between(row.within_80) },
    { name: "95 %", right: true, wide: true, cell: (row) => between(row.within_95) },
    { name: "By", wide: true, cell: (row) => row.model },
  ];
  if (rows.length === 0) return panel("Load to come", {}, empty("The past is too short.", "After a day or so of jobs it is forecast here how many come and how many GPUs they take, up to a day ahead.", "forecasts"));
  const breaks = found.series.flatMap((series) => series.breaks.map((one) => ({ series, ...one }))).sort((a, b) => (a.from < b.from ? 1 : -1)).slice(0, SHOWN);
  const told = breaks.map((one) => h("li", {}, `${LOADS[one.series.name]}: ${one.side} what was forecast, `, when(one.from), " to ", moment(one.to)));
  return panel("Load to come", { note: "by the model that was best on the past" }, h("div", { class: "scroll" }, table(columns, rows, { caption: "Load that is to come, with intervals" })), told.length > 0 && h("div", { class: "body" }, h("h3", {}, "Load breaks"), h("ul", {}, told)));
}
