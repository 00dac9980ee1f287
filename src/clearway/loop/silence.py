"""Many nodes silent at once: then it is rather the controller that is cut off, and little is taken for lost."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clearway.loop.state import WorldState
    from clearway.model.events import NodeHeard

FEW = 4
"""So many silent nodes are no chance any more."""


def _heard(state: WorldState) -> int:
    """Return how many nodes are heard of."""
    away = [*state.quiet, *state.lost]
    return sum(node not in away and not state.machines.booting(node) for node in state.nodes.values())


def reigns(state: WorldState) -> bool:
    """Return whether more nodes are silent than are heard of, and not just a few."""
    silent = len(state.quiet) + len(state.lost)
    return silent >= FEW and bool(state.quiet) and silent > _heard(state)


def waits_until_us(state: WorldState, now_us: int) -> int | None:
    """Return until when no further node is taken for lost; None: one may be now.

    While none is heard of, none is lost: there would be no place to start anything again. While more are silent than
    are heard of, one a lease is.
    """
    if not reigns(state):
        return None
    if not _heard(state):
        return now_us + state.policy.lease_us
    next_us = max(state.lost.values(), default=now_us - state.policy.lease_us) + state.policy.lease_us
    return next_us if next_us > now_us else None


def ends(state: WorldState, record: NodeHeard) -> None:
    """Give every silent node a full lease from the first word on: who is heard of first is not the only one."""
    if reigns(state):
        state.controller_up_us = record.at_us
