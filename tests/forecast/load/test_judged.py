from __future__ import annotations

import numpy as np

from clearway.forecast.load.choice import choose
from clearway.forecast.load.conformal import offsets
from clearway.forecast.load.judged import judge
from clearway.forecast.load.models import MODELS
from clearway.forecast.load.outlook import ahead
from clearway.forecast.load.series import DAY_S, Series
from clearway.forecast.load.walk import walk
from clearway.testing.load_models import DAY, STEP_S, days

CHANCE = np.random.default_rng(1)


def series(count: int = 21) -> Series:
    return Series("load", days(count), STEP_S)


def test_a_model_that_sees_the_season_is_chosen_and_its_intervals_hold() -> None:
    walked = walk(series(), MODELS, (6,))
    judged = judge(walked, 0)
    half = slice(len(judged.came) // 2, len(judged.came) - 6)
    errors = np.abs(judged.points - judged.came)[half]
    assert errors.mean() < 0.5 * walked.errors(0)["persistence"][half].mean()
    assert "persistence" not in judged.models[half]
    inside = (judged.came >= judged.low) & (judged.came <= judged.high)
    assert 0.74 <= inside[half].mean() <= 0.86


def test_what_is_judged_at_a_moment_does_not_change_with_what_comes_later() -> None:
    whole = series(14)
    changed = whole.values.copy()
    changed[12 * DAY :] += 500
    before, after = (judge(walk(Series("load", v, STEP_S), MODELS, (6,)), 0) for v in (whole.values, changed))
    upto = 12 * DAY - 2 * DAY  # a walk begins after its first two days
    assert before.models[:upto] == after.models[:upto]
    for ours, theirs in zip(before[1:4], after[1:4], strict=True):
        assert np.array_equal(ours[:upto], theirs[:upto])


def test_persistence_stays_where_nothing_beats_it() -> None:
    steps = CHANCE.normal(0, 1, 14 * DAY).cumsum()
    judged = judge(walk(Series("load", steps, STEP_S), MODELS, (1,)), 0)
    errors = np.abs(judged.points - judged.came)[:-1]
    stays = np.abs(np.diff(steps))[-len(errors) :]
    assert errors.mean() <= 1.01 * stays.mean()


def test_one_lucky_day_chooses_nobody() -> None:
    base = np.ones(400)
    lucky = np.where(np.arange(400) < 30, 0.0, 1.0)
    assert choose({"persistence": base, "lucky": lucky}, 4).model == "persistence"
    steady = base * 0.9
    assert choose({"persistence": base, "lucky": lucky, "steady": steady}, 4) == ("steady", steady.mean(), 400)


def test_too_little_past_chooses_persistence() -> None:
    base = np.ones(10)
    assert choose({"persistence": base, "better": base / 2}, 5).model == "persistence"


def test_intervals_follow_errors_that_grow() -> None:
    errors = CHANCE.normal(0, 1, 6000) * np.repeat([1.0, 4.0], 3000)
    low, high = offsets(errors, 3, 0.8)
    inside = (errors >= low[:-1]) & (errors <= high[:-1])
    assert 0.78 <= inside[500:3000].mean() <= 0.82
    assert 0.76 <= inside[3000:].mean() <= 0.82
    assert high[5900] > 3 * high[2900]


def test_intervals_are_signed() -> None:
    errors = CHANCE.exponential(1, 2000)
    low, high = offsets(errors, 1, 0.8)
    assert low[-1] == 0
    assert 1.8 < high[-1] < 3.0


def test_a_forecast_of_now_says_how_good_it_has_been() -> None:
    found = ahead(series(), (60, 3600, DAY_S)).rows
    assert [one.horizon_s for one in found] == [3600, DAY_S]  # a step is half an hour
    for one in found:
        assert one.within_80 is not None
        assert one.within_95 is not None
        assert one.within_95[0] <= one.within_80[0] <= one.point <= one.within_80[1] <= one.within_95[1]
        assert one.error <= one.persistence_error
        assert one.judged > 0


def test_of_no_past_nothing_is_claimed() -> None:
    assert ahead(Series("load", np.zeros(0), STEP_S), (3600,)) == ([], [])
    (one,) = ahead(Series("load", np.array([3.0]), STEP_S), (3600,)).rows
    assert (one.model, one.point, one.within_80, one.judged) == ("persistence", 3.0, None, 0)


def test_a_break_is_told_with_the_steps_of_the_series() -> None:
    values = days(14)
    values[13 * DAY : 13 * DAY + 6] = 400.0
    found = [one for one in ahead(Series("load", values, STEP_S), (STEP_S, 12 * STEP_S)).breaks if one.beyond > 100]
    assert [(one.side, one.begin) for one in found][:1] == [("above", 13 * DAY)]
