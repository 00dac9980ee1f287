"""From the tables of an older version to those of this one, a step for each version, in Alembic's operations.

A step is never changed once it was released. Imported only where there is something to do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from alembic.migration import MigrationContext
from alembic.operations import Operations
from sqlalchemy import BigInteger, Column, Integer, LargeBinary, Text, update

from clearway.store import schema

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy import Connection


def _snapshots_and_leader(op: Operations) -> None:
    number = BigInteger().with_variant(Integer(), "sqlite")
    op.create_table(
        "snapshot",
        Column("number", number, primary_key=True, autoincrement=False),
        Column("at_us", BigInteger, nullable=False),
        Column("parts", Integer, nullable=False),
        Column("checksum", Text, nullable=False),
    )
    op.create_table(
        "snapshot_part",
        Column("number", number, primary_key=True, autoincrement=False),
        Column("part", Integer, primary_key=True, autoincrement=False),
        Column("body", LargeBinary, nullable=False),
    )
    op.create_table(
        "leader",
        Column("id", Integer, primary_key=True, autoincrement=False),
        Column("term", BigInteger, nullable=False),
        Column("holder", Text, nullable=False),
        Column("until_us", BigInteger, nullable=False),
    )


STEPS: dict[int, Callable[[Operations], None]] = {2: _snapshots_and_leader}
"""What leads to each version from the one before it."""


def upgrade(connection: Connection, found: int) -> None:
    """Bring tables of the version `found` up to this one, in the transaction of the connection."""
    op = Operations(MigrationContext.configure(connection))
    for version in range(found + 1, schema.VERSION + 1):
        STEPS[version](op)
    connection.execute(update(schema.meta).where(schema.meta.c.key == "version").values(value=str(schema.VERSION)))
