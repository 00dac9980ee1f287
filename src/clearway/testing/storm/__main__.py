"""`python -m clearway.testing.storm`: storms by the thousand, and one storm killed at each of its acts."""

from __future__ import annotations

import argparse
import logging
import random
import sys
import tempfile
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from clearway.store import MemoryJournal, SqliteJournal
from clearway.testing.storm.mortal import Fate
from clearway.testing.storm.storm import live

if TYPE_CHECKING:
    from collections.abc import Callable

    from clearway.ports.journal import Journal

ONE_IN = (0, 60, 15)
"""Of three seeds one has no kills, one a few and one many."""
TOLD_EVERY = 100
AGAIN = "python -m clearway.testing.storm seeds"


def fate_of(seed: int) -> Fate:
    """Return where controllers die in the storm of a seed."""
    return Fate(chance=random.Random(seed), one_in=ONE_IN[seed % len(ONE_IN)])


def opener_of(store: str) -> Callable[[str], Journal]:
    """Return how a journal is made in a place: `memory`, `sqlite`, or the address of an empty PostgreSQL database."""
    if store == "memory":
        return lambda _: MemoryJournal()
    if store == "sqlite":
        return lambda place: SqliteJournal(Path(place) / "journal.db", synchronous="normal")
    from clearway.store.postgres import PostgresJournal

    return lambda _: PostgresJournal(store)


def one(seed: int, fate: Fate, opener: Callable[[str], Journal], jobs: int) -> str:
    """Live through one storm; return what was broken, "" for nothing."""
    with tempfile.TemporaryDirectory() as place, closing(opener(place)) as journal:
        try:
            live(seed, journal, fate, jobs)
        except AssertionError as error:
            return str(error)
        return ""


def points(
    seed: int, opener: Callable[[str], Journal], jobs: int, *, step: int = 1
) -> tuple[int, list[tuple[int, str]]]:
    """Kill the controller of one storm at every `step`-th of its acts in turn; return how many, and what broke."""
    whole = Fate()
    with tempfile.TemporaryDirectory() as place, closing(opener(place)) as journal:
        live(seed, journal, whole, jobs)
    chosen = range(1, whole.acts + 1, step)
    found = [(at, one(seed, Fate(at=at), opener, jobs)) for at in chosen]
    return len(chosen), [(at, said) for at, said in found if said]


def main(argv: list[str] | None = None) -> int:
    """Run what the command line asks for; return 1 where something was broken."""
    parser = argparse.ArgumentParser("clearway.testing.storm", description="Whole controllers in storms.")
    what = parser.add_subparsers(dest="what", required=True)
    for name, text in (
        ("seeds", "random storms, one a seed"),
        ("points", "storms killed at each of their acts in turn"),
    ):
        part = what.add_parser(name, help=text)
        part.add_argument("--first", type=int, default=0, help="the first seed")
        part.add_argument("--count", type=int, default=500 if name == "seeds" else 5, help="so many seeds")
        part.add_argument("--jobs", type=int, default=12, help="most jobs of a storm")
        part.add_argument("--store", default="memory", help="memory or sqlite")
    given = parser.parse_args(argv)
    logging.disable(logging.CRITICAL)  # snapshots that a kill left half written are passed over, thousands of times
    run = _seeds if given.what == "seeds" else _points
    return 1 if run(given.first, given.count, given.jobs, given.store) else 0


def _seeds(first: int, count: int, jobs: int, store: str) -> int:
    broken = kills = 0
    for seed in range(first, first + count):
        fate = fate_of(seed)
        if said := one(seed, fate, opener_of(store), jobs):
            broken += 1
            _say(f"seed {seed}: {said}")
            _say(f"  again: {AGAIN} --first {seed} --count 1 --jobs {jobs} --store {store}")
        kills += fate.kills
        if (seed - first + 1) % TOLD_EVERY == 0:
            _say(f"{seed - first + 1} storms, {kills} kills, {broken} broken")
    _say(f"{count} storms, {kills} kills, {broken} broken")
    return broken


def _points(first: int, count: int, jobs: int, store: str) -> int:
    broken = total = 0
    for seed in range(first, first + count):
        many, found = points(seed, opener_of(store), jobs)
        total += many
        broken += len(found)
        for at, said in found:
            _say(f"seed {seed}, killed at act {at}: {said}")
        _say(f"seed {seed}: killed at each of {many} acts, {len(found)} broken")
    _say(f"{total} kill points, {broken} broken")
    return broken


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
