"""What jobs tell of their progress: few records, promises that follow, and everything the same from the journal."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from clearway.loop import progress
from clearway.loop.forecasting import Forecasting
from clearway.loop.progress import left_of
from clearway.model import events as ev
from clearway.model.asks import Suspend
from clearway.model.fleet import PolicySpec
from clearway.model.forecast import HALF, LEVELS
from clearway.model.ids import JobId
from clearway.model.job import Demand, JobSpec, Role
from clearway.model.values import SECOND_US
from clearway.ports.engine import TaskReported
from clearway.testing.builders import Bench, job, node, rebuild
from clearway.whatif.twin import twin
from tests.loop.forecasters import Told, even
from tests.loop.test_snapshot import through_bytes
from tests.loop.town import facts

if TYPE_CHECKING:
    import pytest

MINUTE_US = 60 * SECOND_US
BY_FORECAST = PolicySpec(order=("fifo",), estimate="forecast")


def running(policy: PolicySpec = BY_FORECAST) -> tuple[Bench, JobId]:
    """Return a bench where one job runs that is forecast to take up to 6000 s, and another one waits for its GPU."""
    bench = Bench(node(gpus=1), policy=policy)
    bench.world.forecasting = Forecasting(Told(long=even(6000), next=even(60)))
    number, _ = bench.submit(job("long"), job("next"))
    bench.up(number)
    return bench, number


def tell(bench: Bench, number: JobId, step: int, total: int = 100, *, after_s: int = 60) -> list[ev.Record]:
    bench.now_us += after_s * SECOND_US
    task = ev.TaskRef(number, bench.world.jobs[number].attempt, 0, 0)
    return list(bench.step(TaskReported(task, step, total=total)).records)


def told(bench: Bench) -> list[ev.Progressed]:
    return bench.all(ev.Progressed)


def test_what_moves_the_end_is_recorded_and_the_promise_moves_with_it() -> None:
    bench, number = running()
    before = bench.world.state.view.reservations[next_of(number)].start_us
    tell(bench, number, 0, after_s=10)
    assert told(bench) == [], "where it begins says nothing of its pace"
    tell(bench, number, 10, after_s=100)
    (record,) = told(bench)
    assert (record.step, record.total, record.since, record.since_us) == (10, 100, 0, 10 * SECOND_US)
    started_us, after = bench.world.jobs[number].started_us, bench.world.state.view.reservations[next_of(number)]
    assert after.start_us == started_us + record.forecast.at(975) < before
    assert rebuild(bench.journal, BY_FORECAST).state.view.ends.jobs == bench.world.state.view.ends.jobs
    bench.end(number)
    assert number not in bench.world.state.view.forecasts.progressed


def test_steady_progress_is_few_records_however_often_it_is_told() -> None:
    bench, number = running()
    for second in range(1, 3000):
        tell(bench, number, second, 3000, after_s=1)
    moments = [record.at_us for record in told(bench)]
    assert 1 <= len(moments) <= 20
    assert all(later - earlier >= MINUTE_US for earlier, later in pairwise(moments))


def test_of_a_storm_of_reports_only_some_are_weighed_each_second(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "MOST_WEIGHED", 3)
    bench = Bench(node(gpus=8), policy=BY_FORECAST)
    bench.world.forecasting = Forecasting(Told(**{f"j{n}": even(6000) for n in range(8)}))
    numbers = bench.submit(*(job(f"j{n}") for n in range(8)))
    for number in numbers:
        bench.up(number)
    for step in (0, 10):
        bench.now_us += 100 * SECOND_US
        bench.step(*(TaskReported(ev.TaskRef(number, 1, 0, 0), step, total=100) for number in numbers))
    assert len(told(bench)) == 3
    bench.now_us += SECOND_US
    bench.step(*(TaskReported(ev.TaskRef(number, 1, 0, 0), 11, total=100) for number in numbers))
    assert len(told(bench)) == 6


def test_one_that_counts_anew_is_not_believed_and_what_it_told_is_taken_back() -> None:
    bench, number = running()
    before = bench.world.state.view.reservations[next_of(number)].start_us
    for step in (0, 50, 100):
        tell(bench, number, step, after_s=100)
    assert bench.world.state.view.reservations[next_of(number)].start_us < before
    known = len(told(bench))
    for step in (1, 20, 60, 100, 1, 20):
        tell(bench, number, step, after_s=100)
    (back,) = told(bench)[known:]
    assert (back.step, back.total, back.since) == (1, 100, 0)
    assert bench.world.state.view.reservations[next_of(number)].start_us == before
    left_us = left_of(bench.world, number, bench.now_us)
    assert left_us is not None
    assert left_us[1] > 1000 * SECOND_US, "its forecast alone says what is left"
    tell(bench, number, 101, 200, after_s=100)
    assert len(told(bench)) == known + 2, "one that is further than it was is believed"


def test_one_that_counts_anew_and_told_no_total_is_no_record() -> None:
    bench, number = running()
    for step in (5, 9, 1, 5, 9, 1):
        tell(bench, number, step, 0, after_s=100)
    assert told(bench) == []


def test_one_role_is_heard_the_first_that_tells_a_total() -> None:
    bench = Bench(node(gpus=2))
    bench.world.forecasting = Forecasting(Told(two=even(6000)))
    roles = tuple(Role(name, demand=Demand(gpus=1)) for name in ("acts", "learns"))
    (number,) = bench.submit(JobSpec("two", roles, run=("x",)))
    bench.up(number)
    for role, step, total in ((0, 900, 0), (1, 1, 9), (0, 990, 0), (1, 2, 9), (1, 3, 9)):
        bench.now_us += SECOND_US
        bench.step(TaskReported(ev.TaskRef(number, 1, role, 0), step, total=total))
    heard = bench.world.progressing.heard[number]
    assert (heard.first, heard.step, heard.total, heard.moves) == (1, 3, 9, 2)


def test_where_users_are_believed_it_is_recorded_and_decides_nothing() -> None:
    bench, number = running(PolicySpec(order=("fifo",)))
    before = dict(bench.world.state.view.ends.jobs)
    tell(bench, number, 0, after_s=10)
    tell(bench, number, 10, after_s=100)
    assert told(bench)
    assert bench.world.state.view.ends.jobs == before


def test_a_snapshot_and_a_twin_go_on_from_it() -> None:
    bench, number = running()
    tell(bench, number, 0, after_s=10)
    tell(bench, number, 10, after_s=100)
    again = through_bytes(bench.world)
    assert facts(again) == facts(bench.world)
    assert again.state.view.forecasts.progressed == bench.world.state.view.forecasts.progressed
    assert twin(bench.world).progressing.heard == {}
    again.step([TaskReported(ev.TaskRef(number, 1, 0, 0), 20, total=100)], bench.now_us + 100 * SECOND_US)
    heard = again.progressing.heard[number]
    assert (heard.first, heard.first_ran_us) == (0, 10 * SECOND_US), "the pace is still that from its beginning"


def test_what_is_left_goes_down_between_two_reports_and_is_told_of_what_runs() -> None:
    bench, number = running()
    assert left_of(bench.world, next_of(number), bench.now_us) is None
    tell(bench, number, 0, after_s=10)
    tell(bench, number, 50, after_s=1000)
    low, median, high = left_of(bench.world, number, bench.now_us) or (0, 0, 0)
    assert 600 * SECOND_US < low < median < high < 1600 * SECOND_US
    assert 900 * SECOND_US < median < 1200 * SECOND_US
    later = left_of(bench.world, number, bench.now_us + 300 * SECOND_US) or (0, 0, 0)
    assert later[1] < median - 200 * SECOND_US
    bench.step(Suspend(number))
    assert left_of(bench.world, number, bench.now_us) is None


def test_pauses_are_no_part_of_the_pace() -> None:
    bench, number = running()
    tell(bench, number, 0, after_s=10)
    bench.world.jobs[number].stood_still_us = 500 * SECOND_US
    tell(bench, number, 10, after_s=600)
    (record,) = told(bench)
    left_us = record.forecast.quantiles[LEVELS.index(HALF)] - 610 * SECOND_US
    assert 800 * SECOND_US < left_us < 1300 * SECOND_US


def next_of(number: JobId) -> JobId:
    return JobId(number + 1)
