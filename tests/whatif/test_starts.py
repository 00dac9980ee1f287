"""ETAs of the past beside what came: who is judged, and how."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clearway.loop.forecasting import Forecasting
from clearway.model.asks import Cancel
from clearway.model.values import SECOND_US
from clearway.testing.builders import Bench, job, node
from clearway.whatif.starts import MOST_ASKED, StartsForeseen
from tests.loop.forecasters import Told, even, sure

if TYPE_CHECKING:
    from clearway.model.ids import JobId

SAMPLES = 20


def always() -> bool:
    return True


def bench(told: Told) -> Bench:
    made = Bench(node(gpus=1))
    made.world.forecasting = Forecasting(told)
    return made


def hear(asked: StartsForeseen, made: Bench, done: int) -> None:
    for record in made.journal[done:]:
        asked.hear(record)


def waiting(told: Told) -> tuple[Bench, JobId, JobId]:
    made = bench(told)
    (runs,) = made.submit(job("runs"))
    made.up(runs)
    (waits,) = made.submit(job("waits"))
    return made, runs, waits


def test_what_starts_as_was_said_is_inside_and_off_by_nothing() -> None:
    made, runs, _ = waiting(Told(runs=sure(100), waits=sure(5)))
    asked, done = StartsForeseen(SAMPLES), len(made.journal)
    asked.ask(made.world, made.now_us, always)
    made.at(100)
    made.end(runs)
    hear(asked, made, done)
    found = asked.close(made.now_us)
    assert (found.moments, found.judged, found.within) == (1, 1, 1)
    assert (found.error_us, found.place_error_us, found.wait_us) == (None, None, None), "nothing had run by then"


def test_beside_it_stands_the_place_in_the_queue() -> None:
    made, runs, waits = waiting(Told(runs=sure(100), waits=sure(50), third=sure(5)))
    made.submit(job("third"))
    made.at(100)
    made.end(runs)  # a run of 100 s: so long is the mean
    made.up(waits)
    asked, done = StartsForeseen(SAMPLES), len(made.journal)
    asked.ask(made.world, made.now_us, always)
    made.at(130)
    made.end(waits)
    hear(asked, made, done)
    found = asked.close(made.now_us)
    assert (found.judged, found.within) == (1, 0)
    assert found.error_us == 20 * SECOND_US
    assert found.place_error_us == 70 * SECOND_US, "the first in the queue, times 100 s, and it were 30"
    assert found.wait_us == 30 * SECOND_US


def test_who_waits_still_when_its_interval_is_over_was_told_wrong() -> None:
    made, _, _ = waiting(Told(runs=even(500), waits=sure(5)))
    asked = StartsForeseen(SAMPLES)
    asked.ask(made.world, made.now_us, always)
    assert asked.close(made.now_us + 800 * SECOND_US).judged == 0
    late = asked.close(made.now_us + 1001 * SECOND_US)
    assert (late.judged, late.within) == (1, 0)


def test_who_was_cancelled_is_not_judged() -> None:
    made, _, waits = waiting(Told(runs=sure(100), waits=sure(5)))
    asked, done = StartsForeseen(SAMPLES), len(made.journal)
    asked.ask(made.world, made.now_us, always)
    made.step(Cancel(waits))
    hear(asked, made, done)
    assert asked.close(made.now_us + 10**12).judged == 0


def test_some_of_many_are_asked_about_and_nobody_when_time_is_up() -> None:
    made, _, _ = waiting(Told(runs=sure(100), waits=sure(5), more=sure(5)))
    made.submit(*(job("more") for _ in range(2 * MOST_ASKED)))
    asked = StartsForeseen(SAMPLES)
    asked.ask(made.world, made.now_us, lambda: False)
    assert asked.moments == 0
    asked.ask(made.world, made.now_us, always)
    assert MOST_ASKED // 2 < asked.close(10**15).judged <= MOST_ASKED
