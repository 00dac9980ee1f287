"""A series of load: one value a step, gaps allowed, and what else was known at the same moments."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from clearway.model.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

DAY_S = 86_400
WEEK_S = 7 * DAY_S


def _nothing() -> Floats:
    return np.zeros((0, 0))


@dataclass(frozen=True, eq=False)
class Series:
    """Values by the step. What is derived of a step looks back only, so that it holds however far the series goes on.

    `values`: one a step, NaN where nothing was measured. `start_s`: seconds from the beginning of a week to the first
    value, 0 where no calendar is known. `positive`: it moves by factors rather than by amounts, and is never nothing.
    `beside`: a row a step, of other things known at that moment (such as the mix of tasks); it may have no columns.
    """

    name: str
    values: Floats
    step_s: float
    start_s: float = 0.0
    positive: bool = False
    beside: Floats = field(default_factory=_nothing)
    whole: Series | None = None
    """Of what this is the beginning: what is derived of steps is worked out there, once."""

    _kept: dict[tuple[str, int], Floats] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        """Refuse what has no logarithm, and rows beside that are not one a step."""
        if self.positive and bool(np.any(self.values <= 0)):
            raise InputError("values", self.name, "values above 0, and NaN where nothing is known")
        if self.beside.size and len(self.beside) != len(self.values):
            raise InputError("beside", self.name, f"a row for each of the {len(self.values)} steps")

    def __len__(self) -> int:
        return len(self.values)

    @cached_property
    def day(self) -> int:
        """The steps of a day."""
        return max(round(DAY_S / self.step_s), 1)

    def until(self, count: int) -> Series:
        """Return the first so many steps: all that is known when they have passed."""
        values, beside = self.values[:count], self.beside[:count]
        return Series(self.name, values, self.step_s, self.start_s, self.positive, beside, self.whole or self)

    def kept(self, what: str, steps: int, worked_out: Callable[[Series, Ints], Floats]) -> Floats:
        """Return what is derived of every step (at least of those of this series), worked out once for all models."""
        whole = self.whole or self
        if (what, steps) not in whole._kept:  # noqa: SLF001 - its own kind
            whole._kept[what, steps] = worked_out(whole, np.arange(len(whole), dtype=np.int64))  # noqa: SLF001 - the same
        return whole._kept[what, steps]  # noqa: SLF001 - the same

    def steps(self, horizon_s: float) -> int | None:
        """Return the nearest whole number of steps of a time ahead; None where a step is longer than it."""
        return round(horizon_s / self.step_s) if horizon_s >= self.step_s else None

    @cached_property
    def filled(self) -> Floats:
        """The values, where a gap keeps the last value before it; before the first: zero, of a rate that value."""
        known = ~np.isnan(self.values)
        if not known.any():
            return np.full(len(self.values), float(self.positive))
        first = self.values[known][0] if self.positive else 0.0
        at = np.maximum.accumulate(np.where(known, np.arange(len(known)), -1))
        return np.asarray(np.where(at < 0, first, self.values[at]))

    def moved(self, values: Floats) -> Floats:
        """Return values on the scale on which the series moves: logarithms of a rate."""
        return np.log(values) if self.positive else values

    def back(self, moved: Floats) -> Floats:
        """Return what `moved` was made from."""
        return np.exp(moved) if self.positive else moved

    @cached_property
    def level(self) -> Floats:
        """The filled values on the scale on which they move."""
        return self.moved(self.filled)

    def of_day(self, at: Ints) -> Floats:
        """Return where in its day each step is, 0 to 1."""
        return np.asarray((self.start_s + at * self.step_s) % DAY_S / DAY_S)

    def of_week(self, at: Ints) -> Floats:
        """Return where in its week each step is, 0 to 1."""
        return np.asarray((self.start_s + at * self.step_s) % WEEK_S / WEEK_S)
