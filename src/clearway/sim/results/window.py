"""Which part of a workload a picture shows: it depends on jobs and fleet only, so it is one for all policies."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, NamedTuple

from clearway.model.fleet import PLENTY
from clearway.model.job import WHOLE
from clearway.sim.results.excerpt import ROWS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from clearway.model.fleet import NodeSpec
    from clearway.model.job import JobSpec
    from clearway.sim.workloads.trace import Arrival

TASKS = 300  # that enter within the window, on the nodes shown: as many bars as an eye can tell apart


class Window(NamedTuple):
    """A span of virtual time."""

    from_us: int
    to_us: int


def busiest(arrivals: Iterable[Arrival], nodes: Sequence[NodeSpec]) -> Window:
    """Return a window around the moment when what was submitted is furthest ahead of what the fleet can do.

    The fleet is taken as one that can be filled to the last device. One pass, and a few hundred moments are kept.
    """
    by_gpu = any(node.gpus for node in nodes)
    rate = max(1, sum(node.gpus * WHOLE if by_gpu else _cpus(node) for node in nodes))
    rows = sum(node.gpus for node in nodes) if by_gpu else len(nodes)
    look = _Look(max(1, TASKS * max(rows, ROWS) // ROWS // 2))
    before_us, ahead = 0, 0
    for at_us, spec, truth in arrivals:
        run_us = truth.runtime_us(1) or 0
        ahead = max(0, ahead - rate * (at_us - before_us)) + _milli(spec, by_gpu=by_gpu) * run_us
        before_us = at_us
        look.add(at_us, run_us, sum(role.tasks for role in spec.roles), ahead)
    return look.window()


def _cpus(node: NodeSpec) -> int:
    return node.cpus if node.cpus < PLENTY else 0


def _milli(spec: JobSpec, *, by_gpu: bool) -> int:
    return spec.milli_gpus if by_gpu else sum(role.tasks * role.demand.cpus for role in spec.roles)


class _Look:
    """Remembers the last moments, and keeps those around the peak: as many tasks before it as after it."""

    def __init__(self, half: int) -> None:
        self._half = half
        self._last: deque[tuple[int, int]] = deque()
        self._tasks = 0
        self._peak = -1
        self._after = 0
        self._from_us = self._to_us = 0
        self._run_us = self._jobs = 0

    def add(self, at_us: int, run_us: int, tasks: int, ahead: int) -> None:
        """Look at the next job; `ahead` is the work that the fleet has yet to do once it has entered."""
        self._last.append((at_us, tasks))
        self._tasks += tasks
        self._run_us += run_us
        self._jobs += 1
        while len(self._last) > 1 and self._tasks - self._last[0][1] >= self._half:
            self._tasks -= self._last.popleft()[1]
        if ahead > self._peak:
            self._peak, self._after = ahead, self._half
            self._from_us = self._last[0][0]
        if self._after > 0:
            self._after -= tasks
            self._to_us = at_us

    def window(self) -> Window:
        """Return it; at least as long as a job runs in the mean, for jobs that come all at once."""
        least_us = max(1, self._run_us // max(1, self._jobs))
        return Window(self._from_us, max(self._to_us, self._from_us + least_us))
