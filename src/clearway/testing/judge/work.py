"""The rule work: a success has done the work of its `runtime`, and its exit code was 0.

Work is counted in microseconds of undisturbed running. Waiting, standing still and copying inputs are none; what no
complete checkpoint holds when an attempt ends otherwise is lost. A generous reading is taken wherever the words leave a
choice, so that only what cannot have been done is named.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from clearway.model.values import SECOND_US
from clearway.testing.judge.places import NEAR_TO_FAR, devices_of, inside
from clearway.testing.judge.rules import minimum
from clearway.testing.judge.values import NEVER, Raw, amount, as_list, moment, show, span
from clearway.testing.judge.world import World, levels

if TYPE_CHECKING:
    from collections.abc import Iterator

ROUNDING_US = 1000  # speeds and elastic sizes are divisions; an attempt's end is a whole microsecond
SETTLE_US = 5 * SECOND_US  # an order to stand still may take so long to arrive
DEFAULT_NOTICE_S = 30
_BITS, _GBIT = 8, 10**9


def work(w: World) -> Iterator[str]:
    """Check that a success has run its runtime."""
    if any(isinstance(e.get("rerun"), dict) for _, e in w.events):
        return  # a person changed words on the way; what the work was is then not known
    for name, job in w.jobs.items():
        words = w.words(name)
        if words.get("runtime") is not None and not words.get("outcomes"):
            saved = 0.0
            for attempt in job["attempts"]:
                run = _Run(w, name, words, attempt, saved)
                yield from run.breaches()
                saved = run.saved()


class _Run:
    """One attempt, and how much work it can have done at any moment."""

    def __init__(self, w: World, name: str, words: Raw, attempt: Raw, saved: float) -> None:
        self.w, self.name, self.words, self.attempt, self.before = w, name, words, attempt, saved
        self.tasks = w.tasks(name, attempt["number"])
        self.total = sum(r.get("tasks", 1) for r in words.get("roles") or [words])
        self.elastic = minimum(w, name) < self.total
        self.start = moment(attempt["from"])
        self.end = self._last_moment()
        self.begin = self.start + self._copying()
        self.still = list(self._standing())

    def breaches(self) -> Iterator[str]:
        """Yield what a success lacks."""
        if self.attempt["end"] != "succeeded":
            return
        what, n = f"{self.name}#{self.attempt['number']}", self.attempt["number"]
        runtimes, codes = as_list(self.words["runtime"]), as_list(self.words.get("exit_code", 0))
        any_start = self.words.get("any_start")
        want = min(map(span, runtimes)) if any_start else span(runtimes[min(n, len(runtimes)) - 1])
        done = self.done(self.end)
        if done < want - ROUNDING_US:
            yield f"{what} succeeded after {done / SECOND_US:g} s of work and needs {show(want)}"
        code = codes[min(n, len(codes)) - 1] if len(codes) == 1 or not any_start else 0
        if code:
            yield f"{what} succeeded, and its exit code is {code}"

    def done(self, until: float) -> float:
        """Return the work that is done by a moment, with what earlier attempts saved."""
        if until <= self.begin:
            return self.before
        steps = levels(self.tasks, "tasks", self.begin, int(until))
        total = self.before
        for (a, n), (b, _) in pairwise([*steps, (int(until), 0)]):
            stood = sum(max(0, min(b, y) - max(a, x)) for x, y in self.still)
            total += max(0, b - a - stood) * self._part(n) * self._pace()
        return total

    def saved(self) -> float:
        """Return the work that outlives the attempt."""
        points = self.words.get("checkpoint") or {}
        every = span(points.get("every", 0))
        if points.get("on_stop") or (every and self.still):
            return self.done(self.end)
        if not every:
            return 0.0
        written = self.end - span(points.get("write_time", 0))
        last = [base + (written - base) // every * every for base in {self.start, self.begin} if written > base]
        return max(map(self.done, last), default=self.before)

    def _last_moment(self) -> int:
        """Return when the attempt's processes were gone: of lost ones when their node died, noticed later."""
        end = self.w.until if self.attempt["to"] is None else moment(self.attempt["to"])
        if self.attempt["end"] not in ("lost", "evicted"):
            return end
        mine = {h.node for h in self.tasks}
        return min([end, *(t for t, node in _deaths(self.w) if t >= self.start and (node is None or node in mine))])

    def _copying(self) -> int:
        """Return how long the nodes copy inputs that they do not hold; an elastic job begins on the first done."""
        times = []
        for node, at in sorted({(h.node, h.begin) for h in self.tasks}) if self.words.get("inputs") else ():
            machine = self.w.machines[node].words
            here = set(machine.get("holds") or [])
            for h in self.w.held:
                if h.node == node and h.begin < at:
                    here |= _inputs(self.w.words(h.job)).keys()
            here |= self._left(node, at)
            missing = sum(n for x, n in _inputs(self.words).items() if x not in here)
            rate = machine.get("bandwidth")
            times.append(missing * _BITS * SECOND_US / (rate * _GBIT) if rate else 0)
        return int((min if self.elastic else max)(times, default=0))

    def _left(self, node: str, at: int) -> set[str]:
        """Return the data that jobs (steps call them otherwise) have left on a node, and none elsewhere since."""
        newest: dict[str, set[str]] = {}
        for end, name, number in sorted(_successes(self.w)):
            if end <= at and "." not in name:
                nodes = {h.node for h in self.w.tasks(name, number)}
                newest |= dict.fromkeys(_inputs({"inputs": self.w.words(name).get("outputs")}), nodes)
        return {data for data, nodes in newest.items() if node in nodes}

    def _standing(self) -> Iterator[tuple[int, int]]:
        for at, event in self.w.events:
            if event.get("suspend") == self.name:
                resumed = [t for t, e in self.w.events if e.get("resume") == self.name and t > at]
                yield at + SETTLE_US, min(resumed, default=NEVER)

    def _pace(self) -> float:
        """Return the best speed that its devices allow."""
        speed, slow = self.words.get("speed") or {}, self.words.get("slowdown") or {}
        models = {self.w.machines[h.node].words.get("gpu_model") for h in self.tasks}
        best = max((speed.get(m, 1) for m in models), default=1)
        if self.elastic:
            return float(best / min([1, *slow.values()]))
        held = devices_of(self.tasks)
        near = next((x for x in NEAR_TO_FAR if inside(self.w, x, held)), None) if len(held) > 1 else None
        return float(best / slow.get(near, 1))

    def _part(self, tasks: int) -> float:
        """Return the part of full speed that it has with so many tasks."""
        if not tasks or self.words.get("roles") or not self.elastic:
            return float(bool(tasks))
        up = {int(k): x for k, x in (self.words.get("speedup") or {}).items()} or {
            k: k for k in range(1, self.total + 1)
        }
        mine = up[min((k for k in up if k >= tasks), default=max(up))]
        full = up[max((k for k in up if k <= self.total), default=min(up))]
        return float(min(1, mine / full))


def _deaths(w: World) -> Iterator[tuple[int, str | None]]:
    """Yield (moment, node or None for all) at which processes die without a word."""
    for at, node, said_at in _said_deaths(w):
        machine = w.timeline.get("machines", {}).get(node) if node else None
        if machine is None or moment(machine["ready"]) <= said_at:  # nothing befalls what is not there yet
            yield at, node


def _said_deaths(w: World) -> Iterator[tuple[int, str | None, int]]:
    """Yield each moment of death with its node and the moment of the event."""
    for at, event in w.events:
        if "node_lost" in event:
            yield at, event["node_lost"], at
        if "kill_all" in event:
            yield at, None, at
        notice = event.get("spot_notice")
        if notice:
            notice = {"node": notice} if isinstance(notice, str) else notice
            yield at + span(notice.get("in", DEFAULT_NOTICE_S)), notice["node"], at


def _successes(w: World) -> Iterator[tuple[int, str, int]]:
    """Yield each attempt that succeeded: when, of which job, its number."""
    for name, job in w.jobs.items():
        for one in job["attempts"]:
            if one["end"] == "succeeded":
                yield moment(one["to"]), name, one["number"]


def _inputs(words: Raw) -> dict[str, int]:
    """Return the sizes of a job's inputs by name; a bare name has size 0."""
    maps = [{"name": x} if isinstance(x, str) else x for x in as_list(words.get("inputs"))]
    return {x["name"]: amount("disk", x.get("size", 0)) for x in maps}
