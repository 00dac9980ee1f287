"""The `expect` keys about jobs: starts, ends, states, places, use, reasons. Each yields what does not hold."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from difflib import get_close_matches
from itertools import pairwise
from typing import Any

from clearway.testing.judge.because import OTHER_THAN_STARTS, RUNS, STARTS, Breach, because, because_of_all
from clearway.testing.judge.values import BOUNDS, NEVER, Raw, Value, amount, as_list, fits, in_units, moment, show, span
from clearway.testing.judge.world import Held, World, levels

Key = Callable[[World, Any, int], Iterator[str | Breach]]
"""(world, what is expected, slack in microseconds) -> lines that do not hold, with why where that is known."""

_NUMBERED = re.compile(r"(.*)#(\d+)")
_PART_OF = re.compile(r"[.\[@]")  # in the names of steps, instances and runs, which `all` leaves out


def nearest(word: str, known: Sequence[str]) -> str:
    """Return a hint at the nearest known word, or nothing."""
    near = get_close_matches(word, known, n=1, cutoff=0.5)
    return f"; did you mean {near[0]!r}?" if near else ""


def only(what: str, given: Raw, known: Sequence[str]) -> Iterator[str]:
    """Yield the words that an expectation may not have."""
    yield from (f"{what}: no such word {k!r}{nearest(str(k), known)}" for k in given if k not in known)


def missing_from(text: str, mentions: Value) -> list[Any]:
    """Return the mentions that a text lacks, letter case ignored; of a list one is enough."""
    low = text.lower()
    return [m for m in as_list(mentions) if not any(str(word).lower() in low for word in as_list(m))]


def _targets(w: World, key: str) -> Iterator[tuple[str, int | None]]:
    """Yield (name, attempt or None) of a key like J, J#2 or J*."""
    numbered = _NUMBERED.fullmatch(key)
    base, n = (numbered[1], int(numbered[2])) if numbered else (key, None)
    yield from ((name, n) for name in w.named(base) or [base])


def _window(w: World, name: str, what: str, t: int, window: Sequence[Any], slack: int) -> Iterator[Breach]:
    first, last = span(window[0]), span(window[1]) + slack
    if first <= t <= last and t < NEVER:
        return
    starting = what.endswith("starts")
    if t < first:
        why = because(w, name, t, t, {STARTS} if starting else OTHER_THAN_STARTS)
    elif t < NEVER:  # an end is late for what came long before, too: an earlier attempt, a long wait
        why = because(w, name, last, t) if starting else because(w, name, until=t)
    else:
        why = because(w, name, min(last, w.ended(name)))
    when = f" at {show(t)}" if t < NEVER else ": never"
    yield Breach(f"{what}{when}, expected in {list(window)}", why)


def _nth(w: World, name: str, n: int) -> Raw | None:
    found = w.attempts(name)
    return found[n - 1] if 0 < n <= len(found) else None


def starts(w: World, want: Raw, slack: int) -> Iterator[Breach]:
    """Check that the attempt's start is in the window."""
    for key, window in want.items():
        for name, n in _targets(w, key):
            attempt = _nth(w, name, n or 1)
            begin = moment(attempt["from"]) if attempt else NEVER
            yield from _window(w, name, f"{name}{f'#{n}' if n else ''} starts", begin, window, slack)


def ends(w: World, want: Raw, slack: int) -> Iterator[Breach]:
    """Check that the end of the job, of an attempt's grants or of a workflow's run is in the window."""
    for key, window in want.items():
        for name, n in _targets(w, key):
            end = w.ended(name) if n is None else _end_of(w, name, n)
            yield from _window(w, name, f"{name}{f'#{n}' if n else ''} ends", end, window, slack)


def _end_of(w: World, name: str, n: int) -> int:
    attempt = _nth(w, name, n)
    if attempt is None:
        return NEVER
    held = [] if name in w.flows else [h.end for job in w.kin(name) for h in w.tasks(job, n)]
    return max(held, default=moment(attempt["to"]))


def never_starts(w: World, want: list[str], _: int) -> Iterator[str | Breach]:
    """Check that no attempt ever started."""
    for pattern in as_list(want):
        if not w.known(pattern):
            yield f"nothing is named {pattern}"
        for name in w.named(pattern):
            if w.attempts(name):
                yield Breach(f"{name} starts at {w.attempts(name)[0]['from']} s", because(w, name, kinds={STARTS}))


def order(w: World, want: list[Any], _: int) -> Iterator[Breach]:
    """Check that first starts come in this order; equal is fine."""
    for row in want if want and isinstance(want[0], list) else [want]:
        firsts = [(name, _nth(w, name, 1)) for name in row]
        never = [name for name, attempt in firsts if attempt is None]
        if never:
            yield Breach(f"{', '.join(never)} never started, expected {row}", because_of_all(w, never))
            continue
        times = [(name, moment(attempt["from"])) for name, attempt in firsts if attempt]
        for (x, a), (y, b) in pairwise(times):
            if a > b:
                yield Breach(f"{x} starts at {show(a)}, {y} already at {show(b)}", because(w, x, b, a))


def after(w: World, want: list[Raw], slack: int) -> Iterator[str]:
    """Check that a job's latest start is at or after another's end, by at most `within`."""
    for row in want:
        yield from only("after", row, ("job", "after", "within"))
        end, attempts = w.ended(row["after"]), w.attempts(row["job"])
        if end >= NEVER:
            yield f"{row['after']} never ended"
            continue
        # Of a step with many parts the first start counts: the parts themselves follow one another.
        last = attempts[0 if len(w.kin(row["job"])) > 1 else -1] if attempts else None
        start = moment(last["from"]) if last else NEVER
        until = end + span(row["within"]) + slack if "within" in row else NEVER - 1
        if not end <= start <= until:
            within = f" by at most {row['within']} s" if "within" in row else ""
            yield f"{row['job']} starts: {show(start)}, expected after {row['after']} ({show(end)}){within}"


def final(w: World, want: Raw, _: int) -> Iterator[str | Breach]:
    """Check the state at the end; a list means one of them. `all`: every job, workflow and search, without steps."""
    for key, states in want.items():
        names = w.named(key)
        if key == "all":
            names = [*w.flows, *(n for n in w.jobs if n not in w.flows and not _PART_OF.search(n))]
        if not names:
            yield f"nothing is named {key}"
        for name in names:
            if w.state(name) not in as_list(states):
                end = min(w.ended(name), w.until)
                yield Breach(
                    f"{name} is {w.state(name)} at the end, expected {' or '.join(as_list(states))}",
                    because(w, name, end, end),
                )


def preempted(w: World, want: Raw, _: int) -> Iterator[str | Breach]:
    """Check who was stopped for another's sake: exactly, never, count (of), max_each, total_max."""
    yield from only("preempted", want, ("exactly", "never", "count", "of", "max_each", "total_max"))
    stops = {n: sum(a["end"] == "preempted" for a in job["attempts"]) for n, job in w.jobs.items()}
    stops = {n: k for n, k in stops.items() if k}

    def all_of(patterns: Value) -> set[str]:
        return {n for p in as_list(patterns) for n in w.named(p)}

    def breach(text: str, names: set[str]) -> Breach:
        return Breach(text, because_of_all(w, sorted(names), {RUNS}))

    if "exactly" in want and set(stops) != all_of(want["exactly"]):
        text = f"preempted: {', '.join(sorted(stops)) or 'nobody'}, expected exactly {want['exactly']}"
        yield breach(text, set(stops) ^ all_of(want["exactly"]))
    spared = set(stops) & all_of(want.get("never"))
    if spared:
        yield breach(f"preempted: {', '.join(sorted(spared))}, expected never", spared)
    counted = set(stops) & all_of(want["of"]) if "of" in want else set(stops)
    if "count" in want and not fits(len(counted), want["count"]):
        yield breach(f"{len(counted)} jobs preempted, expected {want['count']} of {want.get('of', 'all')}", counted)
    if "max_each" in want and max(stops.values(), default=0) > want["max_each"]:
        most = {n for n, k in stops.items() if k > want["max_each"]}
        yield breach(f"preempted {stops} times, expected at most {want['max_each']} each", most)
    if "total_max" in want and sum(stops.values()) > want["total_max"]:
        yield breach(f"{sum(stops.values())} preemptions, expected at most {want['total_max']}", set(stops))


def attempts(w: World, want: Raw, _: int) -> Iterator[str | Breach]:
    """Count the attempts that started."""
    for key, n in want.items():
        if not w.known(key):
            yield f"nothing is named {key}"
        for name in w.named(key):
            if not fits(len(w.attempts(name)), n):
                yield Breach(f"{name} has {len(w.attempts(name))} attempts, expected {n}", because(w, name))


def runs(w: World, want: Raw, _: int) -> Iterator[str]:
    """Count starts of all instances, passes and attempts together."""
    for name, n in want.items():
        got = sum(len(w.jobs[job]["attempts"]) for job in w.kin(name))
        if not fits(got, n):
            yield f"{name} was started {got} times, expected {n}"


def _last_tasks(w: World, name: str) -> list[Held]:
    found = w.attempts(name)
    return [h for job in w.kin(name) for h in w.tasks(job, found[-1]["number"])] if found else []


def _of_last(value: Callable[[list[Held]], Any]) -> Key:
    """Build the key that compares something of the last attempt."""

    def key(w: World, want: Raw, _: int) -> Iterator[str]:
        for pattern, expected in want.items():
            names = w.named(pattern)
            if not names:
                yield f"nothing is named {pattern}"
            for name in names:
                got = value(_last_tasks(w, name))
                if got != (sorted(expected) if isinstance(expected, list) else expected):
                    yield f"{name} has {got}, expected {expected}"

    return key


def _device_numbers(tasks: list[Held]) -> list[int] | str:
    nodes = {h.node for h in tasks}
    return sorted({d for h in tasks for d in h.devices}) if len(nodes) <= 1 else f"devices of {len(nodes)} nodes"


def running(w: World, want: list[Raw], _: int) -> Iterator[str]:
    """Count how many of these jobs run at a moment."""
    for row in want:
        yield from only("running", row, ("at", "jobs", "count"))
        at, names = span(row["at"]), {n for p in as_list(row["jobs"]) for n in w.named(p)}
        live = [n for n in sorted(names) if any(_runs(w, job, at) for job in w.kin(n))]
        if not fits(len(live), row["count"]):
            yield f"{len(live)} of {row['jobs']} run at {row['at']} s ({', '.join(live[:8])}), expected {row['count']}"


def _runs(w: World, job: str, at: int) -> bool:
    return any(h.begin <= at < h.end for a in w.jobs[job]["attempts"] for h in w.tasks(job, a["number"]))


_WHERE = ("queue", "node", "limit")


def use(w: World, want: list[Raw], _: int) -> Iterator[str]:
    """Check what live tasks hold, over the whole interval."""
    for row in want:
        where = next((k for k in _WHERE if k in row), None)
        if where is None:
            yield f"use needs one of {', '.join(_WHERE)}: {row}"
            continue
        held = _held_in(w, where, row[where])
        for resource in sorted(row.keys() - {where, "from", "to"}):
            bounds = row[resource]
            yield from only(f"use {resource}", bounds, sorted(BOUNDS))
            counted = {k: amount(resource, x) for k, x in bounds.items()}
            for t, n in levels(held, resource, span(row["from"]), span(row["to"])):
                if not fits(n, counted):
                    yield (
                        f"{where} {row[where]} holds {in_units(resource, n):g} {resource} at {show(t)}, "
                        f"expected {bounds} from {row['from']} to {row['to']} s"
                    )
                    break


def _held_in(w: World, where: str, name: str) -> list[Held]:
    if where == "limit":
        return w.slots(name)
    if where == "node":
        return [h for h in w.held if h.node == name]
    return [h for h in w.held if name in w.upwards(w.words(h.job).get("queue"))]


def reason(w: World, want: Raw, _: int) -> Iterator[str]:
    """Check that explanations contain each of these: all of a job's, those at a moment, or the cause of a start."""
    for key, rule in want.items():
        rule_map = rule if isinstance(rule, dict) else {"mentions": rule}
        yield from only("reason", rule_map, ("at", "start", "mentions"))
        for name in w.named(key) or [key]:
            if "start" in rule_map:
                said = _cause_of(w, name, rule_map["start"])
            else:
                said = w.said(name, span(rule_map["at"]) if "at" in rule_map else None)
            lacks = missing_from(said, rule_map["mentions"])
            if lacks:
                yield f"{name}: {lacks} not mentioned in {said[:200] or 'no reason at all'}"


def _cause_of(w: World, name: str, number: int) -> str:
    mine = (e for e in w.shown if e["kind"] == "started" and e.get("job") == name and e.get("attempt") == number)
    return " ".join(str(e.get("cause") or "") for e in mine)


def refused(w: World, want: list[str], _: int) -> Iterator[str]:
    """Check that the submission itself was refused, with a message."""
    for key in as_list(want):
        for name in w.named(key) or [key]:
            if w.state(name) != "refused":
                yield f"{name} is {w.state(name)}, expected refused"
            elif not w.said(name):
                yield f"{name} is refused without a message"


KEYS: dict[str, Key] = {
    "starts": starts, "ends": ends, "never_starts": never_starts, "order": order, "after": after, "final": final,
    "preempted": preempted, "attempts": attempts, "runs": runs, "running": running, "use": use, "reason": reason,
    "refused": refused,
    "placed": _of_last(lambda tasks: sorted({h.node for h in tasks})),
    "devices": _of_last(_device_numbers),
    "distinct_devices": _of_last(lambda tasks: len({(h.node, d) for h in tasks for d in h.devices})),
}  # fmt: skip
