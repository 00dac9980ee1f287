"""How good forecasts were, worked out from the journal: run times beside what was said of them, starts beside ETAs."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from clearway.api.moments import iso
from clearway.api.past.questions import moment_ago
from clearway.forecast import RunTimes
from clearway.forecast.rivals import Rivals
from clearway.forecast.scores import scores
from clearway.loop.forecast_state import MOST_RUNS
from clearway.loop.forecasting import Forecasting
from clearway.model.forecast import LEVELS
from clearway.model.values import SECOND_US
from clearway.observe.foreseen import ForeseenRuns
from clearway.whatif.starts import StartsForeseen

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from clearway.compose.past import PastOf
    from clearway.loop.world import World
    from clearway.model.events import Record
    from clearway.observe.foreseen import Foreseen
    from clearway.whatif.starts import Starts

ALL = "(all)"
MOMENTS = 30
"""At so many moments it is asked when those who wait will start: evenly over the jobs that came."""
LONGEST_S = 60.0
"""For so long at most; then no further moment is looked at, and the answer says at how many it was."""
LENGTHS = ((600, "up to 10 min"), (3600, "up to 1 h"), (6 * 3600, "up to 6 h"), (86_400, "up to 1 day"))
LONGEST = "more than 1 day"
HALF = LEVELS.index(500)


def forecasts(past: PastOf, since: str, by: str, *, starts: bool) -> dict[str, Any]:
    """Judge forecasts made since a moment or so long ago, by queue, tenant, user, basis or length; and ETAs.

    `starts`: also ask, at moments of the past, when those would start who waited then. It takes up to LONGEST_S.
    """
    to_us = time.time_ns() // 1000
    from_us = moment_ago("since", since, to_us)
    last = past.world_at(None).state.next_job if starts else 0
    world = past.world_at(from_us)
    world.forecasting = Forecasting(RunTimes())
    runs, asked = ForeseenRuns(world), StartsForeseen()
    begun_s = time.monotonic()
    _live_through(
        runs, past.records_after(from_us), asked, last, lambda: time.monotonic() - begun_s < LONGEST_S
    )  # fmt: skip
    whole = [one for one in runs.runs if one.run.whole]
    learnt = _learnt(world)
    return {
        "from": iso(from_us),
        "to": iso(to_us),
        "by": by,
        "runs": [_row(name, some) for name, some in _grouped(whole, by)],
        "broken_off": len(runs.runs) - len(whole),
        "months": _months(whole),
        "levels": [level / 10 for level in LEVELS],
        "drift": learnt.drift,
        "drifted": learnt.drifted,
        "starts": _starts(asked.close(to_us)) if starts else None,
    }


def _live_through(
    runs: ForeseenRuns, records: Iterable[Record], asked: StartsForeseen, last: int, goes_on: Callable[[], bool]
) -> None:
    """Apply records; ask between two moments, each time that so many more jobs have come."""
    world = runs.world
    step = max((last - world.state.next_job) // MOMENTS, 1)
    due = world.state.next_job + step
    for record in records:
        if last and world.state.next_job >= due and record.at_us > world.now_us:
            due = world.state.next_job + step
            if world.forecasting is not None:
                world.forecasting.learn(world.state, MOST_RUNS)
            asked.ask(world, world.now_us, goes_on)
        runs.apply(record)
        asked.hear(record)


def _learnt(world: World) -> RunTimes:
    learnt = RunTimes()
    for run in world.state.runs.kept:
        learnt.learn(run)
    return learnt


def _grouped(runs: Sequence[Foreseen], by: str) -> list[tuple[str, list[Foreseen]]]:
    """Return all of them, and then those of each group, the largest group first."""
    groups: dict[str, list[Foreseen]] = {}
    for one in runs:
        groups.setdefault(_name(one, by), []).append(one)
    return [(ALL, list(runs)), *sorted(groups.items(), key=lambda found: (-len(found[1]), found[0]))]


def _name(one: Foreseen, by: str) -> str:
    known, said = one.run.known, one.run.said
    match by:
        case "tenant":
            return one.tenant
        case "user":
            return known.user
        case "basis":
            return said.basis if said else ""
        case "length":
            median_s = said.quantiles[HALF] / SECOND_US if said else 0
            return next((words for most_s, words in LENGTHS if median_s <= most_s), LONGEST)
        case _:
            return known.queue


def _row(name: str, runs: Sequence[Foreseen]) -> dict[str, Any]:
    """Return how good it was; errors are factors: 1.5 is half as long again, or two thirds."""
    if not runs:
        return {"name": name, "runs": 0} | dict.fromkeys(_FIGURES)
    found = scores([_said(one) for one in runs], _ran(runs), [one.run.at_us for one in runs])
    stated = [one for one in runs if one.run.known.asked_us]
    return {
        "name": name,
        "runs": len(runs),
        "within_80": found.coverage["80"],
        "within_95": found.coverage["95"],
        "error": math.exp(found.log_error),
        "width": math.exp(found.width),
        "pinball": found.pinball,
        "estimate_error": _error(stated, [(one.run.known.asked_us or 1,) for one in stated]),
        **{f"{rival}_error": _error(runs, [one.rivals[rival] for one in runs]) for rival in ("last", "median")},
        "rival_pinball": min(
            scores([one.rivals[rival] for one in runs], _ran(runs), [0] * len(runs)).pinball for rival in Rivals.NAMES
        ),
        "below": list(found.below),
    }


_FIGURES = (
    "within_80", "within_95", "error", "width", "pinball", "estimate_error", "last_error", "median_error",
    "rival_pinball", "below",
)  # fmt: skip


def _said(one: Foreseen) -> tuple[int, ...]:
    return one.run.said.quantiles if one.run.said else ()


def _ran(runs: Sequence[Foreseen]) -> list[int]:
    return [one.run.ran_us for one in runs]


def _error(runs: Sequence[Foreseen], said: Sequence[tuple[int, ...]]) -> float | None:
    """Return the median factor between what was said (in the middle) and what came."""
    if not runs:
        return None
    middles = np.array([one[len(one) // 2] for one in said], np.float64)
    return float(np.exp(np.median(np.abs(np.log(np.maximum(middles, 1) / np.array(_ran(runs), np.float64))))))


def _months(runs: Sequence[Foreseen]) -> list[dict[str, Any]]:
    """Return the same by the month in which runs ended, in order."""
    months: dict[str, list[Foreseen]] = {}
    for one in sorted(runs, key=lambda one: one.run.at_us):
        months.setdefault(iso(one.run.at_us)[:7], []).append(one)
    found = []
    for month, some in months.items():
        row = _row(month, some)
        found.append({"month": month} | {key: row[key] for key in ("runs", "within_80", "within_95", "error")})
    return found


def _starts(found: Starts) -> dict[str, Any]:
    def seconds(us: int | None) -> float | None:
        return None if us is None else us / SECOND_US

    return {
        "moments": found.moments,
        "judged": found.judged,
        "within_80": 100 * found.within / found.judged if found.judged else None,
        "error": seconds(found.error_us),
        "place_error": seconds(found.place_error_us),
        "wait": seconds(found.wait_us),
    }
