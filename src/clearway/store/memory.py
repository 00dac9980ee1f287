"""A journal that lives as long as its process: for tests, simulations and trials."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from clearway.model.errors import StoreError
from clearway.ports.journal import Entry
from clearway.store.codec import class_of, job_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from clearway.model.events import Record
    from clearway.model.ids import ClassId, JobId


class MemoryJournal:
    """A `ports.Journal` in a list. `remember` and `recall` keep a text beside it, as the lasting ones do."""

    def __init__(self) -> None:
        """Begin empty."""
        self._records: list[Record] = []
        self._of_job: defaultdict[int, list[int]] = defaultdict(list)
        self._of_class: defaultdict[int, list[int]] = defaultdict(list)
        self._notes: dict[str, str] = {}
        self._open = True

    def append(self, records: Sequence[Record]) -> int:
        """Add records, and return the number of the last one."""
        if not self._open:
            raise StoreError("the journal is closed")
        for number, record in enumerate(records, len(self._records) + 1):
            job, cls = job_of(record), class_of(record)
            if job is not None:
                self._of_job[job].append(number)
            if cls is not None:
                self._of_class[cls].append(number)
        self._records.extend(records)
        return len(self._records)

    def read(self, after: int = 0) -> Iterator[Entry]:
        """Yield entries with a number above `after`, in order."""
        for number in range(after + 1, len(self._records) + 1):
            yield Entry(number, self._records[number - 1])

    def of_job(self, job: JobId) -> Iterator[Entry]:
        """Yield the records that name this job, in order."""
        yield from self._entries(self._of_job.get(job, []))

    def of_class(self, cls: ClassId) -> Iterator[Entry]:
        """Yield the ClassWaits records of a class, in order."""
        yield from self._entries(self._of_class.get(cls, []))

    def last(self) -> int:
        """Return the number of the last record, 0 if there is none."""
        return len(self._records)

    def remember(self, key: str, text: str) -> None:
        """Keep a text under a key, in place of an earlier one."""
        self._notes[key] = text

    def recall(self, key: str) -> str | None:
        """Return the text kept under a key, None if there is none."""
        return self._notes.get(key)

    def close(self) -> None:
        """Take no more records."""
        self._open = False

    def _entries(self, numbers: list[int]) -> Iterator[Entry]:
        # A copy: records may be added while a reader is at it.
        for number in tuple(numbers):
            yield Entry(number, self._records[number - 1])
