"""Who was stopped, or gave back tasks, for whom: it protects the one, and orders it behind the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clearway.core.swaps import noted
from clearway.core.view import Running
from clearway.model.ids import JobId
from clearway.model.reasons import Code

if TYPE_CHECKING:
    from clearway.loop.entry import JobEntry
    from clearway.loop.state import WorldState
    from clearway.model.events import Resized, Started, Stopping


def stopped(state: WorldState, entry: JobEntry, record: Stopping) -> None:
    """Take note for whom a job is stopped."""
    entry.yielded_to = JobId(int(record.cause.get("job", 0)))
    _note(state, entry, record)


def gave_back(state: WorldState, entry: JobEntry, record: Resized) -> None:
    """Take note for whom a job gives back tasks."""
    if record.less and record.cause.code == Code.PREEMPTED:
        _note(state, entry, record)


def _note(state: WorldState, entry: JobEntry, record: Stopping | Resized) -> None:
    if record.cause.get("cause") == "time_slice":
        return
    entry.swaps = noted(entry.swaps, JobId(int(record.cause.get("job", 0))), record.at_us, state.cycle)
    running = state.view.running.get(record.job)
    if running is not None:
        running.swaps = entry.swaps


def begins(state: WorldState, entry: JobEntry, record: Started) -> Running:
    """Return a job that begins to run as the core knows it, with what protects it."""
    calm_until_us = 0 if entry.preempted_us is None else entry.preempted_us + state.policy.calm_us
    running = Running(state.candidate(entry), entry.attempt, record.at_us, calm_until_us)
    running.use(record.grants)
    running.swaps = entry.swaps
    return running
