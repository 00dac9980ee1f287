"""A journal that cannot be written: nothing is told, nothing is lost, nothing is doubled, and it goes on by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from clearway.control.clock import SystemClock
from clearway.control.controller import Controller
from clearway.loop.world import World
from clearway.model import events as ev
from clearway.model.asks import Submit
from clearway.model.errors import StoreError
from clearway.model.job import JobSpec
from clearway.model.states import State
from clearway.store.memory import MemoryJournal
from clearway.store.sqlite import SqliteJournal
from tests.control.hand_engine import HandEngine
from tests.control.test_controller import SOON_S, Live, job, until
from tests.disks import small_disk

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from clearway.ports.engine import Report


class FailingJournal(MemoryJournal):
    """A journal that cannot be written while `fails`."""

    def __init__(self) -> None:
        super().__init__()
        self.fails = False
        self.tries = 0

    def append(self, records: Sequence[ev.Record]) -> int:
        self.tries += 1
        if self.fails:
            raise StoreError("the journal cannot be written: the disk is full")
        return super().append(records)


@pytest.fixture
def journal() -> FailingJournal:
    return FailingJournal()


@pytest.fixture
def live(journal: FailingJournal) -> Iterator[Live]:
    made = Live(journal=journal)
    made.controller.start()
    yield made
    made.controller.stop()
    made.controller.wait(SOON_S)


def stuck(live: Live) -> bool:
    return live.controller.health().state == "stuck"


def count(live: Live, kind: type) -> int:
    return sum(isinstance(r, kind) for r in live.records())


def test_whoever_asked_is_told_and_nothing_else_happens(live: Live, journal: FailingJournal) -> None:
    journal.fails = True
    with pytest.raises(StoreError, match="the disk is full; what was asked is decided, and holds as soon as"):
        live.submit(job())
    assert stuck(live)
    assert "the disk is full" in live.controller.health().text
    with pytest.raises(StoreError, match="the disk is full; nothing was accepted"):
        live.submit(job("b"))
    assert live.engine.heard == []
    assert live.controller.board.jobs == {}
    assert count(live, ev.Submitted) == 0


def test_when_there_is_room_it_goes_on_with_what_was_decided(live: Live, journal: FailingJournal) -> None:
    journal.fails = True
    for name in ("a", "b", "c"):
        with pytest.raises(StoreError):
            live.submit(job(name))
    tries = journal.tries
    until(lambda: journal.tries > tries)
    journal.fails = False
    until(lambda: live.controller.health().state == "up")
    (number,) = live.submit(job("d"))
    assert [r.spec.name for r in live.records() if isinstance(r, ev.Submitted)] == ["a", "d"]
    until(lambda: live.controller.board.jobs[number].state is State.RUNNING)
    assert len(live.engine.starts) == len(set(live.engine.starts)) == 2
    replayed = World()
    for record in live.records():
        replayed.apply(record)
    assert {j: e.state for j, e in replayed.jobs.items()} == {j: e.state for j, e in live.controller.world.jobs.items()}


def test_ends_reported_meanwhile_are_kept(live: Live, journal: FailingJournal) -> None:
    first, second = live.submit(job("a"), job("b"))
    until(lambda: live.controller.board.jobs[second].state is State.RUNNING)
    journal.fails = True
    live.engine.finish(live.engine.starts[0], 3)
    until(lambda: stuck(live))
    live.engine.finish(live.engine.starts[1], 0)
    assert len(live.engine.ends) == 2  # not acknowledged: they are in no journal
    journal.fails = False
    assert live.over(first) is State.FAILED
    assert live.over(second) is State.SUCCEEDED
    until(lambda: not live.engine.ends)
    assert count(live, ev.TaskEnded) == 2


def test_one_that_dies_while_stuck_has_decided_nothing(live: Live, journal: FailingJournal) -> None:
    (first,) = live.submit(job("a"))
    until(lambda: live.controller.board.jobs[first].state is State.RUNNING)
    journal.fails = True
    live.engine.finish(live.engine.starts[0], 0)
    until(lambda: stuck(live))
    live.controller.stop()
    assert live.controller.wait(SOON_S)
    journal.fails = False
    live.controller = live.make()
    live.controller.start()
    assert live.over(first) is State.SUCCEEDED
    assert count(live, ev.TaskEnded) == 1
    assert len(live.engine.starts) == 1


def test_a_start_without_room(journal: FailingJournal) -> None:
    live = Live(journal=journal)
    journal.fails = True
    live.controller.start()
    assert stuck(live)
    journal.fails = False
    until(lambda: live.controller.health().state == "up")
    live.submit(job())
    assert count(live, ev.ControllerStarted) == 1
    live.controller.stop()
    live.controller.wait(SOON_S)


def test_the_engine_is_listened_to_all_the_while(live: Live, journal: FailingJournal) -> None:
    heard: list[int] = []
    reports = live.engine.reports
    journal.fails = True
    with pytest.raises(StoreError):
        live.submit(job())

    def listened() -> list[Report]:
        heard.append(1)
        return reports()

    live.engine.reports = listened  # type: ignore[method-assign]
    until(lambda: len(heard) > 2)


def test_a_disk_that_is_really_full() -> None:
    with small_disk() as disk:
        ballast = disk / "ballast"
        ballast.write_bytes(bytes(800_000))
        names = fill_and_go_on(disk / "journal.db", ballast)
        again = SqliteJournal(disk / "journal.db")
        assert [e.record.spec.name for e in again.read() if isinstance(e.record, ev.Submitted)] == names
        again.close()


def fill_and_go_on(path: Path, ballast: Path) -> list[str]:
    """Submit until the disk is full, make room, submit once more, and return what should be in the journal."""
    journal = SqliteJournal(path)
    controller = Controller(World(), SystemClock(), HandEngine(), journal)
    controller.start()
    names: list[str] = []
    error = ""
    while not error:
        names.append(f"j{len(names)}")
        try:
            controller.ask(Submit((JobSpec(name=names[-1], env=(("A", "x" * 20_000),)),))).result(SOON_S)
        except StoreError as found:
            error = str(found)
    assert "the disk is full" in error
    if "nothing was accepted" in error:
        names.pop()
    assert len(names) > 5
    ballast.unlink()
    until(lambda: controller.health().state == "up")
    names.append("last")
    assert controller.ask(Submit((JobSpec(name="last"),))).result(SOON_S) == (len(names),)
    controller.stop()
    controller.wait(SOON_S)
    journal.close()
    return names
