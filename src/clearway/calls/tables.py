"""Where the tables of calls are: what the queue needs of a database."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from sqlalchemy import insert, inspect, select

from clearway.calls import schema
from clearway.model.errors import StoreError

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from sqlalchemy import Connection


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
    """Make the tables where there are none. StoreError: they are of a newer version."""
    with tables.writing() as connection:
        if schema.meta.name not in inspect(connection).get_table_names():
            schema.TABLES.create_all(connection)
            connection.execute(insert(schema.meta).values(key="version", value=str(schema.VERSION)))
            return
        said = connection.scalar(select(schema.meta.c.value).where(schema.meta.c.key == "version")) or ""
        if not said.isdecimal() or int(said) > schema.VERSION:
            raise StoreError(
                f"the calls of {tables.place} were written by a newer version of Clearway: their tables have version "
                f"{said}, this one knows {schema.VERSION}; they were left as they are"
            )
