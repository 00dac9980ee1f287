"""A disk without room: nothing half written, a clear sentence, and on it goes when there is room again."""

from __future__ import annotations

import resource
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from clearway.model import events as ev
from clearway.model.errors import StoreError
from clearway.model.ids import JobId
from clearway.model.job import JobSpec
from clearway.store.sqlite import SqliteJournal
from clearway.testing.journals import numbered
from tests.disks import small_disk

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

BIG = [ev.Submitted(1, JobId(1), JobSpec(name="big", env=(("A", "x" * 50_000),)))] * 5


@contextmanager
def file_size_limit(limit_bytes: int) -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def fill(journal: SqliteJournal) -> StoreError:
    """Append until it fails, and check that what was confirmed is all there is."""
    while True:
        before = journal.last()
        try:
            journal.append(BIG)
        except StoreError as error:
            assert journal.last() == before
            assert sum(1 for _ in journal.read()) == before
            return error


def test_full_disk() -> None:
    with small_disk() as disk:
        ballast = disk / "ballast"
        ballast.write_bytes(bytes(1_000_000))
        journal = SqliteJournal(disk / "journal.db")
        journal.append(numbered(3))
        assert "cannot be written: the disk is full" in str(fill(journal))
        with pytest.raises(StoreError, match="the disk is full"):
            journal.append(BIG)
        before = journal.last()
        ballast.unlink()
        assert journal.append(BIG) == before + len(BIG)
        journal.close()
        again = SqliteJournal(disk / "journal.db")
        assert [e.number for e in again.read()] == list(range(1, before + len(BIG) + 1))
        again.close()


def test_full_disk_when_opened() -> None:
    with small_disk() as disk:
        with pytest.raises(OSError, match="No space"):
            (disk / "ballast").write_bytes(bytes(4_000_000))
        with pytest.raises(StoreError, match="No space|disk"):
            SqliteJournal(disk / "journal.db")


def test_file_that_may_not_grow(tmp_path: Path) -> None:
    journal = SqliteJournal(tmp_path / "journal.db")
    journal.append(numbered(3))
    with file_size_limit(1_000_000):
        assert "cannot be written: the disk answers with an error" in str(fill(journal))
        before = journal.last()
    assert journal.append(BIG) == before + len(BIG)
    assert sum(1 for _ in journal.read()) == before + len(BIG)
    journal.close()
