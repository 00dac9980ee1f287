"""The `expect` keys about what is larger than a job: steps, schedules, machines, services, searches."""

from __future__ import annotations

import json
import math
from collections import Counter
from datetime import UTC, datetime
from itertools import pairwise
from typing import TYPE_CHECKING

from clearway.testing.judge.expect import Key, missing_from, only
from clearway.testing.judge.places import alive
from clearway.testing.judge.values import Raw, as_list, fits, instant, moment, show, span
from clearway.testing.judge.world import Held, World, levels

if TYPE_CHECKING:
    from collections.abc import Iterator

P95 = 0.95


def _of_step(field: str) -> Key:
    """Build the key that compares the input or the result of a step."""

    def key(w: World, want: Raw, _: int) -> Iterator[str]:
        for name, expected in want.items():
            step = w.step(name)
            if step is None:
                yield f"nothing is named {name}"
            # 1 and true are equal to Python and different to JSON, so the texts are compared.
            elif json.dumps(step.get(field), sort_keys=True) != json.dumps(expected, sort_keys=True):
                yield f"{field} of {name} is {step.get(field)!r}, expected {expected!r}"

    return key


def _iso(second: int) -> str:
    return datetime.fromtimestamp(second, UTC).isoformat().replace("+00:00", "Z")


def fires(w: World, want: Raw, _: int) -> Iterator[str]:
    """Check that exactly these ticks got a run; a list means one of them, and null in it that none is fine too."""
    for name, expected in want.items():
        left = sorted(instant(row["tick"]) for row in w.timeline["schedules"][name] if row.get("run"))
        got = [_iso(t) for t in left]
        for tick in expected:
            choices = [None if t is None else instant(t) for t in as_list(tick)]
            if left and left[0] in choices:
                left.pop(0)
            elif None not in choices:
                yield f"{name}: no run for {tick}, runs for {got}"
                break
        else:
            yield from (f"{name}: a run for {_iso(t)}, which was not expected" for t in left)


def skips(w: World, want: Raw, _: int) -> Iterator[str]:
    """Check that exactly these ticks are recorded as skipped, each with a reason that contains the words."""
    for name, rule in want.items():
        yield from only("skips", rule, ("ticks", "mentions"))
        got = {instant(row["tick"]): row["skipped"] for row in w.timeline["schedules"][name] if row.get("skipped")}
        if sorted(got) != sorted(instant(t) for t in rule["ticks"]):
            yield f"{name}: skipped {[_iso(t) for t in sorted(got)]}, expected {rule['ticks']}"
            continue
        for t, said in got.items():
            lacks = missing_from(said if isinstance(said, str) else json.dumps(said), rule.get("mentions"))
            if lacks:
                yield f"{name}: {lacks} not mentioned where {_iso(t)} is skipped"


def machines(w: World, want: list[Raw], _: int) -> Iterator[str]:
    """Count machines ordered in the interval, and ordered and not gone over all of it."""
    for row in want:
        yield from only("machines", row, ("type", "from", "to", "ordered", "alive"))
        mine, begin, end = alive(w, row.get("type")), span(row["from"]), span(row["to"])
        ordered = sum(begin <= m.begin <= end for m in mine)
        if "ordered" in row and not fits(ordered, row["ordered"]):
            yield f"{ordered} machines ordered from {row['from']} to {row['to']} s, expected {row['ordered']}"
        for t, n in levels(mine, "alive", begin, end) if "alive" in row else ():
            if not fits(n, row["alive"]):
                yield f"{n} machines at {show(t)}, expected {row['alive']}"
                break


def replicas(w: World, want: list[Raw], _: int) -> Iterator[str]:
    """Count replicas of a service over an interval: alive, ready, started, spread, turns."""
    for row in want:
        yield from only("replicas", row, ("service", "from", "to", "alive", "ready", "started", "spread", "turns"))
        begin, end = span(row["from"]), span(row["to"])
        rows = w.timeline["services"][row["service"]]["replicas"]
        sizes = _sizes(rows, "started", begin, end)
        steps = [b - a for a, b in pairwise(sizes) if a != b]
        found = {
            "alive": sizes,
            "ready": _sizes(rows, "ready", begin, end),
            "started": [sum(begin <= moment(r["started"]) <= end for r in rows)],
            "spread": [max(sizes) - min(sizes)],
            "turns": [sum((a > 0) != (b > 0) for a, b in pairwise(steps))],
        }
        for key in sorted(found.keys() & row.keys()):
            bad = [n for n in found[key] if not fits(n, row[key])]
            if bad:
                yield f"{row['service']}: {key} {bad[0]} from {row['from']} to {row['to']} s, expected {row[key]}"


def _sizes(rows: list[Raw], since: str, begin: int, end: int) -> list[int]:
    spans = [(moment(r[since]), moment(r["gone"])) for r in rows if r[since] is not None]
    held = [Held("", n, None, "", (), 0, a, b, {"n": 1}) for n, (a, b) in enumerate(spans)]
    return [n for _, n in levels(held, "n", begin, end)]


def requests(w: World, want: list[Raw], slack: int) -> Iterator[str]:
    """Check requests of a service that arrived in the interval: answered, lost, wait_p95, answered_by."""
    for row in want:
        yield from only("requests", row, ("service", "from", "to", "answered", "lost", "wait_p95", "answered_by"))
        begin, end = span(row["from"]), span(row["to"])
        mine = [r for r in w.timeline["services"][row["service"]]["requests"] if begin <= moment(r["arrived"]) <= end]
        done = [r for r in mine if r["answered"] is not None]
        waits = sorted(r["begun"] - r["arrived"] for r in done)
        found = {
            "answered": len(done),
            "lost": sum(bool(r.get("lost")) for r in mine),
            "wait_p95": waits[math.ceil(P95 * len(waits)) - 1] if waits else math.inf,
        }
        for key in sorted(found.keys() & row.keys()):
            if not fits(found[key], row[key]):
                yield f"{row['service']}: {key} {found[key]}, expected {row[key]}"
        if "answered_by" in row:
            last = max((moment(r["answered"]) for r in mine), default=0)
            if last > span(row["answered_by"]) + slack:
                yield f"{row['service']}: answered by {show(last)}, expected by {row['answered_by']} s"


def trials(w: World, want: Raw, _: int) -> Iterator[str]:
    """Count trials that succeeded or run at the end, and the most that succeeded at one point."""
    for name, rule in want.items():
        yield from only("trials", rule, ("completed", "running", "completed_per_point"))
        rows = w.timeline["searches"][name]["trials"]
        points = Counter(json.dumps(t["point"], sort_keys=True) for t in rows if t["state"] == "succeeded")
        found = {
            "completed": points.total(),
            "running": sum(t["state"] == "running" for t in rows),
            "completed_per_point": max(points.values(), default=0),
        }
        for key in sorted(found.keys() & rule.keys()):
            if not fits(found[key], rule[key]):
                yield f"{name}: {key} {found[key]}, expected {rule[key]}"


KEYS: dict[str, Key] = {
    "inputs": _of_step("input"), "results": _of_step("result"), "fires": fires, "skips": skips, "machines": machines,
    "replicas": replicas, "requests": requests, "trials": trials,
}  # fmt: skip
