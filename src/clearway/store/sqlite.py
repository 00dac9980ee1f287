"""A journal in an SQLite database: one file that anyone can look into, and that survives a kill at any instant."""

from __future__ import annotations

import os
import sqlite3
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from sqlalchemy import QueuePool, create_engine, delete, event, func, insert, inspect, select
from sqlalchemy.exc import DBAPIError

from clearway.model.errors import StoreError
from clearway.ports.journal import Entry
from clearway.store import schema
from clearway.store.codec import decode, row_of
from clearway.store.lock import PRIVATE, WriterLock

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sqlalchemy import Connection, Engine, Select

    from clearway.model.events import Record
    from clearway.model.ids import ClassId, JobId

BUSY_TIMEOUT_S = 5.0
"""How long an append waits for a stranger (a backup, somebody's shell) that holds the database."""
ROWS_AT_ONCE = 50
"""How many records a reader holds: one may be some megabytes large."""

_CAUSES = {
    "SQLITE_FULL": "the disk is full",
    "SQLITE_BUSY": "another program holds the database",
    "SQLITE_NOTADB": "the file is not a journal, or it is damaged",
    "SQLITE_CORRUPT": "the database is damaged",
    "SQLITE_READONLY": "the database may not be written",
    "SQLITE_CANTOPEN": "the file cannot be opened",
    "SQLITE_IOERR": "the disk answers with an error",
}


class SqliteJournal:
    """A `ports.Journal` in the file `path`, which is made, mode 0600, where there is none.

    `synchronous` full: an append survives a power cut. normal: it survives the death of the process, and a power
    cut may take the newest appends, whole ones. Any thread may read; one at a time may append.
    """

    def __init__(self, path: Path | str, *, synchronous: str = "full") -> None:
        """Open for writing. ConflictError: another process does so already. StoreError: it cannot be used."""
        self.path = Path(path)
        self._synchronous = synchronous
        self._lock = WriterLock(self.path)
        self._writer: Connection | None = None
        self._open, self._doubtful = True, False
        try:
            self._inode = self._make_file()
            self._engine = self._make_engine()
            self._last = self._prepare_or_drop()
        except BaseException:
            self._lock.release()
            raise

    def append(self, records: Sequence[Record]) -> int:
        """Add records in one transaction, and return the number of the last one.

        StoreError: none of them is there, and none will be unless it is appended again.
        """
        if not records:
            return self._last
        rows = [{"number": n, **row_of(r)._asdict()} for n, r in enumerate(records, self._last + 1)]
        self._check_there()
        try:
            with self._told("written"):
                self._insert(rows)
        except StoreError:
            # A commit that failed late may be on the disk all the same: the next append removes it first.
            self._doubtful = True
            self._drop_writer()
            raise
        self._doubtful = False
        self._last += len(rows)
        return self._last

    def read(self, after: int = 0) -> Iterator[Entry]:
        """Yield entries with a number above `after`, in order, in bounded memory. StoreError where one is missing."""
        expected = after + 1
        for entry in self._stream(select(schema.journal).where(schema.journal.c.number > after)):
            if entry.number != expected:
                raise StoreError(f"the journal {self.path} is damaged: record {expected} is missing")
            expected += 1
            yield entry

    def of_job(self, job: JobId) -> Iterator[Entry]:
        """Yield the records that name this job, in order."""
        return self._stream(select(schema.journal).where(schema.journal.c.job == job))

    def of_class(self, cls: ClassId) -> Iterator[Entry]:
        """Yield the ClassWaits records of a class, in order."""
        return self._stream(select(schema.journal).where(schema.journal.c.cls == cls))

    def last(self) -> int:
        """Return the number of the last record, 0 if there is none."""
        return self._last

    def remember(self, key: str, text: str) -> None:
        """Keep a text under a key, in place of an earlier one."""
        with self._told("written"), self._engine.begin() as connection:
            connection.execute(delete(schema.meta).where(schema.meta.c.key == key))
            connection.execute(insert(schema.meta).values(key=key, value=text))

    def recall(self, key: str) -> str | None:
        """Return the text kept under a key, None if there is none."""
        with self._told("read"), self._engine.connect() as connection:
            return connection.scalar(select(schema.meta.c.value).where(schema.meta.c.key == key))

    def close(self) -> None:
        """Give the journal up; another writer may open it. Calling it again does nothing."""
        self._open = False
        self._drop_writer()
        self._engine.dispose()
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

    def _make_engine(self) -> Engine:
        place = f"file:{quote(str(self.path.absolute()))}?mode=rw"

        def connect() -> sqlite3.Connection:
            return sqlite3.connect(place, uri=True, timeout=BUSY_TIMEOUT_S, check_same_thread=False)

        engine = create_engine("sqlite://", creator=connect, poolclass=QueuePool, max_overflow=-1)

        @event.listens_for(engine, "connect")
        def _settle(connection: sqlite3.Connection, _: object) -> None:
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute(f"PRAGMA synchronous={self._synchronous}")

        return engine

    def _prepare_or_drop(self) -> int:
        try:
            return self._prepare()
        except BaseException:
            self._engine.dispose()
            raise

    def _prepare(self) -> int:
        with self._told("opened"), self._engine.begin() as connection:
            tables = set(inspect(connection).get_table_names())
            if tables and schema.meta.name not in tables:
                raise StoreError(f"{self.path} is a database of something else: it holds {', '.join(sorted(tables))}")
            schema.TABLES.create_all(connection)
            self._check_version(connection)
            self._narrow()
            return connection.scalar(select(func.max(schema.journal.c.number))) or 0

    def _narrow(self) -> None:
        try:
            self.path.chmod(PRIVATE)
        except OSError as error:
            raise StoreError(f"the journal {self.path} cannot be kept from others: {error.strerror}") from error

    def _check_version(self, connection: Connection) -> None:
        found = connection.scalar(select(schema.meta.c.value).where(schema.meta.c.key == "version"))
        if found is None:
            connection.execute(insert(schema.meta).values(key="version", value=str(schema.VERSION)))
        elif not found.isdecimal() or int(found) > schema.VERSION:
            raise StoreError(
                f"the journal {self.path} was written by a newer version of Clearway: its tables have version "
                f"{found}, this one knows {schema.VERSION}; it was left as it is"
            )

    # --- writing and reading -------------------------------------------------------------------

    def _insert(self, rows: list[dict[str, object]]) -> None:
        if self._writer is None:
            self._writer = self._engine.connect()
        with self._writer.begin():
            if self._doubtful:
                self._writer.execute(delete(schema.journal).where(schema.journal.c.number > self._last))
            self._writer.execute(insert(schema.journal), rows)

    def _stream(self, query: Select[tuple[int, int, str, int | None, int | None, bytes]]) -> Iterator[Entry]:
        columns = schema.journal.c
        ordered = query.with_only_columns(columns.number, columns.body).order_by(columns.number)
        with self._told("read"), self._engine.connect() as connection:
            streaming = connection.execution_options(stream_results=True, max_row_buffer=ROWS_AT_ONCE)
            for number, body in streaming.execute(ordered):
                yield Entry(number, decode(body, f"record {number} of the journal {self.path}"))

    def _check_there(self) -> None:
        if not self._open:
            raise StoreError(f"the journal {self.path} is closed")
        # SQLite writes on into a file that has been deleted, and says nothing.
        try:
            same = self.path.stat().st_ino == self._inode
        except OSError:
            same = False
        if not same:
            raise StoreError(f"the journal cannot be written: {self.path} is gone from its place")

    def _drop_writer(self) -> None:
        if self._writer is not None:
            self._writer.invalidate()
            self._writer.close()
            self._writer = None

    @contextmanager
    def _told(self, what: str) -> Iterator[None]:
        try:
            yield
        except DBAPIError as error:
            raise StoreError(f"the journal {self.path} cannot be {what}: {_cause(error)}") from error


def _cause(error: DBAPIError) -> str:
    code = getattr(error.orig, "sqlite_errorname", "")
    kind = "_".join(code.split("_")[:2])
    return f"{_CAUSES[kind]} ({error.orig})" if kind in _CAUSES else str(error.orig)
