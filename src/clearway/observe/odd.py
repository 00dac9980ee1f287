"""Running jobs that are not as they should be: one that runs far longer than foreseen, one that goes on no more."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from clearway.forecast.run_times import NOTHING
from clearway.loop.progress import forecast_of
from clearway.model.states import State
from clearway.model.values import SECOND_US

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from clearway.control import JobRow
    from clearway.loop.entry import JobEntry
    from clearway.loop.world import World
    from clearway.model.forecast import Forecast

FAR, LEAST_BEYOND_US = 3, 6 * 3600 * SECOND_US
"""A job runs far beyond its forecast at so many times what 39 of 40 such jobs run at most, and so much longer than it.

A job of a kind that mostly ends in minutes may well take hours. Of a thousand jobs of pasts up to eight are named
(`python -m benchmarks forecast --only running`).
"""
PAUSES, LEAST_STILL_US = 10, 300 * SECOND_US
"""A job goes on no more after so many times what lies between two of its steps, and so long at least."""


ODD = {"overrun": "runs far longer than foreseen", "stalled": "makes no progress any more"}
"""What is odd, in a few words."""


class Odd(NamedTuple):
    """What is odd about a job, since when, and in words."""

    kind: str
    since_us: int
    text: str


def far_us(said: Forecast) -> int:
    """Return how long a job has run that is far beyond its forecast."""
    most_us = said.quantiles[-1]
    return max(FAR * most_us, most_us + LEAST_BEYOND_US)


def odd_of(world: World, row: JobRow, now_us: int) -> Odd | None:
    """Return what is odd about a job, None for nothing. From any thread."""
    entry = world.jobs.get(row.id) if row.state is State.RUNNING and row.progress is None else None
    if entry is None or entry.attempt != row.attempt or entry.state != State.RUNNING:
        return None
    return _stalled(world, entry, now_us) or _overrun(world, entry, now_us)


def odd_jobs(world: World, rows: Iterable[JobRow], now_us: int) -> Iterator[tuple[JobRow, Odd]]:
    """Yield the jobs that are odd."""
    for row in rows:
        found = odd_of(world, row, now_us)
        if found is not None:
            yield row, found


def _stalled(world: World, entry: JobEntry, now_us: int) -> Odd | None:
    heard = world.progressing.heard_of(entry.id, entry.attempt)
    apart_us = None if heard is None else heard.apart_us
    if heard is None or apart_us is None or 0 < heard.total <= heard.last:  # after its last step it only tidies up
        return None
    still_us = entry.run_us(now_us) - heard.went  # what it stood still by order is not counted
    if still_us <= max(PAUSES * apart_us, LEAST_STILL_US):
        return None
    total = f" of {heard.total}" if heard.total else ""
    text = f"no progress for {rough(still_us)}: step {heard.last}{total}, and a new one each {rough(apart_us)} before"
    return Odd("stalled", now_us - still_us, text)


def _overrun(world: World, entry: JobEntry, now_us: int) -> Odd | None:
    said, ran_us = forecast_of(world, entry, now_us)  # what it stood still by order is not counted
    if said is None or said.basis == NOTHING or ran_us <= far_us(said):
        return None
    text = f"runs for {rough(ran_us)}; of such jobs 39 in 40 run for {rough(said.quantiles[-1])} at most"
    return Odd("overrun", now_us - ran_us + far_us(said), text)


def rough(us: int) -> str:
    """Return a length of time in one unit: `40 s`, `55 min`, `7.5 h`, `3.2 d`."""
    seconds = us / SECOND_US
    for most, form, each in ((90, "{:.0f} s", 1), (5400, "{:.0f} min", 60), (36 * 3600, "{:.1f} h", 3600)):
        if seconds < most:
            return form.format(seconds / each)
    return f"{seconds / 86_400:.1f} d"
