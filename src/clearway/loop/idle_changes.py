"""How the state changes by what is measured of devices: since when a job's do nothing, and when to look at it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clearway.loop.timers import Due, Timer
from clearway.model import events as ev

if TYPE_CHECKING:
    from collections.abc import Callable

    from clearway.loop.entry import JobEntry
    from clearway.loop.state import WorldState


def since_us(entry: JobEntry) -> int | None:
    """Return since when all devices of a job do nothing; None where it has none, or some work."""
    holding = [key for key, grant in entry.held.items() if grant.devices and key not in entry.leaving]
    if not holding or any(key not in entry.idle for key in holding):
        return None
    return max(entry.idle[key] for key in holding)


def arm(state: WorldState, entry: JobEntry) -> None:
    """Have it looked at an idle job when the policy has something done about it."""
    began_us = since_us(entry)
    if began_us is not None:
        for limit_us in (state.policy.idle_warn_us, state.policy.idle_release_us):
            if limit_us is not None:
                state.timers.add(Timer(began_us + limit_us, Due.IDLE, entry.id, entry.attempt))


def forget(state: WorldState) -> None:
    """Know of no task any more that it is idle: whoever measures begins anew."""
    for entry in state.jobs.values():
        if entry.idle:
            entry.idle, entry.warned = {}, False


def _idle(state: WorldState, record: ev.TaskIdle) -> None:
    entry = state.live(record.task)
    if entry is None:
        return
    key = (record.task.role, record.task.index)
    if record.since_us is None:
        entry.idle.pop(key, None)
        entry.warned = False
    else:
        entry.idle[key] = record.since_us
        arm(state, entry)


def _warned(state: WorldState, record: ev.IdleWarned) -> None:
    state.jobs[record.job].warned = True


APPLY: dict[type, Callable[[Any, Any], None]] = {ev.TaskIdle: _idle, ev.IdleWarned: _warned}
