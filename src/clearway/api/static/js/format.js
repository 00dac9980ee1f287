// Amounts, times and names as people read them.

const DAY_S = 86400;
const UNITS = [["d", DAY_S], ["h", 3600], ["m", 60], ["s", 1]];

/** A length of time in its two largest units. */
export function span(seconds) {
  if (seconds == null || !Number.isFinite(seconds)) return "–";
  const all = Math.abs(seconds);
  if (all < 1) return all === 0 ? "0 s" : all < 0.1 ? `${Math.max(1, Math.round(all * 1000))} ms` : `${all.toFixed(1)} s`;
  if (all < 10) return `${Number(all.toFixed(1))} s`;
  let rest = Math.round(all);
  const told = [];
  for (const [unit, size] of UNITS) {
    const many = Math.floor(rest / size);
    if (many === 0 && told.length === 0) continue;
    rest -= many * size;
    if (many || told.length === 0) told.push(`${many} ${unit}`);
    if (told.length === 2 || (unit === "h" && told.length === 1 && many >= 48)) break;
    if (told.length === 1 && many === 0) break;
  }
  return told.slice(0, 2).join(" ");
}

export const seconds = (iso) => (iso == null ? null : Date.parse(iso) / 1000);
export const now = () => Date.now() / 1000;

/** How long ago, or how far ahead. */
export function ago(iso) {
  if (iso == null) return "–";
  const gone = now() - seconds(iso);
  if (Math.abs(gone) < 1.5) return "now";
  return gone > 0 ? `${span(gone)} ago` : `in ${span(-gone)}`;
}

const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const short = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });
const day = new Intl.DateTimeFormat(undefined, { weekday: "short", day: "numeric", month: "short" });
const far = new Intl.DateTimeFormat(undefined, { year: "numeric", day: "numeric", month: "short" });
const whole = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "long" });

/** A moment: the time of day, with the day where it is not today, and the year where it is not this one. */
export function moment(iso, withSeconds = false) {
  if (iso == null) return "–";
  const at = new Date(iso);
  const time = (withSeconds ? clock : short).format(at);
  const today = new Date();
  if (at.toDateString() === today.toDateString()) return time;
  return `${(at.getFullYear() === today.getFullYear() ? day : far).format(at)}, ${time}`;
}

/** A sentence with its moments as people here read them. */
export const local = (text) => text?.replace(/\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g, (iso) => moment(iso));

export const exact = (iso) => (iso == null ? "" : whole.format(new Date(iso)));

const plain = new Intl.NumberFormat("en", { maximumFractionDigits: 2 });
const tiny = new Intl.NumberFormat("en", { maximumSignificantDigits: 1 });
const compact = new Intl.NumberFormat("en", { maximumFractionDigits: 1, notation: "compact" });

export const number = (n) => (n == null ? "–" : plain.format(n).replace(/^-0$/, "0"));
/** An amount that is looked at, not reckoned with: three figures that count, whole from a hundred on. */
export const rough = (n) => (n == null ? "–" : Math.abs(n) >= 100 ? plain.format(Math.round(n)) : Math.abs(n) >= 0.01 ? plain.format(Number(n.toPrecision(3))) : tiny.format(n));
export const brief = (n) => (n == null ? "–" : Math.abs(n) < 1e6 ? plain.format(n) : compact.format(n));
export const percent = (part) => (part == null ? "–" : `${Math.round(part * 100)} %`);

/** Bytes in powers of 1024. */
export function bytes(n) {
  if (n == null) return "–";
  let unit = 0;
  let left = n;
  while (left >= 1024 && unit < 5) {
    left /= 1024;
    unit += 1;
  }
  return `${Number(left.toFixed(left < 10 ? 1 : 0))} ${["B", "KiB", "MiB", "GiB", "TiB", "PiB"][unit]}`;
}

const IN_BYTES = new Set(["memory", "disk", "gpu_memory"]);

export const amount = (resource, n) => (IN_BYTES.has(resource) ? bytes(n) : number(n));

/** Amounts by resource in one line; GPUs first. */
export function amounts(map) {
  const names = Object.keys(map ?? {}).sort((a, b) => (b === "gpus") - (a === "gpus") || (a < b ? -1 : 1));
  return names.map((name) => `${amount(name, map[name])}${IN_BYTES.has(name) ? "" : ` ${name === "gpus" ? "GPU" : name}`}`);
}

export const many = (n, one, more = `${one}s`) => `${brief(n)} ${n === 1 ? one : more}`;

const REASONS = {
  "no-capacity": "no free place",
  "never-fits": "fits nowhere",
  behind: "behind others",
  reservation: "reserved for others",
  "queue-limit": "queue at its limit",
  slots: "shared limit in use",
  after: "waits for a job",
  "retry-delay": "retry delay",
  "no-victim": "may stop nobody",
  clearing: "place is being cleared",
  frozen: "frozen pair",
  held: "held back",
  array: "array",
  "array-turn": "array, not yet its turn",
  booked: "booked for others",
  ordered: "machine ordered",
  "machine-limit": "machine limit",
};

/** A reason's code in two or three words. */
export const reason = (code) => REASONS[code] ?? String(code ?? "").replaceAll("-", " ");
