"""The controller's look at itself: its books against their grants, its jobs against their records in the journal.

What a node runs against what it was granted is compared in `loop.reports`, whenever the node is heard of; an audit has
every node be heard of. Each difference is counted here by who disagrees, said in the log and in `clearway status`.
"""

from __future__ import annotations

import logging
from collections import Counter
from typing import TYPE_CHECKING

import msgspec

from clearway.control import snapshots
from clearway.control.board import Board
from clearway.loop.difference import Between, Difference
from clearway.model.errors import LedgerError, StoreError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from clearway.loop.entry import JobEntry
    from clearway.loop.world import World
    from clearway.model.ids import JobId
    from clearway.ports.journal import Journal

LOG = logging.getLogger("clearway.control")
JOBS_A_LOOK = 100
"""So many jobs are compared with their records at a time, in turn: a fifth of a second at most, of each minute."""


class Audited(msgspec.Struct, frozen=True):
    """What was found since this controller began: how much of each kind, the last of it, and when it last looked."""

    looks: int = 0
    at_us: int | None = None
    found: tuple[tuple[str, int], ...] = ()
    last: str = ""
    last_us: int | None = None


class Audit:
    """Compares a world with its journal, and counts all differences that are found, by whomever."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._counts: Counter[Between] = Counter()
        self._next = 0
        self.told = Audited(found=tuple((kind.value, 0) for kind in Between))

    def look(self, world: World) -> list[Difference]:
        """Return what is not as it must be. The journal must hold all that the world knows."""
        found = [*_in_books(world)]
        try:
            found += self._in_store(world)
        except StoreError as error:
            LOG.warning("the books cannot be compared with the journal: %s", error)
        self.told = msgspec.structs.replace(self.told, looks=self.told.looks + 1, at_us=world.now_us)
        return found

    def count(self, found: Iterable[Difference], now_us: int) -> None:
        """Take note of differences, and say them."""
        for one in found:
            self._counts[one.between] += 1
            LOG.error("a difference was found, and is repaired: %s", one.text)
            counts = tuple((kind.value, self._counts[kind]) for kind in Between)
            self.told = msgspec.structs.replace(self.told, found=counts, last=one.text, last_us=now_us)

    def repaired(self, world: World) -> World:
        """Return the world as the journal says that it is: by the newest snapshot from which it adds up.

        LedgerError where none does. A snapshot that leads to another one was kept when the world was wrong already.
        """
        wrong = LedgerError("the journal holds no state from which the books add up")
        for rebuilt in snapshots.worlds(self._journal, world):
            said = [*_in_books(rebuilt), *_of_jobs(rebuilt, sorted(rebuilt.jobs), self._journal)]
            if not said:
                return rebuilt
            wrong = LedgerError(said[0].text)
        raise wrong

    def _in_store(self, world: World) -> Iterator[Difference]:
        last = self._journal.last()
        if world.state.revision != last:
            text = f"{world.state.revision} records have been applied, and the journal holds {last}"
            yield Difference(Between.STORE, text)
        ahead = sorted(job for job in world.jobs if job >= self._next)[:JOBS_A_LOOK]
        self._next = ahead[-1] + 1 if len(ahead) == JOBS_A_LOOK else 0
        yield from _of_jobs(world, ahead, self._journal)


def _in_books(world: World) -> Iterator[Difference]:
    try:
        world.validate()
    except LedgerError as error:
        yield Difference(Between.BOOKS, str(error))


def _of_jobs(world: World, jobs: Iterable[JobId], journal: Journal) -> Iterator[Difference]:
    for job in jobs:
        entry = world.jobs[job]
        if entry.spec.array is None and (text := _compared(entry, journal)):
            yield Difference(Between.STORE, f"job {job} ({entry.spec.name}) {text}")


def _compared(entry: JobEntry, journal: Journal) -> str:
    """Return how a job differs from what its records say, "" where it does not."""
    records = [one.record for one in journal.of_job(entry.id)]
    if not records:
        return "is in no record"
    row = Board.row_of(records, entry.id)
    if (row.state, row.attempt) != (entry.state, entry.attempt):
        return f"is {entry.state} in attempt {entry.attempt}, and {row.state} in attempt {row.attempt} by its records"
    beyond = [grant for key, grant in entry.held.items() if grant not in row.grants and key not in entry.leaving]
    return f"holds what no record gave it: {beyond[0]}" if beyond else ""
