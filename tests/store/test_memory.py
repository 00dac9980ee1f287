"""The journal in memory behaves as a journal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clearway.store.memory import MemoryJournal
from clearway.testing.journals import JournalSuite

if TYPE_CHECKING:
    from clearway.ports.journal import Journal


class TestMemoryJournal(JournalSuite):
    def open(self, place: str) -> Journal:
        del place
        return MemoryJournal()


def test_notes_beside_the_records() -> None:
    journal = MemoryJournal()
    assert journal.recall("clock") is None
    journal.remember("clock", "a")
    journal.remember("clock", "b")
    assert journal.recall("clock") == "b"
