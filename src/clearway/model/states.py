"""States of a job and their legal moves, in one table."""

from __future__ import annotations

from enum import StrEnum


class State(StrEnum):
    """Where a job is in its life."""

    PENDING = "pending"
    STARTING = "starting"
    RUNNING = "running"
    SUSPENDED = "suspended"
    STOPPING = "stopping"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"
    REFUSED = "refused"


class End(StrEnum):
    """How an attempt ended."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"
    PREEMPTED = "preempted"
    EVICTED = "evicted"
    LOST = "lost"
    TIMED_OUT = "timed_out"


TERMINAL = frozenset({State.SUCCEEDED, State.FAILED, State.CANCELLED, State.REFUSED})

SHOWN = {State.STARTING: State.RUNNING, State.SUSPENDED: State.RUNNING, State.STOPPING: State.RUNNING}
"""Inner states and the one that people are shown."""

_LIVE = {State.STARTING, State.RUNNING, State.SUSPENDED, State.STOPPING}
_OVER = {State.PENDING, State.SUCCEEDED, State.FAILED, State.CANCELLED}

MOVES: dict[State, frozenset[State]] = {
    State.PENDING: frozenset({State.STARTING, State.FAILED, State.CANCELLED}),
    State.STARTING: frozenset((_LIVE | _OVER) - {State.STARTING}),
    State.RUNNING: frozenset((_LIVE | _OVER) - {State.STARTING, State.RUNNING}),
    State.SUSPENDED: frozenset((_LIVE | _OVER) - {State.STARTING, State.SUSPENDED}),
    State.STOPPING: frozenset(_OVER),
    State.SUCCEEDED: frozenset(),
    State.FAILED: frozenset(),
    State.CANCELLED: frozenset(),
    State.REFUSED: frozenset(),
}
"""From each state the states that may follow. A terminal state is final for its run."""


def shown(state: State) -> State:
    """Return the state that people are shown."""
    return SHOWN.get(state, state)
