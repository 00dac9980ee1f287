"""A PostgreSQL database of the storms' own on a server, empty for each of them."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

from sqlalchemy import create_engine, text
from sqlalchemy.engine import make_url

from clearway.store import schema
from clearway.store.postgres import PostgresJournal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from sqlalchemy import URL

    from clearway.ports.journal import Journal


@contextmanager
def database(address: str) -> Iterator[Callable[[str], Journal]]:
    """Yield what opens an empty journal again and again, in a database that is made for that on a server.

    `address` is that of any database of the server; its user must be allowed to make others.
    """
    server = make_url(address).set(drivername="postgresql+psycopg")
    name = f"clearway_storm_{os.getpid()}"
    own = make_url(address).set(database=name)
    _tell(server, f'CREATE DATABASE "{name}"')
    try:
        yield lambda _: _empty(own)
    finally:
        _tell(server, f'DROP DATABASE "{name}"')


def _empty(url: URL) -> PostgresJournal:
    engine = create_engine(url.set(drivername="postgresql+psycopg"))
    schema.TABLES.drop_all(engine)
    engine.dispose()
    return PostgresJournal(url.render_as_string(hide_password=False))


def _tell(server: URL, what: str) -> None:
    engine = create_engine(server, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(text(what))
    engine.dispose()
