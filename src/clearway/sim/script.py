"""A scenario as the simulator plays it: a fleet, jobs that enter, what happens, and what must come true."""

from __future__ import annotations

from heapq import merge
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import msgspec

from clearway.model.asks import Refuse
from clearway.model.budgets import BudgetSpec
from clearway.model.fleet import BookingSpec, LimitSpec, NodeSpec, PolicySpec, QueueSpec
from clearway.model.type_words import TypeRead
from clearway.sim.batch import Arrival, Batch
from clearway.sim.events import Event
from clearway.sim.flow_words import FlowEntry
from clearway.sim.schedule_words import ScheduleEntry
from clearway.sim.search_words import SearchEntry

if TYPE_CHECKING:
    from collections.abc import Iterator


class Scenario(msgspec.Struct, frozen=True, eq=False):
    """A scenario, read and checked. Times are microseconds from its beginning; `clock_us` is the wall clock then.

    `expect` and `raw` are the file's own maps, for who judges and shows them.
    """

    title: str
    policy: PolicySpec
    nodes: tuple[NodeSpec, ...]
    queues: tuple[QueueSpec, ...]
    limits: tuple[LimitSpec, ...]
    batches: tuple[Batch, ...]
    events: tuple[Event, ...]
    until_us: int | None
    clock_us: int
    expect: dict[str, Any]
    raw: dict[str, Any]
    bookings: tuple[BookingSpec, ...] = ()
    flows: tuple[FlowEntry, ...] = ()
    types: tuple[TypeRead, ...] = ()
    schedules: tuple[ScheduleEntry, ...] = ()
    searches: tuple[SearchEntry, ...] = ()
    budgets: tuple[BudgetSpec, ...] = ()

    def arrivals(self) -> Iterator[Arrival]:
        """Yield the jobs by submit, equal ones by their order in the file, but none before what it waits for."""
        lines = merge(*(_lines(place, batch) for place, batch in enumerate(self.batches)))
        for _, together in groupby(lines, key=itemgetter(0)):
            yield from _dependencies_first([line[3] for line in together])


def _lines(place: int, batch: Batch) -> Iterator[tuple[int, int, int, Arrival]]:
    for i, arrival in enumerate(batch.arrivals()):
        yield arrival.at_us, place, i, arrival


def _after(arrival: Arrival) -> tuple[str, ...]:
    return () if isinstance(arrival.what, Refuse) else arrival.what.after


def _dependencies_first(together: list[Arrival]) -> list[Arrival]:
    """Names in `after` are bound at submit: of jobs that enter together, those that others name go first."""
    if not any(_after(arrival) for arrival in together):
        return together
    left = {arrival.what.name: arrival for arrival in together}
    done: list[Arrival] = []
    opened: set[str] = set()
    ahead = together[::-1]
    while ahead:
        name = ahead[-1].what.name
        opened.add(name)
        first = [left[n] for n in _after(ahead[-1]) if n in left and n not in opened]
        if first and name in left:
            ahead += first[::-1]
        else:
            ahead.pop()
            done += [left.pop(name)] if name in left else []
    return done
