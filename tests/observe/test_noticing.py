"""What is worth a notice, on controllers that are driven by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from clearway.control import Board
from clearway.control.controller import Controller
from clearway.engines.fake import FakeEngine, Life, ManualClock, Room
from clearway.loop.forecasting import Forecasting
from clearway.loop.world import World
from clearway.model.asks import Drain, Submit
from clearway.model.errors import StoreError
from clearway.model.ids import JobId
from clearway.model.values import SECOND_US
from clearway.observe.noticing import Notice, Noticing
from clearway.store.memory import MemoryJournal
from clearway.testing.builders import job, node
from tests.loop.forecasters import Told, sure

if TYPE_CHECKING:
    from clearway.model.asks import Ask


class Rig:
    """A controller with a node of two GPUs; jobs run for `lasts_s`. Another one takes over from an `earlier` one."""

    number = JobId(1)

    def __init__(self, earlier: Rig | None = None, exit_code: int = 0, lasts_s: int = 100) -> None:
        self.clock: ManualClock = ManualClock(SECOND_US) if earlier is None else earlier.clock
        new = Room([node(gpus=2)], self.clock, lambda _: Life(lasts_s * SECOND_US, exit_code))
        self.room: Room = new if earlier is None else earlier.room
        self.journal: MemoryJournal = MemoryJournal() if earlier is None else earlier.journal
        self.engine, self.told = FakeEngine(self.room), list[Notice]()
        self.cursor = -1
        since = None if earlier is None else earlier.cursor
        self.noticing = Noticing("s", self.journal, self.told.append, since, self.note)
        self.controller = Controller(
            World(), self.clock, self.engine, self.journal, board=Board(), observer=self.noticing
        )
        self.noticing.controller = self.controller
        self.controller.take_over()

    def note(self, number: int) -> None:
        self.cursor = number

    def turn(self, *asks: Ask) -> None:
        self.controller.turn(asks)
        for _ in range(3):
            self.controller.turn(self.engine.reports())

    def later(self, by_s: int) -> None:
        self.clock.move_to(self.clock.now_us() + by_s * SECOND_US)
        self.turn()
        self.noticing.look()

    def kinds(self) -> list[str]:
        return [notice.kind for notice in self.told]


def test_moves_of_jobs_are_told_with_the_number_of_their_record() -> None:
    rig = Rig(exit_code=3)
    rig.turn(Submit((job("a", user="ann"),)))
    rig.later(100)
    assert rig.kinds() == ["started", "failed"]
    failed = rig.told[-1]
    assert failed.title == "job a (1): failed"
    assert "exited with code 3" in failed.text
    assert failed.job is not None
    assert (failed.job.id, failed.job.name, failed.job.queue, failed.job.user) == (1, "a", "default", "ann")
    number = int(failed.id.removeprefix("s-"))
    assert type(next(e.record for e in rig.journal.read() if e.number == number)).__name__ == "Ended"


def test_what_nobody_told_is_told_by_the_next_controller_with_the_same_id() -> None:
    rig = Rig()
    rig.turn(Submit((job("a"),)))
    told, cursor = list(rig.told), rig.cursor
    rig.later(100)
    rig.cursor = cursor  # the rest was not handed over when it died
    later = Rig(rig)
    assert [notice.id for notice in later.told] == [n.id for n in rig.told if n not in told]
    assert later.kinds() == ["succeeded"]


def test_the_first_controller_with_notices_does_not_tell_all_of_the_past() -> None:
    rig = Rig()
    rig.turn(Submit((job("a"),)))
    rig.later(100)
    later = Rig()
    assert later.told == []


def test_a_turn_that_was_lost_is_read_from_the_journal(monkeypatch: pytest.MonkeyPatch) -> None:
    rig = Rig()
    with monkeypatch.context() as patch:
        patch.setattr(rig.noticing, "hear", lambda _: None)
        rig.turn(Submit((job("a"),)))
    rig.later(100)
    assert rig.kinds() == ["started", "succeeded"]


@pytest.mark.parametrize("restart", [False, True])
def test_a_deadline_is_told_when_it_is_at_risk_and_when_it_is_missed(*, restart: bool) -> None:
    rig = Rig()
    words: dict[str, Any] = {"deadline_us": 150 * SECOND_US, "time_estimate_us": 90 * SECOND_US}
    rig.turn(Submit((job("first", gpus=2), job("late", gpus=2, **words))))
    rig.later(10)
    assert "deadline" not in rig.kinds()
    if restart:
        rig = Rig(rig)
    rig.later(60)
    rig.later(10)
    rig.later(100)
    titles = [notice.title for notice in rig.told if notice.kind == "deadline"]
    assert titles == ["job late (2): deadline at risk", "job late (2): deadline missed"]


def test_where_its_user_says_nothing_a_deadline_is_at_risk_by_the_forecast() -> None:
    rig = Rig()
    rig.controller.world.forecasting = Forecasting(Told(long=sure(200)))
    rig.turn(Submit((job("long", gpus=2, deadline_us=150 * SECOND_US),)))
    rig.later(10)
    (told,) = [notice for notice in rig.told if notice.kind == "deadline"]
    assert told.title == "job long (1): deadline at risk"
    assert "expected to be at 1970-01-01T00:03:21Z" in told.text


def test_gpus_that_idle_while_jobs_wait_are_told_once() -> None:
    rig = Rig()
    rig.turn(Submit((job("never", gpus=3),)))
    for _ in range(5):
        rig.later(900)
    waste = [notice for notice in rig.told if notice.kind == "waste"]
    assert [notice.text for notice in waste] == ["2 GPUs have been idle for 30 minutes while 1 jobs wait"]
    rig.turn(Drain("n"))
    rig.later(900)
    rig.turn(Drain("n", drained=False))
    for _ in range(4):
        rig.later(900)
    assert rig.kinds().count("waste") == 2, "it ended in between"


def test_trouble_is_told_once_for_each_time_that_it_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    rig = Rig()

    def full(_: object) -> int:
        raise StoreError("the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(rig.journal, "append", full)
        rig.controller.turn([Submit((job("a"),))])
        for _ in range(3):
            rig.noticing.look()
    assert [(notice.kind, notice.text) for notice in rig.told] == [("trouble", "the disk is full")]
    assert rig.controller.settle()
    rig.noticing.look()
    rig.controller.world.ledger.free[0][0] -= 500
    rig.controller.look_at_itself()
    rig.noticing.look()
    assert rig.told[-1].title == "the controller found that its books differ, and repaired them"
