// What a task writes, as it writes it. The end of a long log first; nothing of it is ever more than text.
import { h, mark, put, say } from "../dom.js";
import { address, get, path, stream } from "../net.js";
import { choice, faultText, panel } from "../parts.js";
import { bytes } from "../format.js";

const SHOWN = 400_000; // characters that are kept on the page
const BEGIN = 65_536; // bytes of the end that a long log begins with
const FAR = 2 ** 40;

export class Log {
  constructor(ref) {
    this.ref = ref;
    this.stream = "stdout";
    this.task = 0;
    this.text = h("pre", { class: "log", tabindex: "0", role: "log", "aria-label": "What the task wrote" });
    this.note = h("span", { class: "quiet small" });
    this.tasks = h("select", { "aria-label": "Task", onchange: (event) => this.#pick(Number(event.target.value)) });
    this.whole = h("a", { class: "button", download: "", rel: "noopener" }, "Whole log");
    this.which = choice("Which", [["stdout", "stdout"], ["stderr", "stderr"]], "stdout", (one) => this.#which(one));
    this.root = panel("Logs", { more: [this.note, this.tasks, this.which, this.whole] }, this.text);
    this.attempt = -1;
  }

  /** Begin where nothing runs yet, or another attempt does. */
  show(job) {
    const tasks = job.array ? 0 : job.tasks;
    if (this.tasks.length !== tasks) put(this.tasks, Array.from({ length: Math.min(tasks, 1000) }, (_, n) => h("option", { value: n }, `task ${n}`)));
    this.tasks.hidden = tasks < 2;
    this.root.hidden = Boolean(job.array);
    this.over = Boolean(job.ended);
    if (this.attempt === job.attempt) return;
    this.attempt = job.attempt;
    this.#begin();
  }

  close() {
    this.ending?.abort();
  }

  #which(one) {
    this.chosen = true;
    this.stream = one;
    this.#begin();
  }

  /** Where a job that is over wrote nothing to stdout: show what it wrote to stderr, unless people chose. */
  async #other(signal) {
    if (!this.over || this.chosen || this.stream !== "stdout") return false;
    const { size } = await get(path("jobs", this.ref, "logs"), { stream: "stderr", task: this.task, format: "json", offset: FAR }, signal);
    if (size > 0) this.which.lastChild.click();
    return size > 0;
  }

  #pick(task) {
    this.task = task;
    this.#begin();
  }

  #begin() {
    this.close();
    put(this.text);
    this.whole.href = address(path("jobs", this.ref, "logs"), { stream: this.stream, task: this.task });
    this.whole.download = `job-${this.ref}-${this.stream}.log`;
    if (!this.attempt) {
      say(this.note, "");
      this.#empty("Nothing is written before the first attempt starts.");
      return;
    }
    this.ending = new AbortController();
    void this.#follow(this.ending.signal);
  }

  async #follow(signal) {
    const where = path("jobs", this.ref, "logs");
    const words = { stream: this.stream, task: this.task };
    try {
      const { size } = await get(where, { ...words, format: "json", offset: FAR }, signal);
      const offset = Math.max(0, size - BEGIN);
      say(this.note, offset > 0 ? `the last ${bytes(BEGIN)} of ${bytes(size)}` : "");
      if (size === 0 && (await this.#other(signal))) return;
      if (size === 0) this.#empty(this.over ? "Nothing was written here." : "Nothing has been written yet.");
      const reader = await stream(where, { ...words, follow: "true", offset }, signal);
      const letters = new TextDecoder("utf-8");
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return;
        this.#add(letters.decode(value, { stream: true }));
      }
    } catch (error) {
      if (!signal.aborted && error.status !== 0) this.#empty(error.status === undefined ? "The log broke off; it is read again with the next attempt." : faultText(error));
    }
  }

  #empty(text) {
    put(this.text, h("span", { class: "quiet" }, text));
    mark(this.text, "data-bare", "");
    this.bare = true;
  }

  #add(text) {
    const { text: place } = this;
    const low = place.scrollTop + place.clientHeight >= place.scrollHeight - 24;
    if (this.bare) put(place);
    this.bare = false;
    mark(place, "data-bare", null);
    place.append(text);
    if (place.textContent.length > SHOWN) place.textContent = place.textContent.slice(-SHOWN / 2);
    else if (place.childNodes.length > 200) place.normalize();
    if (low) place.scrollTop = place.scrollHeight;
  }
}
