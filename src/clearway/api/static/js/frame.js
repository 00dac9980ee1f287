// The bar above, the pages beside, and how the controller is to be reached.
import { h, put, s, mark, say } from "./dom.js";
import { icon } from "./icons.js";
import { get, onReach } from "./net.js";
import { watch } from "./live.js";
import { brief, bytes } from "./format.js";

const PAGES = [
  ["now", "Now"],
  ["timeline", "Timeline"],
  ["jobs", "Jobs"],
  ["queues", "Queues"],
  ["workflows", "Workflows"],
  ["policy", "Policy"],
  ["forecasts", "Forecasts"],
  ["waste", "Waste"],
];
const THEMES = ["system", "light", "dark"];
const WORDS = { up: "live", gone: "reconnecting", closed: "not allowed in", stuck: "cannot write", trouble: "trouble", waiting: "connecting" };

const pulse = h("span", { class: "pulse", data: { state: "waiting" } }, h("span", {}, WORDS.waiting));
const place = h("div", { id: "notices" });
const links = new Map();
const counts = new Map();
let reach = "waiting";
let health = { state: "up", text: "" };
let disk = null;
const LOW = { part: 0.05, bytes: 10 * 2 ** 30 }; // less than both: the disk is nearly full

/** Draw the frame once, and keep it up to date. */
export function frame() {
  put(document.getElementById("top"), brand(), finder(), pulse, themes());
  put(document.getElementById("rail"), h("ul", {}, PAGES.map(pageLink)));
  onReach((state) => {
    reach = state;
    show();
  });
  watch((signal) => get("status", {}, signal), showStatus, { every: 5000, wants: () => true });
}

/** The place in which a page's notices stand, for the page to put on top. */
export const notices = () => place;

/** Show which page is open. */
export function open(name) {
  for (const [one, link] of links) mark(link, "aria-current", one === name ? "page" : null);
  links.get(name)?.scrollIntoView({ block: "nearest", inline: "nearest" });
}

function brand() {
  const bar = (y, width, opacity) => s("rect", { x: 6, y, width, height: 4, rx: 2, opacity });
  const mark = s("svg", { viewBox: "0 0 32 32", "aria-hidden": "true" }, s("rect", { width: 32, height: 32, rx: 8 }), s("g", {}, bar(8, 20), bar(14, 13, 0.8), bar(20, 7, 0.6)));
  return h("a", { class: "brand", href: "#/now", "aria-label": "Clearway: now" }, mark, h("span", {}, "Clearway"));
}

function pageLink([name, title]) {
  const count = h("span", { class: "count" });
  const link = h("a", { href: `#/${name}` }, icon(name), h("span", {}, title), count);
  links.set(name, link);
  counts.set(name, count);
  return h("li", {}, link);
}

function finder() {
  const field = h("input", { type: "search", placeholder: "Find a job", "aria-label": "Find a job by name or number", autocomplete: "off", spellcheck: "false", maxlength: 1000 });
  const form = h("form", { class: "find", role: "search", onsubmit: find }, icon("find"), field);
  function find(event) {
    event.preventDefault();
    const said = field.value.trim();
    if (said) location.hash = /^[0-9]{1,18}$/.test(said) ? `#/jobs/${said}` : `#/jobs?name=${encodeURIComponent(said)}`;
    field.value = "";
  }
  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.target.closest("input, textarea, select, dialog")) return;
    event.preventDefault();
    field.focus();
  });
  return form;
}

function themes() {
  const button = h("button", { class: "button bare icon", type: "button", onclick: next });
  function chosen() {
    return document.documentElement.dataset.theme ?? "system";
  }
  function draw() {
    const now = chosen();
    put(button, icon({ system: "system", light: "sun", dark: "moon" }[now]));
    button.setAttribute("aria-label", `Colours: ${now}`);
    button.title = `Colours: ${now}`;
  }
  function next() {
    const to = THEMES[(THEMES.indexOf(chosen()) + 1) % THEMES.length];
    if (to === "system") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = to;
    try {
      if (to === "system") localStorage.removeItem("clearway-theme");
      else localStorage.setItem("clearway-theme", to);
    } catch {
      // it holds for as long as this page is open
    }
    draw();
    window.dispatchEvent(new Event("clearway-theme"));
  }
  draw();
  return button;
}

function showStatus(told) {
  health = { state: told.controller.state, text: told.controller.text ?? "" };
  disk = told.disk ?? null;
  const jobs = told.jobs ?? {};
  const live = (jobs.pending ?? 0) + (jobs.running ?? 0);
  say(counts.get("jobs"), live ? brief(live) : "");
  show();
}

function show() {
  const state = reach !== "up" ? reach : health.state !== "up" ? "stuck" : health.text ? "trouble" : "up";
  mark(pulse, "data-state", state);
  say(pulse.firstChild, WORDS[state]);
  mark(document.body, "data-reach", state);
  const notes = [notice(state), state === "up" || state === "trouble" ? nearlyFull() : null];
  const now = notes.map((one) => one?.textContent ?? "").join();
  if (place.dataset.for === now) return;
  place.dataset.for = now;
  put(place, notes);
}

function notice(state) {
  if (state === "gone")
    return said("The controller does not answer.", "Jobs go on without it. What you see is how things stood last; this page connects again by itself.");
  if (state === "closed")
    return said("This page is not allowed in any more.", "Open it anew with the command: clearway dashboard");
  if (state === "stuck") return said("The controller cannot write its journal.", `${health.text || health.state}. Running jobs go on; nothing new is decided until this is over.`);
  if (state === "trouble") return said("The engine has trouble.", `${health.text}. Running jobs go on; what is to start or to stop may have to wait for the engine.`);
  return null;
}

function nearlyFull() {
  if (!disk || disk.free >= LOW.part * disk.total || disk.free >= LOW.bytes) return null;
  return said("The disk of the controller is nearly full.", `${bytes(disk.free)} of ${bytes(disk.total)} are left. When it is full nothing new is decided. Make room, or let it forget: the setting retention, then clearway db compact.`);
}

const said = (title, text) => h("div", { class: "notice", role: "alert" }, icon("warn"), h("div", {}, h("strong", {}, title), h("p", {}, text)));
