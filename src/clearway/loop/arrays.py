"""Arrays: entries that stand for many like jobs, of which a few at a time stand in the line.

The jobs of an array have the numbers behind its own, in the order of their indices. They are made when their turn
comes, so that a long array costs no more than a short one; how they ended is kept in one byte each.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from clearway.model import events as ev
from clearway.model.ids import JobId
from clearway.model.job import member
from clearway.model.reasons import Code, Reason, because
from clearway.model.states import End, State

if TYPE_CHECKING:
    from collections.abc import Iterator

    from clearway.loop.entry import JobEntry
    from clearway.loop.state import WorldState
    from clearway.loop.world import World
    from clearway.model.array import Array
    from clearway.model.job import JobSpec

MOST_IN_LINE = 128  # of one array wait in the line, beside those for which there is room; others follow when they start
MOST_NAMED = 10  # indices that a reason names


class Track:
    """How far an array has come."""

    __slots__ = ("array", "failed", "in_line", "live", "next", "others")

    def __init__(self, array: Array) -> None:
        """Begin with none of its jobs made."""
        self.array = array
        self.next = 0
        self.live: dict[JobId, None] = {}
        self.in_line: set[JobId] = set()
        self.failed: list[int] = []
        self.others = 0  # jobs of it that were cancelled


def of_member(state: WorldState, job: JobId) -> JobId | None:
    """Return the array among whose numbers a job's is; None where there is none that is not over."""
    for number, track in state.arrays.items():
        if number < job <= number + track.array.size:
            return number
    return None


def enter(world: World, job: JobId, array: JobId) -> JobEntry:
    """Let one job of an array in."""
    entry = world.jobs[array]
    spec = member(entry.spec, job - array - 1)
    world.emit(ev.Submitted(world.now_us, job, spec, array=array, since_us=entry.submitted_us))
    return world.jobs[job]


def let_in(world: World) -> None:
    """Let jobs of arrays in, as many as may stand in the line."""
    for number in list(world.state.arrays):
        if may_follow(world.state, number):
            for job in _due(world.state, number, _room(world.state, world.jobs[number].spec)):
                enter(world, job, number)


def _room(state: WorldState, spec: JobSpec) -> int:
    """Return for how many jobs there is room now, so that none of them stands behind others for not having come."""
    counts = []
    for role in spec.roles:
        places = state.view.places_of(role.demand)
        places.refresh()
        counts.append(places.slots() // max(role.min_tasks, 1))
    return min(counts)


def may_follow(state: WorldState, number: JobId) -> bool:
    """Return whether more jobs of an array may be let in."""
    entry = state.jobs[number]
    free = not entry.after and entry.holder is None and entry.intent is None
    return free and next(_due(state, number), None) is not None


def _due(state: WorldState, number: JobId, room: int = 0) -> Iterator[JobId]:
    track = state.arrays[number]
    while track.next < track.array.size and len(track.in_line) < MOST_IN_LINE + room:
        if track.array.at_once and len(track.live) >= track.array.at_once:
            return
        job = JobId(number + 1 + track.next)
        if job in state.jobs or job in state.over:  # somebody asked something of it before its turn
            track.next += 1
        else:
            yield job


def outcome(world: World, entry: JobEntry) -> tuple[State, Reason | None] | None:
    """Return how an array has ended; None while something of it is left."""
    track = world.state.arrays[entry.id]
    intent = entry.intent
    if track.live or (intent is None and _left(world.state, entry.id, track)):
        return None
    if intent is not None:
        return (State.CANCELLED if intent.end is End.CANCELLED else State.FAILED), intent.cause
    if not track.failed and not track.others:
        return State.SUCCEEDED, None
    named = ", ".join(map(str, track.failed[:MOST_NAMED])) + (", .." if len(track.failed) > MOST_NAMED else "")
    cause = because(Code.INDICES, failed=len(track.failed), cancelled=track.others, of=track.array.size, named=named)
    return (State.FAILED if track.failed else State.CANCELLED), cause


def _left(state: WorldState, number: JobId, track: Track) -> bool:
    made = range(number + 1 + track.next, number + 1 + track.array.size)
    return any(job not in state.over for job in map(JobId, made))


def reason(spec_array: Array) -> Reason:
    """Return why an array itself never starts."""
    return because(Code.ARRAY, jobs=spec_array.size, at_once=spec_array.at_once)


# --- how records change the state ---------------------------------------------------------------


def submitted(state: WorldState, entry: JobEntry, record: ev.Submitted) -> None:
    """Know a job by its name, an array with the numbers of its jobs, or a job of an array by that."""
    array = entry.spec.array
    if record.array:
        _joined(state, entry, record.array)
    else:
        state.names[entry.spec.name] = entry.id
    if array is not None:
        state.arrays[entry.id] = Track(array)
        state.next_job = max(state.next_job, entry.id + 1 + array.size)


def _joined(state: WorldState, entry: JobEntry, array: JobId) -> None:
    """Know a job of an array. It was submitted when the array was."""
    track = state.arrays[array]
    entry.array = array
    entry.submitted_us = state.jobs[array].submitted_us
    track.live[entry.id] = None
    track.in_line.add(entry.id)
    if entry.id == array + 1 + track.next:
        track.next += 1


def started(state: WorldState, entry: JobEntry) -> None:
    """Note of a job of an array that it starts: it does not stand in the line any more, and the array runs."""
    if entry.array is not None:
        state.arrays[entry.array].in_line.discard(entry.id)
        whole = state.jobs[entry.array]
        whole.state = State.RUNNING if whole.state is State.PENDING else whole.state


def ended(state: WorldState, entry: JobEntry) -> None:
    """Count a job of an array that is over, or forget an array that is."""
    if entry.spec.array is not None:
        track = state.arrays.pop(entry.id)
        for job in map(JobId, range(entry.id + 1, entry.id + 1 + track.array.size)):
            if job not in state.over:
                state.over[job] = State.CANCELLED
    if entry.array is None or entry.array not in state.arrays:
        return
    track = state.arrays[entry.array]
    track.live.pop(entry.id, None)
    track.in_line.discard(entry.id)
    if entry.state is State.FAILED:
        track.failed.append(entry.spec.index or 0)
    elif entry.state is not State.SUCCEEDED:
        track.others += 1
