"""How far a running job is, and how much longer it takes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clearway.api.moments import iso
from clearway.loop.progress import left_of
from clearway.model.states import State
from clearway.model.values import SECOND_US

if TYPE_CHECKING:
    from clearway.api.desk import Desk
    from clearway.control import JobRow


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
