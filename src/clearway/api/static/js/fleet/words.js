// Devices in words, for those who read and those who listen.
import { h } from "../dom.js";
import { DEVICE_WORDS, deviceState } from "../data.js";
import { jobLink } from "../parts.js";
import { number, percent } from "../format.js";

/** One device in one line, with links to who holds it. */
export function deviceLine(node, device) {
  const used = device.used == null ? "" : `, ${percent(device.used)} used`;
  const held = device.holders.map((one, at) => [at > 0 && ", ", jobLink(one.job, one.name), one.share < 1 ? ` ${number(one.share)}` : ""]);
  return h("span", { class: "device-line" }, `${device.number}: ${DEVICE_WORDS[deviceState(node, device)]}${used}${held.length > 0 ? " · " : ""}`, held);
}

/** A device in words alone. */
export function deviceText(node, device) {
  const by = device.holders.map((one) => `${String(one.name).slice(0, 80)}${one.share < 1 ? ` (${number(one.share)})` : ""}`).join(", ");
  const used = device.used == null ? "" : `, ${percent(device.used)} used`;
  return `device ${device.number}: ${DEVICE_WORDS[deviceState(node, device)]}${by ? ` by ${by}` : ""}${used}`;
}

/** A node in words alone. */
export function nodeText(node) {
  const free = node.devices.filter((device) => deviceState(node, device) === "free").length;
  return `${node.name}, ${node.state}, ${node.devices.length} devices, ${free} free`;
}

/** What the fills of devices mean. */
export const legend = () =>
  h(
    "ul",
    { class: "legend", "aria-label": "What the fills mean" },
    Object.entries(DEVICE_WORDS).map(([kind, words]) => h("li", {}, h("i", { class: "device-key", data: { kind } }), words)),
  );
