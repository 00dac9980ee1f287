"""The moves of jobs as lines of the log: what was submitted, started, stopped and over, each with its fields."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from clearway.model import events as ev
from clearway.observe.log_lines import FIELDS
from clearway.observe.moments import said

if TYPE_CHECKING:
    from collections.abc import Callable

    from clearway.model.ids import NodeId
    from clearway.ports.observer import Heard

LOG = logging.getLogger("clearway.jobs")


class Moves:
    """Writes them. A watcher (`ports.Observer`) for the thread of `Ears`. Names and reasons, never environments."""

    def __init__(self, node_name: Callable[[NodeId], str]) -> None:
        """`node_name` names nodes."""
        self._node_name = node_name
        self._cycle: ev.Planned | None = None
        self._left = 0

    def begin(self) -> None:
        """Nothing is to be known."""

    def hear(self, turn: Heard) -> None:
        """Write a line for each move of this turn."""
        number = turn.last - len(turn.records)
        for number, record in enumerate(turn.records, number + 1):  # noqa: B020  it goes on from there
            if isinstance(record, ev.Planned):
                self._cycle, self._left = record, record.records
                continue
            told = self._told(record)
            if told:
                decided = self._cycle if self._left else None
                cycle = {} if decided is None else {"cycle": decided.cycle, "revision": decided.revision}
                LOG.info("%s", told.pop("move"), extra={FIELDS: {**told, **cycle, "record": number}})
            self._left = max(self._left - 1, 0)

    def _told(self, record: ev.Record) -> dict[str, Any]:
        match record:
            case ev.Submitted():
                spec = record.spec
                words = {"name": spec.name, "queue": spec.queue, "user": spec.user}
                return {"move": "submitted", "job": record.job, **words}
            case ev.Refused():
                return {"move": "refused", "job": record.job, "name": record.name, "reason": said(record.reason)}
            case ev.Started():
                nodes = sorted({self._node_name(grant.node) for grant in record.grants})
                return {"move": "started", **_attempt(record), "nodes": nodes}
            case ev.Stopping():
                return {"move": "stopping", **_attempt(record), "end": record.end.value}
            case ev.AttemptEnded():
                return {"move": "attempt ended", **_attempt(record), "end": record.end.value}
            case ev.Requeued():
                return {"move": "waits again", "job": record.job, "reason": said(record.cause)}
            case ev.Ended():
                reason = {} if record.reason is None else {"reason": said(record.reason)}
                return {"move": "ended", "job": record.job, "state": str(record.state), **reason}
            case _:
                return {}


def _attempt(record: ev.Started | ev.Stopping | ev.AttemptEnded) -> dict[str, Any]:
    return {"job": record.job, "attempt": record.attempt, "reason": said(record.cause)}
