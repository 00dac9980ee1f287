"""When a job starts, as a distribution: the world is run forward with run times drawn from their forecasts."""

from __future__ import annotations

import pytest

from clearway.loop.forecasting import Forecasting
from clearway.model.fleet import PolicySpec
from clearway.model.ids import JobId
from clearway.model.values import SECOND_US
from clearway.testing.builders import Bench, job, node
from clearway.whatif.eta import LEAST_SAMPLES, eta_of, etas
from clearway.whatif.outlook import advise, outlook
from tests.loop.forecasters import Told, even, sure

SAMPLES = 200


def bench(told: Told, gpus: int = 1, policy: PolicySpec | None = None) -> Bench:
    made = Bench(node(gpus=gpus), policy=policy)
    made.world.forecasting = Forecasting(told)
    return made


def seconds(us: int | None) -> float:
    assert us is not None
    return us / SECOND_US


def test_what_is_sure_starts_at_one_moment() -> None:
    made = bench(Told(runs=sure(100)))
    made.submit(job("runs"))
    (waits,) = made.submit(job("waits"))
    found = etas(made.world, [waits], made.now_us, SAMPLES)[waits]
    assert (found.low_us, found.median_us, found.high_us) == (100 * SECOND_US,) * 3
    assert found.samples == SAMPLES


def test_what_is_even_starts_as_evenly() -> None:
    made = bench(Told(runs=even(500)))  # anything up to 1,000 s
    made.submit(job("runs"))
    (waits,) = made.submit(job("waits"))
    found = etas(made.world, [waits], made.now_us, SAMPLES)[waits]
    assert seconds(found.low_us) == pytest.approx(100, abs=50)
    assert seconds(found.median_us) == pytest.approx(500, abs=80)
    assert seconds(found.high_us) == pytest.approx(900, abs=60)


def test_what_has_run_for_a_while_counts() -> None:
    made = bench(Told(runs=even(500)))
    made.submit(job("runs"))
    (waits,) = made.submit(job("waits"))
    made.at(800)
    found = etas(made.world, [waits], made.now_us, SAMPLES)[waits]
    assert seconds(found.low_us) > 800
    assert seconds(found.median_us) == pytest.approx(900, abs=40)


def test_a_time_limit_is_a_bound_on_what_is_drawn() -> None:
    made = bench(Told(runs=even(500)))
    made.submit(job("runs", time_limit_us=300 * SECOND_US))
    (waits,) = made.submit(job("waits"))
    found = etas(made.world, [waits], made.now_us, SAMPLES)[waits]
    assert seconds(found.high_us) == 300


def test_behind_several_it_waits_for_all_of_them() -> None:
    made = bench(Told(runs=sure(10), first=sure(20)))
    made.submit(job("runs"))
    _, last = made.submit(job("first"), job("last"))
    assert etas(made.world, [last], made.now_us, SAMPLES)[last].median_us == 30 * SECOND_US


def test_jobs_of_one_user_and_name_turn_out_alike() -> None:
    """Behind eight others the start is less sure where these are alike, as long and short ones do not even out."""

    def width(*names: str) -> float:
        made = bench(Told(**dict.fromkeys(names, even(500)), last=sure(1)))
        made.submit(*(job(name, user="ada") for name in names), job("last"))
        found = etas(made.world, [JobId(len(names) + 1)], made.now_us, SAMPLES)[JobId(len(names) + 1)]
        return seconds(found.high_us) - seconds(found.low_us)

    assert width(*["train"] * 8) > 1.4 * width(*(f"{letter}x" for letter in "abcdefgh"))


def test_jobs_that_keep_coming_push_it_back_where_they_go_first() -> None:
    told = Told(small=sure(10), large=sure(1000), runs=sure(50))
    made = bench(told, policy=PolicySpec(order=("sjf", "fifo"), estimate="forecast"))
    for i in range(40):  # a small job every 10 s: a machine that is never empty
        made.at(i * 10)
        (small,) = made.submit(job("small"))
        made.up(small)
        made.at(i * 10 + 9.9)
        made.end(small)
    made.at(400)
    made.submit(job("runs"))
    (large,) = made.submit(job("large"))
    found = etas(made.world, [large], made.now_us, 20)[large]
    assert found.median_us is None or seconds(found.median_us) > 500


def test_the_same_question_has_the_same_answer_and_changes_nothing() -> None:
    made = bench(Told(runs=even(500)))
    made.submit(job("runs"))
    (waits,) = made.submit(job("waits"))
    before = len(made.journal)
    assert etas(made.world, [waits], made.now_us) == etas(made.world, [waits], made.now_us)
    assert len(made.journal) == before


def test_with_too_little_patience_nothing_is_said() -> None:
    made = bench(Told())
    made.submit(job("runs"))
    (waits,) = made.submit(job("waits"))
    left = iter(range(LEAST_SAMPLES - 1))
    assert etas(made.world, [waits], made.now_us, goes_on=lambda: next(left, None) is not None) == {}


def test_jobs_of_one_question_are_looked_ahead_for_together() -> None:
    made = bench(Told(runs=sure(100), new=sure(1)))
    made.submit(job("runs"))
    asked = {1: 0, 8: 0}
    for many in asked:

        def draws(many: int = many) -> bool:
            asked[many] += 1
            return True

        found = advise(made.world, [job("new")] * many, made.now_us, draws=draws)
        assert all(one.eta is not None for one in found)
    assert asked[8] < 12 * asked[1], "moments of the last one, not those of each: 36 times as many"


def test_what_never_starts_has_no_moment() -> None:
    made = bench(Told())
    made.submit(job("runs"))
    (waits,) = made.submit(job("waits", 2))
    assert etas(made.world, [waits], made.now_us)[waits].median_us is None


def test_the_outlook_of_a_job_and_of_one_that_was_not_submitted_say_it() -> None:
    made = bench(Told(runs=sure(100), new=sure(1)))
    made.submit(job("runs"))
    (waits,) = made.submit(job("waits"))
    found = outlook(made.world, waits, made.now_us)
    assert found.eta is not None
    assert found.eta.median_us == 100 * SECOND_US
    (new,) = advise(made.world, [job("new")], made.now_us)
    assert new.eta is not None
    assert new.eta.median_us == 160 * SECOND_US
    assert JobId(3) not in made.world.jobs


def test_ends_are_drawn_by_what_is_known_now_and_plans_stay_as_they_are() -> None:
    told = Told(runs=sure(100))
    made = bench(told, policy=PolicySpec(estimate="forecast"))
    made.submit(job("runs"))
    (waits,) = made.submit(job("waits"))
    planned = dict(made.world.state.view.forecasts.said)
    told.said["runs"] = sure(500)
    assert etas(made.world, [waits], made.now_us)[waits].median_us == 500 * SECOND_US
    assert made.world.state.view.forecasts.said == planned


@pytest.mark.parametrize("samples", [10, 20, 40])
def test_the_interval_holds_eight_of_ten_whatever_the_number_of_samples(samples: int) -> None:
    """Of each start that is drawn, as often as it is the truth: the places beside it are what hangs on the number."""
    found = eta_of(list(range(1, samples + 1)), samples)
    assert found.low_us is not None
    assert found.high_us is not None
    assert 0.8 <= (found.high_us - found.low_us) / (samples + 1) < 0.85
