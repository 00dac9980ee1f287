"""A chart of who held what on which node when, in characters."""

from __future__ import annotations

from typing import Any, NamedTuple

from clearway.cli.shown import plain

MOST_NODES = 24
MOST_LANES = 8  # of one node: more jobs side by side than a person reads
LEAST_BAR = 2  # the two ends


class Bar(NamedTuple):
    """One attempt of a job on one node, in seconds."""

    start: float
    end: float
    label: str


def bars_by_node(timeline: dict[str, Any], end: float) -> dict[str, list[Bar]]:
    """Return for each node the attempts that held something there; what was not over by `end` ends there."""
    found: dict[str, list[Bar]] = {}
    for name, job in timeline["jobs"].items():
        for attempt in job["attempts"]:
            label = name if len(job["attempts"]) == 1 else f"{name}#{attempt['number']}"
            for node, bar in _of_attempt(attempt, label, end).items():
                found.setdefault(node, []).append(bar)
    return {node: sorted(found[node]) for node in sorted(found)}


def _of_attempt(attempt: dict[str, Any], label: str, end: float) -> dict[str, Bar]:
    found: dict[str, Bar] = {}
    for task in attempt["tasks"]:
        until = end if task["to"] is None else task["to"]
        old = found.get(task["node"], Bar(task["from"], until, label))
        found[task["node"]] = Bar(min(old.start, task["from"]), max(old.end, until), label)
    return found


def lanes(bars: list[Bar]) -> list[list[Bar]]:
    """Return the bars in as few lines as hold them without overlap."""
    found: list[list[Bar]] = []
    for bar in bars:
        free = next((lane for lane in found if lane[-1].end <= bar.start), None)
        if free is None:
            found.append([bar])
        else:
            free.append(bar)
    return found


def chart(timeline: dict[str, Any], end: float, width: int) -> list[str]:
    """Return the lines of the chart: one or more for each node, and the axis."""
    nodes = bars_by_node(timeline, end)
    if not nodes or end <= 0:
        return []
    margin = max(len(plain(node)) for node in nodes)
    across = max(width - margin - 2, 20)
    lines = []
    for node in list(nodes)[:MOST_NODES]:
        stacked = lanes(nodes[node])
        for number, lane in enumerate(stacked[:MOST_LANES]):
            lines.append(f"{plain(node) if number == 0 else '':<{margin}}  {_lane(lane, end, across)}".rstrip())
        if len(stacked) > MOST_LANES:
            lines.append(f"{'':<{margin}}  .. and up to {len(stacked) - MOST_LANES} more side by side")
    if len(nodes) > MOST_NODES:
        lines.append(f".. and {len(nodes) - MOST_NODES} more nodes")
    return [*lines, f"{'':<{margin}}  {_axis(end, across)}"]


def _lane(lane: list[Bar], end: float, across: int) -> str:
    line = ""
    for bar in lane:
        start = max(round(bar.start / end * across), len(line))
        stop = max(round(bar.end / end * across), start + LEAST_BAR)
        line = f"{line:<{start}}{_drawn(plain(bar.label), stop - start)}"
    return line[: across + LEAST_BAR]


def _drawn(label: str, cells: int) -> str:
    inside = cells - LEAST_BAR
    return f"[{label[:inside]:=<{inside}}]"


def _axis(end: float, across: int) -> str:
    left, right = "0 s", f"{end:g} s"
    middle = f"{end / 2:g} s"
    gap = max(across - len(left) - len(middle) - len(right), 2)
    return f"{left}{' ' * (gap // 2)}{middle}{' ' * (gap - gap // 2)}{right}"
