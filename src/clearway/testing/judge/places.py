"""Rules of places: capacity (nothing holds more than it has) and asked (what is granted is what was asked for)."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from clearway.model.job import WHOLE
from clearway.model.values import SECOND_US
from clearway.testing.judge.values import Raw, amount, amounts, as_list, in_units, moment, show
from clearway.testing.judge.world import Held, Machine, World, levels

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_GONE = ("node_lost", "cut_network", "drain", "remove_node")
_BACK = ("node_ready", "restore_network", "undrain")
_SILENT = ("node_lost", "cut_network")  # the program learns of these when the lease is over
NOTICE_US = 10 * SECOND_US  # how long after a lease's end a start may still be on its way
NEAR_TO_FAR = ("nvlink", "pcie", "numa", "node", "rack", "zone")


def capacity(w: World) -> Iterator[str]:
    """Check that no node, device, queue, shared limit or kind of machine ever holds more than there is."""
    by_node: dict[str, list[Held]] = defaultdict(list)
    for h in w.held:
        by_node[h.node].append(h)
    for node, held in by_node.items():
        if node not in w.machines:
            yield f"{held[0].job} runs on {node}, which does not exist"
            continue
        words = w.machines[node].words
        has = amounts({k: words.get(k) for k in ("cpus", "memory", "disk", "bandwidth")})
        custom = {k: 0 for h in held for k in h.uses if k not in _USES} | amounts({"resources": words.get("resources")})
        for resource, most in {**has, **custom}.items():
            yield from _over(f"node {node}", held, resource, most)
        yield from _devices(w, node, words, held)
        yield from _closed(w, node, held)
    for name, queue in w.queues.items():
        held = [h for h in w.held if name in w.upwards(w.words(h.job).get("queue"))]
        for resource, most in amounts(queue.get("limit")).items():
            yield from _over(f"queue {name}", held, resource, most)
    for limit in w.scenario.get("limits") or []:
        yield from _over(f"limit {limit['name']}", w.slots(limit["name"]), "slots", amount("slots", limit["slots"]))
    for kind in (w.scenario.get("fleet") or {}).get("types") or []:
        if "max" in kind:
            yield from _over(f"machines of type {kind['name']}", alive(w, kind["name"]), "alive", kind["max"])


_USES = frozenset({"gpus", "gpu_memory", "tasks", "cpus", "memory", "disk", "bandwidth"})


def _over(what: str, held: Iterable[Held], resource: str, most: int) -> Iterator[str]:
    for t, n in levels(held, resource):
        if n > most:
            yield f"{what} holds {in_units(resource, n):g} {resource} at {show(t)} and has {in_units(resource, most):g}"
            return


def alive(w: World, kind: str | None) -> list[Held]:
    """Return ordered machines of a type (None: of any) as something held from order to end."""
    return [
        Held(name, 1, None, name, (), 0, moment(m["ordered"]), moment(m["gone"]), {"alive": 1})
        for name, m in w.timeline.get("machines", {}).items()
        if kind in (None, m["type"])
    ]


def _devices(w: World, node: str, words: Raw, held: list[Held]) -> Iterator[str]:
    by_device: dict[int, list[Held]] = defaultdict(list)
    for h in held:
        for d in h.devices:
            by_device[d].append(_on_one_device(w, h))
    for d, parts in sorted(by_device.items()):
        cut = _cut(words)
        if d in {device for device, _ in cut}:
            yield f"{parts[0].job} holds device {d} of {node}, which is cut into slices"
        if d >= words.get("gpus", 0) and sum(1 for _, n in levels(parts, "any") if n > 1):
            yield f"slice {d} of {node} is held twice at once"
        if not 0 <= d < words.get("gpus", 0) + len(cut):
            yield f"{parts[0].job} holds device {d} of {node}, which does not exist"
        yield from _over(f"device {d} of {node}", parts, "gpus", WHOLE)
        if "gpu_memory" in words:
            yield from _over(f"device {d} of {node}", parts, "gpu_memory", amount("gpu_memory", words["gpu_memory"]))
        yield from _shared_whole(f"device {d} of {node}", parts)
        yield from _in_turns(w, f"device {d} of {node}", parts)


def _cut(words: Raw) -> list[tuple[int, str]]:
    """Return device and profile of each slice of a node; they are numbered behind its devices, in this order."""
    each = [(one["device"], one["profile"]) for one in words.get("slices") or [] for _ in range(one.get("count", 1))]
    return sorted(each, key=lambda one: one[0])


def _on_one_device(w: World, h: Held) -> Held:
    """One device's part of a grant. Jobs that share their devices' time count as the part that each then gets."""
    friends = w.words(h.job).get("colocate", 0)
    memory = h.uses["gpu_memory"] // len(h.devices)
    whole = {"whole": int(h.share == WHOLE and not friends), "any": 1}
    return replace(h, uses={"gpus": h.share // (1 + friends), "gpu_memory": memory, **whole})


def _shared_whole(what: str, parts: list[Held]) -> Iterator[str]:
    """Check that a device that one job has whole carries nothing else, not even a share of its memory alone."""
    held = dict(levels(parts, "any"))
    wholes = dict(levels(parts, "whole"))
    whole = 0
    for t, n in held.items():  # every moment of `wholes` is one of `held`
        whole = wholes.get(t, whole)
        if whole and n > 1:
            yield f"{what} is held whole by one job at {show(t)} and by another too"
            return


def _in_turns(w: World, what: str, parts: list[Held]) -> Iterator[str]:
    """Check that those who share a device's time let so many others on it, and have it for themselves."""
    friends = {h.job: w.words(h.job).get("colocate", 0) for h in parts}
    if not any(friends.values()):
        return
    for t in sorted({h.begin for h in parts if h.end > h.begin}):
        now = [h for h in parts if h.begin <= t < h.end]
        if not any(friends[h.job] for h in now):
            continue  # parts of a device, which may all be of one job
        least = min(now, key=lambda h: friends[h.job])
        if len(now) > 1 + friends[least.job]:
            yield f"{what} carries {len(now)} tasks at {show(t)}, and {least.job} puts up with {friends[least.job]}"
            return
        mine = [h.job for h in now if friends[h.job]]
        if len(set(mine)) < len(mine):
            yield f"{what} carries two tasks of one job at {show(t)}"
            return


def _closed(w: World, node: str, held: list[Held]) -> Iterator[str]:
    """Find starts on a node before it exists, after it went, while it was drained, or on its broken devices."""
    for h in held:
        if h.begin < w.machines[node].born:
            yield f"{h.job} starts on {node} at {show(h.begin)}, before it is there"
        if h.end > w.machines[node].gone:
            yield f"{h.job} holds something on {node} at {show(w.machines[node].gone)}, when it is given back"
        closed = ""
        for at, event in w.events:
            if at < w.machines[node].born:  # it was about a machine that was not there yet
                continue
            for kind in _GONE:
                known = at + (w.lease + NOTICE_US if kind in _SILENT else 0)
                if event.get(kind) == node and known < h.begin:
                    closed = kind
            if node in (event.get(k) for k in _BACK) and at <= h.begin:
                closed = ""
            sick = event.get("devices_unhealthy") or {}
            if sick.get("node") == node and at < h.begin and set(sick["devices"]) & set(h.devices):
                yield f"{h.job} starts at {show(h.begin)} on unhealthy devices of {node}"
        if closed:
            yield f"{h.job} starts on {node} at {show(h.begin)}, after its {closed}"


# --- asked -----------------------------------------------------------------------------------------


def asked(w: World) -> Iterator[str]:
    """Check that what is granted is what was asked for, and not before it may be."""
    for name, words in w.asked.items():
        unseen = "until" in w.scenario and words.get("submit_us", 0) > w.until
        if name not in w.jobs and not words.get("part") and not unseen:
            yield f"{name} is not in the timeline"
    for h in w.held:
        words = w.role(h.job, h.role)
        amount = _slice_asked(w, h, words["slice"]) if words.get("slice") else _amount_asked(h, words)
        yield from (f"{h.job}#{h.attempt} {line}" for line in (*amount, *_place_asked(w, h, words)))
    for name, job in w.jobs.items():
        words = w.words(name)
        for a in job["attempts"]:
            what = f"{name}#{a['number']}"
            if moment(a["from"]) < max(moment(job["submitted"]), words.get("submit_us", 0)):
                yield f"{what} starts before its submit"
            for first in as_list(words.get("after")):
                if w.state(first) != "succeeded" or w.ended(first) > moment(a["from"]):
                    yield f"{what} starts before {first} has succeeded"
            yield from (f"{what} {line}" for line in _together(w, name, w.tasks(name, a["number"])))


def _slice_asked(w: World, h: Held, profile: str) -> Iterator[str]:
    words = w.machines.get(h.node, Machine({})).words
    numbers = [n for n, (_, name) in enumerate(_cut(words), words.get("gpus", 0)) if name == profile]
    share = int(profile[0]) * WHOLE // 7
    if len(h.devices) != 1 or h.devices[0] not in numbers or h.share != share:
        yield f"asked for a slice {profile} and holds {list(h.devices)} of {h.node} with a share of {h.share}"


def _amount_asked(h: Held, words: Raw) -> Iterator[str]:
    want = Fraction(str(words.get("gpus") or 0))
    if 0 < want < 1:
        devices, share = 1, int(want * WHOLE)
    elif want:
        devices, share = int(want), WHOLE
    else:
        devices, share = int(bool(words.get("gpu_memory"))), 0
    if len(h.devices) != devices or (devices and h.share != share):
        yield f"asked for {words.get('gpus', 0)} GPUs and holds devices {list(h.devices)} with a share of {h.share}"


def _place_asked(w: World, h: Held, words: Raw) -> Iterator[str]:
    node = w.machines.get(h.node, Machine({})).words
    models = as_list(words.get("gpu_model"))
    if models and node.get("gpu_model") not in models:
        yield f"wants {' or '.join(models)} and is on {h.node}, which has {node.get('gpu_model')}"
    pin = _pin(words) if h.attempt == 1 else {}
    if pin and (pin["node"] != h.node or sorted(pin.get("devices") or h.devices) != sorted(h.devices)):
        yield f"is pinned to {pin} and is on {h.node}, devices {list(h.devices)}"
    for label, value in (words.get("nodes") or {}).items():
        if str((node.get("labels") or {}).get(label, node.get(label))) != str(value):
            yield f"wants nodes with {label}: {value} and is on {h.node}"
    bad = set(as_list(node.get("taints"))) - set(as_list(words.get("tolerates")))
    if bad and not pin:
        yield f"does not tolerate {', '.join(sorted(bad))} and is on {h.node}"
    if words.get("spot") == "require" and not node.get("spot"):
        yield f"requires a spot node and is on {h.node}"


def _pin(words: Raw) -> Raw:
    pin = words.get("pin") or {}
    return {"node": pin} if isinstance(pin, str) else dict(pin)


def _together(w: World, name: str, tasks: list[Held]) -> Iterator[str]:
    """Check what an attempt holds at one moment: not too many tasks, one on a node, inside one domain."""
    words = w.words(name)
    near = (words.get("topology") or {}).get("require")
    most = {r["name"]: r.get("tasks", 1) for r in words.get("roles") or []} or {None: words.get("tasks", 1)}
    for t in sorted({h.begin for h in tasks if h.end > h.begin}):
        now = [h for h in tasks if h.begin <= t < h.end]
        for role, n in most.items():
            nodes = [h.node for h in now if role in (None, h.role)]
            if len(nodes) > n:
                yield f"runs {len(nodes)} tasks{f' of {role}' if role else ''} at {show(t)}, asked for {n}"
            if w.role(name, role).get("one_per_node") and len(set(nodes)) < len(nodes):
                yield f"has two tasks on one node at {show(t)}"
        held = devices_of(now)
        if near and held and not inside(w, near, held):
            yield f"requires one {near} and holds {sorted(held)[:16]}"


def devices_of(tasks: Iterable[Held]) -> set[tuple[str, int]]:
    """Return (node, device) of all that is held."""
    return {(h.node, d) for h in tasks for d in h.devices}


def inside(w: World, level: str, held: set[tuple[str, int]]) -> bool:
    """Whether devices sit in one domain of a level."""
    nodes = {node for node, _ in held}
    if level in ("rack", "zone"):
        domains = {w.machines[n].words.get(level) for n in nodes}
        return len(nodes) == 1 or (len(domains) == 1 and None not in domains)
    if len(nodes) != 1 or level == "node":
        return len(nodes) == 1
    islands = w.machines[min(nodes)].words.get("links" if level == "nvlink" else level) or []
    numbers = {d for _, d in held}
    return len(held) == 1 or any(numbers <= set(island) for island in islands)
