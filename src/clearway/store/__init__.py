"""Where the journal is kept: in memory, or in an SQLite database."""

from clearway.store.memory import MemoryJournal
from clearway.store.sqlite import SqliteJournal

__all__ = ["MemoryJournal", "SqliteJournal"]
