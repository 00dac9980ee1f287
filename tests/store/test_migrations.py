"""Whatever version the tables had: after the steps they are those of the schema."""

from __future__ import annotations

from typing import TYPE_CHECKING

from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import create_engine

from clearway.store import schema
from clearway.store.migrations import STEPS, upgrade

if TYPE_CHECKING:
    from sqlalchemy import Connection

FIRST = ("journal", "meta")
"""The tables of version 1."""


def version_1(connection: Connection) -> None:
    for name in FIRST:
        schema.TABLES.tables[name].create(connection)
    connection.execute(schema.meta.insert().values(key="version", value="1"))


def test_every_version_has_its_step() -> None:
    assert list(STEPS) == list(range(2, schema.VERSION + 1))


def test_the_steps_lead_to_the_schema() -> None:
    engine = create_engine("sqlite://")
    with engine.begin() as connection:
        version_1(connection)
        upgrade(connection, 1)
        assert compare_metadata(MigrationContext.configure(connection), schema.TABLES) == []
        said = connection.exec_driver_sql("SELECT value FROM meta WHERE key='version'").scalar()
    engine.dispose()
    assert said == str(schema.VERSION)
