"""An excerpt of who held what in a window of time on the first nodes: enough for one picture, never more."""

from __future__ import annotations

from heapq import heappush, heappushpop
from typing import NamedTuple

KEPT_BARS = 4000  # where there are more the shortest are left out: they would hardly be seen
ROWS = 48  # devices shown, or nodes of processors


class Bar(NamedTuple):
    """What one task held: devices `first` .. `first + count - 1` of a row block, or processors of a pool.

    `node` is the place in the excerpt's list of nodes; for a pool `devices` is empty and `milli` the processors.
    """

    node: int
    devices: tuple[int, ...]
    milli: int
    from_us: int
    to_us: int
    queue: str
    job: str


class Excerpt(NamedTuple):
    """A window of time, the nodes shown with their devices (or thousandths of processors), and the bars in it.

    `of_nodes` is how many nodes there are, shown or not.
    """

    from_us: int
    to_us: int
    nodes: tuple[tuple[str, int], ...]
    pooled: bool
    bars: tuple[Bar, ...]
    of_nodes: int = 0


class Gantt:
    """Keeps what the first nodes held within a window of time. Without a window it keeps nothing."""

    def __init__(self, window: tuple[int, int] | None = None) -> None:
        """Start with nothing; `window` is its first and its last moment in microseconds."""
        self.nodes: list[tuple[str, int]] = []
        self.pooled = False
        self._window = window
        self._known: set[int] = set()
        self._slots: dict[int, int] = {}
        self._open: dict[tuple[int, int, int], Bar] = {}
        self._ended: list[tuple[int, int, Bar]] = []
        self._count = 0

    def add_node(self, slot: int, name: str, gpus: int, milli_cpus: int, *, pooled: bool) -> None:
        """Show this node if there is room; `pooled` where the fleet has no devices."""
        if self._window is None:
            return
        self._known.add(slot)
        rows = sum(count for _, count in self.nodes)
        self.pooled = pooled
        if slot in self._slots or (rows + gpus > ROWS and self.nodes) or (pooled and len(self.nodes) >= ROWS):
            return
        if gpus or pooled:
            self._slots[slot] = len(self.nodes)
            self.nodes.append((name, milli_cpus if pooled else gpus))

    def shows(self, slot: int) -> bool:
        """Whether this node is in the picture."""
        return slot in self._slots

    def begin(self, key: tuple[int, int, int], slot: int, bar: Bar) -> None:
        """Show what a task holds from `bar.from_us` on."""
        if self._window is not None and bar.from_us <= self._window[1]:
            self._open[key] = bar._replace(node=self._slots[slot])

    def end(self, key: tuple[int, int, int], now_us: int) -> None:
        """Finish the bar of a task whose grant is free."""
        bar = self._open.pop(key, None)
        if bar is None or self._window is None or now_us < self._window[0]:
            return
        self._count += 1
        entry = (now_us - bar.from_us, self._count, bar._replace(to_us=now_us))
        if len(self._ended) < KEPT_BARS:
            heappush(self._ended, entry)
        else:
            heappushpop(self._ended, entry)

    def excerpt(self, now_us: int) -> Excerpt:
        """Return the picture; what is still held ends `now_us`."""
        from_us, to_us = self._window or (0, 0)
        ended = (bar for _, _, bar in sorted(self._ended, key=lambda entry: entry[1]))
        running = (bar._replace(to_us=now_us) for bar in self._open.values())
        return Excerpt(from_us, to_us, tuple(self.nodes), self.pooled, (*ended, *running), len(self._known))
