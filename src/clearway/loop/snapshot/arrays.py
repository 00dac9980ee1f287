"""Arrays as facts: how far each has come. Which of its jobs are not over, the jobs say."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from clearway.loop.arrays import Track
from clearway.model.ids import JobId

if TYPE_CHECKING:
    from collections.abc import Iterable

    from clearway.loop.state import WorldState


class ArrayKept(msgspec.Struct, frozen=True, omit_defaults=True):
    """A `Track`, by the number of its array."""

    job: JobId
    next: int
    in_line: tuple[JobId, ...] = ()
    failed: tuple[int, ...] = ()
    others: int = 0


def take_arrays(state: WorldState) -> tuple[ArrayKept, ...]:
    """Return how far every array has come."""
    return tuple(
        ArrayKept(job, track.next, tuple(sorted(track.in_line)), tuple(track.failed), track.others)
        for job, track in state.arrays.items()
    )


def restore_arrays(state: WorldState, kept: Iterable[ArrayKept]) -> None:
    """Know again how far every array has come; its jobs are known already."""
    for one in kept:
        array = state.jobs[one.job].spec.array
        if array is not None:
            track = state.arrays[one.job] = Track(array)
            track.next, track.others = one.next, one.others
            track.in_line, track.failed = set(one.in_line), list(one.failed)
    for entry in state.jobs.values():
        if entry.array is not None:
            state.arrays[entry.array].live[entry.id] = None
