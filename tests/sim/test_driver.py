"""In what order the driver does things. The loop is a stand-in here that only remembers what it was given."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import pytest

from clearway.loop.world import Step, World
from clearway.model.asks import Cancel, Drain, Refuse, Submit
from clearway.model.errors import ConflictError, InputError, LedgerError
from clearway.model.events import ControllerStarted, Ended, Record
from clearway.model.fleet import NodeSpec
from clearway.model.ids import JobId
from clearway.model.job import JobSpec
from clearway.model.reasons import Code, because
from clearway.model.states import State
from clearway.sim.driver import MAX_IDLE_STEPS, Driver
from clearway.sim.engine import SimEngine
from clearway.sim.heap import VirtualClock
from clearway.sim.truth import Truth

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

SECOND = 1_000_000
Line = tuple[int, JobSpec | Refuse, Truth]


class Script:
    """A loop that answers submits with the next number, and records and asks for what it is told to."""

    def __init__(
        self, answer: Callable[[Any], object] | None = None, wake: Callable[[int], int | None] | None = None
    ) -> None:
        self.seen: list[tuple[float, list[str]]] = []
        self.records: list[Record] = []
        self._answer = answer or self._number
        self._wake = wake or (lambda _now: None)
        self._jobs = 0

    def _number(self, _ask: object) -> object:
        self._jobs += 1
        return (JobId(self._jobs),)

    def step(self, inputs: list[Any], now_us: int) -> Step:
        self.seen.append((now_us / SECOND, [_shown(x) for x in inputs]))
        answers = [self._answer(x) if isinstance(x, Submit) else None for x in inputs]
        records, self.records = self.records, []
        return Step(records, [], answers, self._wake(now_us))


def _shown(one: object) -> str:
    match one:
        case Submit(specs=(spec,)):
            return spec.name
        case Refuse(name=name, reason=reason):
            return f"refuse {name} {reason.get('rule')}"
        case _:
            return type(one).__name__


class Asks:
    """Things that people ask at given moments."""

    def __init__(self, *moments: tuple[float, object]) -> None:
        self.left = list(moments)

    def next_us(self) -> int | None:
        return round(self.left[0][0] * SECOND) if self.left else None

    def play(self, driver: Driver) -> None:
        while self.left and self.left[0][0] * SECOND <= driver.clock.now_us():
            driver.asks.append(cast("Any", self.left.pop(0)[1]))


def driver(
    script: Script, arrivals: Iterable[Line], events: Asks | None = None, sink: list[Record] | None = None
) -> Driver:
    engine = SimEngine(VirtualClock(), [NodeSpec("n1", gpus=1)], 30 * SECOND)
    into = [] if sink is None else sink
    return Driver(cast("World", script), engine, arrivals, into.extend, events)


def lines(*entries: tuple[float, str]) -> list[Line]:
    return [(round(at * SECOND), JobSpec(name), Truth()) for at, name in entries]


def test_at_one_moment_reports_come_first_then_wishes_then_submits_and_all_is_one_step() -> None:
    script = Script()
    played = driver(script, lines((20, "a"), (20, "b")), Asks((20, Drain("n1"))))
    played.engine.notice("n1", 20 * SECOND)
    played.run()
    assert script.seen == [(0.0, ["NodeIsNoticed"]), (20.0, ["NodeIsQuiet", "Drain", "a", "b"])]


def test_arrivals_are_pulled_when_their_moment_comes() -> None:
    pulled = []

    def stream() -> Iterable[Line]:
        for line in lines((1, "a"), (2, "b"), (3, "c")):
            pulled.append(line[1].name)
            yield line

    script = Script()
    played = driver(script, stream())
    assert pulled == ["a"]
    played.run(until_us=SECOND)
    assert pulled == ["a", "b"]
    played.run()
    assert script.seen == [(1.0, ["a"]), (2.0, ["b"]), (3.0, ["c"])]


def test_it_steps_when_the_loop_asked_for_it() -> None:
    script = Script(wake=lambda now: 7 * SECOND if now < 7 * SECOND else None)
    driver(script, lines((1, "a"))).run()
    assert script.seen == [(1.0, ["a"]), (7.0, [])]


def test_it_ends_with_the_observation_and_what_falls_on_its_end_still_counts() -> None:
    script = Script()
    assert driver(script, lines((1, "a"), (2, "b"), (3, "c"))).run(until_us=2 * SECOND) == 2 * SECOND
    assert [at for at, _ in script.seen] == [1.0, 2.0]


def test_a_refused_submit_is_recorded_as_a_refusal() -> None:
    def answer(_ask: object) -> object:
        return InputError("queue", "q", "no such queue")

    script = Script(answer)
    driver(script, lines((1, "a"))).run()
    assert script.seen == [(1.0, ["a"]), (1.0, ["refuse a no such queue"])]
    script = Script(lambda _ask: ConflictError("known already"))
    driver(script, lines((1, "a"))).run()
    assert script.seen[1] == (1.0, ["refuse a known already"])


def test_what_was_refused_when_it_was_read_is_asked_to_be_recorded() -> None:
    script = Script()
    driver(script, [(SECOND, Refuse("a", because(Code.BAD_VALUE, rule="r")), Truth())]).run()
    assert script.seen == [(1.0, ["refuse a r"])]


def test_a_cancellation_follows_its_submit() -> None:
    script = Script()
    arrivals = [(SECOND, JobSpec("a"), Truth(cancel_after_us=0)), (SECOND, JobSpec("b"), Truth(cancel_after_us=SECOND))]
    driver(script, arrivals).run()
    assert script.seen == [(1.0, ["a", "b"]), (1.0, ["Cancel"]), (2.0, ["Cancel"])]


def test_while_no_controller_runs_nothing_is_asked_and_jobs_wait_at_the_door() -> None:
    script = Script()
    played = driver(script, lines((1, "a")), Asks((2, Cancel(JobId(1)))))
    played.world = None
    played.run()
    assert script.seen == []
    played.world = cast("World", script)
    played.run()
    assert script.seen == [(2.0, ["Cancel", "a"])]


def test_records_are_journaled_before_they_are_carried_out_and_ended_jobs_are_forgotten() -> None:
    script, journal = Script(), list[Record]()
    played = driver(script, lines((1, "a"), (2, "b")), sink=journal)
    played.run(until_us=SECOND)
    assert list(played.engine._truths) == [1]  # nothing else shows what is kept
    script.records = [ControllerStarted(2), Ended(2, JobId(1), State.SUCCEEDED)]
    assert played.run() == 2 * SECOND
    assert journal == [ControllerStarted(2), Ended(2, JobId(1), State.SUCCEEDED)]
    assert list(played.engine._truths) == [2]  # the same


def test_a_loop_that_asks_to_be_called_for_ever_is_found_out() -> None:
    script = Script(wake=lambda now: now)
    with pytest.raises(LedgerError, match="again and again"):
        driver(script, lines((1, "a"))).run()
    assert len(script.seen) < MAX_IDLE_STEPS + 10


def test_an_answer_that_is_none_is_a_defect_and_not_passed_over() -> None:
    with pytest.raises(LedgerError, match="answer"):
        driver(Script(lambda _ask: None), lines((1, "a"))).run()
