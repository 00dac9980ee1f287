"""A journal that lives as long as its process: for tests, simulations and trials."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from typing import TYPE_CHECKING, TypeVar

from clearway.model.errors import ConflictError, StoreError
from clearway.model.events import Ended, Joined, Refused, Requeued, Started, Submitted
from clearway.ports.journal import Entry, Mark
from clearway.store.codec import LAPSED, class_of, decode_parts, encode, job_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from msgspec.json import Decoder

    from clearway.model.events import Record
    from clearway.model.ids import ClassId, JobId

T = TypeVar("T")


class MemoryJournal:
    """A `ports.Journal` in a list. `remember` and `recall` keep a text beside it, as the lasting ones do."""

    def __init__(self) -> None:
        """Begin empty."""
        self._entries: list[Entry] = []
        self._of_job: defaultdict[int, list[Entry]] = defaultdict(list)
        self._of_class: defaultdict[int, list[Entry]] = defaultdict(list)
        self._notes: dict[str, str] = {}
        self._snapshots: dict[Mark, bytes] = {}
        self._last = self._floor = 0
        self._open = True

    def append(self, records: Sequence[Record]) -> int:
        """Add records, and return the number of the last one."""
        if not self._open:
            raise StoreError("the journal is closed")
        for record in records:
            self._last += 1
            self._write(Entry(self._last, record))
        return self._last

    def _write(self, entry: Entry) -> None:
        job, cls = job_of(entry.record), class_of(entry.record)
        self._entries.append(entry)
        if job is not None:
            self._of_job[job].append(entry)
        if cls is not None:
            self._of_class[cls].append(entry)

    def read(self, after: int = 0) -> Iterator[Entry]:
        """Yield entries with a number above `after`, in order."""
        entries = self._entries  # another list takes its place when records are dropped
        at, end = bisect_right(entries, after, key=lambda entry: entry.number), len(entries)
        for position in range(at, end):
            yield entries[position]

    def of_job(self, job: JobId) -> Iterator[Entry]:
        """Yield the records that name this job, in order."""
        # A copy: records may be added while a reader is at it.
        yield from tuple(self._of_job.get(job, ()))

    def of_class(self, cls: ClassId) -> Iterator[Entry]:
        """Yield the ClassWaits records of a class, in order."""
        yield from tuple(self._of_class.get(cls, ()))

    def of_kinds(self, kinds: Collection[str], after: int, up_to: int) -> Iterator[Entry]:
        """Yield the records of these types' names with a number above `after` and at most `up_to`, in order."""
        for entry in self.read(after):
            if entry.number > up_to:
                return
            if type(entry.record).__name__ in kinds:
                yield entry

    def read_as(self, reader: Decoder[T], kinds: Collection[str], after: int, up_to: int) -> Iterator[T]:
        """Yield the records of these types' names as a decoder reads their JSON, in order."""
        for entry in self.of_kinds(kinds, after, up_to):
            yield from decode_parts([encode(entry.record)], reader, "a record")

    def read_of(self, reader: Decoder[T], kinds: Collection[str], jobs: Collection[JobId]) -> Iterator[T]:
        """Yield the records of these types' names that name one of these jobs, as a decoder reads their JSON."""
        entries = (entry for job in dict.fromkeys(jobs) for entry in self.of_job(job))
        for entry in entries:
            if type(entry.record).__name__ in kinds:
                yield from decode_parts([encode(entry.record)], reader, "a record")

    def before(self, at_us: int) -> int:
        """Return the number of the last record of an earlier moment, 0 if there is none."""
        entries = self._entries
        at = bisect_left(entries, at_us, key=lambda entry: entry.record.at_us)
        return entries[at - 1].number if at else 0

    def last(self) -> int:
        """Return the number of the last record, 0 if there is none."""
        return self._last

    def remember(self, key: str, text: str) -> None:
        """Keep a text under a key, in place of an earlier one."""
        self._notes[key] = text

    def recall(self, key: str) -> str | None:
        """Return the text kept under a key, None if there is none."""
        return self._notes.get(key)

    def close(self) -> None:
        """Take no more records."""
        self._open = False

    # --- snapshots -----------------------------------------------------------------------------

    def keep(self, mark: Mark, body: bytes) -> None:
        """Keep a snapshot beside the records."""
        if not self._open:
            raise StoreError("the journal is closed")
        self._snapshots[mark] = body

    def marks(self) -> list[Mark]:
        """Return the snapshots that are there, newest first."""
        return sorted(self._snapshots, reverse=True)

    def snapshot(self, mark: Mark) -> bytes:
        """Return the bytes of a snapshot. StoreError: it is not there."""
        if mark not in self._snapshots:
            raise StoreError(f"the journal has no snapshot at record {mark.number}")
        return self._snapshots[mark]

    def forget(self, mark: Mark) -> None:
        """Drop a snapshot. That at `floor` is never dropped: ConflictError."""
        if mark.number == self._floor:
            raise ConflictError(f"the snapshot at record {mark.number} stands for records that are gone: it stays")
        self._snapshots.pop(mark, None)

    def floor(self) -> int:
        """Return up to which number records may be gone, 0 if all are there."""
        return self._floor

    def thin(self, mark: Mark, ended_before_us: int) -> list[JobId]:
        """Drop the records up to a snapshot of the jobs that were over before a moment, and return these jobs."""
        self.snapshot(mark)
        self._floor = max(self._floor, mark.number)
        old, new = [e for e in self._entries if e.number <= mark.number], list(self.read(mark.number))
        gone: dict[JobId, None] = {}
        for entry in [*old, *new]:
            record = entry.record
            if isinstance(record, Ended | Refused) and record.at_us < ended_before_us and entry.number <= mark.number:
                gone[record.job] = None
            elif isinstance(record, Submitted | Requeued | Started):
                gone.pop(record.job, None)
        old = [entry for entry in old if job_of(entry.record) not in gone]
        kept = {entry.record.cls for entry in old if isinstance(entry.record, Joined)}
        old = [entry for entry in old if class_of(entry.record) in kept or class_of(entry.record) is None]
        old = [e for e in old if job_of(e.record) is not None or type(e.record).__name__ not in LAPSED]
        self._entries, self._of_job, self._of_class = [], defaultdict(list), defaultdict(list)
        for entry in [*old, *new]:
            self._write(entry)
        return list(gone)
