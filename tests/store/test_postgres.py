"""The journal in a real PostgreSQL server behaves as a journal, and has one leader at a time."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import time
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import text
from sqlalchemy.engine import make_url

from clearway.model import events as ev
from clearway.model.errors import ConflictError, DeposedError, InputError, NotFoundError, StoreError
from clearway.model.ids import JobId
from clearway.ports.journal import Mark
from clearway.store import schema
from clearway.store.postgres import LEASE_S, PostgresJournal, Watch
from clearway.testing.journals import LastingJournalSuite, numbered

if TYPE_CHECKING:
    from tests.servers import Server

pytestmark = [pytest.mark.slow, pytest.mark.real_engine]
TAKEOVER_S = 10.0
_numbers = itertools.count(1)


@pytest.fixture
def url(postgres: Server) -> str:
    return postgres.make(f"journal{next(_numbers)}")


class TestPostgresJournal(LastingJournalSuite):
    opener = "clearway.store.postgres:PostgresJournal"
    freed_s = 3.0  # the server sees the end of a session at once; on a busy machine that is seconds

    @pytest.fixture
    def place(self, url: str) -> str:
        return url


# --- one leader ----------------------------------------------------------------------------------


def test_terms_grow(url: str) -> None:
    for term in (1, 2, 3):
        journal = PostgresJournal(url)
        assert journal.term == term
        journal.close()


def test_a_reader_reads_beside_the_leader(url: str) -> None:
    leader = PostgresJournal(url)
    leader.append(numbered(3))
    reader = PostgresJournal(url, writes=False)
    assert [e.number for e in reader.read()] == [1, 2, 3]
    with pytest.raises(StoreError, match="to be read only"):
        reader.append(numbered(1))
    reader.close()
    leader.close()


def test_nothing_to_read(url: str) -> None:
    with pytest.raises(NotFoundError):
        PostgresJournal(url, writes=False)


def test_whoever_lost_the_lead_writes_nothing_any_more(url: str) -> None:
    """A leader that hung for longer than its lease is succeeded, and each of its writes is refused."""
    old = PostgresJournal(url, lease_s=0.5)
    old.append(numbered(2))
    old._renewing.set()  # as if it were stopped by its debugger: its session lives on
    watch = Watch()
    with pytest.raises(ConflictError, match=rf"is written by process {os.getpid()} on .* \(term 1\)"):
        PostgresJournal(url, lease_s=0.5, watch=watch)
    time.sleep(0.6)
    new = PostgresJournal(url, lease_s=0.5, watch=watch)
    assert (new.term, new.last()) == (2, 2)
    new.append(numbered(1, first=50))
    for write in (
        lambda: old.append(numbered(1)),
        lambda: old.remember("a", "b"),
        lambda: old.keep(Mark(1, 1), b""),
        lambda: old.append(numbered(1)),
    ):
        with pytest.raises(DeposedError, match="led by another controller since term 2"):
            write()
    assert [e.record.at_us for e in new.read()] == [1, 2, 50]
    assert new.recall("a") is None
    assert new.marks() == []
    old.close()
    assert new.append(numbered(1)) == 4
    new.close()


def test_whoever_lost_the_lead_is_told(url: str) -> None:
    told: list[int] = []
    old = PostgresJournal(url, lease_s=0.4)
    old.on_deposed = lambda: told.append(1)
    with old.writing() as connection:
        connection.execute(text("UPDATE leader SET until_us=0, term=7"))
    time.sleep(0.5)
    assert told == [1]
    old.close()


def test_after_a_kill_nobody_waits_for_the_lease(url: str) -> None:
    command = [sys.executable, "-m", "clearway.testing.journals", TestPostgresJournal.opener, url, str(10**9)]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    child.stdout.readline()
    child.kill()
    child.communicate()
    began = time.monotonic()
    while True:
        try:
            journal = PostgresJournal(url)
            break
        except ConflictError:
            assert time.monotonic() - began < TAKEOVER_S
            time.sleep(0.05)
    assert time.monotonic() - began < min(LEASE_S, TAKEOVER_S)
    assert journal.term == 2
    journal.close()


def test_a_step_of_the_servers_clock_ends_no_lease(url: str) -> None:
    leader, watch = PostgresJournal(url, lease_s=60), Watch()
    for until_us in ("1", "until_us + 7200000000"):
        with leader.writing() as connection:
            connection.execute(text(f"UPDATE leader SET until_us = {until_us}"))
        for _ in range(2):
            with pytest.raises(ConflictError):
                PostgresJournal(url, lease_s=60, watch=watch)
    assert leader.append(numbered(1)) == 1
    leader.close()


def test_a_lease_ends_when_it_is_seen_for_its_length_without_being_renewed(monkeypatch: pytest.MonkeyPatch) -> None:
    now, watch = [100.0], Watch()
    monkeypatch.setattr("clearway.store.postgres.time", SimpleNamespace(monotonic=lambda: now[0]))
    looks = [(0, 1, 50), (5.9, 1, 50), (0.2, 1, 60), (5.9, 1, 60), (0.2, 2, 60), (6, 2, 60), (0, 3, 70), (0, 3, 0)]
    said = []
    for later_s, term, until_us in looks:
        now[0] += later_s
        said.append(watch.ran_out(term, until_us, 6.0))
    assert said == [False, False, False, False, False, True, False, True]


def test_a_leader_lives_on_while_it_writes_nothing(url: str) -> None:
    journal = PostgresJournal(url, lease_s=0.4)
    time.sleep(1.0)
    with pytest.raises(ConflictError):
        PostgresJournal(url)
    assert journal.append(numbered(1)) == 1
    journal.close()


# --- the server goes -----------------------------------------------------------------------------


def test_the_server_goes_and_comes_back(url: str, postgres: Server) -> None:
    """Sessions that end are begun anew; what was confirmed is there."""
    journal = PostgresJournal(url, lease_s=1.0)
    journal.append(numbered(2))
    other = PostgresJournal(postgres.url("postgres"), writes=True)
    with other.writing() as connection:
        name = make_url(url).database
        connection.execute(text(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'"))
    other.close()
    with pytest.raises(StoreError, match="cannot be written"):
        journal.append(numbered(1))
    assert journal.append(numbered(3)) == 5
    time.sleep(0.6)
    with pytest.raises(ConflictError):
        PostgresJournal(url)
    journal.close()


def test_no_server() -> None:
    with pytest.raises(StoreError, match="the server cannot be reached"):
        PostgresJournal("postgresql://clearway@/x?host=/nowhere")


def test_no_address() -> None:
    with pytest.raises(InputError, match="store"):
        PostgresJournal("postgresql://user@host:port/x")


# --- tables --------------------------------------------------------------------------------------


def test_tables_are_those_of_the_schema_and_older_ones_are_asked_about(url: str) -> None:
    journal = PostgresJournal(url)
    journal.append([ev.Joined(1, JobId(1), 1)])  # type: ignore[arg-type]
    with journal.writing() as connection:
        assert compare_metadata(MigrationContext.configure(connection), schema.TABLES) == []
    with journal.writing() as connection:
        for table in ("snapshot", "snapshot_part"):
            connection.execute(text(f"DROP TABLE {table}"))
        connection.execute(text("DROP TABLE leader"))
        connection.execute(text("UPDATE meta SET value='1' WHERE key='version'"))
    journal.close()
    with pytest.raises(StoreError, match="run `clearway db upgrade`"):
        PostgresJournal(url)
    again = PostgresJournal(url, upgrades=True)
    assert (again.version(), again.last()) == (schema.VERSION, 1)
    again.close()
