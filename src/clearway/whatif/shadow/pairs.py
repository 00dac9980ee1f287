"""The same jobs under two policies: how long each waited, and who started sooner.

A wait counts from the submit, or from the moment at which the second policy began; so does what a job waited after it
was stopped to wait again. Of a job that has started under one of them only, the other's wait is what it is by now: at
least that, so that nobody who starves is overlooked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from clearway.model.policies import Worse
from clearway.model.values import SECOND_US

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from clearway.model.ids import JobId
    from clearway.model.job import JobSpec
    from clearway.model.policies import Guard

LIVE, SHADOW = 0, 1
SAME_US = SECOND_US
"""Starts that are no further apart are the same: an engine takes its time."""
SHORT_US = 10 * SECOND_US
"""A shorter run counts as so long in a slowdown, as is usual: else a second of waiting would weigh most."""
MOST_BARS = 96
FIRST_BAR_US = 60 * SECOND_US
MOST_GROUPS = 200
WHOLE, PERCENT, THOUSAND = "", 100, 1000


class _Side:
    __slots__ = ("first_us", "over", "since_us", "waited_us")

    def __init__(self, from_us: int) -> None:
        self.waited_us = 0
        self.since_us: int | None = from_us
        self.first_us: int | None = None
        self.over = False

    def ends_waiting(self, at_us: int) -> None:
        if self.since_us is not None:
            self.waited_us += max(at_us - self.since_us, 0)
            self.since_us = None

    def wait_us(self, now_us: int) -> int:
        return self.waited_us + (max(now_us - self.since_us, 0) if self.since_us is not None else 0)


class _Pair:
    __slots__ = ("from_us", "queue", "ran_us", "sides", "tenant")

    def __init__(self, spec: JobSpec, from_us: int) -> None:
        self.tenant, self.queue, self.from_us = spec.tenant, spec.queue, from_us
        self.sides = (_Side(from_us), _Side(from_us))
        self.ran_us: int | None = None


class Sums:
    """What came of a group of jobs. Slowdowns in thousandths; [0] is under the policy in force, [1] under the other."""

    __slots__ = ("earlier", "jobs", "later", "same", "slow", "slow_jobs", "wait_us")

    def __init__(self) -> None:
        """Begin with none."""
        self.jobs = self.same = self.earlier = self.later = self.slow_jobs = 0
        self.wait_us, self.slow = [0, 0], [0, 0]

    def add(self, pair: _Pair, now_us: int) -> None:
        """Count a job."""
        self.jobs += 1
        waits = [side.wait_us(now_us) for side in pair.sides]
        live, other = (side.first_us for side in pair.sides)
        if live is not None and other is not None and abs(live - other) <= SAME_US:
            self.same += 1
        elif live is None or (other is not None and other < live):
            self.earlier += 1
        else:
            self.later += 1
        for side in (LIVE, SHADOW):
            self.wait_us[side] += waits[side]
        if pair.ran_us is not None:
            self.slow_jobs += 1
            least_us = max(pair.ran_us, SHORT_US)
            for side in (LIVE, SHADOW):
                self.slow[side] += max((waits[side] + pair.ran_us) * THOUSAND // least_us, THOUSAND)

    def plus(self, other: Sums) -> Sums:
        """Return both together."""
        found = Sums()
        for name in ("jobs", "same", "earlier", "later", "slow_jobs"):
            setattr(found, name, getattr(self, name) + getattr(other, name))
        found.wait_us = [a + b for a, b in zip(self.wait_us, other.wait_us, strict=True)]
        found.slow = [a + b for a, b in zip(self.slow, other.slow, strict=True)]
        return found


Groups = dict[tuple[str, str], Sums]
"""By kind (`tenant`, `queue`, and nothing for all) and name."""
Bars = dict[int, Sums]
"""By the moment at which their time begins."""


class Pairs:
    """Jobs that two policies decide about."""

    def __init__(self, begun_us: int) -> None:
        """Compare from a moment on."""
        self.begun_us, self.bar_us = begun_us, FIRST_BAR_US
        self._open: dict[JobId, _Pair] = {}
        self._groups: Groups = {}
        self._bars: Bars = {}

    def __contains__(self, job: JobId) -> bool:
        """Return whether a job is compared and not over everywhere."""
        return job in self._open

    def enter(self, job: JobId, spec: JobSpec, at_us: int) -> None:
        """Take in a job that waits; an array only stands for its jobs."""
        if spec.array is None and job not in self._open:
            self._open[job] = _Pair(spec, max(at_us, self.begun_us))

    def started(self, side: int, job: JobId, at_us: int) -> None:
        """Take in that a job starts on a side."""
        if (pair := self._open.get(job)) is not None:
            one = pair.sides[side]
            one.ends_waiting(at_us)
            one.first_us = at_us if one.first_us is None else one.first_us

    def waits(self, side: int, job: JobId, at_us: int) -> None:
        """Take in that a job waits again on a side."""
        if (pair := self._open.get(job)) is not None:
            pair.sides[side].since_us = at_us

    def over(self, side: int, job: JobId, at_us: int, ran_us: int | None = None) -> bool:
        """Take in that a job is over on a side, after a run of so long; return whether it is on both now."""
        pair = self._open.get(job)
        if pair is None:
            return True
        pair.sides[side].ends_waiting(at_us)
        pair.sides[side].over = True
        pair.ran_us = ran_us if ran_us is not None else pair.ran_us
        if not all(one.over for one in pair.sides):
            return False
        del self._open[job]
        if _counts(pair):
            _count(self._groups, self._bars, pair, at_us, self.bar_us)
            self._widen()
        return True

    def _widen(self) -> None:
        """Have no more bars than can be drawn."""
        while len(self._bars) > MOST_BARS:
            self.bar_us *= 2
            wide: Bars = {}
            for at_us, sums in self._bars.items():
                place = at_us - at_us % self.bar_us
                wide[place] = wide[place].plus(sums) if place in wide else sums
            self._bars = wide

    def now(self, now_us: int) -> tuple[Groups, Bars]:
        """Return what has come of all jobs so far, also of those that are not over."""
        groups, bars, empty = dict(self._groups), dict(self._bars), Sums()
        fresh: tuple[Groups, Bars] = {}, {}
        for pair in self._open.values():
            if _counts(pair):
                _count(*fresh, pair, now_us, self.bar_us)
        for key, sums in fresh[0].items():
            groups[key] = sums.plus(groups.get(key, empty))
        for at_us, sums in fresh[1].items():
            bars[at_us] = sums.plus(bars.get(at_us, empty))
        return groups, bars


def _counts(pair: _Pair) -> bool:
    return any(side.first_us is not None for side in pair.sides)


def _count(groups: Groups, bars: Bars, pair: _Pair, now_us: int, bar_us: int) -> None:
    for key in (("", WHOLE), ("tenant", pair.tenant), ("queue", pair.queue)):
        groups.setdefault(key, Sums()).add(pair, now_us)
    bars.setdefault(pair.from_us - pair.from_us % bar_us, Sums()).add(pair, now_us)


def of_kind(groups: Groups, kind: str) -> Iterator[tuple[str, Sums]]:
    """Yield the groups of a kind, those of most jobs first; the smallest are left out where there are very many."""
    found = sorted((name for of, name in groups if of == kind), key=lambda name: (-groups[kind, name].jobs, name))
    yield from ((name, groups[kind, name]) for name in found[:MOST_GROUPS])


def worst(tenants: Iterable[tuple[str, Sums]], guard: Guard) -> Worse | None:
    """Return the tenant that waits longer than a guard bears, by most; None: none does."""
    found: list[tuple[int, Worse]] = []
    for name, sums in tenants:
        if sums.jobs < guard.jobs:
            continue
        wait_us, would_us = (total // sums.jobs for total in sums.wait_us)
        more_us = wait_us - would_us
        if more_us >= guard.least_us and more_us * PERCENT > would_us * guard.percent:
            found.append((more_us, Worse(name, sums.jobs, wait_us, would_us)))
    return max(found, key=lambda one: (one[0], one[1].tenant))[1] if found else None
