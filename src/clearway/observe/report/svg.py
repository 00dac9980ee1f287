"""SVG by hand: a few shapes as text. Colours come from the page's style, so that light and dark both work."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

Point = tuple[float, float]


def number(value: float) -> str:
    """Return a coordinate with at most one decimal."""
    text = f"{value:.1f}"
    return text.removesuffix(".0")


def text(at: Point, words: str, cls: str = "", anchor: str = "start") -> str:
    """Return a text whose `anchor` (start, middle, end) stands at a point."""
    return f'<text x="{number(at[0])}" y="{number(at[1])}" text-anchor="{anchor}" class="{cls}">{escape(words)}</text>'


def line(start: Point, end: Point, cls: str = "rule") -> str:
    """Return a straight line."""
    (x1, y1), (x2, y2) = start, end
    return f'<line x1="{number(x1)}" y1="{number(y1)}" x2="{number(x2)}" y2="{number(y2)}" class="{cls}"/>'


def rect(at: Point, size: Point, cls: str, title: str = "", radius: float = 0) -> str:
    """Return a rectangle; `title` shows when the pointer rests on it."""
    inside = f"<title>{escape(title)}</title>" if title else ""
    corner = f' rx="{number(radius)}"' if radius else ""
    place = f'x="{number(at[0])}" y="{number(at[1])}" width="{number(size[0])}" height="{number(size[1])}"'
    return f'<rect {place}{corner} class="{cls}">{inside}</rect>'


def dot(at: Point, radius: float, cls: str, title: str = "") -> str:
    """Return a filled circle."""
    inside = f"<title>{escape(title)}</title>" if title else ""
    return f'<circle cx="{number(at[0])}" cy="{number(at[1])}" r="{number(radius)}" class="{cls}">{inside}</circle>'


def polyline(points: Iterable[Point], cls: str, title: str = "") -> str:
    """Return an open line through points."""
    inside = f"<title>{escape(title)}</title>" if title else ""
    return f'<path d="{_path(list(points))}" class="{cls}">{inside}</path>'


def area(top: Sequence[Point], bottom: Sequence[Point], cls: str, title: str = "") -> str:
    """Return the area between two lines with the same x."""
    inside = f"<title>{escape(title)}</title>" if title else ""
    return f'<path d="{_path([*top, *reversed(bottom)])}Z" class="{cls}">{inside}</path>'


def _path(points: Sequence[Point]) -> str:
    return "M" + "L".join(f"{number(x)} {number(y)}" for x, y in points) if points else ""


def picture(width: float, height: float, parts: Iterable[str], label: str) -> str:
    """Return a picture that takes the width it is given; `label` says in words what it shows."""
    box = f'viewBox="0 0 {number(width)} {number(height)}"'
    return f'<svg {box} role="img" aria-label="{escape(label)}">{"".join(parts)}</svg>'
