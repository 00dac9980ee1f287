"""Who held what in a window of time: a row a device, or a pool of processors as bands."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

from clearway.observe.report import svg
from clearway.observe.report.colours import QUEUE_COLOURS
from clearway.observe.report.frame import BOTTOM, LEFT, RIGHT, Frame
from clearway.observe.report.numbers import DAY_S, plain, seconds

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from clearway.sim.results.excerpt import Bar, Excerpt

WIDTH = 1040.0
ROW, GAP = 8.0, 6.0
POOL_HEIGHT = 260.0
TOP = 8.0
SECOND_US = 1_000_000
MILLI = 1000
NAME_ROOM = 70.0  # room for names of nodes, left of the plot
LEAST_WIDTH = 0.6  # a shorter bar would not be seen


def gantt_plot(excerpt: Excerpt, classes: Mapping[str, str]) -> str:
    """Return the picture; bars have the colours of their queues, without `classes` that of their job's name."""
    return _pool(excerpt, classes) if excerpt.pooled else _devices(excerpt, classes)


def excerpt_words(excerpt: Excerpt, to_us: int, policies: int) -> str:
    """Return in words which excerpt it is, of runs under so many policies that last until `to_us`."""
    begin, end, whole = excerpt.from_us, excerpt.to_us, max(to_us, excerpt.to_us)
    if whole >= DAY_S * SECOND_US:
        span = "days {:.2f} to {:.2f} of {:.2f}".format(*(us / SECOND_US / DAY_S for us in (begin, end, whole)))
    else:
        span = f"{seconds(begin / SECOND_US)} to {seconds(end / SECOND_US)} of {seconds(whole / SECOND_US)}"
    what = "The same excerpt for each policy" if policies > 1 else "An excerpt"
    return (
        f"{what}: {span}, {_nodes_words(len(excerpt.nodes), excerpt.of_nodes)}; "
        "around the moment when the work submitted is furthest ahead of what the machines can do"
    )


def _nodes_words(shown: int, there: int) -> str:
    if shown < there:
        return f"the first {shown:,} of {there:,} nodes"
    return f"all {there:,} nodes" if there > 1 else "the only node"


def _frame(excerpt: Excerpt, height: float) -> Frame:
    return Frame(WIDTH, height, excerpt.from_us, excerpt.to_us, 1.0)


def _devices(excerpt: Excerpt, classes: Mapping[str, str]) -> str:
    tops: list[float] = []
    y = TOP
    for _, devices in excerpt.nodes:
        tops.append(y)
        y += devices * ROW + GAP
    frame = _frame(excerpt, y + BOTTOM)
    parts = frame.time_axis()
    for top, (name, devices) in zip(tops, excerpt.nodes, strict=True):
        parts.append(svg.text((LEFT - 8, top + devices * ROW / 2 + 4), name[-9:], "tick", "end"))
        parts.append(svg.rect((LEFT, top), (WIDTH - LEFT - RIGHT, devices * ROW), "lane", radius=2))
    for bar in excerpt.bars:
        for first, count in _runs(bar.devices):
            parts += _bar(frame, bar, tops[bar.node] + first * ROW, count * ROW - 1, classes)
    return svg.picture(WIDTH, y + BOTTOM, parts, "devices held in the excerpt, one row for each device")


def _runs(devices: tuple[int, ...]) -> Iterator[tuple[int, int]]:
    """Yield neighbours as their first number and how many they are."""
    begin = 0
    for i in range(1, len(devices) + 1):
        if i == len(devices) or devices[i] != devices[i - 1] + 1:
            yield devices[begin], i - begin
            begin = i


def _pool(excerpt: Excerpt, classes: Mapping[str, str]) -> str:
    """Processors of a pool have no numbers: each job gets the lowest free ones, so bars may come in pieces."""
    capacity = sum(milli for _, milli in excerpt.nodes)
    height = POOL_HEIGHT + TOP + BOTTOM
    frame = _frame(excerpt, height)._replace(top=capacity / MILLI)
    parts = [svg.rect((LEFT, TOP), (WIDTH - LEFT - RIGHT, POOL_HEIGHT), "lane", radius=2), *frame.axes()]
    scale = POOL_HEIGHT / max(1, capacity)
    free = _Free(capacity)
    for bar in sorted(excerpt.bars, key=lambda b: (b.from_us, b.to_us)):
        for low, size in free.take(bar.milli, bar.from_us, bar.to_us):
            y = TOP + POOL_HEIGHT - (low + size) * scale
            parts += _bar(frame, bar, y, max(0.5, size * scale - 0.4), classes)
    return svg.picture(WIDTH, height, parts, "processors held in the excerpt")


class _Free:
    """The free parts of a pool while bars come in order of their begin."""

    def __init__(self, capacity: int) -> None:
        self._parts: list[tuple[int, int]] = [(0, capacity)]
        self._held: list[tuple[int, list[tuple[int, int]]]] = []

    def take(self, size: int, from_us: int, to_us: int) -> list[tuple[int, int]]:
        """Return the lowest free parts of this size at `from_us`, held until `to_us`."""
        self._give_back(from_us)
        taken: list[tuple[int, int]] = []
        while size > 0 and self._parts:
            low, room = self._parts.pop(0)
            used = min(room, size)
            taken.append((low, used))
            size -= used
            if used < room:
                self._parts.insert(0, (low + used, room - used))
        self._held.append((to_us, taken))
        return taken

    def _give_back(self, now_us: int) -> None:
        over = [parts for to_us, parts in self._held if to_us <= now_us]
        self._held = [held for held in self._held if held[0] > now_us]
        merged: list[tuple[int, int]] = []
        for low, size in sorted([*self._parts, *(part for parts in over for part in parts)]):
            if merged and merged[-1][0] + merged[-1][1] == low:
                merged[-1] = (merged[-1][0], merged[-1][1] + size)
            else:
                merged.append((low, size))
        self._parts = merged


def _bar(frame: Frame, bar: Bar, y: float, height: float, classes: Mapping[str, str]) -> list[str]:
    left, right = frame.x(max(bar.from_us, frame.from_us)), frame.x(min(bar.to_us, frame.to_us))
    if right <= LEFT or bar.to_us <= frame.from_us or bar.from_us >= frame.to_us:
        return []
    held = f"{plain(bar.milli / MILLI)} held for {seconds((bar.to_us - bar.from_us) / SECOND_US)}"
    title = f"{bar.job} ({bar.queue}): {held}"
    return [svg.rect((left, y), (max(LEAST_WIDTH, right - left), height), f"bar {_shade(bar, classes)}", title, 1)]


def _shade(bar: Bar, classes: Mapping[str, str]) -> str:
    return classes.get(bar.queue, "qx") if classes else f"q{zlib.crc32(bar.job.encode()) % QUEUE_COLOURS}"
