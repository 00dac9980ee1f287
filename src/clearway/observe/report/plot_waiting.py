"""Jobs waiting over time, one line a policy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clearway.observe.report import svg
from clearway.observe.report.colours import policy_class
from clearway.observe.report.frame import Frame

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clearway.sim.results.outcome import Outcome

WIDTH, HEIGHT = 1040.0, 240.0
HEADROOM = 1.08


def waiting_plot(outcomes: Sequence[Outcome], names: Sequence[str], to_us: int) -> str:
    """Return the picture; the more waits, the higher."""
    top = max((max(o.curves.get("waiting", [0.0]), default=0.0) for o in outcomes), default=0.0)
    frame = Frame(WIDTH, HEIGHT, 0, to_us, max(1.0, top * HEADROOM))
    parts = frame.axes()
    for i, (outcome, name) in enumerate(zip(outcomes, names, strict=True)):
        points = _points(frame, outcome)
        base = [(x, frame.y(0)) for x, _ in points]
        parts.append(svg.area(points, base, f"veil {policy_class(i)}"))
        parts.append(svg.polyline(points, f"line {policy_class(i)}", name))
    return svg.picture(WIDTH, HEIGHT, parts, "jobs waiting over time, one line for each policy")


def _points(frame: Frame, outcome: Outcome) -> list[svg.Point]:
    """Return a line through the middle of each bin, from and to nothing."""
    bin_us, values = outcome.bin_us, outcome.curves.get("waiting", [])
    inner = [(frame.x(min((i + 0.5) * bin_us, outcome.virtual_us)), frame.y(v)) for i, v in enumerate(values)]
    return [(frame.x(0), frame.y(0)), *inner, (frame.x(outcome.virtual_us), frame.y(0))]
