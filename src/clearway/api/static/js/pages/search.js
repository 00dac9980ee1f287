// One search: what its trials gave, as plots and as a table.
import { h, put } from "../dom.js";
import { get, path, post } from "../net.js";
import { watch } from "../live.js";
import { bones, choice, confirm, empty, faultText, figures, heading, jobLink, panel, state, table, told } from "../parts.js";
import { brief } from "../format.js";
import { progress, short, spread, worth } from "./search_plot.js";

const MOST_ROWS = 500;

export function open(root, { parts }) {
  const name = parts[1];
  const body = h("div", {}, bones(74, 260));
  let order = "best";
  let last = null;
  let drawn = "";
  put(root, body);
  const kept = watch((signal) => get(path("searches", name), {}, signal), show, { every: 5000, failed });
  return () => kept.stop();

  function show(search) {
    const now = JSON.stringify([order, search]);
    if (now === drawn) return;
    drawn = now;
    last = search;
    const inputs = [...new Set(search.trials.flatMap((trial) => Object.keys(trial.point ?? {})))];
    const sort = choice("In which order", [["best", "Best first"], ["latest", "Latest first"]], order, (chosen) => ((order = chosen), show(last)));
    const spreads = spread(search, inputs);
    put(
      body,
      heading(search.name, { more: acts(search) }),
      figures([["State", search.state], ["Trials done", brief(search.completed), `of ${brief(search.wanted)}`], ["Failed", brief(search.failed)], ["Stopped early", brief(search.stopped)], ["Best", search.best ? value(search.best.value) : "–", search.best ? `trial ${search.best.number}` : ""]]),
      search.reason && h("p", { class: "name quiet" }, search.reason.text),
      h("div", { class: "grid" }, panel("Best so far", {}, progress(search)), spreads && panel("Each parameter", {}, spreads), trials(search, inputs, order, sort)),
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

const value = (one) => (typeof one === "number" ? short(one) : one == null ? "–" : JSON.stringify(one).slice(0, 200));

function trials(search, inputs, order, sort) {
  if (search.trials.length === 0) return panel("Trials", {}, empty("No trial has begun.", null, "find"));
  const columns = [
    { name: "Trial", head: true, cell: (trial) => jobLink(trial.id, trial.job) },
    { name: "State", cell: (trial) => state(trial.state) },
    { name: "Value", right: true, cell: (trial) => (trial.number === search.best?.number ? h("strong", {}, value(trial.value), " best") : given(trial)) },
    ...inputs.map((one) => ({ name: one, right: true, cell: (trial) => value(trial.point?.[one]) })),
  ];
  const rows = sorted(search, order).slice(0, MOST_ROWS);
  const caption = order === "best" ? "Trials, the best first" : "Trials, latest first";
  return panel("Trials", { more: [sort] }, h("div", { class: "scroll" }, table(columns, rows, { caption })));
}

const given = (trial) => (trial.value == null && worth(trial) !== null ? h("span", { class: "quiet" }, `last report ${value(worth(trial))}`) : value(trial.value));

/** Trials in an order; without a value they come last, the latest of them first. */
function sorted(search, order) {
  const latest = [...search.trials].reverse();
  if (order === "latest") return latest;
  const sign = search.direction === "maximize" ? -1 : 1;
  const [good, rest] = [true, false].map((has) => latest.filter((trial) => (typeof trial.value === "number") === has));
  return [...good.sort((a, b) => sign * (a.value - b.value) || a.number - b.number), ...rest];
}
