"""What plans count on: a quantile of the forecast, inside the time limit, and the next one each time it is overrun."""

from __future__ import annotations

from clearway.core.forecasts import Forecasts
from clearway.core.ledger import Held, Ledger
from clearway.core.profile import Ends, Table
from clearway.model.events import Grant
from clearway.model.forecast import LEVELS, Forecast
from clearway.model.ids import JobId, NodeId
from clearway.model.job import Demand
from clearway.model.values import SECOND_US
from clearway.testing.builders import job, node

EVEN = Forecast(tuple(level * SECOND_US for level in LEVELS), 400 * SECOND_US, "queue", 7)
ONE = JobId(1)


def forecasts(level: int) -> Forecasts:
    found = Forecasts(level)
    found.said[ONE] = EVEN
    return found


def test_where_rules_go_by_users_a_forecast_changes_nothing() -> None:
    said, spec = forecasts(0), job(time_limit_us=5)
    assert (said.bound_us(ONE, spec), said.mean_us(ONE, spec), said.after(ONE, 1, 2)) == (5, 5, None)


def test_plans_count_on_the_quantile_and_orders_on_the_mean() -> None:
    said = forecasts(900)
    assert (said.bound_us(ONE, job()), said.mean_us(ONE, job())) == (900 * SECOND_US, 400 * SECOND_US)


def test_a_time_limit_bounds_both() -> None:
    said, spec = forecasts(900), job(time_limit_us=300 * SECOND_US, time_estimate_us=1)
    assert said.bound_us(ONE, spec) == said.mean_us(ONE, spec) == 300 * SECOND_US


def test_a_job_without_a_forecast_goes_by_its_user() -> None:
    said, spec = forecasts(900), job(time_estimate_us=77)
    assert (said.bound_us(JobId(2), spec), said.mean_us(JobId(2), job())) == (77, None)


def test_an_overrun_is_expected_to_end_at_the_same_moment_whoever_looks_when() -> None:
    said = forecasts(500)
    steps = {said.after(ONE, 500 * SECOND_US, now * SECOND_US) for now in range(500, 750)}
    assert steps == {750 * SECOND_US}
    assert said.after(ONE, 500 * SECOND_US, 750 * SECOND_US) == said.after(ONE, 750 * SECOND_US, 750 * SECOND_US)


def test_the_profile_has_what_overran_end_later_until_it_is_told_to_stop() -> None:
    ledger = Ledger()
    ledger.add_node(NodeId(0), node(gpus=1))
    ends = Ends(ledger, forecasts(500))
    held = [Held(Grant(0, 0, NodeId(0), (0,)), Demand(gpus=1))]
    ledger.take(held[0].grant, held[0].demand)
    ledger.register(ONE, held)
    ends.add(ONE, held, 0, 500 * SECOND_US)
    assert list(Table(ledger, ends, 0).moments) == [(500 * SECOND_US, ONE)]
    assert list(Table(ledger, ends, 600 * SECOND_US).moments) == [(750 * SECOND_US, ONE)]
    assert ends.end_of(ONE, 600 * SECOND_US) == 750 * SECOND_US
    ends.expect(ONE, 600 * SECOND_US)
    assert list(Table(ledger, ends, 610 * SECOND_US).moments) == [(671 * SECOND_US, ONE)]
