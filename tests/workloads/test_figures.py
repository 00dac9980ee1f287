"""Figures against numbers worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from clearway.model.values import SECOND_US
from clearway.sim.results.columns import Columns, Jobs
from clearway.sim.results.figures import jain, of_jobs, spread
from clearway.sim.results.paired import compare

S = SECOND_US


def jobs(*rows: tuple[int, int, int, int]) -> Jobs:
    """Jobs by number, submit, wait and run time in seconds."""
    columns = Columns()
    for number, submit, wait, run in rows:
        columns.add(number, submit * S, wait * S, (wait + run) * S, run * S, run * S, 1000, 1000, 0, 1)
    return columns.jobs()


def test_spread_by_hand() -> None:
    assert spread(np.array([1, 2, 3, 4], np.int64) * S) == {"mean": 2.5, "median": 2.5, "p95": 4.0}
    assert spread(np.arange(1, 101) * S)["p95"] == 95
    assert spread(np.array([], np.int64)) == {"mean": None, "median": None, "p95": None}


def test_bounded_slowdown_does_not_let_short_jobs_rule() -> None:
    found = of_jobs(jobs((0, 0, 19, 1), (1, 0, 0, 5), (2, 0, 100, 100)))
    assert found["bounded_slowdown"] == pytest.approx((2.0 + 1.0 + 2.0) / 3)


def test_finish_time_fairness_counts_the_crowd() -> None:
    columns = Columns()
    columns.add(0, 0, 100 * S, 200 * S, 100 * S, 100 * S, 1000, 2000, 0, 1)
    columns.add(1, 0, 300 * S, 400 * S, 100 * S, 100 * S, 1000, 2000, 0, 1)
    found = of_jobs(columns.jobs())["finish_time_fairness"]
    assert found == {"mean": 1.5, "worst": 2.0, "unfair": 0.5}


def test_jain() -> None:
    assert jain([1, 1, 1]) == pytest.approx(1)
    assert jain([1, 0, 0, 0]) == pytest.approx(0.25)
    assert jain([]) is None
    assert jain([0, 0]) is None


def test_a_difference_is_paired_by_job_and_has_its_interval() -> None:
    chance = np.random.default_rng(3)
    waits = chance.integers(0, 5000, 400)
    base = jobs(*((n, n * 60, int(wait), 100) for n, wait in enumerate(waits)))
    other = jobs(*((n, n * 60, int(waits[n]) + 7, 100) for n in reversed(range(400))))
    found = compare(base, other)
    assert found["jobs"] == 400
    assert found["wait"] == {"mean": pytest.approx(7), "low": pytest.approx(7), "high": pytest.approx(7)}
    assert (found["block"], found["blocks"]) == ("sequence", 20)


def test_weeks_are_resampled_where_there_are_enough() -> None:
    day = 86400
    rows = [(n, n * day, n % 3, 10) for n in range(70)]
    found = compare(jobs(*rows), jobs(*((n, at, wait + n % 2, run) for n, at, wait, run in rows)))
    assert (found["block"], found["blocks"]) == ("week", 10)
    assert found["wait"]["low"] < found["wait"]["mean"] == 0.5 < found["wait"]["high"]


def test_only_jobs_that_finished_under_both_count() -> None:
    found = compare(jobs((0, 0, 1, 1), (1, 0, 5, 1)), jobs((1, 0, 9, 1), (2, 0, 9, 1)))
    assert (found["jobs"], found["wait"]["mean"], found["wait"]["low"]) == (1, 4, None)
    assert compare(jobs((0, 0, 1, 1)), jobs((1, 0, 1, 1))) == {"jobs": 0}


def test_the_same_seed_gives_the_same_interval() -> None:
    base = jobs(*((n, n, n % 7, 10) for n in range(100)))
    other = jobs(*((n, n, n % 5, 10) for n in range(100)))
    assert compare(base, other, 4) == compare(base, other, 4)
    assert compare(base, other, 4) != compare(base, other, 5)
