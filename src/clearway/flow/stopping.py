"""Which trials of a search are stopped early, by what they and others report. Values are compared, never reckoned with.

- `median`: the best that a trial has reported so far is worse than the median of what others had reported as their best
  by that step (Golovin et al., 2017).
- `halving`: at each rung (`min_step` times a power of `reduction`) the best one in `reduction` of those that have come
  there goes on; nobody waits for the others (asynchronous successive halving, Li et al., 2018).
- `hyperband`: the same in brackets that begin at later and later rungs, in case early values say little (Li et al.,
  2017). The bracket of a trial follows from the seed and its number.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from clearway.flow.chance import mixed
from clearway.flow.json_text import value_of

if TYPE_CHECKING:
    from clearway.flow.search import SearchTrack, Trial
    from clearway.model.flow import StopSpec

RULES = ("median", "halving", "hyperband")


def stops(track: SearchTrack, trial: Trial) -> bool:
    """Return whether a trial is to be stopped after its newest report."""
    stop = track.spec.stop
    if stop is None or trial.reports[-1][0] < stop.min_step:
        return False
    if stop.rule == "median":
        return _below_median(track, trial, stop)
    first = stop.min_step * stop.reduction ** _bracket(track, trial.number, stop)
    rung = _rung(trial, first, stop.reduction)
    if rung is None:
        return False
    mine = track.sign * _at(trial, rung)
    peers = (other for other in track.trials if other is not trial and _same_bracket(track, other, trial, stop))
    others = [track.sign * _at(other, rung) for other in peers if other.reports and other.reports[-1][0] >= rung]
    better = sum(value < mine for value in others)
    return bool(better >= max((len(others) + 1) // stop.reduction, 1))


def _below_median(track: SearchTrack, trial: Trial, stop: StopSpec) -> bool:
    step = trial.reports[-1][0]
    there = (other for other in track.trials if other is not trial and other.reports and other.reports[-1][0] >= step)
    others = sorted(_best_by(other, step) for other in there)
    return bool(len(others) >= stop.min_trials and trial.best_by[-1] > others[len(others) // 2])


def _best_by(trial: Trial, step: int) -> Any:  # noqa: ANN401  a number
    """Return the best that a trial had reported by a step; of one that began to report later its first."""
    return trial.best_by[max(bisect_right(trial.reports, step, key=_step) - 1, 0)]


_step = itemgetter(0)


def _rung(trial: Trial, first: int, reduction: int) -> int | None:
    """Return the rung that a trial reached with its newest report, None if with none."""
    step = trial.reports[-1][0]
    before = trial.reports[-2][0] if len(trial.reports) > 1 else 0
    rung, found = first, None
    while rung <= step:
        found = rung if rung > before else None
        rung *= reduction
    return found


def _at(trial: Trial, rung: int) -> Any:  # noqa: ANN401  a number
    """Return what a trial was worth when it reached a rung."""
    return value_of(trial.reports[bisect_left(trial.reports, rung, key=_step)][1])


def _same_bracket(track: SearchTrack, other: Trial, trial: Trial, stop: StopSpec) -> bool:
    return _bracket(track, other.number, stop) == _bracket(track, trial.number, stop)


def _bracket(track: SearchTrack, number: int, stop: StopSpec) -> int:
    """Return how many rungs a trial passes before it is looked at; the brackets that begin early get more trials."""
    if stop.rule != "hyperband":
        return 0
    most, step = 0, stop.min_step * stop.reduction
    while step <= stop.max_step:
        most, step = most + 1, step * stop.reduction
    sizes = [-(-(most + 1) * stop.reduction ** (most - late) // (most - late + 1)) for late in range(most + 1)]
    place = mixed(track.spec.seed, number, 1) % sum(sizes)
    for late, size in enumerate(sizes):
        place -= size
        if place < 0:
            return late
    return most
