"""Runs beside what was said of them, from records alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clearway.forecast.rivals import UNKNOWN_US
from clearway.loop.forecasting import Forecasting
from clearway.loop.world import World
from clearway.model.asks import Cancel
from clearway.model.forecast import HALF
from clearway.model.ids import JobId
from clearway.model.values import SECOND_US
from clearway.observe.foreseen import ForeseenRuns
from clearway.testing.builders import Bench, job, node
from tests.loop.forecasters import Told, sure

if TYPE_CHECKING:
    from collections.abc import Sequence


def lived() -> Bench:
    made = Bench(node(gpus=1))
    made.world.forecasting = Forecasting(Told(a=sure(100), b=sure(30)))
    for name, ran_s in (("a", 80), ("b", 60), ("a", 50)):
        (one,) = made.submit(job(name, user="ada", tenant="lab"))
        made.up(one)
        made.pass_s(ran_s)
        made.end(one)
    return made


def fold(records: Sequence[object], world: World | None = None) -> ForeseenRuns:
    found = ForeseenRuns(world or World())
    for record in records:
        found.apply(record)  # type: ignore[arg-type]
    return found


def test_each_run_stands_beside_its_forecast_and_the_last_run() -> None:
    found = fold(list(lived().journal)).runs
    assert [(one.run.ran_us, one.run.said.at(HALF)) for one in found if one.run.said] == [
        (80 * SECOND_US, 100 * SECOND_US),
        (60 * SECOND_US, 30 * SECOND_US),
        (50 * SECOND_US, 100 * SECOND_US),
    ]
    assert [one.rivals["last"][0] for one in found[1:]] == [80 * SECOND_US, 60 * SECOND_US]
    assert {one.tenant for one in found} == {"lab"}


def test_only_what_was_forecast_since_then_is_judged_by_rivals_that_know_what_was_before() -> None:
    records, world = list(lived().journal), World()
    middle = next(i for i, record in enumerate(records) if type(record).__name__ == "Ended") + 1
    for record in records[:middle]:
        world.apply(record)
    found = fold(records[middle:], world).runs
    assert [one.run.ran_us for one in found] == [60 * SECOND_US, 50 * SECOND_US]
    assert found[0].rivals["last"][0] == 80 * SECOND_US


def test_what_was_broken_off_is_no_whole_run_and_teaches_no_rival() -> None:
    made = Bench(node(gpus=1))
    made.world.forecasting = Forecasting(Told(a=sure(100)))
    (one,) = made.submit(job("a", user="ada"))
    made.up(one)
    made.pass_s(10)
    made.step(Cancel(one))
    made.end(one)
    made.submit(job("a", user="ada"))
    (two,) = made.submit(job("a", user="ada"))
    made.up(JobId(2))
    made.pass_s(20)
    made.end(JobId(2))
    made.up(two)
    made.pass_s(30)
    made.end(two)
    first, second, third = fold(list(made.journal)).runs
    assert [one.run.whole for one in (first, second, third)] == [False, True, True]
    assert (first.run.ran_us, second.run.ran_us, third.run.ran_us) == tuple(s * SECOND_US for s in (10, 20, 30))
    assert second.rivals["last"][0] == UNKNOWN_US, "ten seconds is not how long it would have run"
