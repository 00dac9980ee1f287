"""A journal in an SQLite database: one file that anyone can look into, and that survives a kill at any instant."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from sqlalchemy import QueuePool, create_engine, event

from clearway.model.errors import NotFoundError, StoreError
from clearway.store.lock import PRIVATE, WriterLock
from clearway.store.sql import SqlJournal

if TYPE_CHECKING:
    from sqlalchemy import Engine
    from sqlalchemy.exc import DBAPIError

BUSY_TIMEOUT_S = 5.0
"""How long an append waits for a stranger (a backup, somebody's shell) that holds the database."""

_CAUSES = {
    "SQLITE_FULL": "the disk is full",
    "SQLITE_BUSY": "another program holds the database",
    "SQLITE_NOTADB": "the file is not a journal, or it is damaged",
    "SQLITE_CORRUPT": "the database is damaged",
    "SQLITE_READONLY": "the database may not be written",
    "SQLITE_CANTOPEN": "the file cannot be opened",
    "SQLITE_IOERR": "the disk answers with an error",
}


class SqliteJournal(SqlJournal):
    """A `ports.Journal` in the file `path`, which is made, mode 0600, where there is none.

    `synchronous` full: an append survives a power cut. normal: it survives the death of the process, and a power
    cut may take the newest appends, whole ones. Any thread may read; one at a time may append.
    """

    def __init__(
        self, path: Path | str, *, synchronous: str = "full", writes: bool = True, any_version: bool = False
    ) -> None:
        """Open for writing. ConflictError: another process does so already. StoreError: it cannot be used.

        Not `writes`: only to read, also while a controller writes. NotFoundError: there is none.
        """
        self.path = Path(path)
        self.place = str(path)
        self._synchronous = synchronous
        if not writes and not self.path.is_file():
            raise NotFoundError(f"there is no journal at {path}: no controller has run there yet")
        self._lock = WriterLock(self.path) if writes else None
        try:
            self._inode = self._make_file() if writes else self.path.stat().st_ino
            super().__init__(self._make_engine(writes=writes), upgrades=writes, writes=writes, any_version=any_version)
        except BaseException:
            self._release()
            raise

    def close(self) -> None:
        """Give the journal up; another writer may open it. Calling it again does nothing."""
        super().close()
        self._release()

    def _release(self) -> None:
        if self._lock is not None:
            self._lock.release()

    # --- opening -------------------------------------------------------------------------------

    def _make_file(self) -> int:
        # SQLite gives its side files the mode of the main one, so that only this one has to be made by hand. The
        # mode of one that is there is narrowed when it is known to be a journal: it may be a link to anything.
        try:
            file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, PRIVATE)
        except OSError as error:
            raise StoreError(f"the journal {self.path} cannot be opened: {error.strerror}") from error
        try:
            return os.fstat(file).st_ino
        finally:
            os.close(file)

    def _make_engine(self, *, writes: bool) -> Engine:
        place = f"file:{quote(str(self.path.absolute()))}?mode={'rw' if writes else 'ro'}"

        def connect() -> sqlite3.Connection:
            return sqlite3.connect(place, uri=True, timeout=BUSY_TIMEOUT_S, check_same_thread=False)

        engine = create_engine("sqlite://", creator=connect, poolclass=QueuePool, max_overflow=-1)

        @event.listens_for(engine, "connect")
        def _settle(connection: sqlite3.Connection, _: object) -> None:
            if writes:
                connection.execute("PRAGMA journal_mode=WAL")
            connection.execute(f"PRAGMA synchronous={self._synchronous}")

        return engine

    def _made(self) -> None:
        try:
            self.path.chmod(PRIVATE)
        except OSError as error:
            raise StoreError(f"the journal {self.path} cannot be kept from others: {error.strerror}") from error

    # --- looking after it ----------------------------------------------------------------------

    def faults(self) -> list[str]:
        """Return what SQLite's own check says is wrong."""
        with self.reading() as connection:
            said = connection.exec_driver_sql("PRAGMA integrity_check").scalars().all()
        return [] if list(said) == ["ok"] else [str(line) for line in said]

    def shrink(self) -> None:
        """Give back the space of what was dropped, by writing the file anew."""
        self._drop_writer()
        with self._told("written"), self._engine.connect() as connection:
            free = connection.execution_options(isolation_level="AUTOCOMMIT")
            free.exec_driver_sql("VACUUM")
            free.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")

    # --- what goes wrong -----------------------------------------------------------------------

    def _check_there(self) -> None:
        super()._check_there()
        # SQLite writes on into a file that has been deleted, and says nothing.
        try:
            same = self.path.stat().st_ino == self._inode
        except OSError:
            same = False
        if not same:
            raise StoreError(f"the journal cannot be written: {self.path} is gone from its place")

    def _cause(self, error: DBAPIError) -> str:
        code = getattr(error.orig, "sqlite_errorname", "")
        kind = "_".join(code.split("_")[:2])
        return f"{_CAUSES[kind]} ({error.orig})" if kind in _CAUSES else str(error.orig)
