"""Jobs' lives as spans, from controllers that are driven by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from clearway.control import Board
from clearway.control.controller import Controller
from clearway.engines.fake import FakeEngine, Life, ManualClock, Room
from clearway.loop.world import World
from clearway.model.asks import Cancel, Requeue, Submit
from clearway.model.events import TaskRef
from clearway.model.fleet import PolicySpec
from clearway.model.ids import JobId
from clearway.model.job import Checkpoint
from clearway.model.tracing import task_header
from clearway.model.values import SECOND_US
from clearway.observe import ears
from clearway.observe.ears import Ears
from clearway.observe.spans import Span, Spans
from clearway.store.memory import MemoryJournal
from clearway.testing.builders import job, node

if TYPE_CHECKING:
    from clearway.model.asks import Ask

SEED = "a seed"
GIVEN = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


class Rig:
    """A controller with a node of two GPUs; jobs run for 10 s. Another one takes over from an `earlier` one."""

    def __init__(self, earlier: Rig | None = None, policy: PolicySpec | None = None, exit_code: int = 0) -> None:
        self.clock: ManualClock = ManualClock(SECOND_US) if earlier is None else earlier.clock
        new = Room([node(gpus=2)], self.clock, lambda _: Life(10 * SECOND_US, exit_code))
        self.room: Room = new if earlier is None else earlier.room
        self.journal: MemoryJournal = MemoryJournal() if earlier is None else earlier.journal
        self.engine, self.spans, board = FakeEngine(self.room), list[Span](), Board()
        heard = Spans(SEED, self.journal, lambda n: board.node_names[n], self.spans.append)
        self.ears = Ears([heard])
        self.controller = Controller(
            World(policy), self.clock, self.engine, self.journal, board=board, observer=self.ears
        )
        self.controller.take_over()

    def turn(self, *asks: Ask) -> None:
        self.controller.turn(asks)
        for _ in range(3):
            self.controller.turn(self.engine.reports())

    def later(self, by_s: int) -> None:
        self.clock.move_to(self.clock.now_us() + by_s * SECOND_US)
        self.turn()

    def named(self, name: str) -> list[Span]:
        self.ears.close()
        return [span for span in self.spans if span.name == name]

    def one(self, name: str) -> Span:
        (span,) = self.named(name)
        return span


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a busy machine take its time at the end."""
    monkeypatch.setattr(ears, "END_S", 60.0)


@pytest.fixture
def rig() -> Rig:
    return Rig()


def seconds(span: Span) -> tuple[int, int]:
    return span.from_us // SECOND_US, span.to_us // SECOND_US


def test_a_life_is_a_tree_from_submit_to_end(rig: Rig) -> None:
    rig.turn(Submit((job("a", user="ann", traceparent=GIVEN),)))
    rig.later(10)
    whole, wait, attempt, start, task = map(rig.one, ("job", "wait", "attempt", "start", "task"))
    assert {span.trace.number for span in (whole, wait, attempt, start, task)} == {GIVEN.split("-")[1]}
    assert whole.parent == GIVEN.split("-")[2]
    assert (wait.parent, attempt.parent) == (whole.number, whole.number)
    assert (start.parent, task.parent) == (attempt.number, attempt.number)
    assert [seconds(span) for span in (whole, wait, attempt, start, task)] == [
        (1, 11),
        (1, 1),
        (1, 11),
        (1, 1),
        (1, 11),
    ]
    assert whole.attributes == {
        "clearway.job": 1, "clearway.name": "a", "clearway.queue": "default", "clearway.user": "ann",
        "clearway.state": "succeeded",
    }  # fmt: skip
    assert (task.attributes["clearway.node"], task.attributes["clearway.devices"]) == ("n", (0,))
    assert task.attributes["process.exit.code"] == 0
    assert {span.fault for span in rig.spans} == {""}


def test_the_number_of_a_task_is_the_one_that_its_process_finds(rig: Rig) -> None:
    rig.turn(Submit((job("a", tasks=2),)))
    rig.later(10)
    found = {span.trace.header(span.number) for span in rig.named("task")}
    assert found == {task_header(SEED, TaskRef(JobId(1), 1, 0, index), "") for index in range(2)}


def test_an_attempt_leads_to_the_cycle_that_decided_it(rig: Rig) -> None:
    rig.turn(Submit((job("a"),)))
    rig.later(10)
    cycle, attempt = rig.one("cycle"), rig.one("attempt")
    assert attempt.link == (cycle.trace.number, cycle.number)
    same = ("clearway.cycle", "clearway.revision")
    assert [attempt.attributes[key] for key in same] == [cycle.attributes[key] for key in same]
    planned = next(entry for entry in rig.journal.read() if type(entry.record).__name__ == "Planned")
    assert cycle.attributes["clearway.revision"] == planned.number - 1


def test_who_is_stopped_for_another_has_two_attempts_and_a_stop_between() -> None:
    rig = Rig(policy=PolicySpec(preempt=("priority",), calm_us=0))
    rig.turn(Submit((job("small", gpus=2, checkpoint=Checkpoint(grace_us=SECOND_US)),)))
    rig.later(3)
    rig.turn(Submit((job("urgent", gpus=2, priority=9),)))
    rig.later(10)
    rig.later(10)
    first, second = (span for span in rig.named("attempt") if span.attributes["clearway.name"] == "small")
    stop = rig.one("stop")
    assert (first.attributes["clearway.end"], second.attributes["clearway.end"]) == ("preempted", "succeeded")
    assert "urgent" in first.fault
    assert stop.parent == first.number
    assert stop.link is not None
    assert stop.link != first.link
    waits = [span for span in rig.named("wait") if span.attributes["clearway.job"] == 1]
    assert [seconds(span) for span in waits] == [(1, 1), (4, 14)]


def test_what_fails_says_so() -> None:
    rig = Rig(exit_code=3)
    rig.turn(Submit((job("a"),)))
    rig.later(10)
    assert rig.one("task").fault == "exit code 3"
    assert (rig.one("attempt").fault, rig.one("job").fault[:18]) == ("exited with code 3",) * 2


def test_what_began_before_a_controller_did_is_known_to_the_next_one(rig: Rig) -> None:
    rig.turn(Submit((job("a", gpus=2), job("b", gpus=2))))
    rig.later(5)
    later = Rig(rig)
    later.later(5)
    later.later(10)
    by_name = {span.attributes["clearway.name"]: span for span in later.named("job")}
    assert {name: seconds(span) for name, span in by_name.items()} == {"a": (1, 11), "b": (1, 21)}
    old, new = later.named("attempt")
    assert seconds(old) == (1, 11)
    assert old.attributes["clearway.cycle"] == 1
    assert old.link == (rig.one("cycle").trace.number, rig.one("cycle").number)
    assert new.attributes["clearway.cycle"] != 1
    assert [span.name for span in rig.spans].count("wait") == 1, "what was told is not told again"
    assert [seconds(span) for span in later.named("wait")] == [(1, 11)]


def test_who_waits_again_or_is_cancelled_is_no_fault(rig: Rig) -> None:
    rig.turn(Submit((job("a"), job("b", gpus=2))))
    rig.turn(Requeue(JobId(1)))
    rig.turn(Cancel(JobId(2), "ann"))
    rig.later(20)
    assert [span.attributes["clearway.state"] for span in rig.named("job") if not span.fault] == [
        "cancelled",
        "succeeded",
    ]


def test_nothing_is_told_of_a_trace_that_nobody_wants(rig: Rig) -> None:
    rig.turn(Submit((job("a", traceparent=GIVEN[:-2] + "00"),)))
    rig.later(10)
    assert {span.name for span in rig.spans} <= {"cycle"}
    assert rig.named("job") == []
