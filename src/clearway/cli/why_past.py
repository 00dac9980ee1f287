"""What `clearway why` says from the journal alone: of a moment in the past, or where no controller runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clearway.cli.past import job_of
from clearway.model.errors import NotFoundError
from clearway.model.states import State, shown

if TYPE_CHECKING:
    from pathlib import Path

    from clearway.cli.shell import Shell
    from clearway.loop.entry import JobEntry
    from clearway.loop.world import World
    from clearway.model.reasons import Reason


def has_journal(home: Path | None) -> bool:
    """Return whether a controller has ever written a journal for a home."""
    from clearway.compose.past import past_of

    try:
        with past_of(home) as past:
            return past.last() > 0
    except NotFoundError:
        return False


def why_then(shell: Shell, ref: str, at_us: int | None, *, brief: bool) -> dict[str, Any]:
    """Return why a job waited, ran or was over at a moment; None: by the last record."""
    from clearway.api.moments import FACE, iso
    from clearway.api.rows import full_reason
    from clearway.compose.past import past_of
    from clearway.observe.outlook_rows import outlook_row
    from clearway.whatif.outlook import outlook

    with past_of(shell.home) as past:
        world = past.world_at(at_us)
    job = job_of(world, ref)
    entry, now_us = world.jobs.get(job), world.now_us if at_us is None else at_us
    state = world.state.over[job] if entry is None else entry.state
    found: dict[str, Any] = {
        "id": job,
        "name": ref if entry is None else entry.spec.name,
        "state": str(shown(state)),
        "inner_state": str(state),
        "at": iso(now_us),
        "reasons": [] if entry is None else [full_reason(reason) for reason in _reasons(world, entry)],
        "nodes": [] if entry is None else sorted({world.node_name(grant.node) for grant in entry.held.values()}),
    }
    if state == State.PENDING and not brief:
        found["outlook"] = outlook_row(outlook(world, job, now_us), FACE)
    return found


def _reasons(world: World, entry: JobEntry) -> tuple[Reason, ...]:
    if entry.state != State.PENDING:
        return () if entry.intent is None else (entry.intent.cause,)
    return entry.reasons if entry.cls is None else world.state.view.line.classes[entry.cls].reasons
