"""The port to where the truth is kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from msgspec.json import Decoder

    from clearway.model.events import Record
    from clearway.model.ids import ClassId, JobId

T = TypeVar("T")


class Entry(NamedTuple):
    """One record with its place in the journal, counted from 1."""

    number: int
    record: Record


class Mark(NamedTuple):
    """A snapshot: it holds what the records up to `number`, the last of them of the moment `at_us`, lead to."""

    number: int
    at_us: int


class Journal(Protocol):
    """An append-only list of records, with snapshots of what they lead to.

    `append` is atomic and durable when it returns: after a kill at any instant either all of its records are
    there or none. One writer at a time: opening a second one raises ConflictError naming the first.

    Above `floor` no number is missing. Up to it the records of jobs that have long been over are gone (`thin`): the
    snapshot at `floor` stands for them, and is there as long as the journal is.
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

    def of_kinds(self, kinds: Collection[str], after: int, up_to: int) -> Iterator[Entry]:
        """Yield the records of these types' names with a number above `after` and at most `up_to`, in order."""
        ...

    def read_as(self, reader: Decoder[T], kinds: Collection[str], after: int, up_to: int) -> Iterator[T]:
        """Yield the records of these types' names as a decoder reads their JSON: with the fields that it wants alone.

        In order, those with a number above `after` and at most `up_to`.
        """
        ...

    def read_of(self, reader: Decoder[T], kinds: Collection[str], jobs: Collection[JobId]) -> Iterator[T]:
        """Yield the records of these types' names that name one of these jobs, as a decoder reads their JSON.

        Those of one job are in order. Many jobs at once cost far less than each by itself.
        """
        ...

    def before(self, at_us: int) -> int:
        """Return the number of the last record of an earlier moment, 0 if there is none."""
        ...

    def last(self) -> int:
        """Return the number of the last record, 0 if there is none."""
        ...

    # --- snapshots -----------------------------------------------------------------------------

    def keep(self, mark: Mark, body: bytes) -> None:
        """Keep a snapshot beside the records. Until it is whole it is not there. Any thread may, one at a time."""
        ...

    def marks(self) -> list[Mark]:
        """Return the snapshots that are there, newest first."""
        ...

    def snapshot(self, mark: Mark) -> bytes:
        """Return the bytes of a snapshot. StoreError: it is not there, or damaged."""
        ...

    def forget(self, mark: Mark) -> None:
        """Drop a snapshot. That at `floor` is never dropped: ConflictError."""
        ...

    def floor(self) -> int:
        """Return up to which number records may be gone, 0 if all are there."""
        ...

    def thin(self, mark: Mark, ended_before_us: int) -> list[JobId]:
        """Drop the records up to a snapshot of the jobs that were over before a moment, and return these jobs.

        What tells of other jobs, of nodes, queues and limits stays, and so does why the classes of the jobs that
        stay waited.
        """
        ...

    def close(self) -> None:
        """Give the journal up; another writer may open it."""
        ...
