"""Boosted trees advise the forecaster."""

from __future__ import annotations

import random

import pytest

from clearway.forecast import RunTimes
from clearway.forecast.grid import bin_of
from clearway.model.values import SECOND_US
from clearway.ports.forecaster import Known, Run

pytest.importorskip("lightgbm", reason="clearway[learn] is not installed")

from clearway.learn import boosted

GPUS = (1, 2, 4, 8)


@pytest.fixture(autouse=True)
def _sooner(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(boosted, "FIRST", 200)
    monkeypatch.setattr(boosted, "EVERY", 200)


def jobs(many: int) -> list[tuple[Known, int]]:
    """Return jobs whose run time follows from GPUs and the hour together, which no group knows."""
    chance, found = random.Random(1), []
    for n in range(many):
        gpus, hour = chance.choice(GPUS), n % 24
        mean_s = 100 * 2 ** (GPUS.index(gpus) + (5 if hour >= 12 else 0))
        known = Known("", "q", f"job-{n}", "", 1000 * gpus, 1, None, None, n * 3600 * SECOND_US)
        found.append((known, round(mean_s * chance.uniform(0.9, 1.1) * SECOND_US)))
    return found


def play(times: RunTimes, runs: list[tuple[Known, int]]) -> float:
    """Return the mean distance in bins of medians from what came."""
    away = []
    for known, ran_us in runs:
        said = times.forecast(known)
        away.append(abs(bin_of(said.at(500)) - bin_of(ran_us)))
        times.learn(Run(known, ran_us, known.at_us + 1, said=said))
    return sum(away) / len(away)


def test_it_finds_what_follows_from_two_things_together() -> None:
    runs = jobs(1000)
    plain, advised = RunTimes(), RunTimes(boosted.Boosted())
    play(plain, runs[:800])
    play(advised, runs[:800])
    assert play(advised, runs[800:]) < play(plain, runs[800:]) / 2
    assert advised.forecast(runs[-1][0]).basis == "a trained model"


def test_the_same_runs_give_the_same_model() -> None:
    first, again = boosted.Boosted(), boosted.Boosted()
    for adviser in (first, again):
        play(RunTimes(adviser), jobs(300))
    assert first.model
    assert first.model == again.model


def test_before_it_has_a_model_it_says_nothing() -> None:
    adviser = boosted.Boosted()
    times = RunTimes(adviser)
    play(times, jobs(50))
    assert adviser.model == ""
    assert times.forecast(jobs(1)[0][0]).model == ""


def test_beside_the_loop_the_same_model_comes_later() -> None:
    at_once, beside = boosted.Boosted(), boosted.Boosted(beside=True)
    for n, (_, ran_us) in enumerate(jobs(200)):
        for adviser in (at_once, beside):
            adviser.note((n % 4, n % 24, 1), bin_of(ran_us))
    beside.close()
    assert beside.model == at_once.model != ""
    assert beside.advise((1, 5, 1)) == at_once.advise((1, 5, 1))


def test_a_forecast_says_by_which_model() -> None:
    adviser = boosted.Boosted()
    times = RunTimes(adviser)
    play(times, jobs(250))
    assert times.forecast(jobs(1)[0][0]).model == adviser.model
