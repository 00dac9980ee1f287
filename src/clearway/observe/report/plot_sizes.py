"""Wait by job size: for each class of sizes the median and the 95th percentile, one stick a policy."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from clearway.observe.report import svg
from clearway.observe.report.colours import policy_class
from clearway.observe.report.frame import BOTTOM, LEFT, RIGHT, TOP
from clearway.observe.report.numbers import seconds
from clearway.sim.results.sizes import sizes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from clearway.sim.results.outcome import Outcome

WIDTH, HEIGHT = 1040.0, 270.0
SECOND_US = 1_000_000
P95 = 0.95
FLOOR_S = 1.0  # shorter waits lie on the lowest line, "at once"
LABELS_S = ((1, "1 s"), (10, "10 s"), (60, "1 min"), (600, "10 min"), (3600, "1 h"), (36_000, "10 h"), (259_200, "3 d"),
            (2_592_000, "30 d"), (31_536_000, "1 y"))  # fmt: skip


def sizes_plot(outcomes: Sequence[Outcome], names: Sequence[str]) -> str:
    """Return the picture. The scale is logarithmic: each rule is several times the one below."""
    classes = sizes(np.concatenate([o.jobs.milli for o in outcomes]))
    longest = max((float(o.jobs.wait_us.max(initial=0)) / SECOND_US for o in outcomes), default=0.0)
    top_s = next((s for s, _ in LABELS_S if s >= longest), max(longest, 10.0))
    top_s = max(10.0, float(top_s))
    room = (WIDTH - LEFT - RIGHT) / max(1, len(classes))
    parts = _axis(top_s)
    for k, size in enumerate(classes):
        middle = LEFT + (k + 0.5) * room
        counted = 0
        for i, (outcome, name) in enumerate(zip(outcomes, names, strict=True)):
            waits = outcome.jobs.wait_us[(outcome.jobs.milli > size.above) & (outcome.jobs.milli <= size.most)]
            counted = max(counted, len(waits))
            x = middle + (i - (len(outcomes) - 1) / 2) * min(16.0, room / (len(outcomes) + 1.5))
            parts += _stick(x, waits, policy_class(i), name, top_s)
        base = HEIGHT - BOTTOM
        parts.append(svg.text((middle, base + 17), size.label, "", "middle"))
        parts.append(svg.text((middle, base + 31), "1 job" if counted == 1 else f"{counted:,} jobs", "tick", "middle"))
    return svg.picture(WIDTH, HEIGHT + 10, parts, "wait by job size: median and 95th percentile for each policy")


def _y(value_s: float, top_s: float) -> float:
    part = math.log(max(value_s, FLOOR_S) / FLOOR_S) / math.log(top_s / FLOOR_S)
    return HEIGHT - BOTTOM - part * (HEIGHT - TOP - BOTTOM)


def _axis(top_s: float) -> list[str]:
    parts = []
    for value, words in LABELS_S:
        if value <= top_s:
            y = _y(value, top_s)
            parts.append(svg.line((LEFT, y), (WIDTH - RIGHT, y), "axis" if value == FLOOR_S else "rule"))
            parts.append(svg.text((LEFT - 8, y + 4), "at once" if value == FLOOR_S else words, "tick", "end"))
    return parts


def _stick(x: float, waits: NDArray[np.int64], cls: str, name: str, top_s: float) -> list[str]:
    if not len(waits):
        return []
    ordered = np.sort(waits) / SECOND_US
    median, p95 = float(np.median(ordered)), float(ordered[math.ceil(P95 * len(ordered)) - 1])
    low, high = _y(median, top_s), _y(p95, top_s)
    title = f"{name}: median {seconds(median)}, 95 % below {seconds(p95)}"
    return [
        svg.line((x, low), (x, high), f"stick {cls}"),
        svg.dot((x, high), 2.4, cls, title),
        svg.dot((x, low), 4.6, cls, title),
    ]
