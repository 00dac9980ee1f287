"""How often a job was tried and how its attempts ended: each cause has its own count, and its own rule."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from clearway.api.moments import iso
from clearway.model import events as ev
from clearway.model import flow_events as fe
from clearway.model.reasons import Code
from clearway.model.retry_words import kind_of
from clearway.model.states import End, State

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clearway.control import JobRow
    from clearway.model.events import Record
    from clearway.model.job import JobSpec

_OWN = frozenset({End.FAILED, End.TIMED_OUT})
_LOSSES = frozenset({End.LOST, End.EVICTED})


def tries_of(records: Sequence[Record], row: JobRow, spec: JobSpec | None) -> dict[str, Any] | None:
    """Return the counts of a job since it was entered or run again, and when its next attempt may start.

    `ended` counts attempts by what ended them: failed, oom, timed_out, start_failed, preempted, requeued, evicted,
    lost, cancelled, or a limit by its name. `retries` of `max_retries` and `losses` of `max_losses` are used up.
    """
    if spec is None or spec.array is not None:
        return None
    own = [record for record in records if getattr(record, "job", None) == row.id]
    begins = max((at for at, record in enumerate(own) if isinstance(record, fe.Reopened)), default=-1) + 1
    free = sum(isinstance(one, ev.Requeued) and one.cause.code is Code.RAN_SHORT for one in own[begins:])
    ends = [record for record in own[begins:] if isinstance(record, ev.AttemptEnded)]
    return {
        "ended": dict(Counter(_cause(one) for one in ends if one.end is not End.SUCCEEDED)),
        "retries": sum(one.end in _OWN for one in ends) - free,
        "max_retries": spec.max_retries,
        "losses": sum(one.end in _LOSSES and one.cause.code is not Code.REQUEUED for one in ends),
        "max_losses": spec.max_losses,
        "next_try_at": _next(own, row),
    }


def _cause(ended: ev.AttemptEnded) -> str:
    if ended.cause.code is Code.REQUEUED:
        return "requeued"
    if ended.end in _OWN:
        return kind_of(ended.end, ended.cause) or str(ended.cause.code).replace("-", "_")
    return str(ended.end)


def _next(own: Sequence[Record], row: JobRow) -> str | None:
    """Return until when a job that waits for its retry pauses."""
    last = next((record for record in reversed(own) if isinstance(record, ev.Requeued | ev.Started)), None)
    if row.state is not State.PENDING or not isinstance(last, ev.Requeued) or last.not_before_us <= last.at_us:
        return None
    return iso(last.not_before_us)
