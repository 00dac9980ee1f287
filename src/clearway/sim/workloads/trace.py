"""What a reader makes of a file: the fleet it implies, and its jobs one after another, in order of time.

A reader gives two cheap things: `lines`, which finds the moment in each line, and `build`, which makes the job of
one line. Nothing is kept: a file that is in order is streamed, and one that is not is sorted in pieces on disk.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from clearway.model.errors import InputError
from clearway.sim.workloads.order import in_order

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from clearway.model.fleet import LimitSpec, NodeSpec, QueueSpec
    from clearway.model.job import JobSpec
    from clearway.sim.truth import Truth
    from clearway.sim.workloads.order import Line

NAMED_LINES = 5
"""Damaged lines that are named one by one; the others are only counted."""


class Arrival(NamedTuple):
    """A job that enters at `at_us` after the trace's beginning, and what will really happen to it."""

    at_us: int
    spec: JobSpec
    truth: Truth


@dataclass
class Damage:
    """Lines that could not be read: how many, and the first few with the reason."""

    count: int = 0
    first: list[tuple[int, str]] = field(default_factory=list)

    def add(self, number: int, why: object) -> None:
        """Count a line, and keep it if it is one of the first."""
        self.count += 1
        if len(self.first) < NAMED_LINES:
            self.first.append((number, str(why)))

    def clear(self) -> None:
        """Begin anew: the file is read again."""
        self.count = 0
        self.first.clear()

    def sentences(self) -> list[str]:
        """Return what a person is told."""
        if not self.count:
            return []
        named = [f"line {number}: {why}" for number, why in self.first]
        rest = self.count - len(self.first)
        what = "1 damaged line" if self.count == 1 else f"{self.count:,} damaged lines"
        return [f"{what} left out", *named, *([f"and {rest} more"] if rest else [])]


@dataclass(frozen=True)
class Trace:
    """A workload that can be read any number of times.

    `nodes` is the fleet that the trace's own files state, empty where they state none; `clock_us` is the wall-clock
    time of its beginning where it is known; `notes` say what a reader had to assume.
    """

    format: str
    path: Path
    lines: Callable[[Damage], Iterator[Line]]
    build: Callable[[Line], Arrival]
    nodes: tuple[NodeSpec, ...] = ()
    queues: tuple[QueueSpec, ...] = ()
    limits: tuple[LimitSpec, ...] = ()
    notes: tuple[str, ...] = ()
    clock_us: int | None = None
    damage: Damage = field(default_factory=Damage)

    def arrivals(self, load: float = 1.0) -> Iterator[Arrival]:
        """Yield the jobs in order of time, the first at 0.

        `load` divides the times between arrivals: with 1.3 the same jobs come 1.3 times as fast. What is counted from
        the submit stays as long as it was. `damage` tells afterwards what was left out.
        """
        if not load > 0:
            raise InputError("load", load, "a number above 0")
        self.damage.clear()
        begin: int | None = None
        for line in in_order(self._scan, lambda: self.lines(self.damage)):
            arrival = self._built(line)
            if arrival is not None:
                begin = arrival.at_us if begin is None else begin
                yield moved(arrival, round((arrival.at_us - begin) / load))

    def _scan(self) -> Iterator[Line]:
        return self.lines(Damage())

    def _built(self, line: Line) -> Arrival | None:
        try:
            return self.build(line)
        except (ValueError, LookupError, InputError) as error:
            self.damage.add(line.number, error)
            return None


def moved(arrival: Arrival, at_us: int) -> Arrival:
    """Return the job as one that enters at another moment; what is due at a time of day moves with it."""
    deadline_us = arrival.spec.deadline_us
    if deadline_us is None or at_us == arrival.at_us:
        return arrival._replace(at_us=at_us)
    spec = msgspec.structs.replace(arrival.spec, deadline_us=deadline_us - arrival.at_us + at_us)
    return Arrival(at_us, spec, arrival.truth)
