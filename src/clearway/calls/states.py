"""The states of calls, as their table holds them."""

from __future__ import annotations

from enum import IntEnum


class Kind(IntEnum):
    """What a node is."""

    CALL = 0
    CHAIN = 1
    GROUP = 2
    MAP = 3


class State(IntEnum):
    """Where a node is. From SUCCEEDED on it is over, and stays so."""

    LATER = 0  # its next attempt has its time
    PENDING = 1
    HELD = 2  # a call: in the hand of a worker; other nodes: some part of them is not over
    SUCCEEDED = 3
    FAILED = 4
    CANCELLED = 5


OVER = State.SUCCEEDED

SHOWN = {
    State.LATER: "pending",
    State.PENDING: "pending",
    State.HELD: "running",
    State.SUCCEEDED: "succeeded",
    State.FAILED: "failed",
    State.CANCELLED: "cancelled",
}
"""The words for people: those of jobs."""
