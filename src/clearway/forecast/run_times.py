"""The forecaster of run times: groups of past runs of the like, mixed, and held to what it promises."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from clearway.forecast.adviser import features
from clearway.forecast.grid import (
    BINS,
    EDGES_US,
    Masses,
    beyond,
    bin_of,
    mean_us,
    places_at,
    rounded,
    within,
)
from clearway.forecast.group import Group, Then
from clearway.forecast.kinds import KINDS, NOBODY
from clearway.forecast.promise import Promise
from clearway.forecast.ratios import Ratios
from clearway.forecast.weights import Weights, class_of
from clearway.model.forecast import Forecast

if TYPE_CHECKING:
    from collections.abc import Hashable

    from clearway.forecast.adviser import Adviser, Features
    from clearway.ports.forecaster import Known, Run

STEADY, FADING, LAST, MEAN = range(4)
WAYS = 4
"""How a group speaks: by all runs, by newer ones, by the last one, by the mean of the last four."""
ASKED = len(KINDS) * WAYS
ADVISED = ASKED + WAYS  # each in a place of its own, as kinds are
EXPERTS = ADVISED + 1
FEW_RUNS = 3
MOST_GROUPS = 1024
"""So many groups of a kind are kept, those that had a run last."""
IGNORED = 0.005  # an expert with less than this part of all weights is not asked
NOTHING, ESTIMATE, MODEL = "nothing known", "the user's estimate", "a trained model"
ASKED_WIDE, ASKED_SKEW = 60.0, -20.0  # bins: before anything is known, people ask for about twice what they need
RECENTLY, LONG = 1 / 50, 1 / 1000
DRIFTED = 700
MOST_WAITING = 20_000
"""Of so many jobs that have not ended it is remembered what the adviser saw; it does not learn from more."""
HEAVIEST = 8.0
"""No run counts for more than so many."""
EVENLY = 1e-4
"""So much of a forecast is always spread over all run times."""


def _prior() -> Masses:
    """Return what is taken for likely before anything has run: about an hour, give or take a factor of twenty."""
    hour = bin_of(3600 * 10**6)
    masses = np.exp2(-(((np.arange(BINS) - hour) / 80.0) ** 2)) + 0.01
    prior: Masses = masses / masses.sum()
    return prior


PRIOR = _prior()


class _Voice(NamedTuple):
    """An expert that is awake: its number, the class of its runs, and the bin that it points at, if it does."""

    expert: int
    runs: int
    center: int


class RunTimes:
    """Forecasts run times from past runs of the like, and learns from each run that ends. See docs/forecasts.md."""

    def __init__(self, adviser: Adviser | None = None) -> None:
        """Begin with nothing known; `adviser` is one more voice."""
        self._adviser = adviser
        self._advised = Ratios()
        self._waiting: dict[Known, tuple[Features, int | None]] = {}
        self._groups: list[dict[Hashable, Group]] = [{} for _ in KINDS]
        self._ratios = [[Ratios() for _ in range(2 * WAYS)] for _ in KINDS]
        self._asked = Ratios(ASKED_WIDE, ASKED_SKEW)
        self._weights = Weights([2.0 ** _depth(expert // WAYS) for expert in range(EXPERTS)])
        self._promise = Promise()
        self._inside = [0.5] * BINS
        self._recent = self._long = 0.0
        self.runs = 0

    @property
    def drift(self) -> int:
        """How much worse than usual the last fifty or so runs were foreseen, in thousandths of log chance."""
        return max(0, round(1000 * (self._long - self._recent)))

    @property
    def drifted(self) -> bool:
        """Whether run times are no longer what they were: those of late were held for half as likely."""
        return self.drift >= DRIFTED

    @property
    def settled(self) -> bool:
        """Whether runs are foreseen about as usual: one that has drifted is told of again only after that."""
        return self.drift < DRIFTED // 2

    # --- forecast ------------------------------------------------------------------------------

    def forecast(self, known: Known) -> Forecast:
        """Return how long a job will run from its start."""
        groups = self._like(known)
        center = self._advice(known, groups)
        masses, best = self._mixed(known, groups, center)
        limit_us = known.limit_us
        quantiles = []
        for place in places_at(masses, self._promise.read()):
            us = self._us(place)
            quantiles.append(us if limit_us is None else min(us, limit_us))
        basis, runs = NOTHING, 0
        if best in {ASKED, ADVISED}:
            basis, runs = ESTIMATE if best == ASKED else MODEL, self.runs
        elif best is not None:
            group = groups[best // WAYS]
            basis, runs = KINDS[best // WAYS].words, group.count if group else 0
        return Forecast(
            tuple(quantiles),
            mean_us(masses, limit_us),
            basis,
            runs,
            self._adviser.model if self._adviser and center is not None else "",
        )

    def _advice(self, known: Known, groups: list[Group | None]) -> int | None:
        """Return the bin that the adviser points at, and remember what it saw until the run is over."""
        if self._adviser is None:
            return None
        seen = features(known, groups)
        center = self._adviser.advise(seen)
        self._waiting[known] = seen, center
        if len(self._waiting) > MOST_WAITING:
            del self._waiting[next(iter(self._waiting))]
        return center

    def _like(self, known: Known) -> list[Group | None]:
        """Return the group of each kind; one that holds the same runs as a wider one says nothing new."""
        found: list[Group | None] = []
        counts: list[int] = []
        for place, kind in enumerate(KINDS):
            key = kind.key(known)
            group = None if key is None else self._groups[place].get(key)
            wider = counts[kind.parent] if kind.parent != NOBODY else NOBODY
            found.append(group if group is not None and group.count != wider else None)
            counts.append(group.count if found[-1] is not None and group is not None else wider)
        return found

    def _mixed(self, known: Known, groups: list[Group | None], center: int | None = None) -> tuple[Masses, int | None]:
        """Return the mixture, and the expert that speaks for the kind with most weight in it."""
        voices = self._voices(known, groups)
        if center is not None:
            voices.append(_Voice(ADVISED, class_of(self.runs), center))
        if not voices:
            return PRIOR, None
        held = [float(self._weights.of[voice.expert, voice.runs]) for voice in voices]
        least = IGNORED * sum(held)
        steady: dict[int, Masses] = {NOBODY: PRIOR}
        mixed, by_kind = np.full(BINS, sum(held) * EVENLY / BINS), [0.0] * (EXPERTS // WAYS + 1)
        for voice, weight in zip(voices, held, strict=True):
            by_kind[voice.expert // WAYS] += weight
            if weight >= least:
                mixed += self._said(voice, groups, steady) * weight
        return mixed, int(np.argmax(by_kind)) * WAYS

    def _voices(self, known: Known, groups: list[Group | None]) -> list[_Voice]:
        voices = []
        for place, group in enumerate(groups):
            centers = group.centers() if group is not None else None
            if group is None or centers is None:
                continue
            runs, first = class_of(group.count), place * WAYS
            voices += [_Voice(first, runs, 0), _Voice(first + FADING, runs, 0)]
            voices += [_Voice(first + LAST, runs, centers[0]), _Voice(first + MEAN, runs, centers[1])]
        if known.asked_us:
            voices.append(_Voice(ASKED, class_of(self.runs), bin_of(known.asked_us)))
        return voices

    def _said(self, voice: _Voice, groups: list[Group | None], steady: dict[int, Masses]) -> Masses:
        place, way = divmod(voice.expert, WAYS)
        if voice.expert == ASKED:
            return self._asked.around(voice.center)
        if voice.expert == ADVISED:
            return self._advised.around(voice.center)
        if way in {LAST, MEAN}:
            return self._table(place, way, voice.runs).around(voice.center)
        own = _steady(place, groups, steady)
        group = groups[place]
        return own if way == STEADY or group is None else group.fading(own)

    def _table(self, place: int, way: int, runs: int) -> Ratios:
        return self._ratios[place][2 * (way - LAST) + (runs > 1)]

    def _us(self, place: float) -> int:
        """Return the run time at a place; in a bin most runs are taken to be where the last ones were."""
        at = min(int(place), BINS - 1)
        low, high, inside = EDGES_US[at], EDGES_US[at + 1], self._inside[at]
        return rounded(low + (high - low) * _bent(place - at, inside))

    # --- learn ---------------------------------------------------------------------------------

    def learn(self, run: Run) -> None:
        """Take in a run that is over."""
        known, place, weight = run.known, bin_of(run.ran_us), _weight(run)
        groups = self._like(known)
        row: Masses | None = None
        seen, center = self._waiting.pop(known, (None, None))
        if run.whole:
            self._judge(known, groups, place, center, weight)
            self._inside[place] += (within(run.ran_us, place) - self._inside[place]) / 4
            if self._adviser is not None and seen is not None:
                self._adviser.note(seen, place)
        else:
            row = beyond(self._mixed(known, groups)[0], run.ran_us)
            place = int(np.searchsorted(np.cumsum(row), 0.5))
        if run.said is not None:
            self._promise.learn(run.said, run.ran_us, whole=run.whole)
        for kind, held in zip(KINDS, self._groups, strict=True):
            key = kind.key(known)
            if key is not None:
                group = held.pop(key, None) or Group()
                held[key] = group
                group.add(run.at_us, place, row, weight)
                if len(held) > MOST_GROUPS:
                    del held[next(iter(held))]
        self.runs += 1

    def _judge(self, known: Known, groups: list[Group | None], place: int, advised: int | None, weight: float) -> None:
        """Weigh the experts by what each would have said at the submit."""
        awake: list[tuple[int, int]] = []
        chances: list[float] = []
        steady = {NOBODY: float(PRIOR[place])}
        for at, group in enumerate(groups):
            parent = steady[KINDS[at].parent]
            steady[at] = parent
            then = None if group is None else Then(group, known.at_us, place, parent)
            if group is None or then is None or then.count <= 0:
                continue
            steady[at] = then.steady
            runs, first = class_of(then.count), at * WAYS
            awake += [(first, runs), (first + FADING, runs)]
            chances += [then.steady, then.fading]
            centers = group.centers(then.kept)
            for way, center in zip((LAST, MEAN), centers or (), strict=False):
                table = self._table(at, way, runs)
                awake.append((first + way, runs))
                chances.append(table.chance(center, place))
                table.add(center, place, weight)
        if known.asked_us:
            center = bin_of(known.asked_us)
            awake.append((ASKED, class_of(self.runs)))
            chances.append(self._asked.chance(center, place))
            self._asked.add(center, place, weight)
        if advised is not None:
            awake.append((ADVISED, class_of(self.runs)))
            chances.append(self._advised.chance(advised, place))
            self._advised.add(advised, place, weight)
        if awake:
            self._note(self._weights.learn(awake, np.array(chances), weight))

    def _note(self, chance: float) -> None:
        score = float(np.log(chance * BINS))
        self._recent += (score - self._recent) * max(RECENTLY, 1 / (self.runs + 1))
        self._long += (score - self._long) * max(LONG, 1 / (self.runs + 1))


def _weight(run: Run) -> float:
    """Return for how many a run counts: of jobs that take as long most may not have had the time to be over yet.

    By its end `of` jobs had come, but only the first `number` of them so early that one like it could have ended: each
    run stands for as many as those are fewer (inverse probability weights, as for what is cut off on the right).
    """
    return min(max(run.of, 1) / max(run.number, 1), HEAVIEST)


def _depth(place: int) -> int:
    """Return how many wider kinds there are above one: the narrower it is, the more it is believed at first."""
    return 0 if place >= len(KINDS) or KINDS[place].parent == NOBODY else 1 + _depth(KINDS[place].parent)


def _steady(place: int, groups: list[Group | None], known: dict[int, Masses]) -> Masses:
    """Return what a group and the wider ones above it say by all runs."""
    if place not in known:
        group, parent = groups[place], _steady(KINDS[place].parent, groups, known)
        known[place] = parent if group is None else group.steady(parent)
    return known[place]


def _bent(part: float, inside: float) -> float:
    """Return where in a bin a part of its mass lies below: the middle half close to `inside`."""
    near = 0.02
    if part < 0.25:  # noqa: PLR2004  the lower quarter
        return max(inside - near, 0.0) * part * 4
    if part > 0.75:  # noqa: PLR2004  the upper quarter
        high = min(inside + near, 1.0)
        return high + (1 - high) * (part - 0.75) * 4
    return min(max(inside + near * (part - 0.5) * 4, 0.0), 1.0)
