"""The board as plain facts, so that a controller that starts need not read old records for it."""

from __future__ import annotations

import msgspec

from clearway.control.rows import JobRow, NodeRow, QueueRow
from clearway.model.events import Booked, Grant
from clearway.model.fleet import LimitSpec, PolicySpec
from clearway.model.ids import ClassId, JobId, NodeId
from clearway.model.job import Role
from clearway.model.reasons import Reason


class BooksKept(msgspec.Struct, frozen=True, omit_defaults=True):
    """What nodes and queues hold. `to_come_up`: the tasks of each attempt that are not up yet."""

    nodes: tuple[NodeRow, ...] = ()
    node_names: tuple[tuple[NodeId, str], ...] = ()
    queues: tuple[tuple[str, QueueRow], ...] = ()
    roles: tuple[tuple[JobId, str, tuple[Role, ...]], ...] = ()
    held: tuple[tuple[JobId, tuple[Grant, ...]], ...] = ()
    to_come_up: tuple[tuple[JobId, tuple[tuple[int, int], ...]], ...] = ()


class BoardKept(msgspec.Struct, frozen=True, omit_defaults=True):
    """A whole board."""

    jobs: tuple[JobRow, ...] = ()
    class_reasons: tuple[tuple[ClassId, tuple[Reason, ...]], ...] = ()
    limits: tuple[LimitSpec, ...] = ()
    bookings: tuple[Booked, ...] = ()
    policy: PolicySpec | None = None
    newest: dict[str, JobId] = {}
    finished: tuple[JobId, ...] = ()
    books: BooksKept = BooksKept()
