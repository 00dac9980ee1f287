"""Why a job was where it was, from the journal alone: at a moment in the past, or where no controller runs."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from clearway.api.moments import FACE, iso
from clearway.api.past.questions import job_of
from clearway.api.rows import full_reason
from clearway.model.errors import InputError
from clearway.model.events import Ended, Requeued, Submitted
from clearway.model.states import State, shown
from clearway.observe.outlook_rows import outlook_row
from clearway.whatif.outlook import outlook

if TYPE_CHECKING:
    from clearway.compose.past import PastOf, Turn
    from clearway.loop.entry import JobEntry
    from clearway.loop.world import World
    from clearway.model.reasons import Reason


def why_then(past: PastOf, ref: str, at_us: int | None, *, brief: bool) -> dict[str, Any]:
    """Return why a job waited, ran or was over at a moment; None: by the last record.

    InputError: a moment that is still to come; NotFoundError: there was no such job then.
    """
    if at_us is not None and at_us > time.time_ns() // 1000:
        raise InputError("at", iso(at_us), "a moment that is not still to come")
    world = past.world_at(at_us)
    job = job_of(world, ref)
    turns = past.turns_of(job, at_us)
    entry, now_us = world.jobs.get(job), world.now_us if at_us is None else at_us
    state = world.state.over[job] if entry is None else entry.state
    reasons, since_us = _waits(world, entry, turns) if state == State.PENDING and entry is not None else _last(turns)
    names = [turn.spec.name for turn in turns if isinstance(turn, Submitted)]
    found: dict[str, Any] = {
        "id": job,
        "name": names[0] if names else ref if entry is None else entry.spec.name,
        "state": str(shown(state)),
        "inner_state": str(state),
        "at": iso(now_us),
        "since": None if since_us is None else iso(since_us),
        "reasons": [full_reason(reason) for reason in reasons],
        "nodes": [] if entry is None else sorted({world.node_name(grant.node) for grant in entry.held.values()}),
        "records": "here" if turns else "gone",
    }
    if state == State.PENDING and not brief:
        found["outlook"] = outlook_row(outlook(world, job, now_us), FACE)
    return found


def _waits(world: World, entry: JobEntry, turns: list[Turn]) -> tuple[tuple[Reason, ...], int | None]:
    """Return why a job waits, and since when it does."""
    back = [turn.at_us for turn in turns if isinstance(turn, Requeued)]
    reasons = entry.reasons if entry.cls is None else world.state.view.line.classes[entry.cls].reasons
    return reasons, back[-1] if back else entry.submitted_us


def _last(turns: list[Turn]) -> tuple[tuple[Reason, ...], int | None]:
    """Return the cause of what came last of a job, and when that was."""
    causes = [cause for turn in turns if (cause := _cause(turn)) is not None]
    return tuple(causes[-1:]), turns[-1].at_us if turns else None


def _cause(turn: Turn) -> Reason | None:
    if isinstance(turn, Submitted):
        return None
    return turn.reason if isinstance(turn, Ended) else turn.cause
