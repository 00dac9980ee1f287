"""`python -m clearway.testing.storm`: storms by the thousand, and one storm killed at each of its acts."""

from __future__ import annotations

import argparse
import logging
import random
import sys
import tempfile
from collections import Counter
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from clearway.store import MemoryJournal, SqliteJournal
from clearway.testing.storm.life import Days, judge
from clearway.testing.storm.mortal import Fate
from clearway.testing.storm.storm import Storm, live
from clearway.testing.storm.weather import NEEDED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from clearway.ports.journal import Journal

ONE_IN = (0, 60, 15)
"""Of three seeds one has no kills, one a few and one many."""
TOLD_EVERY = 100
MANY = 500
"""In so many storms each kind of mishap must have come, else they say nothing."""
AGAIN = "python -m clearway.testing.storm seeds"


def fate_of(seed: int) -> Fate:
    """Return where controllers die in the storm of a seed."""
    return Fate(chance=random.Random(seed), one_in=ONE_IN[seed % len(ONE_IN)])


@contextmanager
def opener_of(store: str) -> Iterator[Callable[[str], Journal]]:
    """Yield how an empty journal is made in a place: `memory`, `sqlite`, or the address of a PostgreSQL server."""
    if store == "memory":
        yield lambda _: MemoryJournal()
    elif store == "sqlite":
        yield lambda place: SqliteJournal(Path(place) / "journal.db", synchronous="normal")
    else:
        from clearway.testing.storm.databases import database

        with database(store) as opener:
            yield opener


class Lived(NamedTuple):
    """How a storm went: what was broken ("" for nothing), and what really came over its controllers."""

    broken: str
    happened: Counter[str]


def one(seed: int, fate: Fate, opener: Callable[[str], Journal], jobs: int) -> Lived:
    """Live through one storm."""
    with tempfile.TemporaryDirectory() as place, closing(opener(place)) as journal:
        storm = Storm(seed, journal, fate, jobs)
        try:
            storm.live()
        except AssertionError as error:
            return Lived(str(error), storm.happened)
        return Lived("", storm.happened)


def points(
    seed: int, opener: Callable[[str], Journal], jobs: int, *, step: int = 1
) -> tuple[int, list[tuple[int, str]]]:
    """Kill the controller of one storm at every `step`-th of its acts in turn; return how many, and what broke."""
    whole = Fate()
    with tempfile.TemporaryDirectory() as place, closing(opener(place)) as journal:
        live(seed, journal, whole, jobs)
    chosen = range(1, whole.acts + 1, step)
    found = [(at, one(seed, Fate(at=at), opener, jobs).broken) for at in chosen]
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
        if name == "points":
            part.add_argument("--step", type=int, default=1, help="only every so many-th act")
        part.add_argument("--store", default="memory", help="memory, sqlite, or postgresql://.. of a server")
    part = what.add_parser("life", help="a controller that lives two days, with thousands of jobs that come and go")
    part.add_argument("--hours", type=int, default=24, help="so long is each of the two days")
    given = parser.parse_args(argv)
    logging.disable(logging.CRITICAL)  # snapshots that a kill left half written are passed over, thousands of times
    if given.what == "life":
        return _life(given.hours)
    run = _seeds if given.what == "seeds" else _points
    with opener_of(given.store) as opener:
        return 1 if run(given, opener) else 0


def _seeds(given: argparse.Namespace, opener: Callable[[str], Journal]) -> int:
    first, count, jobs = given.first, given.count, given.jobs
    broken, happened = 0, Counter[str]()
    for seed in range(first, first + count):
        lived = one(seed, fate_of(seed), opener, jobs)
        if lived.broken:
            broken += 1
            _say(f"seed {seed}: {lived.broken}")
            _say(f"  again: {AGAIN} --first {seed} --count 1 --jobs {jobs} --store {given.store}")
        happened.update(lived.happened)
        if (seed - first + 1) % TOLD_EVERY == 0:
            _say(f"{seed - first + 1} storms, {happened['kill']} kills, {broken} broken")
    _say("what came over them: " + ", ".join(f"{kind} {happened[kind]}" for kind in NEEDED))
    missing = [kind for kind in NEEDED if not happened[kind]] if count >= MANY else []
    if missing:
        _say(f"so many storms without: {', '.join(missing)}")
    _say(f"{count} storms, {happened['kill']} kills, {broken} broken")
    return broken + len(missing)


def _points(given: argparse.Namespace, opener: Callable[[str], Journal]) -> int:
    broken = total = 0
    for seed in range(given.first, given.first + given.count):
        many, found = points(seed, opener, given.jobs, step=given.step)
        total += many
        broken += len(found)
        for at, said in found:
            _say(f"seed {seed}, killed at act {at}: {said}")
        _say(f"seed {seed}: killed at {many} of its acts, {len(found)} broken")
    _say(f"{total} kill points, {broken} broken")
    return broken


def _life(hours: int) -> int:
    """Live two days; the second may leave nothing behind that the first had not."""
    with tempfile.TemporaryDirectory() as place, closing(SqliteJournal(Path(place) / "journal.db")) as journal:
        days = Days(journal)
        first, second = days.live(hours), days.live(hours)
        for name, day in (("first", first), ("second", second)):
            one = day[-1]
            _say(f"after the {name} {hours} h: {one.jobs} jobs so far, {one.records} records, {one.objects} objects")
        try:
            judge(first, second)
        except AssertionError as error:
            _say(str(error))
            return 1
    _say("nothing grew")
    return 0


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
