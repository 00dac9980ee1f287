"""How long jobs really run, as far as it is known by now: those that ended by themselves, and those that still run."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from clearway.core.profile import NEVER
from clearway.loop import sizing
from clearway.model.forecast import HALF
from clearway.model.states import End, State
from clearway.model.values import SECOND_US

if TYPE_CHECKING:
    from clearway.loop.entry import JobEntry
    from clearway.loop.world import World
    from clearway.model.events import AttemptEnded
    from clearway.model.ids import JobId

BY_ITSELF = (End.SUCCEEDED, End.FAILED)
"""Ends that a job came to by itself."""
_GO_ON = 20
"""A job that outruns its forecast is looked at again after a twentieth of its run time."""


class Own(NamedTuple):
    """An end that a job came to by itself: after how much of work, and with which exit code."""

    ran_us: int
    exit_code: int
    oom: bool


class Reality:
    """What the world in charge has told of run times so far."""

    def __init__(self, live: World) -> None:
        """Know of nothing yet; `live` is followed by whoever has it."""
        self.live = live
        self._own: dict[JobId, list[Own]] = {}
        self._short: dict[JobId, Own] = {}

    def ended(self, record: AttemptEnded) -> None:
        """Take note of an end, before it is applied to the world in charge."""
        entry = self.live.jobs.get(record.job)
        if entry is None:
            return
        if record.end in BY_ITSELF:
            code = record.cause.get("exit_code", 0 if record.end == End.SUCCEEDED else 1)
            ran_us = entry.kept_us + entry.run_us(record.at_us)
            own = Own(ran_us, code if isinstance(code, int) else 1, bool(record.cause.get("oom", 0)))
        elif record.end == End.TIMED_OUT:
            own = Own(NEVER, 0, oom=False)  # a limit ended it, and ends it again
        else:
            return
        if sizing.ran_short(entry, record.end, record.cause):  # that is no retry, and comes only of the lower amounts
            self._short[record.job] = own
        else:
            self._own.setdefault(record.job, []).append(own)

    def forget(self, job: JobId) -> None:
        """Forget a job that is over everywhere."""
        self._own.pop(job, None)
        self._short.pop(job, None)

    def own(self, entry: JobEntry) -> Own | None:
        """Return how the present attempt of a job ends by itself, None where that is not known yet."""
        if entry.id in self._short and any(need.applied for need in entry.needs):
            return self._short[entry.id]
        known = self._own.get(entry.id, ())
        return known[entry.retries] if entry.retries < len(known) else None

    def left_us(self, world: World, entry: JobEntry, now_us: int) -> int:
        """Return how long an attempt in another world goes on from now; NEVER where nobody knows."""
        done_us, own = entry.kept_us + entry.run_us(now_us), self.own(entry)
        if own is not None:
            return NEVER if own.ran_us >= NEVER else max(own.ran_us - done_us, 0)
        ran_us, whole_us = self._ran_us(entry, now_us), self._whole_us(world, entry, now_us)
        if whole_us >= NEVER:
            return NEVER
        if done_us > 0 and (ran_us >= done_us or (ran_us and whole_us > done_us)):  # it is thought to run longer
            return max(whole_us - done_us, done_us // _GO_ON, SECOND_US)
        return max(whole_us - done_us, 1)

    def _whole_us(self, world: World, entry: JobEntry, now_us: int) -> int:
        """Return the median of how long a job runs, given how long it has really run by now."""
        ran_us, said = self._ran_us(entry, now_us), world.state.view.forecasts.said.get(entry.id)
        if said is None:
            return entry.spec.estimate_us or NEVER
        return said.given(ran_us, HALF) if ran_us else said.at(HALF)

    def goes_on(self, world: World, entry: JobEntry, now_us: int) -> bool:
        """Return whether a job runs longer than it has in another world by now.

        That is known of it, or thought of one that still runs, though it may have started a little later.
        """
        own, done_us = self.own(entry), entry.kept_us + entry.run_us(now_us)
        if own is not None:
            return own.ran_us > done_us
        ran_us = self._ran_us(entry, now_us)
        return ran_us > 0 and done_us > 0 and (ran_us >= done_us or self._whole_us(world, entry, now_us) > done_us)

    def _ran_us(self, entry: JobEntry, now_us: int) -> int:
        """Return how long the same attempt has really run, if it runs."""
        real = self.live.jobs.get(entry.id)
        if real is None or real.retries != entry.retries or real.state not in {State.STARTING, State.RUNNING}:
            return 0
        return real.kept_us + max(real.run_us(now_us), 0)
