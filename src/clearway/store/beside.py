"""An SQLite file beside the journal, for tables of others: neither waits for what is written into the other."""

from __future__ import annotations

import os
import sqlite3
from contextlib import contextmanager
from typing import TYPE_CHECKING
from urllib.parse import quote

from sqlalchemy import QueuePool, create_engine, event
from sqlalchemy.exc import DBAPIError

from clearway.model.errors import StoreError
from clearway.store.lock import PRIVATE
from clearway.store.sqlite import BUSY_TIMEOUT_S

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from sqlalchemy import Connection, Engine


class SqliteBeside:
    """A database file, made with mode 0600 where there is none. Whoever has the journal is its one writer."""

    def __init__(self, path: Path, *, synchronous: str = "full") -> None:
        """Open it. StoreError: it cannot be used."""
        self.place = str(path)
        try:
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, PRIVATE))
        except OSError as error:
            raise StoreError(f"{path} cannot be opened: {error.strerror}") from error
        self._engine = _engine(path, synchronous)

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Yield a connection whose writes are kept together when the block ends, or not at all."""
        with self._told("written"), self._engine.begin() as connection:
            yield connection

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Yield a connection to read."""
        with self._told("read"), self._engine.connect() as connection:
            yield connection

    def close(self) -> None:
        """Give it up."""
        self._engine.dispose()

    @contextmanager
    def _told(self, what: str) -> Iterator[None]:
        try:
            yield
        except DBAPIError as error:
            raise StoreError(f"{self.place} cannot be {what}: {error.orig}") from error


def _engine(path: Path, synchronous: str) -> Engine:
    place = f"file:{quote(str(path.absolute()))}?mode=rw"

    def connect() -> sqlite3.Connection:
        return sqlite3.connect(place, uri=True, timeout=BUSY_TIMEOUT_S, check_same_thread=False)

    engine = create_engine("sqlite://", creator=connect, poolclass=QueuePool, max_overflow=-1)

    @event.listens_for(engine, "connect")
    def _settle(connection: sqlite3.Connection, _: object) -> None:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute(f"PRAGMA synchronous={synchronous}")

    return engine
