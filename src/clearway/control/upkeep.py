"""Keeping a journal short to start from, and short: snapshots now and then, and the end of what is long over."""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING

from clearway.control import snapshots
from clearway.model.errors import ClearwayError
from clearway.model.values import SECOND_US
from clearway.ports.journal import Mark

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from clearway.control.board import Board
    from clearway.loop.world import World
    from clearway.model.ids import JobId
    from clearway.ports.journal import Journal

LOG = logging.getLogger("clearway.control")
EVERY_RECORDS = 100_000
"""Records between two snapshots: so many are read again in about three seconds."""
WORTH_RECORDS = 1_000
"""A controller that ends leaves a snapshot where so many records are new: fewer are read in no time."""
DAY_US = 24 * 3600 * SECOND_US
"""Of older snapshots one a day is kept: what was so at a moment is found from the one before it."""


class Upkeep:
    """Takes snapshots of a world and drops what is long over.

    The facts are taken down in the loop's thread, between two turns; packing, writing and dropping happen in a thread
    of its own. What fails there is said in the log and tried again with the next snapshot: nothing depends on it.

    `retention_us`: so long after its end a job's records are kept, None for ever. `on_gone` is told of the jobs whose
    records went.
    """

    def __init__(
        self,
        journal: Journal,
        *,
        every: int = EVERY_RECORDS,
        retention_us: int | None = None,
        on_gone: Callable[[Sequence[JobId]], None] = lambda _: None,
    ) -> None:
        self._journal, self._every, self._retention_us, self._on_gone = journal, every, retention_us, on_gone
        self._number = 0
        self._thread: threading.Thread | None = None

    def begin(self, number: int) -> None:
        """Count from the snapshot at this record: the one that the world was built from, 0 for none."""
        self._number = number

    def look(self, world: World, board: Board) -> None:
        """Take a snapshot if one is due and none is being written."""
        new = self._journal.last() - self._number
        if new >= self._every and new >= len(world.jobs) and not self.busy:
            self._take(world, board)

    def end(self, world: World, board: Board) -> None:
        """Take a last snapshot if it is worth it, and wait until it is written."""
        self.wait()
        if self._journal.last() - self._number >= min(WORTH_RECORDS, self._every):
            self._take(world, board)
            self.wait()

    def wait(self) -> None:
        """Wait for what is being written."""
        if self._thread is not None:
            self._thread.join()

    @property
    def busy(self) -> bool:
        """Whether a snapshot is being written."""
        return self._thread is not None and self._thread.is_alive()

    def _take(self, world: World, board: Board) -> None:
        mark = Mark(self._journal.last(), world.now_us)
        text = snapshots.written(world, board, mark.number)
        self._number = mark.number
        self._thread = threading.Thread(target=self._write, args=(mark, text), name="clearway-upkeep", daemon=True)
        self._thread.start()

    def _write(self, mark: Mark, text: bytes) -> None:
        try:
            write(self._journal, mark, text)
            self._on_gone(tidy(self._journal, mark.at_us, self._retention_us))
        except ClearwayError as error:
            LOG.warning("no snapshot was kept at record %d: %s; the records are all there", mark.number, error)


def write(journal: Journal, mark: Mark, text: bytes) -> None:
    """Keep a snapshot, from the text that `snapshots.written` made of it."""
    journal.keep(mark, snapshots.packed(text))


def tidy(journal: Journal, now_us: int, retention_us: int | None) -> list[JobId]:
    """Drop the records of jobs that were over before the retention time, and old snapshots; return these jobs.

    The newest snapshot from before that time stands for what goes, so that what was so at any moment since is known.
    """
    gone: list[JobId] = []
    if retention_us is not None:
        before_us = now_us - retention_us
        base = next((mark for mark in journal.marks() if mark.at_us <= before_us), None)
        if base is not None:
            gone = journal.thin(base, before_us)
    floor = journal.floor()
    marks = [mark for mark in journal.marks() if mark.number >= floor]
    older = [mark for mark in journal.marks() if mark.number < floor]
    for mark in [*older, *snapshots.without(marks, {floor}, DAY_US)]:
        journal.forget(mark)
    return gone
