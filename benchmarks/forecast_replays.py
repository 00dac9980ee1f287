"""The same past replayed by known, forecast, drawn and other run times, and what came of it."""

from __future__ import annotations

import random
from statistics import fmean
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec.structs import replace

from clearway.loop.forecasting import Forecasting
from clearway.loop.world import World
from clearway.model.asks import SetQueue
from clearway.model.events import Ended, Reserved, Started, Submitted
from clearway.model.states import State
from clearway.model.values import SECOND_US
from clearway.sim.engine import SimEngine
from clearway.sim.heap import VirtualClock
from clearway.sim.run import drive

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from clearway.model.events import Record
    from clearway.model.fleet import PolicySpec
    from clearway.model.ids import JobId
    from clearway.ports.forecaster import Forecaster
    from clearway.sim.workloads.fleets import Fleet
    from clearway.sim.workloads.trace import Arrival

BOUND_US = 10 * SECOND_US
"""Shorter runs count as this long in a bounded slowdown."""


class Came(NamedTuple):
    """What came of a replay: mean completion time (s), mean bounded slowdown, promises made and those broken."""

    mean_jct_s: float
    slowdown: float
    promised: int
    delayed: int


class Watch:
    """Follows the records of a replay."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self._in: dict[JobId, int] = {}
        self._started: dict[JobId, int] = {}
        self._promised: dict[JobId, int] = {}
        self._jct: list[int] = []
        self._slow: list[float] = []
        self.promised = self.delayed = 0

    def __call__(self, records: Sequence[Record]) -> None:
        """Take the next records."""
        for r in records:
            if isinstance(r, Submitted):
                self._in[r.job] = r.at_us
            elif isinstance(r, Started):
                self._started[r.job] = r.at_us
                if (start_us := self._promised.pop(r.job, None)) is not None:
                    self.delayed += r.at_us > start_us
            elif isinstance(r, Reserved):
                self._reserved(r)
            elif isinstance(r, Ended):
                self._ended(r)

    def _reserved(self, r: Reserved) -> None:
        """Count a first promise: a later one does not mend that it was broken."""
        if r.grants and r.job not in self._promised:
            self.promised += 1
            self._promised[r.job] = r.start_us

    def _ended(self, r: Ended) -> None:
        begun_us, started_us = self._in.pop(r.job), self._started.pop(r.job, None)
        self._promised.pop(r.job, None)
        if r.state is not State.REFUSED and started_us is not None:
            jct_us = r.at_us - begun_us
            self._jct.append(jct_us)
            self._slow.append(max(1.0, jct_us / max(r.at_us - started_us, BOUND_US)))

    def came(self) -> Came:
        """Return what came of it."""
        return Came(fmean(self._jct) / SECOND_US, fmean(self._slow), self.promised, self.delayed)


def told(arrivals: Iterable[Arrival]) -> list[Arrival]:
    """Return jobs whose users know exactly how long they run."""
    return [_with(one, one.truth.runtime_us(1)) for one in arrivals]


def untold(arrivals: Iterable[Arrival]) -> list[Arrival]:
    """Return jobs whose users say nothing."""
    return [_with(one, None) for one in arrivals]


def drawn(arrivals: Iterable[Arrival], seed: int) -> list[Arrival]:
    """Return jobs whose users say anything at all: by them the order is a random one."""
    chance = random.Random(seed)
    return [_with(one, chance.randrange(1, 10**12)) for one in arrivals]


def _with(one: Arrival, estimate_us: int | None) -> Arrival:
    return one._replace(spec=replace(one.spec, time_estimate_us=estimate_us, time_limit_us=None))


def replayed(
    arrivals: Iterable[Arrival], fleet: Fleet, policy: PolicySpec, forecaster: Forecaster | None = None, seed: int = 1
) -> Came:
    """Replay jobs on a fleet under a policy, to the end of the last."""
    world = World(policy, seed)
    if forecaster is not None:
        world.forecasting = Forecasting(forecaster)
    watch = Watch()
    engine = SimEngine(VirtualClock(), fleet.nodes, policy.lease_us)
    set_up: list[Any] = [SetQueue(queue) for queue in fleet.queues]
    drive(world, engine, arrivals, watch, set_up=set_up)
    return watch.came()
