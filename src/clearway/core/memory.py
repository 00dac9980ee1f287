"""Past use: what each queue has held before, forgotten with a half-life.

A level is the average of what a queue held at each moment of its past, where a moment one half-life ago counts half
as much as now. While it holds `use` from s to t:

    level(t) = use + (level(s) - use) x 2^-((t - s) / half-life)

so a queue that always held 8 devices has a level of 8, and one that stopped a half-life ago a level of 4. What runs
counts as it runs. Whole numbers, brought up to date only where use changes: what a level is follows from the records
alone. Source: Kay and Lauder, A fair share scheduler, CACM 31(1), 1988 (decayed use).
"""

from __future__ import annotations

from functools import lru_cache
from math import isqrt
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

Amounts = dict[str, int]

WIDE = 40
"""A level is kept in parts of 2^40 of a unit, so that rounding down at each of many changes never matters."""
SCALE = 80
FRACTION = 62
"""Powers of two are worked out to 62 binary places of the exponent, in parts of 2^80."""


def _roots() -> tuple[int, ...]:
    """Return 2^-(1/2), 2^-(1/4), .. in parts of 2^80."""
    found, root = [], 1 << (SCALE - 1)
    for _ in range(FRACTION):
        root = isqrt(root << SCALE)
        found.append(root)
    return tuple(found)


_ROOTS = _roots()


@lru_cache(maxsize=256)
def kept(passed_us: int, half_life_us: int) -> int:
    """Return 2^-(passed / half-life) in parts of 2^80: how much of a level is left of what it was."""
    whole, rest = divmod(passed_us, half_life_us)
    if whole > SCALE:
        return 0
    places, left = (rest << FRACTION) // half_life_us, 1 << SCALE
    for i, root in enumerate(_ROOTS):
        if places >> (FRACTION - 1 - i) & 1:
            left = left * root >> SCALE
    return left >> whole


class Memory:
    """The levels of all queues. `now_us` is told by whoever changes or reads it."""

    def __init__(self, half_life_us: int, now_us: int) -> None:
        """Begin with nothing held and no past."""
        self.half_life_us, self.now_us = half_life_us, now_us
        self._use: dict[str, Amounts] = {}
        self._levels: dict[str, Amounts] = {}
        self._since: dict[str, int] = {}
        self._told: dict[str, Amounts] = {}

    def taken(self) -> list[tuple[str, int, Amounts, Amounts]]:
        """Return each queue with the moment up to which its past is settled, its levels then, and its use since."""
        queues = sorted({*self._use, *self._levels})
        return [(q, self._since.get(q, 0), self._levels.get(q, {}), self._use.get(q, {})) for q in queues]

    def put_back(self, taken: Iterable[tuple[str, int, Amounts, Amounts]]) -> None:
        """Be as `taken` said."""
        for queue, since_us, levels, use in taken:
            self._since[queue], self._levels[queue], self._use[queue] = since_us, levels, use
        self._told.clear()

    def reach(self, now_us: int) -> None:
        """Take note of the moment that it is."""
        if now_us > self.now_us:
            self.now_us = now_us
            self._told.clear()

    def change(self, queue: str, amounts: Mapping[str, int], times: int) -> None:
        """Count so many times these amounts more (or with a negative number less) as held by a queue's own jobs."""
        self._settle(queue)
        use = self._use.setdefault(queue, {})
        for resource, amount in amounts.items():
            use[resource] = use.get(resource, 0) + amount * times

    def hold_nothing(self) -> None:
        """Count nothing as held any more; the past stays."""
        for queue in self._use:
            self._settle(queue)
            self._use[queue] = {}
        self._told.clear()

    def forget_by(self, half_life_us: int) -> None:
        """Forget by another half-life from now on."""
        for queue in self._use:
            self._settle(queue)
        self.half_life_us = half_life_us

    def past(self, queue: str, children: Callable[[str], list[str]]) -> Amounts:
        """Return the levels of a queue with all below it at this moment, in parts of 2^40."""
        found = self._told.get(queue)
        if found is None:
            found = dict(self._now(queue))
            for child in children(queue):
                for resource, level in self.past(child, children).items():
                    found[resource] = found.get(resource, 0) + level
            self._told[queue] = found
        return found

    def _settle(self, queue: str) -> None:
        """Bring the levels of a queue's own jobs up to this moment."""
        if self._since.get(queue) != self.now_us:
            self._levels[queue] = self._now(queue)
            self._since[queue] = self.now_us

    def _now(self, queue: str) -> Amounts:
        use, levels = self._use.get(queue, {}), self._levels.get(queue, {})
        left = kept(self.now_us - self._since.get(queue, self.now_us), self.half_life_us)
        now: Amounts = {}
        for resource in sorted({*use, *levels}):
            held = use.get(resource, 0) << WIDE
            level = held + ((levels.get(resource, 0) - held) * left >> SCALE)
            if level:
                now[resource] = level
        return now
