"""Rules that hold in every scenario: sums, gang, once, calm, why. Each yields one line for each breach."""

from __future__ import annotations

import math
import re
from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING

from clearway.model.job import WHOLE
from clearway.model.values import SECOND_US
from clearway.testing.judge.values import NEVER, Raw, Value, as_list, moment, show, span
from clearway.testing.judge.world import World, levels

if TYPE_CHECKING:
    from collections.abc import Iterator

OVER = frozenset({"succeeded", "failed", "cancelled", "refused", "skipped", "upstream_failed"})
SURVIVORS_US = 10 * SECOND_US  # after lease and stop_time, the rest of a broken gang is gone this much later
_ANEW = re.compile(r" \(\d+\)$")  # a later job of the same name; events name it without its number
_FREE_FORM = frozenset({"needs", "input", "result"})  # below these, numbers are the user's


def numbers(timeline: object) -> Iterator[str]:
    """Check that nothing in a timeline is infinite, not a number, or negative."""
    yield from (f"sums: {line}" for line in _numbers(timeline, "timeline", free=False))


def _numbers(x: Value, path: str, *, free: bool) -> Iterator[str]:
    if isinstance(x, dict):
        for key, value in x.items():
            yield from _numbers(value, f"{path}.{key}", free=free or key in _FREE_FORM)
    elif isinstance(x, list):
        for i, value in enumerate(x):
            yield from _numbers(value, f"{path}[{i}]", free=free)
    elif isinstance(x, float) and not math.isfinite(x):
        yield f"{path} is {x}"
    elif isinstance(x, int | float) and x < 0 and not free:
        yield f"{path} is negative: {x}"


def sums(w: World) -> Iterator[str]:
    """Check that what is shown adds up: grants make sense, attempts start with their tasks, ended jobs hold nothing."""
    for h in w.held:
        if not 0 <= h.share <= WHOLE:
            yield f"{h.job}#{h.attempt} holds a share of {h.share} thousandths of a device"
        if h.end < h.begin:
            yield f"{h.job}#{h.attempt}: a grant ends at {show(h.end)}, before it begins at {show(h.begin)}"
        if len(set(h.devices)) < len(h.devices):
            yield f"{h.job}#{h.attempt} holds a device twice: {list(h.devices)}"
    for name, job in w.jobs.items():
        yield from _ended_holds_nothing(w, name, job)
        for attempt in job["attempts"]:
            yield from _starts_together(w, name, attempt)
    shown = (w.timeline.get("summary") or {}).get("preemptions")
    stops = sum(a["end"] == "preempted" for job in w.jobs.values() for a in job["attempts"])
    if shown is not None and shown != stops:
        yield f"the summary says {shown} preemptions, the attempts {stops}"


def _ended_holds_nothing(w: World, name: str, job: Raw) -> Iterator[str]:
    if job["state"] not in OVER:
        return
    last = max((h.end for a in job["attempts"] for h in w.tasks(name, a["number"])), default=-NEVER)
    # What a stop has not yet cleared away may outlive a job that did not succeed, but not for ever.
    if last == NEVER or (job["state"] == "succeeded" and last > moment(job["ended"])):
        yield f"{name} is {job['state']} since {show(moment(job['ended']))} and holds something until {show(last)}"


def _starts_together(w: World, name: str, attempt: Raw) -> Iterator[str]:
    begins = sorted(h.begin for h in w.tasks(name, attempt["number"]))
    if not begins:
        yield f"{name}#{attempt['number']} has no tasks"
        return
    least = min(max(minimum(w, name), 1), len(begins))
    first = begins[least - 1]
    if first != moment(attempt["from"]):
        yield f"{name}#{attempt['number']} starts at {attempt['from']} s, but {least} of its tasks at {show(first)}"


def role_minima(words: Raw) -> dict[str, int]:
    """Return the least number of tasks of each role; empty without roles."""
    return {r["name"]: r.get("min_tasks", r.get("tasks", 1)) for r in words.get("roles") or []}


def minimum(w: World, name: str) -> int:
    """Return the least number of tasks with which a job runs."""
    words = w.words(name)
    roles = role_minima(words)
    if "min_tasks" in words:
        return int(words["min_tasks"])
    return sum(roles.values()) if roles else int(words.get("tasks", 1))


def gang(w: World) -> Iterator[str]:
    """Check that a job runs with none of its tasks, or with at least its minimum."""
    for name, job in w.jobs.items():
        words = w.words(name)
        stop = words.get("stop_time", 0)
        grace = w.lease + (0 if stop == "never" else span(stop)) + SURVIVORS_US
        bounds: list[tuple[str | None, int]] = [(None, minimum(w, name)), *role_minima(words).items()]
        for attempt in job["attempts"]:
            allowed = grace if attempt["end"] in ("lost", "evicted") else 0
            for role, least in bounds:
                for line in _below(w, name, attempt, role, least, allowed):
                    yield f"{name}#{attempt['number']}: {line}"


def _below(w: World, name: str, attempt: Raw, role: str | None, least: int, allowed: int) -> Iterator[str]:
    tasks = w.tasks(name, attempt["number"])
    mine, n = dict(levels((h for h in tasks if role in (None, h.role)), "tasks")), 0
    # A role with none of its tasks is below its minimum as long as the job has any.
    for (t, running), (next_t, _) in pairwise([*levels(tasks, "tasks"), (NEVER, 0)]):
        n = mine.get(t, n)
        end = max(w.until, t) if next_t == NEVER else next_t
        if running and n < least and end - t > allowed:
            yield f"{n} of at least {least} tasks{f' of {role}' if role else ''} from {show(t)} to {show(next_t)}"


def once(w: World) -> Iterator[str]:
    """Check for one live attempt per job; a terminal state never changes within its run."""
    endings = Counter(e.get("job") for e in w.shown if e["kind"] == "ended")
    for name, job in w.jobs.items():
        attempts, again = job["attempts"], w.reran(name)
        if [a["number"] for a in attempts] != list(range(1, len(attempts) + 1)):
            yield f"{name} has attempts numbered {[a['number'] for a in attempts]}"
        for x, y in pairwise(attempts):
            if moment(y["from"]) < moment(x["to"]):
                lives = show(moment(x["to"]))
                yield f"{name}#{y['number']} starts at {y['from']} s, while #{x['number']} lives until {lives}"
            if x["end"] == "succeeded" and not again:
                yield f"{name}#{y['number']} starts after #{x['number']} has succeeded"
        yield from _settled(name, job)
        if endings[name] > 1 and not again:
            yield f"{name} ended {endings[name]} times"


def _settled(name: str, job: Raw) -> Iterator[str]:
    attempts, over = job["attempts"], job["state"] in OVER
    if over != (job["ended"] is not None):
        yield f"{name} is {job['state']}, ended: {job['ended']}"
    elif over and attempts and moment(attempts[-1]["from"]) > moment(job["ended"]):
        yield f"{name}#{attempts[-1]['number']} starts after the job's end at {job['ended']} s"
    if attempts and (job["state"] == "succeeded") != (attempts[-1]["end"] == "succeeded"):
        yield f"{name} is {job['state']}, its last attempt ended {attempts[-1]['end']}"
    if job["state"] == "refused" and attempts:
        yield f"{name} is refused and started"


def calm(w: World) -> Iterator[str]:
    """Check that nobody is preempted where policy or job forbid it, too early, or twice within the policy's calm."""
    gives_way = (w.policy.get("idle") or {}).get("release", "none") != "none"
    gives_way = gives_way or any(b.get("used_up") == "stop" for b in w.scenario.get("budgets") or [])
    forbids = not w.bundle and not w.policy.get("preempt") and not gives_way
    least = span(w.policy.get("min_runtime", 0))
    for name, job in w.jobs.items():
        stopped = [a for a in job["attempts"] if a["end"] == "preempted"]
        if stopped and forbids:
            yield f"{name} is preempted, and the policy preempts nobody"
        if stopped and not w.words(name).get("preemptible", True):
            yield f"{name} is preempted and is not preemptible"
        for a in stopped:
            if moment(a["to"]) - moment(a["from"]) < least:
                yield f"{name}#{a['number']} is preempted within min_runtime ({show(least)})"
        for x, y in pairwise(stopped):
            if moment(y["to"]) - moment(x["to"]) < w.calm:
                yield f"{name} is preempted at {x['to']} s and again at {y['to']} s, calm is {show(w.calm)}"


def why(w: World) -> Iterator[str]:
    """Check that waiting has a reason all the time; each start, stop and refusal has a cause."""
    causes = {(e.get("job"), e.get("attempt")): e.get("cause") for e in w.shown if e["kind"] == "started"}
    for name, job in w.jobs.items():
        if job["state"] in ("refused", "failed") and not w.said(name):
            yield f"{name} is {job['state']} and nothing says why"
        for a in job["attempts"]:
            if not causes.get((_ANEW.sub("", name), a["number"])):
                yield f"{name}#{a['number']} starts, and no event says why"
            if a["end"] not in (None, "succeeded") and not a.get("cause"):
                yield f"{name}#{a['number']} ends {a['end']}, and nothing says why"
        if job["state"] != "refused":
            yield from _silent(w, name, job)


def _silent(w: World, name: str, job: Raw) -> Iterator[str]:
    """Stretches of waiting that no reason covers."""
    reasons = sorted((moment(x["from"]), moment(x["to"])) for x in as_list(job.get("waits")) if _speaks(x))
    bounds = [moment(job["submitted"])]
    for a in job["attempts"]:
        bounds += [moment(a["from"]), moment(a["to"])]
    bounds.append(w.until if job["ended"] is None else moment(job["ended"]))
    for begin, end in zip(bounds[::2], bounds[1::2], strict=True):
        # After a person ran it again, it was over in between and waited for nothing.
        if w.reran(name) and begin > bounds[0]:
            continue
        t = begin
        for a, b in reasons:
            if a <= t < b:
                t = b
        if t < end:
            yield f"{name} waits from {show(t)} to {show(end)}, and nothing says why"


def _speaks(wait: Raw) -> bool:
    return any(str(r.get("text") or "").strip() for r in wait["reasons"])
