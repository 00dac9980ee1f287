// Asking the controller. Nothing but this origin is ever asked.

const BASE = "/api/v1/";

/** What the controller refused, or that it did not answer: `status` is 0 then. */
export class Fault extends Error {
  constructor(status, told) {
    super(told.detail ?? told.title ?? "the controller did not answer");
    this.status = status;
    this.field = told.field ?? null;
    this.rule = told.rule ?? null;
  }
}

/** Put a path together of parts that may hold any characters. */
export function path(...parts) {
  return parts.map((part) => encodeURIComponent(part)).join("/");
}

function query(words) {
  const said = new URLSearchParams();
  for (const [word, value] of Object.entries(words ?? {})) {
    if (Array.isArray(value)) for (const one of value) said.append(word, one);
    else if (value != null && value !== "") said.set(word, value);
  }
  const text = said.toString();
  return text ? `?${text}` : "";
}

let secret = null;

/** The second secret of a browser's session, which every change shows; a page that came in by a token has none. */
async function csrf() {
  secret ??= fetch(`${BASE}session`, { credentials: "same-origin" }).then((answer) => (answer.ok ? answer.json() : {}));
  return (await secret.catch(() => ({}))).csrf;
}

async function call(method, where, words, body, signal) {
  const init = { method, signal, credentials: "same-origin", headers: { accept: "application/json" } };
  if (method !== "GET") {
    const shown = await csrf();
    if (shown) init.headers["x-csrf-token"] = shown;
    init.headers["content-type"] = "application/json";
    init.body = JSON.stringify(body ?? {});
  }
  let answer;
  try {
    answer = await fetch(BASE + where + query(words), init);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    heard(0);
    throw new Fault(0, {});
  }
  heard(answer.status);
  if (answer.status === 401 || answer.status === 403) secret = null;
  if (!answer.ok) throw new Fault(answer.status, await answer.json().catch(() => ({})));
  return answer;
}

/** Get JSON. */
export async function get(where, words, signal) {
  return (await call("GET", where, words, null, signal)).json();
}

/** Have something done; returns the JSON answer. */
export async function post(where, body, words) {
  return (await call("POST", where, words, body)).json();
}

/** Get the bytes of an answer as they come. */
export async function stream(where, words, signal) {
  return (await call("GET", where, words, null, signal)).body.getReader();
}

export const address = (where, words) => BASE + where + query(words);

const listeners = new Set();
let last = null;

/** Call `listener(state)` with `up`, `gone` (no answer) or `closed` (not allowed in), when that changes. */
export function onReach(listener) {
  listeners.add(listener);
}

/** Take note of an answer's status, 0 for none. */
export function heard(status) {
  const now = status === 0 ? "gone" : status === 401 ? "closed" : "up";
  if (now === last) return;
  last = now;
  for (const listener of listeners) listener(now);
}
