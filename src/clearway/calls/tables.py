"""Where the tables of calls are: what the queue needs of a database."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from sqlalchemy import delete, func, insert, inspect, select, text, update
from sqlalchemy.schema import CreateColumn

from clearway.calls import schema
from clearway.model.errors import StoreError

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from sqlalchemy import Connection


_VERSION = "version"


class Tables(Protocol):
    """A database. One thread at a time writes; any may read."""

    place: str
    """Where it is, for messages."""

    def writing(self) -> AbstractContextManager[Connection]:
        """Yield a connection whose writes are kept together when the block ends, or not at all."""
        ...

    def reading(self) -> AbstractContextManager[Connection]:
        """Yield a connection to read."""
        ...


def prepare(tables: Tables) -> None:
    """Make the tables where there are none, and bring those of an earlier version up to this one.

    StoreError: they are of a newer version.
    """
    with tables.writing() as connection:
        version = _version(connection, tables.place)
        if version == schema.VERSION:
            return
        schema.TABLES.create_all(connection)
        if version:
            _bring_up(connection)
        connection.execute(delete(schema.meta).where(schema.meta.c.key == _VERSION))
        connection.execute(insert(schema.meta).values(key=_VERSION, value=str(schema.VERSION)))


def _version(connection: Connection, place: str) -> int:
    """Return the version of the tables that are there, 0 where there are none."""
    if schema.meta.name not in inspect(connection).get_table_names():
        return 0
    said = connection.scalar(select(schema.meta.c.value).where(schema.meta.c.key == _VERSION)) or ""
    if not said.isdecimal() or int(said) > schema.VERSION:
        raise StoreError(
            f"the calls of {place} were written by a newer version of Clearway: their tables have version "
            f"{said}, this one knows {schema.VERSION}; they were left as they are"
        )
    return int(said)


def _bring_up(connection: Connection) -> None:
    """Add what version 2 has and version 1 has not (tables alone are version 3's). Whatever is there counts as used."""
    for column in (schema.pool.c.over_us, schema.recipe.c.last):
        there = {one["name"] for one in inspect(connection).get_columns(column.table.name)}
        if column.name not in there:  # an upgrade that was killed has left it
            made = CreateColumn(column).compile(dialect=connection.dialect)
            connection.execute(text(f"ALTER TABLE {column.table.name} ADD COLUMN {made}"))
    for index in (*schema.call.indexes, *schema.entry.indexes):
        index.create(connection, checkfirst=True)
    newest = select(func.coalesce(func.max(schema.call.c.id), 0)).scalar_subquery()
    connection.execute(update(schema.recipe).values(last=newest))
