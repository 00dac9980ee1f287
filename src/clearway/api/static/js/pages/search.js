// One search: what its trials gave, as dots and as a table.
import { h, put, s } from "../dom.js";
import { get, path, post } from "../net.js";
import { watch } from "../live.js";
import { bones, confirm, empty, faultText, figures, heading, jobLink, panel, state, table, told } from "../parts.js";
import { brief, number } from "../format.js";

const TALL = 260;
const EDGE = { left: 64, right: 16, top: 14, bottom: 38 };

export function open(root, { parts }) {
  const name = parts[1];
  const body = h("div", {}, bones(74, 260));
  let axis = "";
  let last = null;
  put(root, body);
  const kept = watch((signal) => get(path("searches", name), {}, signal), show, { every: 5000, failed });
  return () => kept.stop();

  function show(search) {
    last = search;
    const inputs = [...new Set(search.trials.flatMap((trial) => Object.keys(trial.point ?? {})))];
    const pick = h("select", { "aria-label": "What lies along the plot", onchange: (event) => ((axis = event.target.value), show(last)) }, h("option", { value: "" }, "number of the trial"), inputs.map((one) => h("option", { value: one, selected: one === axis }, one)));
    put(
      body,
      heading(search.name, { more: acts(search) }),
      figures([["State", search.state], ["Trials done", brief(search.completed), `of ${brief(search.wanted)}`], ["Failed", brief(search.failed)], ["Best", search.best ? value(search.best.value) : "–", search.best ? `trial ${search.best.number}` : ""]]),
      search.reason && h("p", { class: "name quiet" }, search.reason.text),
      h("div", { class: "grid" }, panel("Values", { more: [pick] }, plot(search, axis)), trials(search, inputs)),
    );
  }

  function acts(search) {
    if (search.state !== "running") return [];
    const cancel = async () => {
      if (await confirm("End this search?", "Trials that run are stopped, and no other enters.", "Cancel", () => post(path("searches", name, "cancel")), { grave: true })) told("The search is told to end.");
      void kept.again();
    };
    return [h("button", { class: "button grave", type: "button", onclick: cancel }, "Cancel")];
  }

  function failed(error) {
    if (last === null) put(body, heading("Search"), empty(error.status === 404 ? "There is no such search at hand." : "It could not be read.", faultText(error), "warn"));
  }
}

const value = (one) => (typeof one === "number" ? number(one) : one == null ? "–" : JSON.stringify(one).slice(0, 200));

function plot(search, axis) {
  const wide = Math.round(Math.min(1080, Math.max(300, document.getElementById("page").clientWidth - 90)));
  const dots = search.trials.filter((trial) => typeof trial.value === "number").map((trial) => ({ trial, y: trial.value, x: axis ? trial.point?.[axis] : trial.number }));
  const plain = dots.filter((dot) => typeof dot.x === "number");
  if (plain.length === 0) return empty(dots.length > 0 ? "Along this there are no numbers." : "No trial has given a number yet.", "Each trial shows here with the value that it gave.", "find");
  const [x0, x1] = ends(plain.map((dot) => dot.x));
  const [y0, y1] = ends(plain.map((dot) => dot.y));
  const x = (at) => EDGE.left + ((at - x0) / (x1 - x0)) * (wide - EDGE.left - EDGE.right);
  const y = (at) => TALL - EDGE.bottom - ((at - y0) / (y1 - y0)) * (TALL - EDGE.top - EDGE.bottom);
  const best = search.best?.number;
  const lines = [0, 0.5, 1].map((part) => y0 + (y1 - y0) * part);
  return h(
    "div",
    { class: "body plot" },
    s(
      "svg",
      { width: wide, height: TALL, viewBox: `0 0 ${wide} ${TALL}`, role: "img", "aria-label": `Values of ${plain.length} trials along ${axis || "their number"}, from ${number(y0)} to ${number(y1)}. The table below has each.` },
      lines.map((at) => [s("path", { class: "plot-line", d: `M${EDGE.left} ${y(at)}H${wide - EDGE.right}` }), s("text", { class: "plot-word", x: EDGE.left - 8, y: y(at) + 4, "text-anchor": "end" }, short(at))]),
      [x0, x1].map((at, n) => s("text", { class: "plot-word", x: x(at), y: TALL - 16, "text-anchor": n === 0 ? "start" : "end" }, short(at))),
      s("text", { class: "plot-word", x: (wide + EDGE.left) / 2, y: TALL - 16, "text-anchor": "middle" }, axis || "number of the trial"),
      plain.map((dot) => s("circle", { class: "plot-dot", data: { best: dot.trial.number === best ? "" : null }, cx: x(dot.x), cy: y(dot.y), r: dot.trial.number === best ? 6 : 4 }, s("title", {}, `trial ${dot.trial.number}: ${number(dot.y)}`))),
    ),
  );
}

function ends(list) {
  const low = Math.min(...list);
  const high = Math.max(...list);
  return low === high ? [low - 0.5, high + 0.5] : [low, high];
}

const short = (n) => Number(n.toPrecision(4)).toString();

function trials(search, inputs) {
  if (search.trials.length === 0) return panel("Trials", {}, empty("No trial has begun.", null, "find"));
  const columns = [
    { name: "Trial", head: true, cell: (trial) => jobLink(trial.id, trial.job) },
    { name: "State", cell: (trial) => state(trial.state) },
    ...inputs.map((one) => ({ name: one, right: true, cell: (trial) => value(trial.point?.[one]) })),
    { name: "Value", right: true, cell: (trial) => (trial.number === search.best?.number ? h("strong", {}, value(trial.value), " best") : value(trial.value)) },
  ];
  return panel("Trials", {}, h("div", { class: "scroll" }, table(columns, [...search.trials].reverse().slice(0, 500), { caption: "Trials, latest first" })));
}
