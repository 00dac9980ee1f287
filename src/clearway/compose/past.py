"""What a home's journal tells of the past: the world at a moment, and its cycles decided again."""

from __future__ import annotations

from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

from clearway.compose.stores import open_reader
from clearway.config.home import home_dir
from clearway.config.settings import load_settings
from clearway.control.snapshots import loaded, world_at
from clearway.model.errors import NotFoundError
from clearway.model.events import AttemptEnded, Ended, Planned, Requeued, Started, Stopping, Submitted
from clearway.whatif.again import Again

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from clearway.loop.world import World
    from clearway.model.events import Record
    from clearway.model.ids import JobId
    from clearway.ports.journal import Entry, Journal

LATEST_US = 1 << 62
Turn = Submitted | Requeued | Started | Stopping | AttemptEnded | Ended
TURNS = (Submitted, Requeued, Started, Stopping, AttemptEnded, Ended)
LOOK_BACK = 2000  # records before a start among which its cycle is looked for first


class PastOf:
    """The journal of a home, to be asked about the past while a controller may be writing it."""

    def __init__(self, journal: Journal) -> None:
        """Ask this journal."""
        self._journal = journal

    def last(self) -> int:
        """Return the number of the last record."""
        return self._journal.last()

    def floor(self) -> int:
        """Return the number of the last record that is gone; 0 where all are there."""
        return self._journal.floor()

    def world_at(self, moment_us: int | None) -> World:
        """Return the world as it was at a moment (None: as it is by the last record)."""
        return world_at(self._journal, LATEST_US if moment_us is None else moment_us)

    def records_after(self, moment_us: int) -> Iterator[Record]:
        """Yield the records of later moments, those that are there when it begins."""
        last = self._journal.last()
        for entry in self._journal.read(self._journal.before(moment_us + 1)):
            if entry.number > last:
                return
            yield entry.record

    def turns_of(self, job: JobId, moment_us: int | None) -> list[Turn]:
        """Return a job's submit, starts and ends up to a moment; none where its records are gone."""
        until_us = LATEST_US if moment_us is None else moment_us
        records = (entry.record for entry in self._journal.of_job(job) if entry.record.at_us <= until_us)
        return [one for one in records if isinstance(one, TURNS) and one.job == job]

    def again(self, told: Callable[[int], None]) -> Again:
        """Return what lives through the journal again; `told` hears the number of each record."""
        floor = self._journal.floor()
        mark = next((mark for mark in self._journal.marks() if floor and mark.number == floor), None)
        begun = None if mark is None else loaded(self._journal.snapshot(mark), f"the snapshot at record {floor}").world
        return Again(self._entries(floor, told), snapshot=begun)

    def _entries(self, after: int, told: Callable[[int], None]) -> Iterator[Entry]:
        last = self._journal.last()
        for entry in self._journal.read(after):
            if entry.number > last:
                return
            told(entry.number)
            yield entry

    def cycle_of(self, job: JobId) -> int:
        """Return the number of the cycle in which a job started last. NotFoundError: it has not, or it is not told."""
        starts = [entry.number for entry in self._journal.of_job(job) if isinstance(entry.record, Started)]
        if not starts:
            raise NotFoundError(f"job {job} has not started, or its records are gone")
        for begin in (max(starts[-1] - LOOK_BACK, self._journal.floor()), self._journal.floor()):
            found = self._last_plan(begin, starts[-1])
            if found is not None:
                return found
        raise NotFoundError(f"in which cycle job {job} started was not recorded")

    def _last_plan(self, begin: int, end: int) -> int | None:
        found = None
        for entry in self._journal.read(begin):
            if entry.number > end:
                break
            if isinstance(entry.record, Planned):
                found = entry.record.cycle
        return found


@contextmanager
def past_of(home: Path | None = None, options: Mapping[str, object] | None = None) -> Iterator[PastOf]:
    """Open the journal of a home to read; `options` are settings over those of its file.

    Raises NotFoundError where there is none, StoreError.
    """
    with closing(open_reader(load_settings(home_dir(home), options))) as journal:
        yield PastOf(journal)
