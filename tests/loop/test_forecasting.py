"""Run times are forecast once, before a job joins the line; the answer is a record, and what is over is learnt from."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from clearway.loop.forecast_state import MOST_RUNS
from clearway.loop.forecasting import MOST_LEARNT, Forecasting
from clearway.loop.snapshot.restore import restore
from clearway.loop.snapshot.take import take
from clearway.model import events as ev
from clearway.model.asks import Cancel, Change, ControllerUp, SetPolicy
from clearway.model.errors import InputError
from clearway.model.fleet import PolicySpec
from clearway.model.values import SECOND_US
from clearway.policies.registry import policy_named
from clearway.ports.engine import TaskIsGone
from clearway.testing.builders import Bench, job, node
from clearway.whatif.twin import twin
from tests.loop.forecasters import Told, even, sure

if TYPE_CHECKING:
    from clearway.model.ids import JobId

BY_FORECAST = PolicySpec(order=("sjf", "fifo"), estimate="forecast")


def bench(told: Told, *, gpus: int = 1, policy: PolicySpec = BY_FORECAST) -> Bench:
    made = Bench(node(gpus=gpus), policy=policy)
    made.world.forecasting = Forecasting(told)
    return made


def starts(made: Bench) -> list[int]:
    return [record.job for record in made.all(ev.Started)]


def test_it_is_asked_once_with_all_that_is_known() -> None:
    made = bench(told := Told(a=sure(5)))
    (number,) = made.submit(
        job("a", 1, tasks=1, user="u", queue="default", run=("python", "train.py"), time_limit_us=9 * SECOND_US)
    )
    assert [(r.job, r.forecast) for r in made.all(ev.Forecasted)] == [(number, sure(5))]
    (known,) = told.asked
    assert (known.user, known.queue, known.name, known.command) == ("u", "default", "a", "python train.py")
    assert (known.milli_gpus, known.tasks, known.limit_us, known.asked_us) == (1000, 1, 9 * SECOND_US, None)


def test_of_a_run_it_is_known_how_many_jobs_had_come_before_it_and_by_its_end() -> None:
    made = bench(told := Told(a=sure(5), b=sure(5)))
    (first,) = made.submit(job("a"))
    made.up(first)
    made.submit(job("b"))
    made.at(7)
    made.end(first)
    made.submit(job("b"))
    assert [(run.number, run.of) for run in told.learnt] == [(1, 2)]


def test_nobody_is_asked_where_nobody_forecasts() -> None:
    made = Bench(node(gpus=1), policy=BY_FORECAST)
    made.submit(job("a"))
    assert made.all(ev.Forecasted) == []


def test_the_shortest_by_forecast_goes_first() -> None:
    made = bench(Told(long=sure(100), short=sure(10), now=sure(1)))
    first, _, short = made.submit(job("now")) + made.submit(job("long"), job("short"))
    made.up(first)
    made.end(first)
    assert starts(made) == [first, short]


def test_what_passes_a_promise_is_what_ends_before_it_by_the_quantile() -> None:
    made = bench(Told(first=sure(100), wide=sure(50), unsure=even(80), brief=even(20)), gpus=2, policy=PolicySpec(
        estimate="forecast", quantile=900
    ))  # fmt: skip
    made.submit(job("first"))
    made.submit(job("wide", 2))
    unsure, brief = made.submit(job("unsure"), job("brief"))  # 144 s and 36 s at 0.9
    assert unsure not in starts(made)
    assert brief in starts(made)


def test_another_quantile_is_looked_at_at_once() -> None:
    made = bench(Told(first=sure(100), wide=sure(50), unsure=even(80)), gpus=2, policy=PolicySpec(estimate="forecast"))
    made.submit(job("first"))
    made.submit(job("wide", 2))
    (unsure,) = made.submit(job("unsure"))
    made.step(SetPolicy(PolicySpec(estimate="forecast", quantile=500)))
    assert unsure in starts(made)


def test_a_limit_that_a_person_sets_bounds_what_a_forecast_says() -> None:
    made = bench(Told(first=sure(100)), policy=PolicySpec(estimate="forecast"))
    (number,) = made.submit(job("first"))
    made.step(Change(number, ("time_limit",), 0, "default", 30 * SECOND_US))
    assert made.world.state.view.ends.jobs[number].end_us == 30 * SECOND_US


def test_runs_that_are_over_are_learnt_from_with_how_they_ended() -> None:
    made = bench(told := Told(), gpus=2)
    ran, cancelled = made.submit(job("ran"), job("cancelled"))
    made.up(ran)
    made.up(cancelled)
    made.at(7)
    made.end(ran)
    made.step(Cancel(cancelled))
    made.end(cancelled, exit_code=None)
    made.submit(job("next"))
    assert [(one.known.name, one.ran_us // SECOND_US, one.whole) for one in told.learnt] == [
        ("ran", 7, True), ("cancelled", 7, False),
    ]  # fmt: skip
    assert told.learnt[0].said == sure(60)


def test_what_is_learnt_in_a_step_is_bounded_and_nothing_is_left_out() -> None:
    many = 3 * MOST_LEARNT
    made = bench(told := Told(), gpus=1024)
    numbers = made.submit(*(job(f"j{i}") for i in range(many)))
    made.at(5)
    for number in numbers:
        made.world.step((), made.now_us)
        made.up(number)
    before = len(told.learnt)
    made.step(*(end for number in numbers for end in _gone(made, number)))
    assert len(told.learnt) - before <= MOST_LEARNT
    for _ in range(3):
        made.step()
    assert [one.known.name for one in told.learnt] == [f"j{i}" for i in range(many)]


def _gone(made: Bench, number: JobId) -> list[TaskIsGone]:
    return [TaskIsGone(task, 0) for task in made.tasks(number)]


def test_a_controller_that_takes_over_learns_the_kept_runs_again_and_asks_nobody_twice() -> None:
    made = bench(Told(), gpus=2)
    ran, waits = (*made.submit(job("ran", 2)), *made.submit(job("waits", 2)))
    made.up(ran)
    made.at(3)
    made.end(ran)
    for world in (restore(take(made.world)), made.rebuilt()):
        again = Told()
        world.forecasting = Forecasting(again)
        world.forecasting.learn(world.state, MOST_RUNS)
        assert [one.known.name for one in again.learnt] == ["ran"]
        world.step([ControllerUp()], made.now_us)
        assert again.asked == []
        assert world.state.view.forecasts.said == made.world.state.view.forecasts.said
        assert world.state.view.ends.jobs == made.world.state.view.ends.jobs
    assert waits in made.world.jobs


def test_what_is_tried_in_a_twin_teaches_nobody() -> None:
    made = bench(told := Told())
    (number,) = made.submit(job("a"))
    made.up(number)
    trial = twin(made.world)
    assert trial.forecasting is not None
    trial.step(_gone(made, number), SECOND_US)
    trial.step((), 2 * SECOND_US)
    assert told.learnt == []


@pytest.mark.parametrize("word", [0.4, 0.99, "0.9", True])
def test_a_quantile_out_of_bounds_is_refused(word: object) -> None:
    with pytest.raises(InputError, match=r"quantile.*0\.5 to 0\.975"):
        policy_named({"quantile": word})
