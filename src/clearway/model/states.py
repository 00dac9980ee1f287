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
    SKIPPED = "skipped"


class StepState(StrEnum):
    """Where a step of a workflow is."""

    PENDING = "pending"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"
    SKIPPED = "skipped"
    UPSTREAM_FAILED = "upstream_failed"


class End(StrEnum):
    """How an attempt ended."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"
    PREEMPTED = "preempted"
    EVICTED = "evicted"
    LOST = "lost"
    TIMED_OUT = "timed_out"


TERMINAL = frozenset({State.SUCCEEDED, State.FAILED, State.CANCELLED, State.REFUSED, State.SKIPPED})

STEP_OVER = frozenset(StepState) - {StepState.PENDING, StepState.RUNNING}
"""States of a step after which it does nothing more in its run."""

SHOWN = {State.STARTING: State.RUNNING, State.SUSPENDED: State.RUNNING, State.STOPPING: State.RUNNING}
"""Inner states and the one that people are shown."""

_LIVE = {State.STARTING, State.RUNNING, State.SUSPENDED, State.STOPPING}
_OVER = {State.PENDING, State.SUCCEEDED, State.FAILED, State.CANCELLED, State.SKIPPED}

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
    State.SKIPPED: frozenset(),
}
"""From each state the states that may follow. A terminal state is final for its run."""


def shown(state: State) -> State:
    """Return the state that people are shown."""
    return SHOWN.get(state, state)
