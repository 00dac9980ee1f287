// Which page is open: `#/name/part?word=value`.
import { h, put } from "./dom.js";
import { frame, notices, open } from "./frame.js";
import { listen } from "./live.js";
import { bones, empty, faultText } from "./parts.js";

const PAGES = {
  now: () => import("./pages/now.js"),
  timeline: () => import("./pages/timeline.js"),
  jobs: (parts) => (parts.length > 0 ? import("./pages/job.js") : import("./pages/jobs.js")),
  queues: () => import("./pages/queues.js"),
  workflows: (parts) => import(parts[0] === "search" ? "./pages/search.js" : parts[0] === "flow" ? "./pages/flow.js" : "./pages/workflows.js"),
  policy: (parts) => (parts[0] === "whatif" ? import("./pages/whatif.js") : import("./pages/policy.js")),
  forecasts: () => import("./pages/forecasts.js"),
  waste: () => import("./pages/waste.js"),
  submit: () => import("./pages/submit.js"),
};

let close = () => {};
let turn = 0;

async function go() {
  const mine = (turn += 1);
  const [where, words = ""] = location.hash.replace(/^#\/?/, "").split("?");
  const [name = "", ...parts] = where.split("/").map(plain);
  const page = Object.hasOwn(PAGES, name) ? name : "now";
  const main = document.getElementById("page");
  const root = h("div", {});
  close();
  close = () => {};
  open(page === "submit" ? "jobs" : page);
  delete main.dataset.shown;
  put(main, notices(), root);
  put(root, bones(72, 240, 160));
  try {
    const room = await PAGES[page](parts);
    if (mine !== turn) return;
    put(root);
    close = room.open(root, { parts, words: new URLSearchParams(words) }) ?? (() => {});
    main.dataset.shown = where;
  } catch (error) {
    if (mine === turn) put(root, empty("This page could not be opened.", faultText(error), "warn"));
  }
}

function plain(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

window.addEventListener("hashchange", () => {
  void go();
  window.scrollTo(0, 0);
  document.getElementById("page").focus({ preventScroll: true });
});
frame();
listen();
void go();
