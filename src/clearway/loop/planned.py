"""The record of a cycle: what it read and by what it decided, so that it can be decided again."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from typing import TYPE_CHECKING

import msgspec

from clearway.model import events as ev

if TYPE_CHECKING:
    from clearway.loop.state import WorldState
    from clearway.model.fleet import PolicySpec


@lru_cache(maxsize=16)
def hash_of(policy: PolicySpec) -> str:
    """Return what tells a policy from others: the beginning of the SHA-256 of its words."""
    return hashlib.sha256(msgspec.json.encode(policy)).hexdigest()[:16]


def planned(state: WorldState, now_us: int, records: int, unsaid: int) -> ev.Planned:
    """Return the record of a cycle that has just decided, before its plan of so many records.

    `unsaid`: so many cycles before it changed nothing and are still to be recorded.
    """
    cycle, revision = state.cycle + unsaid + 1, state.revision + unsaid
    return ev.Planned(now_us, cycle, revision, hash_of(state.policy), state.seed, records)


def apply_planned(state: WorldState, record: ev.Planned) -> None:
    """Count a cycle."""
    state.cycle = record.cycle
