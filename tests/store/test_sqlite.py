"""The journal in SQLite behaves as a journal, and says clearly what is wrong with a file."""

from __future__ import annotations

import os
import sqlite3
import stat
import threading
import tracemalloc
from typing import TYPE_CHECKING

import pytest

from clearway.model import events as ev
from clearway.model.errors import ConflictError, StoreError
from clearway.model.ids import JobId
from clearway.model.job import JobSpec
from clearway.store.sqlite import SqliteJournal
from clearway.testing.journals import LastingJournalSuite, numbered

if TYPE_CHECKING:
    from pathlib import Path

READERS = 20


class TestSqliteJournal(LastingJournalSuite):
    opener = "clearway.store.sqlite:SqliteJournal"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "journal.db"


def damage(path: Path, statement: str) -> None:
    with sqlite3.connect(path) as database:
        database.execute(statement)
    database.close()


def test_only_the_owner_may_read_its_files(path: Path) -> None:
    old = os.umask(0)
    try:
        journal = SqliteJournal(path)
        journal.append(numbered(1))
        modes = {p.name: stat.S_IMODE(p.stat().st_mode) for p in path.parent.iterdir()}
        journal.close()
    finally:
        os.umask(old)
    assert set(modes) >= {"journal.db", "journal.db-wal", "journal.db.lock"}
    assert set(modes.values()) == {0o600}


def test_appends_are_synced_to_the_disk_by_default(path: Path) -> None:
    journal = SqliteJournal(path)
    with journal._engine.connect() as connection:
        assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == 2
        assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"
    journal.close()


def test_odd_path(tmp_path: Path) -> None:
    path = tmp_path / "a b?c#d%20é" / "journal.db"
    path.parent.mkdir()
    journal = SqliteJournal(path)
    journal.append(numbered(1))
    journal.close()
    assert path.stat().st_size > 0


def test_notes_last(path: Path) -> None:
    journal = SqliteJournal(path)
    journal.remember("clock", "a")
    journal.remember("clock", "b")
    journal.close()
    journal = SqliteJournal(path)
    assert journal.recall("clock") == "b"
    assert journal.recall("other") is None
    journal.close()


def test_no_such_folder(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="No such file or directory"):
        SqliteJournal(tmp_path / "none" / "journal.db")


def test_not_a_database(path: Path) -> None:
    path.write_bytes(b"this is no database at all" * 100)
    with pytest.raises(StoreError, match=r"journal\.db cannot be opened: the file is not a journal, or it is damaged"):
        SqliteJournal(path)
    assert path.read_bytes().startswith(b"this is no database")


def test_database_of_something_else(path: Path) -> None:
    damage(path, "CREATE TABLE recipes (x)")
    with pytest.raises(StoreError, match="something else: it holds recipes"):
        SqliteJournal(path)


def test_newer_version(path: Path) -> None:
    SqliteJournal(path).close()
    damage(path, "UPDATE meta SET value='99' WHERE key='version'")
    with pytest.raises(StoreError, match="newer version of Clearway: its tables have version 99, this one knows 2"):
        SqliteJournal(path)


def test_refused_files_are_not_held(path: Path) -> None:
    test_newer_version(path)
    damage(path, "UPDATE meta SET value='2' WHERE key='version'")
    SqliteJournal(path).close()


def read_all(path: Path) -> int:
    journal = SqliteJournal(path)
    try:
        return sum(1 for _ in journal.read())
    finally:
        journal.close()


@pytest.mark.parametrize("first_tenth", [1, 5])
def test_damaged_pages(path: Path, first_tenth: int) -> None:
    journal = SqliteJournal(path)
    journal.append(numbered(2000))
    journal.close()
    content = bytearray(path.read_bytes())
    first, last = (len(content) * first_tenth // 10 for first_tenth in (first_tenth, first_tenth + 4))
    content[first:last] = b"\xff" * (last - first)
    path.write_bytes(content)
    with pytest.raises(StoreError, match="damaged"):
        read_all(path)


def test_a_missing_record_is_noticed(path: Path) -> None:
    journal = SqliteJournal(path)
    journal.append(numbered(5))
    damage(path, "DELETE FROM journal WHERE number = 3")
    with pytest.raises(StoreError, match="record 3 is missing"):
        list(journal.read())
    journal.close()


@pytest.mark.parametrize("body", ["{", '{"type":"FromTheFuture","at_us":1}', '{"type":"Joined"}', "\xff"])
def test_a_record_that_nobody_understands(path: Path, body: str) -> None:
    journal = SqliteJournal(path)
    journal.append(numbered(2))
    damage(path, f"UPDATE journal SET body = CAST('{body}' AS BLOB) WHERE number = 2")
    with pytest.raises(StoreError, match=r"record 2 of the journal .*journal\.db cannot be understood"):
        list(journal.read())
    journal.close()


def test_a_file_that_is_gone_is_noticed_and_may_come_back(path: Path) -> None:
    journal = SqliteJournal(path)
    journal.append(numbered(3))
    away = path.with_name("away.db")
    path.rename(away)
    with pytest.raises(StoreError, match="gone from its place"):
        journal.append(numbered(3))
    away.rename(path)
    assert journal.append(numbered(3)) == 6
    journal.close()


def test_a_database_held_by_somebody_is_waited_for(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clearway.store.sqlite.BUSY_TIMEOUT_S", 0.2)
    journal = SqliteJournal(path)
    journal.append(numbered(1))
    stranger = sqlite3.connect(path, isolation_level=None)
    stranger.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreError, match="another program holds the database"):
        journal.append(numbered(1))
    stranger.execute("ROLLBACK")
    stranger.close()
    assert journal.append(numbered(1)) == 2
    journal.close()


def test_a_commit_that_was_reported_as_failed_is_not_there_later(path: Path) -> None:
    journal = SqliteJournal(path)
    journal.append(numbered(2))
    journal._insert([{"number": 3, "at_us": 1, "kind": "Joined", "job": 1, "cls": None, "body": b"{}"}])
    journal._doubtful = True  # as after a commit whose last sync failed
    assert journal.append(numbered(4)) == 6
    assert [e.record.at_us for e in journal.read()] == [1, 2, 1, 2, 3, 4]
    journal.close()


def test_many_readers_while_one_writes(path: Path) -> None:
    journal = SqliteJournal(path)
    journal.append(numbered(1000))
    counts: list[int] = []
    start = threading.Barrier(READERS + 1)

    def read() -> None:
        start.wait()
        counts.append(sum(1 for _ in journal.read()))

    threads = [threading.Thread(target=read) for _ in range(READERS)]
    for thread in threads:
        thread.start()
    start.wait()
    for _ in range(10):
        journal.append(numbered(10))
    for thread in threads:
        thread.join()
    assert len(counts) == READERS
    assert all(1000 <= c <= 1100 and c % 10 == 0 for c in counts)
    journal.close()


def test_reading_takes_bounded_memory(path: Path) -> None:
    journal = SqliteJournal(path)
    spec = JobSpec(name="j", env=(("A", "x" * 10_000),))
    for _ in range(40):
        journal.append([ev.Submitted(1, JobId(1), spec)] * 100)
    tracemalloc.start()
    try:
        assert sum(1 for _ in journal.read()) == 4000
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 4_000_000  # a tenth of what is read
    journal.close()


def test_the_lock_is_free_after_close(path: Path) -> None:
    first = SqliteJournal(path)
    with pytest.raises(ConflictError):
        SqliteJournal(path)
    first.close()
    SqliteJournal(path).close()
