"""A journal copied into another one, of whatever kind, while somebody may go on writing the first."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from sqlalchemy import func, insert, select

from clearway.model.errors import ConflictError, StoreError
from clearway.store import schema
from clearway.store.sql import FLOOR, SqlJournal

if TYPE_CHECKING:
    from sqlalchemy import Connection

ROWS = 1000
TRIES = 3
"""Where old records are dropped meanwhile the copy begins anew; that happens once in many thousand records."""
NOT_COPIED = frozenset({"version", FLOOR})


def copy(source: SqlJournal, target: SqlJournal) -> int:
    """Copy records, snapshots and notes into an empty journal; return the number of the last record.

    ConflictError: the target holds records already.
    """
    if target.last():
        raise ConflictError(f"the journal {target.place} holds {target.last()} records already")
    for _ in range(TRIES):
        floor = source.floor()
        last = _copy(source, target, floor)
        if source.floor() == floor:
            target.reread()
            return last
        _empty(target)
    raise StoreError(f"the journal {source.place} drops records all the while: it cannot be copied now")


def _copy(source: SqlJournal, target: SqlJournal, floor: int) -> int:
    with source.reading() as reader, target.writing() as writer:
        last = reader.scalar(select(func.max(schema.journal.c.number))) or 0
        _notes(reader, writer)
        if floor:
            writer.execute(insert(schema.meta).values(key=FLOOR, value=str(floor)))
        for mark in source.marks():
            if mark.number <= last:
                _snapshot(reader, writer, mark.number)
        table = schema.journal
        rows = reader.execution_options(stream_results=True, max_row_buffer=ROWS).execute(
            select(table).where(table.c.number <= last).order_by(table.c.number)
        )
        while some := [row._asdict() for row in islice(rows, ROWS)]:
            writer.execute(insert(table), some)
        return last


def _notes(reader: Connection, writer: Connection) -> None:
    for row in reader.execute(select(schema.meta)).all():
        if row.key not in NOT_COPIED:
            writer.execute(schema.meta.delete().where(schema.meta.c.key == row.key))
            writer.execute(insert(schema.meta).values(key=row.key, value=row.value))


def _snapshot(reader: Connection, writer: Connection, number: int) -> None:
    row = reader.execute(select(schema.snapshot).where(schema.snapshot.c.number == number)).one_or_none()
    if row is None:
        return  # an old one that was dropped in this moment
    part = schema.snapshot_part
    for one in reader.execute(select(part).where(part.c.number == number).order_by(part.c.part)):
        writer.execute(insert(part), [one._asdict()])
    writer.execute(insert(schema.snapshot), [row._asdict()])


def _empty(target: SqlJournal) -> None:
    with target.writing() as writer:
        for table in (schema.journal, schema.snapshot, schema.snapshot_part):
            writer.execute(table.delete())
        writer.execute(schema.meta.delete().where(schema.meta.c.key != "version"))
