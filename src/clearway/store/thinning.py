"""Dropping the records of jobs that have long been over, and of what is known by the newest snapshot before that."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import delete, exists, select

from clearway.model.events import Joined
from clearway.store import schema
from clearway.store.codec import LAPSED, decode

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy import Connection, Engine

ENDS, ALIVE = ("Ended", "Refused"), ("Submitted", "Requeued", "Started")
"""Kinds of records with which a job is over, and alive (again)."""
AT_ONCE = 500
"""So many jobs or classes go in one transaction: some milliseconds, which is how long an append may wait for one."""


def thin(engine: Engine, guard: Callable[[Connection], None], upto: int, ended_before_us: int) -> list[int]:
    """Drop records with a number up to `upto` of the jobs that were over before a moment, and return these jobs."""
    columns, later = schema.journal.c, schema.journal.alias().c
    again = exists().where(later.job == columns.job, later.number > columns.number, later.kind.in_(ALIVE))
    ends = select(columns.job).where(
        columns.kind.in_(ENDS), columns.number <= upto, columns.at_us < ended_before_us, ~again
    )
    with engine.connect() as connection:
        jobs = [int(job) for job in connection.scalars(ends.order_by(columns.number)) if job is not None]
    gone = list(dict.fromkeys(jobs))
    for at in range(0, len(gone), AT_ONCE):
        _drop(engine, guard, upto, "job", gone[at : at + AT_ONCE])
    if gone:
        _drop_classes(engine, guard, upto)
    _drop_lapsed(engine, guard, upto)
    return gone


def _drop(engine: Engine, guard: Callable[[Connection], None], upto: int, column: str, which: list[int]) -> None:
    table = schema.journal
    with engine.begin() as connection:
        guard(connection)
        connection.execute(delete(table).where(table.c.number <= upto, table.c[column].in_(which)))


def _drop_lapsed(engine: Engine, guard: Callable[[Connection], None], upto: int) -> None:
    """Drop what the snapshot up to a number stands for: cycles, workflows, ticks and searches."""
    columns = schema.journal.c
    lapsed = select(columns.number).where(columns.number <= upto, columns.job.is_(None), columns.kind.in_(LAPSED))
    with engine.connect() as connection:
        gone = [int(number) for number in connection.scalars(lapsed)]
    for at in range(0, len(gone), AT_ONCE):
        _drop(engine, guard, upto, "number", gone[at : at + AT_ONCE])


def _drop_classes(engine: Engine, guard: Callable[[Connection], None], upto: int) -> None:
    """Drop why classes waited that none of the jobs that stay ever stood in."""
    columns = schema.journal.c
    kept: set[int] = set()
    with engine.connect() as connection:
        joins = select(columns.number, columns.body).where(columns.kind == "Joined", columns.number <= upto)
        for number, body in connection.execute(joins):
            record = decode(body, f"record {number} of the journal")
            if isinstance(record, Joined):
                kept.add(record.cls)
        said = select(columns.cls).where(columns.cls.is_not(None), columns.number <= upto).distinct()
        gone = sorted(int(cls) for cls in connection.scalars(said) if cls is not None and cls not in kept)
    for at in range(0, len(gone), AT_ONCE):
        _drop(engine, guard, upto, "cls", gone[at : at + AT_ONCE])
