"""The port to where the truth is kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from clearway.model.events import Record
    from clearway.model.ids import ClassId, JobId


class Entry(NamedTuple):
    """One record with its place in the journal, counted from 1 without gaps."""

    number: int
    record: Record


class Journal(Protocol):
    """An append-only list of records.

    `append` is atomic and durable when it returns: after a kill at any instant either all of its records are
    there or none. One writer at a time: opening a second one raises ConflictError naming the first.
    """

    def append(self, records: Sequence[Record]) -> int:
        """Add records, and return the number of the last one."""
        ...

    def read(self, after: int = 0) -> Iterator[Entry]:
        """Yield entries with a number above `after`, in order."""
        ...

    def of_job(self, job: JobId) -> Iterator[Entry]:
        """Yield the records that name this job (a `job`, or a `task` of it), in order."""
        ...

    def of_class(self, cls: ClassId) -> Iterator[Entry]:
        """Yield the ClassWaits records of a class, in order."""
        ...

    def last(self) -> int:
        """Return the number of the last record, 0 if there is none."""
        ...

    def close(self) -> None:
        """Give the journal up; another writer may open it."""
        ...
