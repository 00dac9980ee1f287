"""A journal in a PostgreSQL database, which a standby shares: who writes it holds a lease, and each lease has a term.

Every write looks first, in its own transaction, whether the term is still its own: one who was deposed writes nothing
any more, whatever it believes. A lease that its holder does not renew runs out; where the holder is seen to be gone
(the server has closed its session, as after a kill) nobody waits for that. How long it was not renewed is measured by
whoever stands by, with a clock that nobody sets: a step of the server's wall clock ends no lease.
"""

from __future__ import annotations

import logging
import os
import re
import socket
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from sqlalchemy import bindparam, create_engine, insert, select, text, update
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, IntegrityError

from clearway.model.errors import ConflictError, DeposedError, InputError
from clearway.store import schema
from clearway.store.sql import SqlJournal

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine

LOG = logging.getLogger("clearway.store")
LEASE_S = 6.0
"""A leader that is not heard of for so long may be succeeded: with the looks of a standby that is well within 10 s."""
RENEWALS = 4
"""So often in the time of a lease it is renewed: two may fail."""
RELEASED = 0
"""Until when a lease holds that was given up."""
CONNECT_S = 5
SEAT = 0x636C7779
"""First number of the advisory locks, "clwy": the second is the term. Its holder's session is alive."""
_NOW_US = "CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000000 AS BIGINT)"
_ROW = schema.leader.c
_COLUMNS = {"number": "bigint", "at_us": "bigint", "kind": "text", "job": "bigint", "cls": "bigint", "body": "bytea"}
_PUT = text(
    f"INSERT INTO journal ({', '.join(_COLUMNS)}) "  # noqa: S608  names of our own
    f"SELECT * FROM unnest({', '.join(f'CAST(:{name} AS {kind}[])' for name, kind in _COLUMNS.items())})"
)
"""Writes many records with one statement: one a record took the server five times as long."""
_PASSWORD = re.compile(r"(//[^/@]*:)[^@]*@")


class Watch:
    """What somebody who stands by has seen of a lease: whether it was renewed, and since when it was not."""

    def __init__(self) -> None:
        """Begin without having seen any."""
        self._seen: tuple[int, int] | None = None
        self._since = 0.0

    def ran_out(self, term: int, until_us: int, lease_s: float) -> bool:
        """Look at a lease once more, and say whether it has not been renewed for its whole length."""
        now = time.monotonic()
        if (term, until_us) != self._seen:
            self._seen, self._since = (term, until_us), now
        return until_us == RELEASED or now - self._since >= lease_s


class PostgresJournal(SqlJournal):
    """A `ports.Journal` in the database at `url`. `term` grows with each leader; 0: opened to read only."""

    def __init__(
        self,
        url: str,
        *,
        writes: bool = True,
        any_version: bool = False,
        upgrades: bool = False,
        lease_s: float = LEASE_S,
        watch: Watch | None = None,
    ) -> None:
        """Open it, to write: take the lead. ConflictError: another one leads, and is named. StoreError: no use of it.

        Whoever stands by opens it with the same `watch` again and again. InputError: the address is none, or the
        driver is not installed.
        """
        engine = _engine(url)
        self.place = _PASSWORD.sub(r"\1***@", url)
        self._lease_us, self._watch = int(lease_s * 1e6), watch or Watch()
        self._seat: Connection | None = None
        self._renewing = threading.Event()
        self._thread: threading.Thread | None = None
        super().__init__(engine, upgrades=upgrades, writes=writes, any_version=any_version)
        if writes:
            try:
                self._lead()
            except BaseException:
                self.close()
                raise

    def close(self) -> None:
        """Give the lead up, and the journal. Calling it again does nothing."""
        self._renewing.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        if self._seat is not None:
            with suppress(DBAPIError):
                self._seat.execute(update(schema.leader).where(_ROW.term == self.term).values(until_us=RELEASED))
            self._leave_seat()
        super().close()

    # --- leading -------------------------------------------------------------------------------

    def _lead(self) -> None:
        with self._told("opened"):
            seat = self._seat = self._take_seat()
            found = seat.execute(select(schema.leader)).one_or_none()
            if found is None:
                self._first(seat)
            elif not self._is_free(seat, found.term, found.until_us):
                self._leave_seat()
                raise ConflictError(f"the journal {self.place} is written by {found.holder} (term {found.term})")
            else:
                self._succeed(seat, found.term)
            seat.execute(text("SELECT pg_advisory_lock(:seat, :term)"), {"seat": SEAT, "term": self.term})
        self.reread()
        self._thread = threading.Thread(target=self._renew_for_ever, name="clearway-lease", daemon=True)
        self._thread.start()

    def _take_seat(self) -> Connection:
        return self._engine.connect().execution_options(isolation_level="AUTOCOMMIT")

    def _leave_seat(self) -> None:
        if self._seat is not None:
            self._seat.invalidate()  # its session ends, and its lock with it
            self._seat.close()
            self._seat = None

    def _now_us(self, seat: Connection) -> int:
        return int(seat.scalar(text(f"SELECT {_NOW_US}")) or 0)

    def _is_free(self, seat: Connection, term: int, until_us: int) -> bool:
        return self._watch.ran_out(term, until_us, self._lease_us / 1e6) or self._is_gone(seat, term)

    def _is_gone(self, seat: Connection, term: int) -> bool:
        """Say whether the session of a leader has ended: then its lock is free."""
        numbers = {"seat": SEAT, "term": term}
        free = seat.scalar(text("SELECT pg_try_advisory_lock(:seat, :term)"), numbers)
        if free:
            seat.execute(text("SELECT pg_advisory_unlock(:seat, :term)"), numbers)
        return bool(free)

    def _first(self, seat: Connection) -> None:
        until_us = self._now_us(seat) + self._lease_us
        try:
            seat.execute(insert(schema.leader).values(id=1, term=1, holder=_me(), until_us=until_us))
        except IntegrityError:
            raise ConflictError(f"the journal {self.place} is written by another one since this moment") from None
        self.term = 1

    def _succeed(self, seat: Connection, term: int) -> None:
        until_us = self._now_us(seat) + self._lease_us
        took = seat.execute(
            update(schema.leader).where(_ROW.term == term).values(term=term + 1, holder=_me(), until_us=until_us)
        )
        if took.rowcount != 1:
            raise ConflictError(f"the journal {self.place} is written by another one since this moment")
        self.term = term + 1

    def _renew_for_ever(self) -> None:
        failing = False  # said once, not at each try
        while not self._renewing.wait(self._lease_us / 1e6 / RENEWALS):
            try:
                self._renew()
            except DBAPIError as error:
                if not failing:
                    LOG.warning("the lease of term %d cannot be renewed now: %s", self.term, self._cause(error))
                failing = True
                self._leave_seat()
            else:
                if failing:
                    LOG.warning("the lease of term %d is renewed again", self.term)
                failing = False

    def _renew(self) -> None:
        if self._seat is None:
            self._seat = self._take_seat()
            numbers = {"seat": SEAT, "term": self.term}
            self._seat.scalar(text("SELECT pg_try_advisory_lock(:seat, :term)"), numbers)
        until = text(f"{_NOW_US} + :lease").bindparams(bindparam("lease", self._lease_us))
        renewed = self._seat.execute(update(schema.leader).where(_ROW.term == self.term).values(until_us=until))
        if renewed.rowcount != 1:
            LOG.error("the journal %s is led by another controller since: term %d is over", self.place, self.term)
            self._renewing.set()
            self.on_deposed()

    def _put(self, connection: Connection, rows: list[dict[str, object]]) -> None:
        columns = {name: [row[name] for row in rows] for name in _COLUMNS}
        connection.execute(_PUT, columns)

    def _guard(self, connection: Connection) -> None:
        # The row stays locked until the write is over: nobody can take the lead in between.
        term = connection.scalar(select(_ROW.term).with_for_update(read=True))
        if term != self.term:
            raise DeposedError(f"the journal {self.place} is led by another controller since term {term}: it goes on")

    # --- what goes wrong -----------------------------------------------------------------------

    def _cause(self, error: DBAPIError) -> str:
        said = " ".join(str(error.orig).split())
        return f"the server cannot be reached ({said})" if error.connection_invalidated or not _state(error) else said


def _state(error: DBAPIError) -> str:
    """Return the SQL state of an error, "" where the server was not even asked."""
    return str(getattr(error.orig, "sqlstate", None) or "")


def _me() -> str:
    return f"process {os.getpid()} on {socket.gethostname()}"


def _engine(url: str) -> Engine:
    try:
        said = make_url(url).set(drivername="postgresql+psycopg")
        return create_engine(
            said, pool_size=5, max_overflow=-1, pool_pre_ping=False, connect_args={"connect_timeout": CONNECT_S}
        )
    except (ArgumentError, ValueError) as error:
        raise InputError("store", "an address", f"postgresql://USER@HOST:PORT/DATABASE ({error})") from None
    except ModuleNotFoundError:
        raise InputError("store", "postgresql://..", "with the driver: pip install 'clearway[postgres]'") from None
