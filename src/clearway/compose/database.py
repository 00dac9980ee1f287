"""What people do with the journal of a home as a whole: bring it up to date, copy it, put it back, look it through."""

from __future__ import annotations

from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, NamedTuple

from clearway.compose.assemble import policy_of
from clearway.compose.stores import engine_home, open_journal, open_reader, remove_output
from clearway.config.home import home_dir, make_home
from clearway.config.settings import load_settings
from clearway.control import Board, snapshots
from clearway.control.upkeep import tidy, write
from clearway.loop.snapshot import settled, take
from clearway.loop.world import World
from clearway.model.errors import ClearwayError, ConflictError, InputError, NotFoundError
from clearway.ports.journal import Mark
from clearway.store.copying import copy
from clearway.store.sqlite import SqliteJournal

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from clearway.config.settings import Settings
    from clearway.store.sql import SqlJournal

MOST_FAULTS = 20  # the first ones say what is wrong


class Found(NamedTuple):
    """What `check` saw: records, snapshots and jobs that are not over; and what is wrong, in words."""

    place: str
    records: int
    snapshots: int
    live_jobs: int
    faults: list[str]


def _settings(home: Path | None, options: Mapping[str, object] | None = None) -> Settings:
    return load_settings(home_dir(home), options)


@contextmanager
def _alone(settings: Settings) -> Iterator[SqlJournal]:
    """Yield the journal to write in place of a controller. Raises ConflictError where one runs, NotFoundError."""
    with closing(open_reader(settings, any_version=True)):
        pass
    with closing(open_journal(settings, upgrades=True)) as journal:
        yield journal


def upgrade(home: Path | None) -> tuple[str, int, int]:
    """Bring the tables up to this version; return where they are, the version found and the one they have now."""
    settings = _settings(home)
    with closing(open_reader(settings, any_version=True)) as before:
        found = before.version()
    with _alone(settings) as journal:
        return journal.place, found, journal.version()


def backup(home: Path | None, file: Path, options: Mapping[str, object] | None = None) -> int:
    """Copy the journal into a new file, also while a controller runs; return the number of the last record."""
    if file.exists():
        raise ConflictError(f"{file} is there already: a backup is never written over something")
    if not file.parent.is_dir():
        raise InputError("file", str(file), f"a file that can be written (there is no folder {file.parent})")
    with closing(open_reader(_settings(home, options))) as source:
        try:
            with closing(SqliteJournal(file)) as target:
                last = copy(source, target)
                target.shrink()
        except BaseException:
            _remove(file)
            raise
    _remove(file, "-wal", "-shm", ".lock")
    return last


def restore(home: Path | None, file: Path) -> int:
    """Put the records of a backup into a home without any, also a new one; return the number of the last one."""
    with closing(SqliteJournal(file, writes=False)) as source:
        make_home(home_dir(home))
        with closing(open_journal(_settings(home))) as target:
            return copy(source, target)


def compact(home: Path | None) -> tuple[int, int]:
    """Take a snapshot, drop what is over longer than the retention time, and give back the space.

    Returns how many jobs and how many records went. ConflictError while a controller runs: it does the same as it goes.
    """
    settings = _settings(home)
    with _alone(settings) as journal:
        before = journal.count()
        world, board = _rebuilt(settings, journal)
        mark = Mark(journal.last(), world.now_us)
        if mark.number and mark not in journal.marks():
            write(journal, mark, snapshots.written(world, board, mark.number))
        gone = tidy(journal, mark.at_us, settings.retention_us)
        remove_output(engine_home(settings), gone)
        journal.shrink()
        return len(gone), before - journal.count()


def _rebuilt(settings: Settings, journal: SqlJournal) -> tuple[World, Board]:
    world, board = World(policy_of(settings)), Board(settings.kept_finished)
    begin = snapshots.newest(journal)
    if begin is not None:
        world = begin.world
        board.put_back(begin.board)
    for entry in journal.read(begin.number if begin is not None else 0):
        world.apply(entry.record)
        board.fold((entry.record,))
    return world, board


def check(home: Path | None, options: Mapping[str, object] | None = None) -> Found:
    """Read all of a journal, also while a controller runs, and see whether it adds up."""
    settings = _settings(home, options)
    with closing(open_reader(settings)) as journal:
        faults = journal.faults()
        number = live = 0
        try:
            world = _walk(settings, journal, faults)
            live, number = len(world.jobs), journal.count()
            world.validate()
        except ClearwayError as error:
            faults.append(str(error))
        return Found(journal.place, number, len(journal.marks()), live, faults[:MOST_FAULTS])


def _walk(settings: Settings, journal: SqlJournal, faults: list[str]) -> World:
    """Build the world record by record, and compare it with every snapshot on the way."""
    ahead = {mark.number: mark for mark in journal.marks()}
    world, begin = World(policy_of(settings)), journal.floor()
    if begin:
        if begin not in ahead:
            raise NotFoundError(f"the snapshot at record {begin} is missing, and the records before it are gone")
        world = snapshots.loaded(journal.snapshot(ahead.pop(begin)), f"the snapshot at record {begin}").world
    last = journal.last()
    for entry in journal.read(begin):
        if entry.number > last:
            break
        world.apply(entry.record)
        if (mark := ahead.pop(entry.number, None)) is not None:
            _compare(journal, mark, world, faults)
    return world


def _compare(journal: SqlJournal, mark: Mark, world: World, faults: list[str]) -> None:
    where = f"the snapshot at record {mark.number}"
    try:
        kept = take(snapshots.loaded(journal.snapshot(mark), where).world)
    except ClearwayError as error:
        faults.append(str(error))
        return
    if settled(kept) != settled(take(world)):
        faults.append(f"{where} says something else than the records up to it")


def _remove(file: Path, *sides: str) -> None:
    for side in sides or ("", "-wal", "-shm", ".lock"):
        file.with_name(file.name + side).unlink(missing_ok=True)
