"""How far a running job is, how much longer it takes, and whether it is odd."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clearway.api.moments import iso
from clearway.loop.progress import left_of
from clearway.model.states import State
from clearway.model.values import SECOND_US
from clearway.observe.odd import odd_jobs, odd_of

if TYPE_CHECKING:
    from clearway.api.desk import Desk
    from clearway.control import JobRow

MOST_TOLD = 4
EVERY_US = 5 * SECOND_US
"""So often all running jobs are looked at, however many ask."""


def left_row(desk: Desk, row: JobRow) -> dict[str, Any] | None:
    """Return how much longer a job takes, as the median and the interval of 80 %, in seconds; None: nothing is known.

    By its forecast, and by how far it said last that it is: `step` of `total`, at `told`.
    """
    if row.state is not State.RUNNING or row.progress is not None:
        return None
    world = desk.controller.world
    heard, found = world.progressing.heard_of(row.id, row.attempt), left_of(world, row.id, desk.controller.now_us())
    if heard is None and found is None:
        return None
    low, median, high = (None, None, None) if found is None else (us / SECOND_US for us in found)
    return {
        "low_s": low,
        "median_s": median,
        "high_s": high,
        "step": None if heard is None else heard.step,
        "total": None if heard is None else heard.total or None,
        "told": None if heard is None else iso(heard.moved_us),
    }


def odd_row(desk: Desk, row: JobRow) -> dict[str, Any] | None:
    """Return what is odd about a running job: it runs far too long, or goes on no more; None: nothing is."""
    found = odd_of(desk.controller.world, row, desk.controller.now_us())
    return None if found is None else {"kind": found.kind, "since": iso(found.since_us), "text": found.text}


def odd_rows(desk: Desk) -> dict[str, Any]:
    """Return how many jobs are odd, and the first few of them, those that have been so longest."""
    rows = [row for row in list(desk.board.jobs.values()) if row.state is State.RUNNING]
    found = sorted(odd_jobs(desk.controller.world, rows, desk.controller.now_us()), key=lambda one: one[1].since_us)
    told = [
        {"id": row.id, "name": row.name, "kind": odd.kind, "since": iso(odd.since_us), "text": odd.text}
        for row, odd in found[:MOST_TOLD]
    ]
    return {"jobs": len(found), "longest": told}
