"""A controller that looks at itself: what differs is repaired, counted and said."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from clearway.control import snapshots
from clearway.control.controller import Controller
from clearway.control.upkeep import write
from clearway.engines.fake import FakeEngine, Life, ManualClock, Room
from clearway.loop.difference import Between
from clearway.loop.world import World
from clearway.model.asks import Submit
from clearway.model.errors import EngineError, LedgerError
from clearway.model.events import TaskRef
from clearway.model.states import State
from clearway.model.values import SECOND_US
from clearway.ports.journal import Mark
from clearway.store.memory import MemoryJournal
from clearway.testing.builders import job, node

if TYPE_CHECKING:
    from clearway.loop.entry import JobEntry
    from clearway.model.ids import JobId


class Rig:
    """A controller by hand with two jobs that run."""

    def __init__(self) -> None:
        self.clock = ManualClock(SECOND_US)
        self.room = Room([node()], self.clock, lambda _: Life(None))
        self.engine = FakeEngine(self.room)
        self.journal = MemoryJournal()
        self.controller = Controller(World(), self.clock, self.engine, self.journal)
        self.controller.take_over()
        (answer,) = self.controller.turn([Submit((job("a"), job("b")))]).answers
        assert isinstance(answer, tuple)
        self.one, self.two = answer
        self.turn()

    def turn(self) -> None:
        """Take in what the engine says, and what follows at this moment."""
        for _ in range(3):
            self.controller.turn(self.engine.reports())

    def entry(self, number: JobId) -> JobEntry:
        return self.controller.world.jobs[number]

    def found(self) -> dict[str, int]:
        return {kind: many for kind, many in self.controller.audited.found if many}


@pytest.fixture
def rig() -> Rig:
    return Rig()


def test_what_agrees_is_let_be(rig: Rig) -> None:
    world, last = rig.controller.world, rig.journal.last()
    rig.controller.look_at_itself()
    rig.turn()
    assert (rig.controller.world is world, rig.journal.last(), rig.found()) == (True, last, {})
    assert rig.controller.audited.looks == 1


def test_books_that_are_no_sum_of_grants_are_built_anew(rig: Rig, caplog: pytest.LogCaptureFixture) -> None:
    rig.controller.world.ledger.free[0][0] -= 500
    with caplog.at_level(logging.ERROR):
        rig.controller.look_at_itself()
    rig.controller.world.validate()
    assert rig.found() == {"books": 1}
    assert "n: free cpus is" in rig.controller.audited.last
    assert "a difference was found, and is repaired: n: free cpus" in caplog.text
    assert rig.entry(rig.one).state == State.RUNNING
    assert len(rig.room.launched) == 2, "nothing is started again"


def test_a_job_that_is_not_what_its_records_say(rig: Rig) -> None:
    rig.entry(rig.two).attempt = 7
    rig.controller.look_at_itself()
    assert rig.found() == {"store": 1}
    assert "is running in attempt 7, and running in attempt 1 by its records" in rig.controller.audited.last
    assert rig.entry(rig.two).attempt == 1


def test_a_record_that_was_never_applied(rig: Rig) -> None:
    rig.controller.world.state.revision -= 1
    rig.controller.look_at_itself()
    assert rig.found() == {"store": 1}
    assert rig.controller.world.state.revision == rig.journal.last()


def test_a_snapshot_of_a_wrong_world_is_passed_over(rig: Rig) -> None:
    rig.entry(rig.two).attempt = 7
    mark = Mark(rig.journal.last(), rig.clock.now_us())
    write(rig.journal, mark, snapshots.written(rig.controller.world, rig.controller.board, mark.number))
    rig.controller.look_at_itself()
    assert rig.entry(rig.two).attempt == 1


def test_books_that_no_journal_puts_right_end_it(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(_: World) -> None:
        raise LedgerError("it never adds up")

    monkeypatch.setattr(World, "validate", wrong)
    with pytest.raises(LedgerError, match="never adds up"):
        rig.controller.look_at_itself()


def test_a_process_that_is_gone_without_a_word(rig: Rig) -> None:
    rig.room.vanish(TaskRef(rig.one, 1, 0, 0))
    rig.controller.look_at_itself()
    rig.turn()
    assert rig.found() == {"no_process": 1}
    assert (rig.entry(rig.one).attempt, rig.entry(rig.one).losses) == (2, 1)
    assert rig.entry(rig.two).attempt == 1


def test_a_process_that_nobody_ordered(rig: Rig) -> None:
    stranger = TaskRef(rig.one, 0, 0, 0)
    rig.room.intrude(stranger, "n")
    rig.controller.look_at_itself()
    rig.turn()
    rig.controller.look_at_itself()
    rig.turn()
    assert rig.found() == {"no_grant": 1}
    assert stranger not in rig.room.node_is_up("n").running
    assert rig.controller.world.ledger.open[0]


def test_an_engine_that_fails_is_asked_another_time(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails() -> None:
        raise EngineError("it does not answer")

    monkeypatch.setattr(rig.engine, "look", fails)
    rig.controller.look_at_itself()
    assert "it does not answer" in rig.controller.health().text


def test_every_kind_is_told_from_the_start(rig: Rig) -> None:
    assert [kind for kind, _ in rig.controller.audited.found] == [kind.value for kind in Between]


@pytest.mark.parametrize("what", ["state", "grants", "node", "queue use", "queue counts"])
def test_a_board_that_shows_something_else_is_put_right(rig: Rig, what: str) -> None:
    board = rig.controller.board
    before = (dict(board.jobs), dict(board.nodes), dict(board.queues), board.holders())
    if what == "state":
        board.jobs[rig.one] = replace(board.jobs[rig.one], state=State.PENDING)
    elif what == "grants":
        board.books.held[rig.two].clear()
    elif what == "node":
        node = next(iter(board.nodes))
        board.nodes[node] = replace(board.nodes[node], shares=(1, 2, 3), use=())
    elif what == "queue use":
        board.queues["default"] = replace(board.queues["default"], use=(("cpus", 7),))
    else:
        board.queues["default"] = replace(board.queues["default"], pending=3, running=0)
    rig.controller.look_at_itself()
    assert (dict(board.jobs), dict(board.nodes), dict(board.queues), board.holders()) == before
    assert rig.found() == {"board": 1}
    assert rig.controller.audited.last.startswith("the board ")
    rig.controller.look_at_itself()
    assert rig.found() == {"board": 1}
