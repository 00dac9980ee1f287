"""What a timeline keeps of each job while it reads records."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from clearway.model.states import State

if TYPE_CHECKING:
    from collections.abc import Iterator

    from clearway.model.events import Grant
    from clearway.model.ids import ClassId, JobId
    from clearway.model.job import JobSpec
    from clearway.model.reasons import Reason
    from clearway.model.states import End
    from clearway.model.use import Used

Reasons = tuple["Reason", ...]


@dataclass(slots=True)
class TaskTrack:
    """One grant of an attempt; `to_us` None: still held."""

    grant: Grant
    from_us: int
    to_us: int | None = None


@dataclass(slots=True)
class AttemptTrack:
    """One attempt; `to_us` None: it lives."""

    number: int
    from_us: int
    tasks: list[TaskTrack]
    to_us: int | None = None
    end: End | None = None
    cause: Reason | None = None
    used: list[Used] = field(default_factory=list)

    def close(self, at_us: int) -> None:
        """End every grant that is still held."""
        for task in self.tasks:
            if task.to_us is None:
                task.to_us = at_us


@dataclass(slots=True)
class WaitTrack:
    """A stretch of waiting with one source of reasons: the job's own, or its class's as they change."""

    from_us: int
    source: Reasons | ClassId
    to_us: int | None = None


@dataclass(slots=True)
class JobTrack:
    """One job. The last of `waits` is open while it waits."""

    job: JobId
    name: str
    spec: JobSpec | None
    submitted_us: int
    state: State = State.PENDING
    ended_us: int | None = None
    reason: Reason | None = None
    attempts: list[AttemptTrack] = field(default_factory=list)
    waits: list[WaitTrack] = field(default_factory=list)
    promises: list[tuple[int, Reason | None]] = field(default_factory=list)
    """From when on it has which reservation, as a reason; None: none."""
    array: JobId | None = None
    """The array that it is a job of."""

    def wait(self, at_us: int, source: Reasons | ClassId) -> None:
        """Wait for this reason from now on."""
        self.go_on(at_us)
        self.waits.append(WaitTrack(at_us, source))

    def go_on(self, at_us: int) -> None:
        """Wait no longer."""
        if self.waits and self.waits[-1].to_us is None:
            self.waits[-1].to_us = at_us
            if self.waits[-1].from_us == at_us:
                self.waits.pop()


@dataclass(slots=True)
class MachineTrack:
    """An ordered machine; `ready_us` None: it never came; `gone_us` None: it is there or on its way."""

    name: str
    kind: str
    ordered_us: int
    cause: Reason
    ready_us: int | None = None
    gone_us: int | None = None
    reason: Reason | None = None


class ClassHistory:
    """The reasons of one class over time."""

    __slots__ = ("_reasons", "_times")

    def __init__(self) -> None:
        """Start without any."""
        self._times: list[int] = []
        self._reasons: list[Reasons] = []

    def add(self, at_us: int, reasons: Reasons) -> None:
        """Reasons from `at_us` on; times never go back."""
        self._times.append(at_us)
        self._reasons.append(reasons)

    def between(self, from_us: int, to_us: int | None) -> Iterator[tuple[int, Reasons]]:
        """Yield (since, reasons) that held in [from_us, to_us), the first one from `from_us` on."""
        first = bisect_right(self._times, from_us) - 1
        if first < 0:
            yield from_us, ()
        for i in range(max(first, 0), len(self._times)):
            if to_us is not None and self._times[i] >= to_us:
                return
            yield max(self._times[i], from_us), self._reasons[i]


def stretches(job: JobTrack, classes: dict[ClassId, ClassHistory]) -> Iterator[tuple[int, int | None, Reasons]]:
    """Yield (from, to, reasons) of all its waiting, without gaps inside a wait; equal neighbours are one."""
    last: tuple[int, int | None, Reasons] | None = None
    pieces = _pieces(job, classes)
    for piece in _with_promises(pieces, job.promises) if job.promises else pieces:
        if piece[0] == piece[1]:
            continue
        if last and last[1] == piece[0] and last[2] == piece[2]:
            last = (last[0], piece[1], piece[2])
            continue
        if last:
            yield last
        last = piece
    if last:
        yield last


def _with_promises(
    pieces: Iterator[tuple[int, int | None, Reasons]], promises: list[tuple[int, Reason | None]]
) -> Iterator[tuple[int, int | None, Reasons]]:
    """Split pieces where the job's own reservation changes, and say it beside the reasons."""
    for begin, end, reasons in pieces:
        held = [reason for at, reason in promises if at <= begin][-1:]
        now, since = (held[0] if held else None), begin
        for at, reason in promises:
            if begin < at and (end is None or at < end):
                yield since, at, reasons if now is None else (*reasons, now)
                now, since = reason, at
        yield since, end, reasons if now is None else (*reasons, now)


def _pieces(job: JobTrack, classes: dict[ClassId, ClassHistory]) -> Iterator[tuple[int, int | None, Reasons]]:
    for wait in job.waits:
        if isinstance(wait.source, tuple):
            yield wait.from_us, wait.to_us, wait.source
            continue
        found = list(classes.get(wait.source, ClassHistory()).between(wait.from_us, wait.to_us))
        ends = [since for since, _ in found[1:]] + [wait.to_us]
        for (since, reasons), end in zip(found, ends, strict=True):
            yield since, end, reasons
