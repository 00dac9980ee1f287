"""The rule same: other names, and another order of what is equal, give the same timeline up to the names.

A variant's timeline is given its old names back before it is compared, so that it must keep the very `expect` of the
scenario. New names are tokens that stand nowhere else, so that they are found again in texts too.

Compared are times, ends, states and how many devices of what kind of node; names that nothing tells apart may change
places. Where nodes were put into another order, a tie between unlike nodes may fall otherwise, so the kind is left out.
"""

from __future__ import annotations

import copy
import json
import random
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from clearway.testing.judge.values import Raw, Value, moment, span
from clearway.testing.judge.verdict import judge
from clearway.testing.judge.world import World

Run = Callable[[Raw], Mapping[str, Any]]
"""Runs a scenario and returns its timeline."""

_NODE_EVENTS = (
    "node_lost",
    "node_ready",
    "drain",
    "undrain",
    "remove_node",
    "cut_network",
    "restore_network",
    "spot_notice",
)
_JOB_EVENTS = ("cancel", "suspend", "resume", "hold", "release", "requeue", "change", "redeliver_end", "rerun")
_TEXTS = frozenset({"reason", "text", "cause", "code", "skipped"})
_LARGER = ("workflows", "schedules", "machines", "services", "searches")
SHOWN_DIFFERENCES = 5
_BARE = re.compile(r"[^#\[]*")


def same(scenario: Raw, run: Run, seed: int = 1) -> list[str]:
    """Return how the timelines of renamed and reordered variants differ from the scenario's own."""
    first, rng = dict(run(copy.deepcopy(scenario))), random.Random(seed)
    holds = not judge(scenario, first)
    broken: list[str] = []
    for what in ("renamed", "reordered", "renamed and reordered"):
        variant = _reordered(scenario, rng) if "reordered" in what else copy.deepcopy(scenario)
        names = _rename(variant, rng) if "renamed" in what else {}
        timeline = _restored(dict(run(variant)), names)
        kinds = "reordered" not in what
        lines = list(_differences(_facts(scenario, first, kinds=kinds), _facts(scenario, timeline, kinds=kinds)))
        if holds and not lines:
            lines = judge(scenario, timeline)
        broken += [f"same: {what}: {line}" for line in lines[:SHOWN_DIFFERENCES]]
    return broken


# --- variants --------------------------------------------------------------------------------------


def _reordered(scenario: Raw, rng: random.Random) -> Raw:
    """Another order of jobs and nodes; jobs that enter together and nodes that are alike keep theirs."""
    variant = copy.deepcopy(scenario)
    if variant.get("jobs"):
        variant["jobs"] = _shuffled(variant["jobs"], rng, _enter_together)
    fleet = variant.get("fleet") or {}
    if fleet.get("nodes"):
        fleet["nodes"] = _shuffled(fleet["nodes"], rng, lambda a, b: _kind(a) == _kind(b))
    return variant


def _shuffled(items: list[Raw], rng: random.Random, tied: Callable[[Raw, Raw], bool]) -> list[Raw]:
    """Exchange random neighbours that are not tied, many times: tied items never pass one another."""
    found = list(items)
    for _ in range(len(found) ** 2 if len(found) < 40 else 40 * len(found)):  # noqa: PLR2004  # enough to mix them well
        i = rng.randrange(len(found) - 1) if len(found) > 1 else 0
        if len(found) > 1 and not tied(found[i], found[i + 1]):
            found[i], found[i + 1] = found[i + 1], found[i]
    return found


def _enter_together(a: Raw, b: Raw) -> bool:
    return bool(_entries(a) & _entries(b))


def _entries(job: Raw) -> set[int]:
    first, step = span(job.get("submit", 0)), span(job.get("every", 0))
    return {first + i * step for i in range(job.get("count") or 1)}


def _kind(node: Raw) -> str:
    return json.dumps({k: v for k, v in node.items() if k not in ("name", "count")}, sort_keys=True, default=str)


def _rename(variant: Raw, rng: random.Random) -> dict[str, str]:
    """Give jobs and nodes new names in place; return the old name of each new one."""
    added = [e["add_node"] for e in variant.get("events") or [] if "add_node" in e]
    nodes = [*((variant.get("fleet") or {}).get("nodes") or []), *added]
    jobs = variant.get("jobs") or []
    tokens = [f"zq{n:06d}k" for n in rng.sample(range(10**6), len(nodes) + len(jobs))]
    of_node = dict(zip([n["name"] for n in nodes], tokens, strict=False))
    of_job = dict(zip([j["name"] for j in jobs], tokens[len(nodes) :], strict=False))
    node_name, job_name = _namer(of_node, nodes, 0), _namer(of_job, jobs, 1)
    for x in nodes:
        x["name"] = of_node[x["name"]]
    for x in jobs:
        x["name"] = of_job[x["name"]]
        if "after" in x:
            x["after"] = _mapped(x["after"], job_name)
    for x in [*jobs, *_inner_maps(variant.get("workflows"))]:
        if "pin" in x:
            x["pin"] = _mapped(x["pin"], node_name)
    for event in variant.get("events") or []:
        for keys, new in ((_NODE_EVENTS, node_name), (_JOB_EVENTS, job_name)):
            event.update({k: _mapped(event[k], new) for k in keys if k in event})
        if "devices_unhealthy" in event:
            sick = event["devices_unhealthy"]
            event["devices_unhealthy"] = {**sick, "node": _mapped(sick["node"], node_name)}
    booked = [e["book"] for e in variant.get("events") or [] if "book" in e]
    for x in [*(variant.get("bookings") or []), *booked]:
        if "nodes" in x:
            x["nodes"] = _mapped(x["nodes"], node_name)
    return {new: old for names in (of_node, of_job) for old, new in names.items()}


def _namer(new: dict[str, str], items: list[Raw], first: int) -> Callable[[str], str]:
    """Map a name, also one of a `count` and one with an index or an attempt behind it, to its new one."""
    full = dict(new)
    for x in items:
        for i in range(x.get("count") or 0):
            full[f"{x['name']}-{i + first}"] = f"{new[x['name']]}-{i + first}"

    def name(old: str) -> str:
        base = _BARE.match(old)[0]  # type: ignore[index]  # it matches any text
        return full.get(base, base) + old[len(base) :]

    return name


def _mapped(value: Value, name: Callable[[str], str]) -> Value:
    """Map a name, a list of names, or the `node` or `name` of a map."""
    if isinstance(value, dict):
        return {k: _mapped(v, name) if k in ("node", "name") else v for k, v in value.items()}
    if isinstance(value, list):
        return [_mapped(v, name) for v in value]
    return name(value) if isinstance(value, str) else value


def _inner_maps(x: Value) -> Iterator[Raw]:
    if isinstance(x, dict):
        yield x
    for value in x.values() if isinstance(x, dict) else x if isinstance(x, list) else ():
        yield from _inner_maps(value)


def _restored(timeline: Raw, names: dict[str, str]) -> Raw:
    """Give a timeline its old names back, in keys, values and texts."""
    if not names:
        return timeline
    pattern = re.compile("|".join(map(re.escape, names)))
    text = pattern.sub(lambda m: json.dumps(names[m[0]])[1:-1], json.dumps(timeline))
    found: Raw = json.loads(text)
    return found


# --- comparison ------------------------------------------------------------------------------------


def _facts(scenario: Raw, timeline: Raw, *, kinds: bool) -> dict[str, object]:
    """Collect what of a timeline may not depend on names, by what it is about."""
    world = World(scenario, timeline)
    told_apart = set(re.findall(r"[\w-]+", json.dumps([scenario.get("events"), scenario.get("jobs")], default=str)))
    found: dict[str, object] = {"jobs": sorted(world.jobs)}
    for name, job in world.jobs.items():
        found[name] = job["state"], moment(job["submitted"]), moment(job["ended"])
        for a in job["attempts"]:
            held = world.tasks(name, a["number"])
            places = []
            for h in held:
                node = world.machines[h.node].words
                kind = (_kind(node), h.node if h.node in told_apart else "") if kinds else ()
                places.append((kind, h.role or "", len(h.devices), h.share, h.begin, h.end))
            number_of_nodes = len({h.node for h in held})
            found[f"{name}#{a['number']}"] = moment(a["from"]), a["end"], number_of_nodes, sorted(places)
    for part in _LARGER:
        found.update({f"{part} {name}": _without_texts(x) for name, x in timeline.get(part, {}).items()})
    return found


def _without_texts(x: Value) -> Value:
    if isinstance(x, dict):
        return {k: bool(v) if k in _TEXTS else _without_texts(v) for k, v in x.items()}
    return [_without_texts(v) for v in x] if isinstance(x, list) else x


def _differences(first: dict[str, object], other: dict[str, object]) -> Iterator[str]:
    for key in sorted({*first, *other}):
        if first.get(key) != other.get(key):
            yield f"{key} is {other.get(key)}, was {first.get(key)}"
