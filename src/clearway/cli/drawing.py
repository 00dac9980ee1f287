"""Drawings of a workflow: for a terminal, as Mermaid and as SVG."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

from clearway.cli.shown import plain

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

MARKS = {
    "pending": "·", "running": ">", "succeeded": "+", "failed": "!", "cancelled": "x", "skipped": "-",
    "upstream_failed": "!",
}  # fmt: skip


FILLS = {
    "succeeded": "#cfc", "running": "#cdf", "failed": "#fcc", "upstream_failed": "#fdd", "cancelled": "#fce",
    "skipped": "#eee",
}  # fmt: skip


def as_text(steps: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Yield one line for each step: how deep it stands, what it is, what is before it; below it a workflow inside."""
    depth = _depths(steps)
    for step in steps:
        before = f"  <- {', '.join(map(plain, step['after']))}" if step["after"] else ""
        loop = f"  (until {plain(step['until'])})" if step.get("until") else ""
        mark = MARKS.get(step["state"], "?")
        yield f"{'  ' * depth[step['name']]}{mark} {plain(step['name'])} {step['state']}{loop}{before}"
        if step.get("inner"):
            yield from (f"{'  ' * depth[step['name']]}  | {line}" for line in as_text(step["inner"]["steps"]))


def _depths(steps: Sequence[dict[str, Any]]) -> dict[str, int]:
    depth: dict[str, int] = {}
    for step in steps:  # none stands before what it waits for
        depth[step["name"]] = 1 + max((depth[name] for name in step["after"]), default=-1)
    return depth


def as_mermaid(steps: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Yield the lines of a Mermaid flowchart."""
    number = {step["name"]: f"s{i}" for i, step in enumerate(steps)}
    yield "flowchart TD"
    for step in steps:
        label = plain(step["name"]).replace('"', "#quot;")
        yield f'  {number[step["name"]]}["{label}"]:::{step["state"]}'
        if step.get("until"):
            yield f"  {number[step['name']]} -->|again| {number[step['name']]}"
    for step in steps:
        for before in step["after"]:
            yield f"  {number[before]} --> {number[step['name']]}"
    for state, fill in FILLS.items():
        yield f"  classDef {state} fill:{fill}"


MOST_LANES = 60
WIDE, HIGH, ACROSS, DOWN, EDGE, MOST_LETTERS = 150, 34, 24, 44, 16, 20


def as_svg(steps: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Yield the lines of an SVG image: a row for each depth, steps side by side, lines from each to those behind it."""
    places = _spread(steps)
    depth = _depths(places)
    rows: dict[int, list[str]] = {}
    for step in places:
        rows.setdefault(depth[step["name"]], []).append(step["name"])
    _untangle(rows, {step["name"]: step["after"] for step in places})
    most = max(map(len, rows.values()), default=0)
    wide = 2 * EDGE + most * (WIDE + ACROSS) - ACROSS
    place = {
        name: (EDGE + i * (WIDE + ACROSS) + (most - len(names)) * (WIDE + ACROSS) // 2, EDGE + y * (HIGH + DOWN))
        for y, names in rows.items()
        for i, name in enumerate(names)
    }
    high = 2 * EDGE + len(rows) * (HIGH + DOWN) - DOWN
    size = f'width="{wide}" height="{high}" viewBox="0 0 {wide} {high}"'
    yield f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="13">'
    for step in places:
        lane = step.get("lane", False)
        yield from (_line(place[before], place[step["name"]], HIGH if lane else 0) for before in step["after"])
    for step in steps:
        yield _box(step, *place[step["name"]])
    yield "</svg>"


def _spread(steps: Sequence[dict[str, Any]]) -> Sequence[dict[str, Any]]:
    """Return steps with lanes beside those that a line would pass under; none where that would be very many."""
    depth, lanes, found = _depths(steps), [], []
    for step in steps:
        after = []
        for before in step["after"]:
            last = before
            for y in range(depth[before] + 1, depth[step["name"]]):
                lane = {"name": f"{before} {step['name']} {y}", "after": [last], "lane": True}
                lanes.append(lane)
                last = lane["name"]
            after.append(last)
        found.append({**step, "after": after})
    return steps if len(lanes) > MOST_LANES else sorted([*found, *lanes], key=lambda one: _rank(depth, one))


def _untangle(rows: dict[int, list[str]], after: dict[str, list[str]]) -> None:
    """Put each below what it comes after: in the order of the middle of these."""
    at: dict[str, float] = {}
    for y in sorted(rows):
        middle = {name: sum(at[one] for one in after[name]) / max(1, len(after[name])) for name in rows[y]}
        rows[y].sort(key=middle.__getitem__)
        at |= {name: i - len(rows[y]) / 2 for i, name in enumerate(rows[y])}


def _rank(depth: dict[str, int], one: dict[str, Any]) -> int:
    """Return the row of a step, or that of a lane, which stands at the end of its name."""
    return int(one["name"].rpartition(" ")[2]) if one.get("lane") else depth[one["name"]]


def _line(begin: tuple[int, int], end: tuple[int, int], more: int) -> str:
    """Return a line from below one place to another, and `more` downwards: through a lane."""
    x, y, to_x, to_y = begin[0] + WIDE // 2, begin[1] + HIGH, end[0] + WIDE // 2, end[1]
    middle = (y + to_y) // 2
    on = f" v{more}" if more else ""
    return f'<path d="M{x} {y} C{x} {middle} {to_x} {middle} {to_x} {to_y}{on}" fill="none" stroke="#888"/>'


def _box(step: dict[str, Any], x: int, y: int) -> str:
    name = plain(step["name"])
    short = name if len(name) <= MOST_LETTERS else name[: MOST_LETTERS - 1] + "…"
    again = f"; until {plain(step['until'])}" if step.get("until") else ""
    loop = " ↻" if step.get("until") else ""
    told = f"{name}: {step['state']}{again}"
    fill = FILLS.get(step["state"], "#fff")
    return (
        f"<g><title>{escape(told)}</title>"
        f'<rect x="{x}" y="{y}" width="{WIDE}" height="{HIGH}" rx="6" fill="{fill}" '
        f'stroke="#444"/><text x="{x + WIDE // 2}" y="{y + HIGH // 2 + 5}" text-anchor="middle">{escape(short)}{loop}'
        "</text></g>"
    )
