"""The frame of a plot: where time and amounts lie on the picture, the axes and their rules."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from clearway.observe.report import svg
from clearway.observe.report.numbers import plain, ticks, time_ticks

if TYPE_CHECKING:
    from collections.abc import Callable

LEFT, RIGHT, TOP, BOTTOM = 56.0, 12.0, 10.0, 26.0
LABEL_CHARS_UNITS = 56  # a time label needs so much room


class Frame(NamedTuple):
    """A plot over time: from `from_us` to `to_us` across, from 0 to `top` upwards."""

    width: float
    height: float
    from_us: int
    to_us: int
    top: float

    def x(self, at_us: float) -> float:
        """Return where a moment lies."""
        part = (at_us - self.from_us) / max(1, self.to_us - self.from_us)
        return LEFT + part * (self.width - LEFT - RIGHT)

    def y(self, amount: float) -> float:
        """Return where an amount lies."""
        return self.height - BOTTOM - amount / (self.top or 1) * (self.height - TOP - BOTTOM)

    def axes(self, shown: Callable[[float], str] = plain, rules: int = 4) -> list[str]:
        """Return both axes with light rules behind the plot."""
        parts = []
        for value in ticks(self.top, rules):
            y = self.y(value)
            parts += [
                svg.line((LEFT, y), (self.width - RIGHT, y)),
                svg.text((LEFT - 8, y + 4), shown(value), "tick", "end"),
            ]
        return [*parts, *self.time_axis()]

    def time_axis(self) -> list[str]:
        """Return the axis below."""
        room = max(2, int((self.width - LEFT - RIGHT) / LABEL_CHARS_UNITS))
        base = self.height - BOTTOM
        parts = [svg.line((LEFT, base), (self.width - RIGHT, base), "axis")]
        for at_us, words in time_ticks(self.from_us, self.to_us, min(room, 10)):
            x = self.x(at_us)
            parts += [svg.line((x, base), (x, base + 4), "axis"), svg.text((x, base + 17), words, "tick", "middle")]
        return parts
