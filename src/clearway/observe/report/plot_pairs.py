"""Differences from the first policy with their intervals: left of the line is better."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clearway.observe.report import svg
from clearway.observe.report.colours import policy_class
from clearway.observe.report.numbers import nice_step, nice_time, plain, short, signed

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

WIDTH, ROW, NAME_ROOM, GAP, TOP, BOTTOM = 1040.0, 30.0, 170.0, 34.0, 26.0, 24.0
MEASURES: tuple[tuple[str, str, Callable[[float | None], str]], ...] = (
    ("wait", "wait", short), ("completion", "completion", short), ("bounded_slowdown", "bounded slowdown", plain),
)  # fmt: skip
NAME_CHARS = 24


def pairs_plot(differences: Mapping[str, Mapping[str, Any]], names: Sequence[str]) -> str:
    """Return the picture: a row a policy, a column a measure; `names` are all policies, the base first."""
    shown = {label: d for label, d in differences.items() if d["jobs"]}
    column = (WIDTH - NAME_ROOM) / len(MEASURES)
    height = TOP + ROW * len(shown) + BOTTOM
    parts = [
        svg.text((0, TOP + ROW * (k + 0.5) + 4), label[:NAME_CHARS]) for k, label in enumerate(shown)
    ]  # fmt: skip
    for i, (key, title, words) in enumerate(MEASURES):
        left = NAME_ROOM + i * column + GAP / 2
        parts += _column(key, title, words, shown, names, (left, column - GAP), height)
    return svg.picture(WIDTH, height, parts, "differences from the first policy with 95 per cent intervals")


def _column(
    key: str, title: str, words: Callable[[float | None], str], shown: Mapping[str, Mapping[str, Any]],
    names: Sequence[str], place: tuple[float, float], height: float,
) -> list[str]:  # fmt: skip
    left, width = place
    ends = [abs(d[key][end]) for d in shown.values() for end in ("mean", "low", "high") if d[key][end] is not None]
    reach = max(ends, default=1.0) * 1.1 or 1.0

    def x(value: float) -> float:
        return left + (value / reach + 1) / 2 * width

    bottom = height - BOTTOM
    parts = [svg.text((left + width / 2, 12), title, "", "middle"), svg.line((x(0), TOP - 4), (x(0), bottom), "zero")]
    step = nice_time(reach) if words is short else _below(reach)
    values = (-step, 0.0, step)
    parts += [svg.text((x(a), bottom + 16), signed(words(a)) if a else "0", "tick", "middle") for a in values]
    for k, (label, found) in enumerate(shown.items()):
        y = TOP + ROW * (k + 0.5)
        parts += _mark(found[key], y, x, policy_class(names.index(label)), words)
    return parts


def _below(reach: float) -> float:
    """Return a round number that fits."""
    step = nice_step(reach, 1)
    return step if step <= reach else nice_step(reach, 2)


def _mark(
    d: Mapping[str, float | None], y: float, x: Callable[[float], float], cls: str, words: Callable[[float | None], str]
) -> list[str]:
    mean, low, high = d["mean"] or 0.0, d["low"], d["high"]
    title = signed(words(mean))
    parts = []
    if low is not None and high is not None:
        title = f"{title}, from {signed(words(low))} to {signed(words(high))}"
        parts.append(svg.line((x(low), y), (x(high), y), f"whisker {cls}"))
    return [*parts, svg.dot((x(mean), y), 4.6, cls, title)]
