"""What is left of running jobs, by their forecast alone and with what they tell; and who runs far longer than foreseen.

No public past holds what jobs told. Here each is played as one that tells how far it is, by a pace that is not even: it
does the part p of its work in the part p ** g of its time, with g from 1/1.22 to 1.22. And one of five stops early,
after 10 to 100 % of its work, which what it tells cannot say.
"""

from __future__ import annotations

import heapq
import math
from statistics import fmean
from typing import TYPE_CHECKING, Any, NamedTuple

from benchmarks.forecast_pasts import read
from benchmarks.forecast_progress import progress
from clearway.flow.chance import mixed
from clearway.forecast import RunTimes, Told, remaining
from clearway.forecast.run_times import NOTHING
from clearway.forecast.scores import Scores, scores
from clearway.observe.odd import far_us
from clearway.ports.forecaster import Run

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from benchmarks.forecast_pasts import Past
    from clearway.model.forecast import Forecast

PASTS = ("philly", "hpc2n", "itp-03", "mustang", "nasa")
WARMING, LEAST_US = 200, 600 * 10**6
"""So many first jobs are left out; of shorter jobs nobody asks what is left."""
PARTS = (10, 25, 50, 75)
UNEVEN, EARLY = 0.2, 20
STEPS = 10_000

KEYS = {
    "progress": (
        "what is left of jobs of more than 10 minutes, asked when a part of their time is over: pinball loss and "
        "median error of the logarithm, part inside the interval of 80 %; by the forecast alone | with progress"
    ),
    "overrun": (
        "jobs of 1,000 that are told to run far beyond their forecast, and how much longer they ran from then on, as a "
        "part of what they had run (median)"
    ),
    "overrun_worst": "jobs of 1,000 that are told so, in the past with the most",
    "progress_pinball": "pinball loss of what is left, with progress, the mean of all rows",
    "progress_pinball_without": "the same by the forecast alone",
    "progress_coverage_80": "% of all inside their 80 % interval, with progress",
}


class Ran(NamedTuple):
    """A job that is over, and what was forecast of it at its submit."""

    number: int
    past: Past
    said: Forecast


def run(data: Path, names: Sequence[str]) -> dict[str, Any]:
    """Play pasts."""
    rows, far, without, known = [], [], list[Scores](), list[Scores]()
    for name in names:
        ran = [one for jobs in read(data, name) for one in foreseen(name, jobs)]
        far.append(_far(name, ran))
        for part in PARTS:
            alone, told = _asked([one for one in ran if one.past.ran_us > LEAST_US], part)
            rows.append(_row(name, part, alone, told))
            without.append(alone)
            known.append(told)
    return {
        "progress": rows,
        "overrun": far,
        "overrun_worst": max(float(row["of 1,000"]) for row in far),
        "progress_pinball": fmean(one.pinball for one in known),
        "progress_pinball_without": fmean(one.pinball for one in without),
        "progress_coverage_80": fmean(one.coverage["80"] for one in known),
    }


def foreseen(name: str, jobs: Sequence[Past]) -> Iterator[Ran]:
    """Yield jobs with what was forecast of them at their submit, by what had ended by then."""
    forecaster, running = RunTimes(), list[tuple[int, int, "Forecast"]]()
    with progress(name, len(jobs)) as advance:
        for number, past in enumerate(jobs):
            while running and running[0][0] <= past.known.at_us:
                at_us, other, was = heapq.heappop(running)
                forecaster.learn(Run(jobs[other].known, jobs[other].ran_us, at_us, whole=True, said=was))
            said = forecaster.forecast(past.known)
            heapq.heappush(running, (past.ended_us, number, said))
            if number >= WARMING:
                yield Ran(number, past, said)
            advance(number + 1)


def _far(name: str, ran: Sequence[Ran]) -> dict[str, str]:
    known = [(one.past.ran_us, far_us(one.said)) for one in ran if one.said.basis != NOTHING]
    longer = sorted(ran_us / most_us - 1 for ran_us, most_us in known if ran_us > most_us)
    many = 1000 * len(longer) / max(len(ran), 1)
    return {
        "past": name, "jobs": f"{len(ran):,}", "of 1,000": f"{many:.1f}",
        "longer": f"{100 * longer[len(longer) // 2]:.0f} %" if longer else "-",
    }  # fmt: skip


def _asked(ran: Sequence[Ran], part: int) -> tuple[Scores, Scores]:
    alone, known, left = [], [], []
    for one in ran:
        elapsed_us = one.past.ran_us * part // 100
        alone.append(remaining(one.said, Told(0, 0, elapsed_us)))
        known.append(remaining(one.said, Told(_step(one, elapsed_us), STEPS, elapsed_us)))
        left.append(one.past.ran_us - elapsed_us)
    return scores(alone, left, [0] * len(left)), scores(known, left, [0] * len(left))


def _step(one: Ran, elapsed_us: int) -> int:
    """Return how far a job would say that it is after so long."""
    pace = math.exp(UNEVEN * (mixed(one.number, 1) % 2001 - 1000) / 1000)
    planned_us = one.past.ran_us
    if mixed(one.number, 2) % 100 < EARLY:
        planned_us = planned_us * 1000 // (100 + mixed(one.number, 3) % 900)
    return int((elapsed_us / planned_us) ** pace * STEPS)


def _row(name: str, part: int, alone: Scores, told: Scores) -> dict[str, str]:
    def both(without: float, known: float, form: str = ".3f") -> str:
        return f"{without:{form}} | {known:{form}}"

    return {
        "past": name, "jobs": f"{alone.jobs:,}", "over": f"{part} %", "pinball": both(alone.pinball, told.pinball),
        "error": both(alone.log_error, told.log_error),
        "80 %": both(alone.coverage["80"], told.coverage["80"], ".0f"),
    }  # fmt: skip
