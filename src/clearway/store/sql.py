"""What a journal is in any database of SQLAlchemy: records, notes and snapshots in one schema."""

from __future__ import annotations

import hashlib
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from sqlalchemy import delete, func, insert, inspect, select
from sqlalchemy.exc import DBAPIError

from clearway.model.errors import ConflictError, NotFoundError, StoreError
from clearway.model.ids import JobId
from clearway.ports.journal import Entry, Mark
from clearway.store import schema
from clearway.store.codec import decode, decode_parts, row_of
from clearway.store.thinning import thin

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    from msgspec.json import Decoder
    from sqlalchemy import Connection, Engine, Select

    from clearway.model.events import Record
    from clearway.model.ids import ClassId

T = TypeVar("T")
ROWS_AT_ONCE = 50
"""How many records a reader holds: one may be some megabytes large."""
PARTS_AT_ONCE = 100
JOBS_AT_ONCE = 500
"""The same for who reads parts of them, and is done with them at once."""
PART_BYTES = 1 << 20
"""Size of the parts of a snapshot: written in some milliseconds each, which is how long an append may wait for one."""
FLOOR = "floor"


class SqlJournal:
    """A `ports.Journal` in a database. Any thread may read; one at a time may append.

    A kind of database adds how it is opened, what keeps a second writer out, and what its errors mean.
    """

    place: str
    """Where it is, for messages; without a password."""
    term: int = 0
    """The term by which it is led; 0 where only a lock keeps others out."""

    def __init__(
        self, engine: Engine, *, upgrades: bool = False, writes: bool = True, any_version: bool = False
    ) -> None:
        """Open it: make the tables where there are none; `upgrades`: bring older ones up to this version.

        Not `writes`: only to read, also while another one writes; what is not there is not made. `any_version`: older
        tables are left as they are, and only `version` is to be asked.
        """
        self._engine, self._writes, self._any_version = engine, writes, any_version
        self._writer: Connection | None = None
        self.on_deposed: Callable[[], None] = _nothing
        """Called, in any thread, when another one is seen to lead. Every later write raises DeposedError anyway."""
        self._open, self._doubtful = True, False
        try:
            self._last = self._prepare(upgrades=upgrades)
        except BaseException:
            engine.dispose()
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
            # A commit that failed late may be there all the same: the next append removes it first.
            self._doubtful = True
            self._drop_writer()
            raise
        self._doubtful = False
        self._last += len(rows)
        return self._last

    def read(self, after: int = 0) -> Iterator[Entry]:
        """Yield entries with a number above `after`, in order, in bounded memory. StoreError where one is missing."""
        floor = self.floor()
        expected = after + 1
        for entry in self._stream(select(schema.journal).where(schema.journal.c.number > after)):
            if entry.number != expected and (entry.number > floor + 1 or expected > floor):
                raise StoreError(f"the journal {self.place} is damaged: record {max(expected, floor + 1)} is missing")
            expected = entry.number + 1
            yield entry

    def of_job(self, job: JobId) -> Iterator[Entry]:
        """Yield the records that name this job, in order."""
        return self._stream(select(schema.journal).where(schema.journal.c.job == job))

    def of_class(self, cls: ClassId) -> Iterator[Entry]:
        """Yield the ClassWaits records of a class, in order."""
        return self._stream(select(schema.journal).where(schema.journal.c.cls == cls))

    def of_kinds(self, kinds: Collection[str], after: int, up_to: int) -> Iterator[Entry]:
        """Yield the records of these types' names with a number above `after` and at most `up_to`, in order."""
        columns = schema.journal.c
        within = (columns.number > after) & (columns.number <= up_to) & columns.kind.in_(sorted(kinds))
        return self._stream(select(schema.journal).where(within))

    def read_as(self, reader: Decoder[T], kinds: Collection[str], after: int, up_to: int) -> Iterator[T]:
        """Yield the records of these types' names as a decoder reads their JSON, in order."""
        columns = schema.journal.c
        within = (columns.number > after) & (columns.number <= up_to) & columns.kind.in_(sorted(kinds))
        return self._parts(select(columns.body).where(within).order_by(columns.number), reader)

    def read_of(self, reader: Decoder[T], kinds: Collection[str], jobs: Collection[JobId]) -> Iterator[T]:
        """Yield the records of these types' names that name one of these jobs, as a decoder reads their JSON."""
        columns = schema.journal.c
        wanted = list(dict.fromkeys(jobs))
        for at in range(0, len(wanted), JOBS_AT_ONCE):
            # No bounds by number: they would have the database go through all of them, not through the jobs' own.
            named = columns.job.in_(wanted[at : at + JOBS_AT_ONCE]) & columns.kind.in_(sorted(kinds))
            yield from self._parts(select(columns.body).where(named).order_by(columns.job, columns.number), reader)

    def _parts(self, query: Select[Any], reader: Decoder[T]) -> Iterator[T]:
        with (
            self._told("read"),
            self._engine.connect() as connection,
            closing(connection.execution_options(yield_per=PARTS_AT_ONCE).execute(query)) as found,
        ):
            for rows in found.partitions():
                yield from decode_parts([row[0] for row in rows], reader, f"a record of the journal {self.place}")

    def before(self, at_us: int) -> int:
        """Return the number of the last record of an earlier moment, 0 if there is none.

        Moments never go back from one record to the next: halving finds it, without an index of its own.
        """
        columns = schema.journal.c
        low, high = 0, self._last
        with self.reading() as connection:
            while low < high:  # records up to `low` are earlier, those above `high` are not
                middle = (low + high + 1) // 2
                query = select(columns.number, columns.at_us).where(columns.number <= middle)
                number, moment_us = _first(connection, query.order_by(columns.number.desc()).limit(1))
                if moment_us < at_us:
                    low = middle
                else:
                    high = number - 1
            return connection.scalar(select(func.max(columns.number)).where(columns.number <= low)) or 0

    def last(self) -> int:
        """Return the number of the last record, 0 if there is none."""
        return self._last

    def remember(self, key: str, text: str) -> None:
        """Keep a text under a key, in place of an earlier one."""
        self._check_there()
        with self._told("written"), self._engine.begin() as connection:
            self._guard(connection)
            _note(connection, key, text)

    def recall(self, key: str) -> str | None:
        """Return the text kept under a key, None if there is none."""
        with self._told("read"), self._engine.connect() as connection:
            return connection.scalar(select(schema.meta.c.value).where(schema.meta.c.key == key))

    def close(self) -> None:
        """Give the journal up; another writer may open it. Calling it again does nothing."""
        self._open = False
        self._drop_writer()
        self._engine.dispose()

    # --- snapshots -----------------------------------------------------------------------------

    def keep(self, mark: Mark, body: bytes) -> None:
        """Keep a snapshot: its parts one by one, then the row that says that it is whole."""
        self._check_there()
        table, row = schema.snapshot_part, schema.snapshot
        parts = [body[at : at + PART_BYTES] for at in range(0, len(body), PART_BYTES)]
        with self._told("written"):
            with self._engine.begin() as connection:
                self._guard(connection)
                whole = select(row.c.number).where(row.c.number != mark.number)
                connection.execute(delete(row).where(row.c.number == mark.number))
                connection.execute(delete(table).where(table.c.number.not_in(whole)))  # also what a kill left half done
            for number, part in enumerate(parts):
                with self._engine.begin() as connection:
                    self._guard(connection)
                    connection.execute(insert(table).values(number=mark.number, part=number, body=part))
            with self._engine.begin() as connection:
                self._guard(connection)
                checksum = hashlib.sha256(body).hexdigest()
                connection.execute(insert(row).values(**mark._asdict(), parts=len(parts), checksum=checksum))

    def marks(self) -> list[Mark]:
        """Return the snapshots that are there, newest first."""
        table = schema.snapshot
        query = select(table.c.number, table.c.at_us).order_by(table.c.number.desc())
        with self._told("read"), self._engine.connect() as connection:
            return [Mark(number, at_us) for number, at_us in connection.execute(query)]

    def snapshot(self, mark: Mark) -> bytes:
        """Return the bytes of a snapshot. StoreError: it is not there, or damaged."""
        row, part = schema.snapshot, schema.snapshot_part
        with self._told("read"), self._engine.connect() as connection:
            checksum = connection.scalar(select(row.c.checksum).where(row.c.number == mark.number))
            query = select(part.c.body).where(part.c.number == mark.number).order_by(part.c.part)
            body = b"".join(connection.scalars(query))
        if checksum is None:
            raise StoreError(f"the journal {self.place} has no snapshot at record {mark.number}")
        if hashlib.sha256(body).hexdigest() != checksum:
            raise StoreError(f"the snapshot at record {mark.number} of the journal {self.place} is damaged")
        return body

    def forget(self, mark: Mark) -> None:
        """Drop a snapshot. That at `floor` is never dropped: ConflictError."""
        if mark.number == self.floor():
            raise ConflictError(f"the snapshot at record {mark.number} stands for records that are gone: it stays")
        with self._told("written"), self._engine.begin() as connection:
            self._guard(connection)
            for table in (schema.snapshot, schema.snapshot_part):
                connection.execute(delete(table).where(table.c.number == mark.number))

    def floor(self) -> int:
        """Return up to which number records may be gone, 0 if all are there."""
        return int(self.recall(FLOOR) or 0)

    def thin(self, mark: Mark, ended_before_us: int) -> list[JobId]:
        """Drop the records up to a snapshot of the jobs that were over before a moment, and return these jobs.

        The floor is raised first: a kill in between leaves records that nobody needs, to be dropped next time.
        """
        self.snapshot(mark)
        if mark.number > self.floor():
            self.remember(FLOOR, str(mark.number))
        with self._told("written"):
            return [JobId(job) for job in thin(self._engine, self._guard, mark.number, ended_before_us)]

    # --- for whoever copies or looks after it --------------------------------------------------

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Yield a connection to read with."""
        with self._told("read"), self._engine.connect() as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Yield a connection whose writes are kept together when the block ends, or not at all."""
        self._check_there()
        with self._told("written"), self._engine.begin() as connection:
            self._guard(connection)
            yield connection

    def reread(self) -> None:
        """Look anew which record is the last: somebody else wrote."""
        with self.reading() as connection:
            self._last = connection.scalar(select(func.max(schema.journal.c.number))) or 0

    def version(self) -> int:
        """Return the version of the tables."""
        return int(self.recall("version") or 0)

    def count(self) -> int:
        """Return how many records are there."""
        with self.reading() as connection:
            return connection.scalar(select(func.count()).select_from(schema.journal)) or 0

    def faults(self) -> list[str]:
        """Return what the database itself says is wrong with it."""
        return []

    def shrink(self) -> None:
        """Give back the space of what was dropped. Takes as long as copying all of it; nobody may write meanwhile."""

    # --- opening -------------------------------------------------------------------------------

    def _prepare(self, *, upgrades: bool) -> int:
        with self._told("opened"), self._engine.begin() as connection:
            tables = set(inspect(connection).get_table_names())
            if tables and schema.meta.name not in tables:
                raise StoreError(f"{self.place} is a database of something else: it holds {', '.join(sorted(tables))}")
            if not self._writes and schema.meta.name not in tables:
                raise NotFoundError(f"there is no journal at {self.place}: no controller has run there yet")
            if tables:
                self._see_to_version(connection, upgrades=upgrades)
            else:
                schema.TABLES.create_all(connection)
                _note(connection, "version", str(schema.VERSION))
            if self._writes:
                self._made()
            return connection.scalar(select(func.max(schema.journal.c.number))) or 0

    def _see_to_version(self, connection: Connection, *, upgrades: bool) -> None:
        said = connection.scalar(select(schema.meta.c.value).where(schema.meta.c.key == "version")) or ""
        found = int(said) if said.isdecimal() else schema.VERSION + 1
        if found > schema.VERSION:
            raise StoreError(
                f"the journal {self.place} was written by a newer version of Clearway: its tables have version "
                f"{said}, this one knows {schema.VERSION}; it was left as it is"
            )
        if self._any_version:
            return
        if found < schema.VERSION and not upgrades:
            raise StoreError(
                f"the tables of the journal {self.place} have version {found}, this one needs {schema.VERSION}: "
                "stop every controller on it, then run `clearway db upgrade`"
            )
        if found < schema.VERSION:
            from clearway.store.migrations import upgrade  # noqa: PLC0415  Alembic is loaded where it has work

            upgrade(connection, found)

    # --- what a kind of database adds ----------------------------------------------------------

    def _made(self) -> None:
        """Be told, inside the transaction that opens it, that this is a journal."""

    def _check_there(self) -> None:
        """Raise StoreError where nothing may be written any more."""
        if not self._open:
            raise StoreError(f"the journal {self.place} is closed")
        if not self._writes:
            raise StoreError(f"the journal {self.place} was opened to be read only")

    def _guard(self, connection: Connection) -> None:
        """Raise StoreError, inside the transaction of a write, where another one writes now."""

    def _cause(self, error: DBAPIError) -> str:
        """Return what an error of the database means."""
        return str(error.orig)

    # --- writing and reading -------------------------------------------------------------------

    def _insert(self, rows: list[dict[str, object]]) -> None:
        if self._writer is None:
            self._writer = self._engine.connect()
        with self._writer.begin():
            self._guard(self._writer)
            if self._doubtful:
                self._writer.execute(delete(schema.journal).where(schema.journal.c.number > self._last))
            self._put(self._writer, rows)

    def _put(self, connection: Connection, rows: list[dict[str, object]]) -> None:
        connection.execute(insert(schema.journal), rows)

    def _stream(self, query: Select[tuple[int, int, str, int | None, int | None, bytes]]) -> Iterator[Entry]:
        columns = schema.journal.c
        ordered = query.with_only_columns(columns.number, columns.body).order_by(columns.number)
        with self._told("read"), self._engine.connect() as connection:
            streaming = connection.execution_options(stream_results=True, max_row_buffer=ROWS_AT_ONCE)
            with closing(streaming.execute(ordered)) as rows:  # also where the reader leaves before the end
                for number, body in rows:
                    yield Entry(number, decode(body, f"record {number} of the journal {self.place}"))

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
            raise StoreError(f"the journal {self.place} cannot be {what}: {self._cause(error)}") from error


def _first(connection: Connection, query: Select[Any]) -> tuple[int, int]:
    """Return the first row, of number and moment; before all of them where there is none."""
    found = connection.execute(query).first()
    return (0, -1) if found is None else (int(found[0]), int(found[1]))


def _nothing() -> None:
    """Do nothing."""


def _note(connection: Connection, key: str, text: str) -> None:
    connection.execute(delete(schema.meta).where(schema.meta.c.key == key))
    connection.execute(insert(schema.meta).values(key=key, value=text))
