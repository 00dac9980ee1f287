// What happens, as it happens: one stream of events, taken up again where it broke off.
import { Fault, address, heard } from "./net.js";

const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 5000;
const POLL_MS = 2000;
const GATHER_MS = 10; // events of one turn of the controller come together

const listeners = new Set();
let gathered = [];
let timer = 0;
let lastId = "";
let stopping = null;

/** Call `listener(events)` for what has happened; an empty list: look again at everything. Returns how to stop it. */
export function onEvents(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function tell(events) {
  for (const listener of listeners) listener(events);
}

function gather(event) {
  gathered.push(event);
  if (timer) return;
  timer = setTimeout(() => {
    const events = gathered;
    gathered = [];
    timer = 0;
    tell(events);
  }, GATHER_MS);
}

/** Listen while the page is looked at; a hidden page asks for nothing. */
export function listen() {
  document.addEventListener("visibilitychange", () => (document.hidden ? stop() : begin()));
  if (!document.hidden) begin();
}

function begin() {
  if (stopping) return;
  stopping = new AbortController();
  void keepOn(stopping.signal);
}

function stop() {
  stopping?.abort();
  stopping = null;
}

async function keepOn(signal) {
  let pause = FIRST_PAUSE_MS;
  while (!signal.aborted) {
    try {
      await follow(signal, () => {
        pause = FIRST_PAUSE_MS;
      });
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof Fault && error.status === 404) {
        await wait(POLL_MS, signal); // an older controller, without a stream
        tell([]);
        continue;
      }
    }
    await wait(pause, signal);
    pause = Math.min(LONGEST_PAUSE_MS, pause * 2);
  }
}

const wait = (ms, signal) =>
  new Promise((done) => {
    const one = setTimeout(done, ms);
    signal.addEventListener("abort", () => (clearTimeout(one), done()), { once: true });
  });

async function follow(signal, well) {
  const headers = { accept: "text/event-stream", ...(lastId ? { "last-event-id": lastId } : {}) };
  let answer;
  try {
    answer = await fetch(address("events"), { headers, signal, credentials: "same-origin", cache: "no-store" });
  } catch (error) {
    if (!signal.aborted) heard(0);
    throw error;
  }
  heard(answer.status);
  if (!answer.ok) throw new Fault(answer.status, {});
  well();
  tell([]); // whatever was missed meanwhile
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read().catch(() => ({ done: true }));
    if (done) break;
    const lines = (rest + value).split(/\r?\n\r?\n/);
    rest = lines.pop();
    for (const block of lines) read(block);
  }
  if (!signal.aborted) heard(0);
}

function read(block) {
  const event = { kind: "message", data: "" };
  for (const line of block.split(/\r?\n/)) {
    const [, word, value] = /^([^:]*): ?(.*)$/.exec(line) ?? [];
    if (word === "event") event.kind = value;
    else if (word === "data") event.data += value;
    else if (word === "id") lastId = value;
  }
  if (!event.data) return;
  try {
    gather({ kind: event.kind, ...JSON.parse(event.data) });
  } catch {
    gather({ kind: event.kind });
  }
}

/**
 * Keep something up to date: `load(signal)` then `show(found)`, now, when `wants(events)` says so, and every so often.
 * One load at a time; a slow one is not asked for again at once. Returns `{again, stop}`.
 */
export function watch(load, show, { wants = () => true, every = 15000, failed = () => {} } = {}) {
  const ending = new AbortController();
  let busy = false;
  let due = false;
  let later = 0;
  let beat = 0;

  async function again() {
    if (ending.signal.aborted) return;
    if (busy || later) {
      due = true;
      return;
    }
    busy = true;
    clearTimeout(beat);
    const begun = performance.now();
    try {
      const found = await load(ending.signal);
      if (!ending.signal.aborted) show(found);
    } catch (error) {
      if (ending.signal.aborted) return;
      failed(error);
    } finally {
      busy = false;
      const rest = Math.min(2000, Math.max(40, 2 * (performance.now() - begun)));
      later = setTimeout(() => {
        later = 0;
        if (due) {
          due = false;
          void again();
        }
      }, rest);
      beat = setTimeout(() => document.hidden || again(), every);
    }
  }

  const off = onEvents((events) => {
    if (events.length === 0 || wants(events)) void again();
  });
  void again();
  return {
    again,
    stop() {
      off();
      ending.abort();
      clearTimeout(later);
      clearTimeout(beat);
    },
  };
}
