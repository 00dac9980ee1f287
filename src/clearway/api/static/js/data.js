// What the controller tells, as the pages want it.
import { get } from "./net.js";

const MILLI = 1000;

/** Nodes with their devices, who holds which share of each, and what of it is really used (null: not measured). */
export async function fleet(signal) {
  const { nodes } = await get("devices", {}, signal);
  return nodes.map(taken);
}

/** The same of some nodes. */
export async function someNodes(names, signal) {
  const { nodes } = await get("devices", { node: names }, signal);
  return nodes.map(taken);
}

function taken(node) {
  node.links = node.islands?.nvlink ?? [];
  for (const device of node.devices) {
    device.holders = device.held_by;
    for (const holder of device.holders) holder.share /= MILLI;
    if (node.state === "lost") device.used = null; // what was measured last is no use of now
    device.used ??= null;
  }
  return node;
}

/** Devices of a node in their NVLink islands; those in none stand last, by themselves. */
export function islands(node) {
  const left = new Map(node.devices.map((device) => [device.number, device]));
  const found = [];
  for (const island of node.links) {
    const devices = island.map((number) => left.get(number)).filter(Boolean);
    for (const number of island) left.delete(number);
    if (devices.length > 0) found.push({ linked: true, devices });
  }
  if (left.size > 0) found.push({ linked: false, devices: [...left.values()] });
  return found;
}

/** What is so of a device: ill, closed, free, part, idle (held and measurably not used), held. */
export function deviceState(node, device) {
  if (!device.healthy) return "ill";
  if (device.held === 0 && device.holders.length === 0) return node.state === "ready" ? "free" : "closed";
  if (device.used != null && device.used < 0.05) return "idle";
  return device.held < 1 ? "part" : "held";
}

export const DEVICE_WORDS = {
  held: "held",
  part: "held in part",
  idle: "held, but idle",
  free: "free",
  ill: "not healthy",
  closed: "closed",
};
