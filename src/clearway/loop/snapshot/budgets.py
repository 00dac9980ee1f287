"""How budgets are kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from clearway.loop.budget_state import BudgetTrack, put_back
from clearway.model.budgets import BudgetSpec

if TYPE_CHECKING:
    from collections.abc import Iterable

    from clearway.loop.state import WorldState


class BudgetKept(msgspec.Struct, frozen=True, omit_defaults=True):
    """A budget in its period. What is used are texts: it outgrows 64 bits."""

    spec: BudgetSpec
    number: int
    since_us: int
    until_us: int
    used: tuple[str, str] = ("0", "0")
    rate: tuple[str, str] = ("0", "0")
    noticed: bool = False
    used_up: bool = False


def take_budgets(state: WorldState) -> tuple[BudgetKept, ...]:
    """Return the budgets as facts."""
    return tuple(
        BudgetKept(
            t.spec, t.number, t.since_us, t.until_us, _texts(t.used), _texts(t.rate), t.noticed, t.used_up
        )
        for t in state.budgets.tracks.values()
    )  # fmt: skip


def _texts(pair: tuple[int, int]) -> tuple[str, str]:
    return str(pair[0]), str(pair[1])


def restore_budgets(state: WorldState, kept: Iterable[BudgetKept]) -> None:
    """Know them again; jobs and nodes are known already."""
    for one in kept:
        track = BudgetTrack(one.number, one.spec, one.since_us)
        track.until_us, track.noticed, track.used_up = one.until_us, one.noticed, one.used_up
        track.used, track.rate = (int(one.used[0]), int(one.used[1])), (int(one.rate[0]), int(one.rate[1]))
        put_back(state, track)
