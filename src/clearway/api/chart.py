"""The bars of a controller's past: read from the journal when somebody asks, outside the loop that decides.

What was read is kept, and goes on from there; asked for an earlier time, it is read anew from that time on. At most
MOST_RECORDS records are read: `since_us` tells from when on nothing is missing.
"""

from __future__ import annotations

from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING

from clearway.control.snapshots import without_collecting
from clearway.observe import bar_records as br
from clearway.observe.bar_records import KINDS, READER, Owner, attempt_of
from clearway.observe.bars import Bars

if TYPE_CHECKING:
    from collections.abc import Iterator

    from clearway.control import Board
    from clearway.ports.journal import Journal

MOST_RECORDS = 2_000_000
MOST_BARS = 400_000
"""So many are kept, about 40 MB; beyond that the next question reads anew what it needs."""


class Chart:
    """Bars of a journal. One question at a time."""

    def __init__(self, journal: Journal, board: Board) -> None:
        """Read nothing yet."""
        self._journal, self._board = journal, board
        self._bars: Bars | None = None
        self._low = self._low_us = self._high = 0
        self.since_us = 0
        self._one_at_a_time = Lock()

    @contextmanager
    def bars(self, from_us: int) -> Iterator[Bars]:
        """Lend the bars from a moment on. From any thread but that of the HTTP loop."""
        with self._one_at_a_time, without_collecting():
            last = self._journal.last()
            bars = self._begun(from_us, last)
            for record in self._journal.read_as(READER, KINDS, self._high, last):
                bars.apply(record)
            self._high = last
            self._add_earlier(bars)
            yield bars

    def _begun(self, from_us: int, last: int) -> Bars:
        oldest = last - MOST_RECORDS
        low = max(self._journal.before(from_us), oldest)
        if self._bars is not None and low >= self._low and len(self._bars) <= MOST_BARS:
            return self._bars
        self._bars, self._low, self._high = Bars(), low, low
        self._low_us = self._moment(low - 1) if low > 0 else -1
        self.since_us = from_us if low > oldest else self._moment(low)
        return self._bars

    def _moment(self, after: int) -> int:
        """Return the moment of the first record behind a number."""
        entry = next(iter(self._journal.read(after)), None)
        return 0 if entry is None else entry.record.at_us

    def _add_earlier(self, bars: Bars) -> None:
        """Add what began before the records that were read: by its end, or because it still runs."""
        lacking, bars.lacking = {(end.job, end.attempt) for end in bars.lacking}, []
        for record in self._journal.read_of(READER, KINDS, sorted({job for job, _ in lacking})):
            if isinstance(record, br.Submitted) or attempt_of(record) in lacking:
                bars.apply(record)
        bars.lacking = []  # an end whose start has been dropped
        for job, grants in self._board.holders():
            row = self._board.jobs.get(job)
            if row is None or row.started_us is None or not grants:
                continue
            bars.owners.setdefault(job, Owner(row.name, row.queue, row.user, row.tenant))
            if row.started_us <= self._low_us:
                bars.begin(job, row.attempt, row.started_us, grants)
