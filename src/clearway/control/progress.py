"""How far an array has come, as readers see it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from clearway.model.states import State

if TYPE_CHECKING:
    from clearway.control.rows import JobRow, Progress

MOST_NAMED = 100  # failed indices that are kept


def changed_progress(progress: Progress, old: JobRow | None, new: JobRow) -> Progress:
    """Return the progress after one job of the array has changed."""
    before, after = None if old is None else _kind(old.state), _kind(new.state)
    if before == after:
        return progress
    counts = {after: getattr(progress, after) + 1}
    if before is not None:
        counts[before] = getattr(progress, before) - 1
    named = progress.named
    if after == "failed" and len(named) < MOST_NAMED:
        named = (*named, new.index or 0)
    return replace(progress, **counts, named=named)


def _kind(state: State) -> str:
    if state is State.PENDING:
        return "waiting"
    return str(state) if state in (State.SUCCEEDED, State.FAILED, State.CANCELLED) else "running"
