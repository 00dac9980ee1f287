"""Running jobs that run far too long or go on no more, and what is told of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clearway.forecast import RunTimes
from clearway.loop.forecasting import Forecasting
from clearway.loop.progress import left_of
from clearway.model.asks import Resume, Submit, Suspend
from clearway.model.events import TaskRef
from clearway.model.values import SECOND_US
from clearway.observe.odd import FAR, LEAST_BEYOND_US, PAUSES, far_us, odd_of, rough
from clearway.ports.engine import TaskReported
from clearway.testing.builders import job
from tests.loop.forecasters import Told, sure
from tests.observe.test_noticing import Rig

if TYPE_CHECKING:
    import pytest

HOUR_S = 3600


def rig(seconds: int) -> Rig:
    """Return a controller that runs a job of which it is known how long it is to run; it runs for two weeks."""
    made = Rig(lasts_s=14 * 24 * HOUR_S)
    made.controller.world.forecasting = Forecasting(Told(a=sure(seconds)))
    made.turn(Submit((job("a"),)))
    return made


def tell(made: Rig, step: int, *, after_s: int) -> None:
    made.later(after_s)
    made.controller.turn([TaskReported(TaskRef(made.number, 1, 0, 0), step, total=100)])


def odd(made: Rig) -> str:
    row = made.controller.board.jobs[made.number]
    found = odd_of(made.controller.world, row, made.controller.now_us())
    return "" if found is None else f"{found.kind}: {found.text}"


def test_a_job_far_beyond_its_forecast_is_told_once() -> None:
    made = rig(HOUR_S)
    assert far_us(sure(HOUR_S)) == HOUR_S * SECOND_US + LEAST_BEYOND_US
    assert far_us(sure(10 * HOUR_S)) == FAR * 10 * HOUR_S * SECOND_US
    made.later(6 * HOUR_S)
    assert odd(made) == ""
    made.later(2 * HOUR_S)
    made.later(HOUR_S)
    assert odd(made) == "overrun: runs for 9.0 h; of such jobs 39 in 40 run for 60 min at most"
    (told,) = [notice for notice in made.told if notice.kind == "overrun"]
    assert told.title == "job a (1): runs far longer than foreseen"
    assert told.id.endswith("overrun-1-1")


def test_one_that_tells_that_it_needs_so_long_is_not_odd() -> None:
    made = rig(HOUR_S)
    for step in range(20):
        tell(made, step, after_s=HOUR_S)
    assert odd(made) == ""


def test_one_that_tells_no_step_any_more_is_told_once() -> None:
    made = rig(HOUR_S)
    for step in range(5):
        tell(made, step, after_s=60)
    made.later(60 * PAUSES)
    assert odd(made) == ""
    made.later(60)
    made.later(60)
    assert odd(made) == "stalled: no progress for 12 min: step 4 of 100, and a new one each 60 s before"
    assert made.kinds().count("stalled") == 1
    tell(made, 5, after_s=1)
    assert odd(made) == ""


def test_after_its_last_step_it_is_not_still() -> None:
    made = rig(HOUR_S)
    for step in (25, 50, 75, 99, 100):
        tell(made, step, after_s=60)
    made.later(60 * PAUSES * 2)
    assert odd(made) == ""


def test_one_that_counts_anew_goes_on() -> None:
    made = rig(HOUR_S)
    for step in (30, 60, 99) * 8:
        tell(made, step, after_s=60)
    assert odd(made) == ""
    made.later(60 * PAUSES + 1)
    assert odd(made) == "stalled: no progress for 10 min: step 99 of 100, and a new one each 60 s before"


def test_what_stood_still_by_order_runs_no_longer_for_it() -> None:
    made = rig(HOUR_S)
    made.later(600)
    made.controller.turn([Suspend(made.number)])
    made.later(7 * 24 * HOUR_S)
    made.controller.turn([Resume(made.number)])
    made.later(600)
    assert odd(made) == ""
    left_us = left_of(made.controller.world, made.number, made.controller.now_us())
    assert left_us == (2400 * SECOND_US,) * 3
    made.later(8 * HOUR_S)
    assert odd(made) == "overrun: runs for 8.3 h; of such jobs 39 in 40 run for 60 min at most"


def test_where_nothing_is_known_nothing_is_odd() -> None:
    made = Rig(lasts_s=14 * 24 * HOUR_S)
    made.controller.world.forecasting = Forecasting(RunTimes())
    made.turn(Submit((job("a"),)))
    made.later(13 * 24 * HOUR_S)
    assert odd(made) == ""
    assert [rough(s * SECOND_US) for s in (40, 3300, 27_000, 280_000)] == ["40 s", "55 min", "7.5 h", "3.2 d"]


def test_drift_is_told_once_until_it_has_been_over(monkeypatch: pytest.MonkeyPatch) -> None:
    made = Rig()
    made.controller.world.forecasting = Forecasting(RunTimes())
    drift = 0
    monkeypatch.setattr(RunTimes, "drift", property(lambda _: drift))
    for drift, told in ((699, 0), (700, 1), (900, 1), (400, 1), (800, 1), (300, 1), (700, 2)):  # noqa: B007  read above
        made.later(15)
        assert made.kinds().count("drift") == told
