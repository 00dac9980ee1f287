"""Use over time by queue, as stacked areas: one picture a policy, all on the same axes."""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING

from clearway.observe.report import svg
from clearway.observe.report.colours import OTHER
from clearway.observe.report.frame import Frame
from clearway.observe.report.numbers import percent, plain

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from clearway.sim.results.outcome import Outcome

WIDTH, HEIGHT = 1040.0, 210.0
POINTS = 240  # enough for a smooth edge on a screen
MILLI = 1000
HEADROOM = 1.06
FAR_BELOW = 0.4  # of the fleet: where never more is held, the plot ends above what is


def use_plot(outcome: Outcome, classes: Mapping[str, str], to_us: int, top: float) -> str:
    """Return the picture; queues that share the class of `other` are one area."""
    layers = _layers(outcome, classes)
    frame = Frame(WIDTH, HEIGHT, 0, to_us, top)
    count = max((len(v) for v in layers.values()), default=0)
    step = max(1, -(-count // POINTS))
    edges = [min(i * step * outcome.bin_us, outcome.virtual_us) for i in range(-(-count // step) + 1)]
    bottom = [0.0] * (len(edges) - 1)
    parts = frame.axes()
    for cls, (name, values) in zip(layers, _named(layers, classes), strict=True):
        means = _coarser(values, step, len(bottom))
        above = [low + m for low, m in zip(bottom, means, strict=True)]
        parts.append(svg.area(_steps(frame, edges, above), _steps(frame, edges, bottom), cls, f"queue {name}"))
        bottom = above
    if outcome.capacity < top:
        ceiling = frame.y(outcome.capacity)
        parts.append(svg.line((frame.x(0), ceiling), (frame.x(to_us), ceiling), "ceiling"))
    used = percent(outcome.figures["use"])
    return svg.picture(WIDTH, HEIGHT, parts, f"use over time by queue under {outcome.policy}: {used} on the whole")


def use_top(outcomes: Sequence[Outcome]) -> float:
    """Return the upper end of the plots: the fleet, or what is held at most where that is far less."""
    capacity = max((o.capacity for o in outcomes), default=1.0)
    peak = max((_peak(o) for o in outcomes), default=0.0)
    return (capacity if peak > FAR_BELOW * capacity else peak) * HEADROOM or 1.0


def _peak(outcome: Outcome) -> float:
    held = [values for name, values in outcome.curves.items() if name.startswith("held/")]
    return max((sum(at) for at in zip_longest(*held, fillvalue=0.0)), default=0.0) / MILLI


def _layers(outcome: Outcome, classes: Mapping[str, str]) -> dict[str, list[float]]:
    layers: dict[str, list[float]] = {}
    for name, cls in classes.items():
        values = [x / MILLI for x in outcome.curves.get(f"held/{name}", [])]
        known = layers.get(cls)
        layers[cls] = values if known is None else _sum(known, values)
    return layers


def _sum(a: list[float], b: list[float]) -> list[float]:
    longer, shorter = (a, b) if len(a) >= len(b) else (b, a)
    return [x + y for x, y in zip(longer, [*shorter, *[0.0] * (len(longer) - len(shorter))], strict=True)]


def _named(layers: Mapping[str, list[float]], classes: Mapping[str, str]) -> list[tuple[str, list[float]]]:
    names = {cls: name for name, cls in reversed(list(classes.items()))}
    return [(OTHER if cls == "qx" else names[cls], values) for cls, values in layers.items()]


def _coarser(values: Sequence[float], step: int, count: int) -> list[float]:
    groups = [values[i * step : (i + 1) * step] for i in range(count)]
    return [sum(g) / len(g) if g else 0.0 for g in groups]


def _steps(frame: Frame, edges: Sequence[int], values: Sequence[float]) -> list[svg.Point]:
    points: list[svg.Point] = []
    for i, value in enumerate(values):
        points += [(frame.x(edges[i]), frame.y(value)), (frame.x(edges[i + 1]), frame.y(value))]
    return points


def capacity_words(outcome: Outcome) -> str:
    """Return what the dashed line stands for."""
    return f"{plain(outcome.capacity)} {'GPUs' if outcome.unit == 'gpus' else 'CPUs'} in all"
