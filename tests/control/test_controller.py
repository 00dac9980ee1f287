"""The live driver: asks and reports in, commits before orders, timers, restarts, and what stops it."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

import pytest

from clearway.control.clock import SystemClock
from clearway.control.controller import Controller
from clearway.loop.world import World
from clearway.model import events as ev
from clearway.model.actions import Halt, Launch
from clearway.model.asks import Cancel, SetQueue, Submit
from clearway.model.errors import ControllerError, InputError, LedgerError, NotFoundError
from clearway.model.fleet import QueueSpec
from clearway.model.ids import JobId
from clearway.model.job import Demand, JobSpec, Role
from clearway.model.states import State
from clearway.store.memory import MemoryJournal
from tests.control.hand_engine import HandEngine

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from clearway.loop.world import Step
    from clearway.model.actions import Action
    from clearway.model.asks import Ask
    from clearway.ports.engine import Report
    from clearway.ports.provider import OrderFailed

SOON_S = 10.0


def job(name: str = "a", gpus: int = 1, **words: object) -> JobSpec:
    return JobSpec(name=name, roles=(Role(demand=Demand(gpus)),), **words)  # type: ignore[arg-type]


def until(condition: Callable[[], object]) -> None:
    end = time.monotonic() + SOON_S
    while not condition():
        assert time.monotonic() < end, "it did not come about"
        time.sleep(0.005)


class Live:
    """A controller that runs, its engine and its journal."""

    def __init__(self, engine: HandEngine | None = None, journal: MemoryJournal | None = None) -> None:
        self.engine = engine or HandEngine()
        self.journal = journal or MemoryJournal()
        self.ended: list[BaseException | None] = []
        self.controller = self.make()

    def make(self, first: tuple[Ask, ...] = ()) -> Controller:
        clock = SystemClock()
        return Controller(World(), clock, self.engine, self.journal, first=first, on_end=self.ended.append)

    def ask(self, ask: Ask) -> object:
        return self.controller.ask(ask).result(SOON_S)

    def submit(self, *specs: JobSpec) -> tuple[JobId, ...]:
        answer = self.ask(Submit(specs))
        assert isinstance(answer, tuple)
        return answer

    def over(self, number: JobId) -> State:
        return self.controller.board.when_over(number).result(SOON_S).state

    def records(self) -> list[ev.Record]:
        return [entry.record for entry in self.journal.read()]

    def restart(self) -> None:
        self.controller.stop()
        assert self.controller.wait(SOON_S)
        self.controller = self.make()
        self.controller.start()


@pytest.fixture
def live() -> Iterator[Live]:
    made = Live()
    made.controller.start()
    yield made
    made.controller.stop()
    made.controller.wait(SOON_S)


def test_a_job_from_submit_to_end(live: Live) -> None:
    (number,) = live.submit(job())
    assert live.controller.board.jobs[number].name == "a"
    until(lambda: live.controller.board.jobs[number].state is State.RUNNING)
    live.engine.end_all()
    assert live.over(number) is State.SUCCEEDED
    until(lambda: not live.engine.ends)
    kinds = [type(r).__name__ for r in live.records()]
    assert kinds[-7:] == ["Joined", "Planned", "Started", "TaskStarted", "TaskEnded", "AttemptEnded", "Ended"]
    assert live.controller.health().state == "up"


def test_nothing_is_told_before_it_is_in_the_journal(live: Live) -> None:
    seen: list[int] = []
    carry_out = live.engine.carry_out

    def watched(actions: Sequence[Action]) -> None:
        seen.append(live.journal.last())
        carry_out(actions)

    live.engine.carry_out = watched  # type: ignore[method-assign]
    live.submit(job())
    until(lambda: seen)
    started = next(e.number for e in live.journal.read() if isinstance(e.record, ev.Started))
    assert seen[0] >= started


def test_a_refused_ask_raises_and_leaves_nothing(live: Live) -> None:
    before = live.journal.last()
    with pytest.raises(InputError, match="queue"):
        live.submit(job(), job("b", queue="nowhere"))
    with pytest.raises(NotFoundError, match="no job 77"):
        live.ask(Cancel(JobId(77)))
    assert live.journal.last() == before
    assert live.controller.board.jobs == {}


def test_waiting_and_cancelling(live: Live) -> None:
    first, second = live.submit(job("a", 3), job("b", 2))
    row = live.controller.board.jobs[second]
    assert row.state is State.PENDING
    assert live.controller.board.reasons(row)
    live.ask(Cancel(first, by="ada"))
    assert live.over(first) is State.CANCELLED
    until(lambda: live.controller.board.jobs[second].state is State.RUNNING)
    assert any(isinstance(a, Halt) for a in live.engine.heard)


def test_asks_of_many_threads_are_all_answered_and_committed_together(live: Live) -> None:
    appends: list[int] = []
    append = live.journal.append

    def slow(records: list[ev.Record]) -> int:
        time.sleep(0.02)
        appends.append(len(records))
        return append(records)

    live.journal.append = slow  # type: ignore[method-assign,assignment]
    numbers: list[JobId] = []
    threads = [threading.Thread(target=lambda i=i: numbers.extend(live.submit(job(f"j{i}", 4)))) for i in range(40)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(numbers) == list(range(1, 41))
    assert len(appends) < 20


def test_timers_fire(live: Live) -> None:
    (number,) = live.submit(job(time_limit_us=200_000))
    assert live.over(number) is State.FAILED
    row = live.controller.board.jobs[number]
    assert row.reason is not None
    assert row.reason.code == "time-limit"
    assert 200_000 <= (row.ended_us or 0) - (row.started_us or 0) < 5_000_000


def test_an_idle_controller_takes_no_turns(live: Live) -> None:
    until(lambda: live.controller.health().state == "up")
    steps: list[object] = []
    step = live.controller.world.step

    def counted(inputs: Sequence[Ask | Report | OrderFailed], now_us: int) -> Step:
        steps.append(inputs)
        return step(inputs, now_us)

    live.controller.world.step = counted  # type: ignore[method-assign]
    for _ in range(20):
        live.engine.wake()
        time.sleep(0.005)
    assert steps == []


def test_stop(live: Live) -> None:
    live.controller.stop()
    assert live.controller.wait(SOON_S)
    assert live.ended == [None]
    assert live.controller.health().state == "stopped"
    live.engine.wake = lambda: pytest.fail("the engine may be closed by now")  # type: ignore[method-assign]
    with pytest.raises(ControllerError, match="stopped; nothing was accepted"):
        live.submit(job())
    live.controller.stop()


def test_settings_come_with_the_first_turn() -> None:
    live = Live()
    live.controller = live.make(first=(SetQueue(QueueSpec("research", weight=3)),))
    live.controller.start()
    assert live.controller.board.queues["research"].spec.weight == 3
    live.submit(job(queue="research"))
    live.controller.stop()
    live.controller.wait(SOON_S)


def test_bad_settings_keep_it_from_starting_and_leave_nothing() -> None:
    live = Live()
    live.controller = live.make(first=(SetQueue(QueueSpec("research", parent="nowhere")),))
    with pytest.raises(InputError, match="parent"):
        live.controller.start()
    assert live.journal.last() == 0
    assert live.engine.heard == []
    assert live.controller.health().state == "failed"


# --- restarts --------------------------------------------------------------------------------------


def test_running_tasks_are_found_again(live: Live) -> None:
    (number,) = live.submit(job())
    until(lambda: live.controller.board.jobs[number].state is State.RUNNING)
    live.restart()
    assert live.controller.board.jobs[number].state is State.RUNNING
    live.engine.end_all()
    assert live.over(number) is State.SUCCEEDED
    assert len(live.engine.starts) == 1


def test_what_ended_while_no_controller_ran_is_not_run_again(live: Live) -> None:
    first, second = live.submit(job("a", 3), job("b", 3))
    until(lambda: live.controller.board.jobs[first].state is State.RUNNING)
    live.controller.stop()
    live.controller.wait(SOON_S)
    live.engine.finish(live.engine.starts[0], 3)
    live.controller = live.make()
    live.controller.start()
    assert live.over(first) is State.FAILED
    assert live.controller.board.jobs[first].exit_code == 3
    until(lambda: live.controller.board.jobs[second].state is State.RUNNING)
    assert [t.job for t in live.engine.starts] == [first, second]


def test_a_start_that_was_recorded_but_never_told_is_told_again() -> None:
    live = Live()
    died = live.make()
    died.take_over()
    step = died.world.step([Submit((job(),))], SystemClock().now_us())
    live.journal.append(step.records)  # and here it died
    assert any(isinstance(a, Launch) for a in step.actions)
    live.controller = live.make()
    live.controller.start()
    until(lambda: live.controller.board.jobs[JobId(1)].state is State.RUNNING)
    assert len(live.engine.starts) == 1
    live.controller.stop()
    live.controller.wait(SOON_S)


def test_a_rebuilt_board_equals_the_one_that_lived_through_it(live: Live) -> None:
    first, _, _ = live.submit(job("a", 1), job("b", 2), job("c", 4))
    until(lambda: len(live.engine.running) == 2)
    live.engine.finish(live.engine.starts[0])
    assert live.over(first) is State.SUCCEEDED
    old = live.controller.board
    live.restart()
    new = live.controller.board
    assert list(new.jobs.values()) == list(old.jobs.values())
    assert (new.nodes, new.queues, new.class_reasons) == (old.nodes, old.queues, old.class_reasons)


# --- what goes wrong -------------------------------------------------------------------------------


def test_a_defect_stops_it_loudly(live: Live, caplog: pytest.LogCaptureFixture) -> None:
    live.submit(job())
    before = live.journal.last()

    def broken(_inputs: object, _now_us: int) -> None:
        raise LedgerError("the books do not add up")

    live.controller.world.step = broken  # type: ignore[method-assign,assignment]
    with pytest.raises(ControllerError, match="failed"):
        live.submit(job("b"))
    with pytest.raises(LedgerError, match="add up"):
        live.controller.wait(SOON_S)
    assert live.controller.health().state == "failed"
    assert isinstance(live.ended[0], LedgerError)
    assert "has failed and stops" in caplog.text
    assert live.journal.last() == before
    with pytest.raises(ControllerError, match="nothing was accepted"):
        live.submit(job("c"))
    live.controller = live.make()
    live.controller.start()
    assert [row.name for row in live.controller.board.jobs.values()] == ["a"]


def test_an_engine_that_fails_as_a_whole_is_told_later(live: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clearway.control.teller.RETRY_S", 0.05)
    live.engine.broken = True
    (number,) = live.submit(job())
    until(lambda: "the runner does not answer" in live.controller.health().text)
    assert live.controller.health().state == "up"
    (other,) = live.submit(job("b"))
    live.ask(Cancel(other))
    assert live.engine.heard == []
    live.engine.broken = False
    until(lambda: live.controller.board.jobs[number].state is State.RUNNING)
    assert [type(a).__name__ for a in live.engine.heard] == ["Launch", "Launch", "Halt"]
    assert live.over(other) is State.CANCELLED
    assert live.controller.health().text == ""


def test_schedules_learn_that_the_wall_clock_was_set() -> None:
    ahead_us = 0
    clock, engine, journal = SystemClock(), HandEngine(), MemoryJournal()
    controller = Controller(World(), clock, engine, journal, wall_us=lambda: clock.now_us() + ahead_us)
    controller.start()
    controller.ask(SetQueue(QueueSpec("a"))).result(SOON_S)
    assert controller.world.state.flows.schedules.offset_us == 0
    ahead_us = 3_600_000_000
    controller.ask(SetQueue(QueueSpec("b"))).result(SOON_S)
    first = controller.world.state.flows.schedules.offset_us
    assert abs(first - ahead_us) < 1_000_000
    controller.ask(SetQueue(QueueSpec("c"))).result(SOON_S)
    assert controller.world.state.flows.schedules.offset_us == first, "told once"
    controller.stop()
    assert controller.wait(SOON_S)
    again = Controller(World(), clock, HandEngine(), journal, wall_us=clock.now_us)
    again.take_over()
    assert abs(again.world.state.flows.schedules.offset_us) < 1_000_000
