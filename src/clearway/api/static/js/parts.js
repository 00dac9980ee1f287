// What pages are put together from.
import { h, put } from "./dom.js";
import { icon, shape } from "./icons.js";
import { ago, exact, moment, number } from "./format.js";
import { Fault } from "./net.js";

/** A state with its shape. */
export const state = (name) => h("span", { class: "state", data: { state: name } }, shape(name), String(name).replaceAll("_", " "));

/** A box with a heading. */
export function panel(title, { id, more = [], note, level = "h2" } = {}, ...inside) {
  const head = h(level, id ? { id } : {}, title);
  return h(
    "section",
    { class: "panel", ...(id ? { "aria-labelledby": id } : { "aria-label": title }) },
    h("header", {}, head, note && h("span", { class: "quiet small" }, note), more.length > 0 && h("div", { class: "more" }, more)),
    ...inside,
  );
}

/** The heading of a page, with what can be done beside it. */
export function heading(title, { note, more = [] } = {}) {
  document.title = `${title} · Clearway`;
  return h("div", { class: "head" }, h("h1", { class: "name" }, title), note && h("span", { class: "quiet small" }, note), more.length > 0 && h("div", { class: "more" }, more));
}

/** The numbers at the head of a page: `[[name, value, small words], ..]`. */
export const figures = (rows) =>
  h("dl", { class: "figures" }, rows.map(([name, value, small]) => h("div", {}, h("dt", {}, name), h("dd", {}, String(value), small && h("small", {}, ` ${small}`)))));

/** What is said where nothing is. */
export const empty = (title, text, sign) =>
  h("div", { class: "empty" }, sign && icon(sign), h("p", {}, title), text && h("p", {}, text));

/** A code to type, inside a sentence. */
export const code = (text) => h("code", {}, text);

/** Grey boxes while something comes. */
export const bones = (...heights) =>
  h("div", { class: "grid", "aria-hidden": "true" }, heights.map((height) => h("div", { class: "bones", style: { height: `${height}px` } })));

/** A moment, with the whole date to look at. */
export const when = (iso, { relative = false, withSeconds = false } = {}) =>
  iso == null ? h("span", { class: "quiet" }, "–") : h("time", { datetime: iso, title: exact(iso) }, relative ? ago(iso) : moment(iso, withSeconds));

/** A link to a job. */
export const jobLink = (id, name) => h("a", { class: "name", href: `#/jobs/${id}`, title: String(name ?? id).slice(0, 200) }, String(name ?? `job ${id}`));

/**
 * A table. Columns: `{name, cell(row), right, head, long, wide, when, extra}`; on a phone each row becomes a card with the columns'
 * names as labels; what is `extra` is left out where a table is narrow. `under(row)` is what stands below a row, over its whole width.
 */
export function table(columns, rows, { caption, fold = true, className = "", under = null } = {}) {
  const below = (row) => h("tr", { class: "under" }, h("td", { colspan: columns.length }, under(row)));
  const body = h("tbody", {}, rows.map((row) => [tableRow(columns, row), under && below(row)]));
  const kind = [fold ? "fold" : "", className].join(" ").trim();
  return h(
    "table",
    { class: kind || null },
    caption && h("caption", { class: "hidden" }, caption),
    h("thead", {}, h("tr", {}, columns.map((c) => h("th", { scope: "col", class: [c.right && "right", c.extra && "extra"].filter(Boolean).join(" ") || null }, c.name)))),
    body,
  );
}

/** One row of such a table. */
export function tableRow(columns, row) {
  return h(
    "tr",
    {},
    columns.map((c) => {
      const kind = [c.right && "right", c.long && "long", c.wide && "wide", c.when && "when", c.extra && "extra"].filter(Boolean).join(" ");
      const words = { class: kind || null, "data-label": c.head ? null : c.name };
      const told = c.cell(row);
      const inside = Array.isArray(told) ? h("span", {}, told) : told; // beside its label it is one thing
      return h(c.head ? "th" : "td", c.head ? { ...words, scope: "row" } : words, inside);
    }),
  );
}

/** A bar of a part of a whole; `soft` lies behind it, `line` is drawn over it. All are parts of 1. */
export function meter(part, { soft = null, line = null, label = "" } = {}) {
  const width = (x) => ({ style: { width: `${Math.max(0, Math.min(1, x)) * 100}%` } });
  return h(
    "div",
    { class: "meter", role: "img", "aria-label": label || `${Math.round(part * 100)} %` },
    soft != null && h("i", { class: "soft", ...width(soft) }),
    h("i", width(part)),
    line != null && h("b", { style: { left: `calc(${Math.min(1, line) * 100}% - 1px)` } }),
  );
}

/** Names with their values, side by side. */
export const pairs = (rows) =>
  h("dl", { class: "pairs" }, rows.filter(([, value]) => value != null && value !== "").map(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]));

/** Buttons of which one is pressed. */
export function choice(label, options, chosen, choose) {
  const group = h("div", { class: "choice", role: "group", "aria-label": label });
  for (const [value, text] of options) {
    const button = h("button", { type: "button", "aria-pressed": String(value === chosen), onclick: () => pick(value) }, text);
    button.value = value;
    group.append(button);
  }
  function pick(value) {
    for (const button of group.children) button.setAttribute("aria-pressed", String(button.value === String(value)));
    choose(value);
  }
  return group;
}

/** Say something that was done, for a moment; read out by screen readers. */
export function told(text) {
  const place = document.getElementById("said");
  const line = h("div", {}, text);
  put(place, line);
  setTimeout(() => line.remove(), 6000);
}

/** Say what was refused, in words of its own. */
export const faultText = (error) => (error instanceof Fault ? error.message : `this page has a defect: ${error.message}`);

/**
 * Ask before something is done. `act()` does it; what it refuses with is shown and the question stays. Resolves to
 * whether it was done.
 */
export function confirm(title, text, verb, act, { grave = false, inside = null } = {}) {
  return new Promise((resolve) => {
    const fault = h("div", { role: "alert" });
    const yes = h("button", { class: `button ${grave ? "grave" : "first"}`, type: "submit" }, verb);
    const no = h("button", { class: "button", type: "button", onclick: () => dialog.close() }, "Not now");
    const form = h("form", { method: "dialog", onsubmit: submit }, h("h2", { id: "asked" }, title), text && h("p", { class: "quiet small" }, text), inside, fault, h("div", { class: "choices" }, no, yes));
    const dialog = h("dialog", { "aria-labelledby": "asked", onclose: closed }, form);
    let done = false;

    async function submit(event) {
      event.preventDefault();
      yes.disabled = true;
      try {
        await act(form);
        done = true;
        dialog.close();
      } catch (error) {
        put(fault, h("p", { class: "fault" }, faultText(error)));
        yes.disabled = false;
      }
    }
    function closed() {
      dialog.remove();
      resolve(done);
    }
    document.body.append(dialog);
    dialog.showModal();
    (inside?.querySelector("input, select, textarea") ?? no).focus();
  });
}

/** Previous and next of a list that comes in parts. */
export function pager(text, back, next) {
  const button = (name, act) => h("button", { class: "button", type: "button", disabled: !act, onclick: act }, name);
  return h("div", { class: "pages" }, h("span", {}, text), h("span", { style: { "margin-left": "auto" } }), button("Back", back), button("Next", next));
}

export { number };
