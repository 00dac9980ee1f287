"""A hundred queues: ten divisions of nine teams, with guarantees, limits and weights, and work that fills them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clearway.model.fleet import QueueSpec
from clearway.model.values import MILLI

if TYPE_CHECKING:
    from collections.abc import Iterator

DIVISIONS, TEAMS = 10, 9
IDLE = "d0t0"  # nobody asks for anything here until somebody reclaims what is guaranteed


def queues(unit: str, capacity: int) -> list[QueueSpec]:
    """Return the tree. Of the capacity two thirds are guaranteed to divisions, and half of that to their teams.

    Every third team has a limit of twice what an even part would be, and weights go from 1 to 3.
    """
    found = []
    division = capacity * 2 // 3 // DIVISIONS
    team, most = division // 2 // TEAMS, 2 * capacity // (DIVISIONS * TEAMS)
    for d in range(DIVISIONS):
        found.append(QueueSpec(f"d{d}", guarantee=((unit, division * MILLI),), weight=1 + d % 3))
        for t in range(TEAMS):
            limit = ((unit, most * MILLI),) if t % 3 == 2 else ()  # noqa: PLR2004 - the third of three
            guarantee = ((unit, team * MILLI),)
            found.append(QueueSpec(f"d{d}t{t}", f"d{d}", guarantee=guarantee, limit=limit, weight=1 + t % 3))
    return found


def teams() -> Iterator[str]:
    """Yield the names of the queues that hold jobs."""
    return (f"d{d}t{t}" for d in range(DIVISIONS) for t in range(TEAMS))
