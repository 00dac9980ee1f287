"""A plot for a terminal: values in their order, and the best so far."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

MOST_WIDE, HIGH = 60, 10
DOT, BEST, BOTH = "o", "_", "@"
LETTERS = 9


def plot(values: Sequence[float], *, smallest: bool) -> Iterator[str]:
    """Yield the lines of a plot of values from left to right; of more than fit the best of neighbours is shown.

    `o` is a value, `_` the best so far, `@` a value that is it. Nothing for fewer than two values.
    """
    if len(values) <= 1:
        return
    pick = min if smallest else max
    shown = _thinned(values, smallest=smallest)
    best = [pick(shown[: i + 1]) for i in range(len(shown))]
    low, high = min(values), max(values)
    rows = [[" "] * len(shown) for _ in range(HIGH)]
    for x, (value, so_far) in enumerate(zip(shown, best, strict=True)):
        rows[_row(so_far, low, high)][x] = BEST
        rows[_row(value, low, high)][x] = BOTH if value == so_far else DOT
    for y, row in enumerate(rows):
        label = f"{high:.4g}" if y == 0 else f"{low:.4g}" if y == HIGH - 1 else ""
        yield f"{label:>{LETTERS}} |{''.join(row).rstrip()}"
    yield f"{'':>{LETTERS}} +{'-' * len(shown)} {len(values)} values"


def _thinned(values: Sequence[float], *, smallest: bool) -> list[float]:
    """Return at most so many values as fit, of neighbours the best."""
    each = -(-len(values) // MOST_WIDE)
    groups = [values[i : i + each] for i in range(0, len(values), each)]
    return [min(group) if smallest else max(group) for group in groups]


def _row(value: float, low: float, high: float) -> int:
    return 0 if high == low else round((high - value) / (high - low) * (HIGH - 1))
