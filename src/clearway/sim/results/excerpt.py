"""An excerpt of who held what, around the moment when most jobs waited: enough for one picture, never more."""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

KEPT_BARS = 500  # ended grants kept at any time
AFTER_PEAK = 200  # of which so many come after the peak
ROWS = 48  # devices shown
HIGHER = 1.1  # a new peak counts when it is a tenth higher than the last


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
    """A window of time, the nodes shown with their devices (or thousandths of processors), and the bars in it."""

    from_us: int
    to_us: int
    nodes: tuple[tuple[str, int], ...]
    pooled: bool
    bars: tuple[Bar, ...]


class Gantt:
    """Keeps the last grants of the first nodes, and a copy of them around the highest peak of waiting."""

    def __init__(self) -> None:
        """Start with nothing."""
        self.nodes: list[tuple[str, int]] = []
        self._slots: dict[int, int] = {}
        self.pooled = False
        self._open: dict[tuple[int, int, int], Bar] = {}
        self._ended: deque[Bar] = deque(maxlen=KEPT_BARS)
        self._peak = 0.0
        self._due: int | None = None
        self._best: Excerpt | None = None

    def add_node(self, slot: int, name: str, gpus: int, milli_cpus: int, *, pooled: bool) -> None:
        """Show this node if there is room; `pooled` where the fleet has no devices."""
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
        self._open[key] = bar._replace(node=self._slots[slot])

    def end(self, key: tuple[int, int, int], now_us: int) -> None:
        """Finish the bar of a task whose grant is free."""
        bar = self._open.pop(key, None)
        if bar is None:
            return
        self._ended.append(bar._replace(to_us=now_us))
        if self._due is not None:
            self._due -= 1
            if self._due <= 0:
                self._best, self._due = self._copy(now_us), None

    def waiting(self, count: int) -> None:
        """Look whether so many waiting jobs are a new peak."""
        if count > self._peak * HIGHER:
            self._peak, self._due = count, AFTER_PEAK

    def excerpt(self, now_us: int) -> Excerpt:
        """Return the picture of the peak; of the end where the peak is still near."""
        return self._best if self._best and self._due is None else self._copy(now_us)

    def _copy(self, now_us: int) -> Excerpt:
        running = tuple(bar._replace(to_us=now_us) for bar in self._open.values())
        full = len(self._ended) == KEPT_BARS
        begin = self._ended[0].to_us if full else min((b.from_us for b in self._ended), default=0)
        return Excerpt(begin, now_us, tuple(self.nodes), self.pooled, (*self._ended, *running))
