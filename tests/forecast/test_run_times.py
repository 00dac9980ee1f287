"""Forecasts of run times: from nothing to plenty, and held to what they promise."""

from __future__ import annotations

import random
from typing import Any

import pytest
from msgspec.structs import replace

from clearway.forecast import RunTimes
from clearway.forecast.group import Group
from clearway.forecast.kinds import KINDS
from clearway.model.forecast import LEVELS, Forecast
from clearway.model.values import SECOND_US
from clearway.ports.forecaster import Forecaster, Known, Run

HOUR_US = 3600 * SECOND_US
JOB = Known("ada", "research", "train-17", "python train.py --seed 3", 4000, 1, None, None, 0)


def known(at_us: int = 0, **words: Any) -> Known:
    return replace(JOB, at_us=at_us, **words)


def taught(runs: list[tuple[Known, int]], *, whole: bool = True) -> RunTimes:
    """Return a forecaster that was asked about each run before it, one after another."""
    times, at_us = RunTimes(), 0
    for job, ran_us in runs:
        job_now = replace(job, at_us=at_us)
        said = times.forecast(job_now)
        at_us += ran_us
        times.learn(Run(job_now, ran_us, at_us, whole, said))
    return times


def test_it_is_a_forecaster() -> None:
    port: Forecaster = RunTimes()
    assert port.forecast(JOB).quantiles


def test_where_nothing_is_known_it_says_so_and_is_wide() -> None:
    said = RunTimes().forecast(JOB)
    assert (said.basis, said.runs) == ("nothing known", 0)
    assert said.at(100) < HOUR_US / 10 < 10 * HOUR_US < said.at(900)


def test_the_users_own_estimate_is_better_than_nothing() -> None:
    said = RunTimes().forecast(known(asked_us=2 * HOUR_US))
    assert said.basis == "the user's estimate"
    assert said.at(100) < said.at(500) < 2 * HOUR_US < said.at(900)


def test_like_runs_are_found_again() -> None:
    others = [
        (known(user=f"u{n % 7}", name=f"x{'abcdefg'[n % 7]}", command=""), HOUR_US * (1 + n % 9)) for n in range(90)
    ]
    own = [(known(name=f"train-{n}"), 600 * SECOND_US) for n in range(30)]
    times = taught([run for pair in zip(others, own * 3, strict=True) for run in pair])
    said = times.forecast(known(name="train-99", at_us=10**15))
    assert 590 * SECOND_US < said.at(500) < 610 * SECOND_US
    assert said.at(900) < 900 * SECOND_US
    assert said.basis != "all runs"
    assert said.runs == 90


def test_a_new_user_is_forecast_from_those_who_are_known() -> None:
    times = taught([(known(user=f"u{n % 5}", name=f"n{'vwxyz'[n % 5]}"), 600 * SECOND_US) for n in range(100)])
    said = times.forecast(known(user="newcomer", name="first", command="", at_us=10**15))
    assert 400 * SECOND_US < said.at(500) < 800 * SECOND_US
    assert said.runs == 100


def test_quantiles_rise_and_are_whole_numbers() -> None:
    chance = random.Random(1)
    times = taught([(known(user=chance.choice("abc")), round(chance.lognormvariate(20, 2))) for _ in range(300)])
    said = times.forecast(JOB)
    assert len(said.quantiles) == len(LEVELS)
    assert list(said.quantiles) == sorted(said.quantiles)
    assert all(isinstance(us, int) for us in (*said.quantiles, said.mean_us))


def test_nothing_is_expected_to_outlive_its_limit() -> None:
    times = taught([(JOB, 5 * HOUR_US)] * 20)
    said = times.forecast(known(limit_us=HOUR_US, at_us=10**15))
    assert said.quantiles[-1] == HOUR_US
    assert said.mean_us <= HOUR_US


def test_runs_that_were_broken_off_are_no_short_runs() -> None:
    runs = [(JOB, HOUR_US), (JOB, 60 * SECOND_US)] * 30
    times = RunTimes()
    for n, (job, ran_us) in enumerate(runs):
        times.learn(Run(job, ran_us, n * HOUR_US, whole=ran_us == HOUR_US))
    said = times.forecast(known(at_us=10**15))
    assert said.at(200) > HOUR_US / 4, "most that was broken off after a minute would have run much longer"
    assert taught(runs).forecast(known(at_us=10**15)).at(200) < 90 * SECOND_US, "whole ones do count as short"


def test_one_that_outlived_all_that_is_known_is_longer_still() -> None:
    times = taught([(JOB, 600 * SECOND_US)] * 10)
    times.learn(Run(JOB, 50 * HOUR_US, 10**14, whole=False))
    assert times.forecast(known(at_us=10**15)).at(975) > HOUR_US


def test_the_same_calls_give_the_same_forecasts() -> None:
    chance = random.Random(2)
    runs = [(known(user=chance.choice("abcd"), milli_gpus=1000 * chance.choice((1, 2, 8))),
             round(chance.lognormvariate(21, 1.5))) for _ in range(200)]  # fmt: skip
    first, again = taught(runs), taught(runs)
    assert [first.forecast(job) for job, _ in runs] == [again.forecast(job) for job, _ in runs]


def test_asking_changes_nothing() -> None:
    times = taught([(JOB, 600 * SECOND_US)] * 5)
    said = times.forecast(JOB)
    times.forecast(known(user="bob"))
    assert times.forecast(JOB) == said


@pytest.mark.parametrize(("sigma", "shift"), [(0.3, 0.0), (1.5, 0.0), (1.0, 3.0)])
def test_intervals_hold_what_they_promise_also_after_a_change(sigma: float, shift: float) -> None:
    chance, times, held = random.Random(3), RunTimes(), []
    for n in range(1500):
        user = chance.choice("abcdef")
        mean = 19 + "abcdef".index(user) / 2 + (shift if n > 700 else 0)
        ran_us = round(chance.lognormvariate(mean, sigma))
        job = known(n * HOUR_US, user=user)
        said = times.forecast(job)
        held.append((said.at(100) <= ran_us <= said.at(900), said.at(25) <= ran_us <= said.at(975)))
        times.learn(Run(job, ran_us, n * HOUR_US + 1, whole=True, said=said))
    after_warming = held[200:]
    assert 0.77 <= sum(h for h, _ in after_warming) / len(after_warming) <= 0.83
    assert 0.92 <= sum(h for _, h in after_warming) / len(after_warming) <= 0.98


def test_a_change_is_noticed_and_forgotten_when_it_is_learnt() -> None:
    times = taught([(JOB, 600 * SECOND_US)] * 400)
    assert times.drift < 700
    chance = random.Random(4)
    for n in range(60):
        times.learn(Run(known(10**15), round(chance.lognormvariate(25, 2)), 10**15 + n))
    assert times.drifted
    for n in range(3000):
        times.learn(Run(known(10**16), 600 * SECOND_US, 10**16 + n))
    assert times.drift < 700


def test_what_ended_after_a_submit_does_not_speak_for_it() -> None:
    """A thousand alike at once: none knew of the others, and so nobody is believed for having known."""
    before = taught([(known(user=f"u{n % 9}"), HOUR_US * (1 + n % 9)) for n in range(200)])
    weights = before._weights.of.copy()
    own = [place for place, kind in enumerate(KINDS) if "this user" in kind.words]
    for n in range(60):
        before.learn(Run(known(10**15, user="crowd"), 77 * SECOND_US, 10**15 + 80 * SECOND_US + n))
    moved = before._weights.of[own[0] * 4 : (own[-1] + 1) * 4] - weights[own[0] * 4 : (own[-1] + 1) * 4]
    assert moved.max() <= 1e-9


def test_only_so_many_groups_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clearway.forecast.run_times.MOST_GROUPS", 10)
    times = taught([(known(user=f"user-{n}"), HOUR_US) for n in range(50)])
    assert max(len(groups) for groups in times._groups) == 10


def test_what_it_had_said_is_all_that_it_needs_to_hold_its_promise() -> None:
    """Intervals that never held become wider, without anything but the runs and what they had been told."""
    narrow = Forecast(tuple(range(1, len(LEVELS) + 1)), 5, "queue")
    times, plain = RunTimes(), RunTimes()
    chance = random.Random(5)
    for n in range(100):
        ran_us = round(chance.lognormvariate(21, 0.5))
        times.learn(Run(known(n), ran_us, n, said=narrow))
        plain.learn(Run(known(n), ran_us, n))
    assert times.forecast(JOB).at(900) > plain.forecast(JOB).at(900)


def test_a_group_remembers_what_it_said_earlier() -> None:
    from clearway.forecast.group import Then  # noqa: PLC0415  what is looked at inside

    group, earlier = Group(), Group()
    for n in range(30):
        group.add(n, 100 + n % 3, weight=1 + n % 4 / 2)
        if n < 20:
            earlier.add(n, 100 + n % 3, weight=1 + n % 4 / 2)
    then, now = Then(group, 19, 101, 0.5), Then(earlier, 19, 101, 0.5)
    assert then.count == now.count == 20
    assert then.steady == pytest.approx(now.steady)
    assert then.fading == pytest.approx(now.fading)


def test_what_few_had_the_time_for_counts_for_those_who_had_not() -> None:
    """A hundred jobs come, one a minute, every other one for an hour, else for a minute; then it is asked."""
    plain, weighing = RunTimes(), RunTimes()
    runs = [(n, (60 if n % 2 else 1) * 60 * SECOND_US) for n in range(100)]
    ends = sorted((n * 60 * SECOND_US + ran_us, n, ran_us) for n, ran_us in runs)
    now_us = 100 * 60 * SECOND_US
    over = [Run(known(n * 60 * SECOND_US), ran_us, at_us) for at_us, n, ran_us in ends if at_us <= now_us]
    for run in over:
        plain.learn(run)
        number, of = run.known.at_us // (60 * SECOND_US) + 1, run.at_us // (60 * SECOND_US) + 1
        weighing.learn(replace(run, number=number, of=of))
    assert sum(run.ran_us > HOUR_US / 2 for run in over) == 20, "of fifty: the others still run"
    told = [times.forecast(known(now_us, user="crowd")).passed(HOUR_US // 2) for times in (plain, weighing)]
    assert abs(told[1] - 500) < abs(told[0] - 500), "half of them are short"


def test_what_is_learnt_for_the_first_time_is_no_drift() -> None:
    times = RunTimes()
    for number in range(60):
        one = known(number)
        said = times.forecast(one)
        times.learn(Run(one, 600 * SECOND_US, number + 1, said=said))
        assert not times.drifted, number
