"""Run times of public pasts, forecast at each submit from what had ended by then, beside four rivals."""

from __future__ import annotations

import heapq
import time
from dataclasses import dataclass, field
from statistics import fmean
from typing import TYPE_CHECKING, Any

from benchmarks.forecast_pasts import PASTS as FILES
from benchmarks.forecast_pasts import Past, read
from benchmarks.forecast_plot import draw
from benchmarks.forecast_progress import progress
from clearway.forecast import RunTimes
from clearway.forecast.rivals import Rivals
from clearway.forecast.scores import Scores, scores
from clearway.ports.forecaster import Run

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from clearway.model.forecast import Forecast
    from clearway.ports.forecaster import Forecaster

WARMING = 200
"""So many first jobs of each past are not judged."""
OURS = "forecast"
PASTS = tuple(FILES)

KEYS = {
    "run_times": (
        "run times, a past a row (the first 200 jobs of each left out): pinball loss of the logarithm, mean over 13 "
        "levels; median of the error of the logarithm; part of the runs inside the 80 % and the 95 % interval, and its "
        "range over months; ln of the ratio of the ends of the 80 % interval"
    ),
    "rivals": "the same losses of the last run, the median and the quantiles of the group, and the user's estimate",
    "coverage_80": "% of all runs inside their 80 % interval",
    "coverage_95": "% of all runs inside their 95 % interval",
    "coverage_80_worst": "points from 80 %: the past that is furthest off",
    "coverage_95_worst": "points from 95 %: the past that is furthest off",
    "coverage_80_month_worst": "points from 80 %: the month of any past that is furthest off",
    "coverage_95_month_worst": "points from 95 %: the month of any past that is furthest off",
    "pinball": "pinball loss of the logarithm, the mean of all pasts",
    "pinball_best_rival": "the same of the best rival of each past",
    "pinball_lost": "pasts in which a rival's pinball loss is lower",
    "log_error": "median of the error of the logarithm, the mean of all pasts",
    "log_error_best_rival": "the same of the best rival of each past",
    "log_error_lost": "pasts in which a rival's error is lower by more than 0.01",
    "forecast_us": "microseconds for a forecast, mean",
    "learn_us": "microseconds to learn from a run, mean",
}


@dataclass
class Played:
    """What was said of a past, by whom, and what came."""

    said: dict[str, list[tuple[int, ...]]] = field(default_factory=dict)
    ran_us: list[int] = field(default_factory=list)
    at_us: list[int] = field(default_factory=list)
    forecast_ns: int = 0
    learn_ns: int = 0
    jobs: int = 0

    def note(self, past: Past, said: dict[str, tuple[int, ...]]) -> None:
        """Take in what was said of a job."""
        for name, quantiles in said.items():
            self.said.setdefault(name, []).append(quantiles)
        self.ran_us.append(past.ran_us)
        self.at_us.append(past.known.at_us)

    def scores(self) -> dict[str, Scores]:
        """Return everybody's scores."""
        return {name: scores(said, self.ran_us, self.at_us) for name, said in self.said.items()}


def run(data: Path, names: Sequence[str]) -> dict[str, Any]:
    """Play pasts."""
    found: dict[str, dict[str, Scores]] = {}
    played = []
    for name in names:
        past = Played()
        for jobs in read(data, name):
            with progress(name, len(jobs)) as advance:
                play(jobs, RunTimes(), past, advance)
        found[name] = past.scores()
        played.append(past)
    draw(found)
    return _tables(found) | _figures(found, played)


def play(jobs: Sequence[Past], forecaster: Forecaster, into: Played, advance: Callable[[int], None]) -> None:
    """Forecast each job at its submit, and learn from each at its end."""
    rivals, running = Rivals(), list[tuple[int, int, "Forecast"]]()
    for number, past in enumerate(jobs):
        begun = time.perf_counter_ns()
        while running and running[0][0] <= past.known.at_us:
            at_us, other, said = heapq.heappop(running)
            over = jobs[other]
            forecaster.learn(Run(over.known, over.ran_us, at_us, said=said, number=other + 1, of=number))
            rivals.learn(over.known, over.ran_us)
        between = time.perf_counter_ns()
        said = forecaster.forecast(past.known)
        into.forecast_ns += time.perf_counter_ns() - between
        into.learn_ns += between - begun
        into.jobs += 1
        heapq.heappush(running, (past.ended_us, number, said))
        if number >= WARMING or len(jobs) <= WARMING:
            into.note(past, {OURS: said.quantiles, **rivals.say(past.known)})
        advance(number + 1)


def _tables(found: dict[str, dict[str, Scores]]) -> dict[str, list[dict[str, str]]]:
    ours = [_row(name, by[OURS]) for name, by in found.items()]
    rivals = [
        {"past": name, "loss": label} | {who: f"{value(by[who]):.3f}" for who in (OURS, *Rivals.NAMES)}
        for name, by in found.items()
        for label, value in _LOSSES.items()
    ]
    return {"run_times": ours, "rivals": rivals}


_LOSSES: dict[str, Callable[[Scores], float]] = {
    "pinball": lambda s: s.pinball,
    "pinball h": lambda s: s.pinball_h,
    "log error": lambda s: s.log_error,
}


def _row(name: str, ours: Scores) -> dict[str, str]:
    low, high = ours.months["80"], ours.months["95"]
    return {
        "past": name, "jobs": f"{ours.jobs:,}", "pinball": f"{ours.pinball:.3f}",
        "log error": f"{ours.log_error:.3f}", "80 %": f"{ours.coverage['80']:.1f}",
        "months": f"{low[0]:.0f} to {low[1]:.0f}", "95 %": f"{ours.coverage['95']:.1f}",
        " months": f"{high[0]:.0f} to {high[1]:.0f}", "width": f"{ours.width:.2f}",
    }  # fmt: skip


def _figures(found: dict[str, dict[str, Scores]], played: Sequence[Played]) -> dict[str, float]:
    ours = [by[OURS] for by in found.values()]
    figures: dict[str, float] = {}
    jobs = sum(s.jobs for s in ours)
    for name, meant in (("80", 80.0), ("95", 95.0)):
        figures[f"coverage_{name}"] = sum(s.coverage[name] * s.jobs for s in ours) / jobs
        figures[f"coverage_{name}_worst"] = max(abs(s.coverage[name] - meant) for s in ours)
        figures[f"coverage_{name}_month_worst"] = max(abs(end - meant) for s in ours for end in s.months[name])
    for key, value, near in (("pinball", _LOSSES["pinball"], 0.0), ("log_error", _LOSSES["log error"], 0.01)):
        best = [min(value(by[who]) for who in Rivals.NAMES) for by in found.values()]
        own = [value(s) for s in ours]
        figures |= {key: fmean(own), f"{key}_best_rival": fmean(best)}
        figures[f"{key}_lost"] = sum(mine > other + near for mine, other in zip(own, best, strict=True))
    many = sum(p.jobs for p in played) * 1000
    figures["forecast_us"] = sum(p.forecast_ns for p in played) / many
    figures["learn_us"] = sum(p.learn_ns for p in played) / many
    return figures
