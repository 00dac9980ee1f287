"""Budgets over periods: what counts, when it is told, who waits, and what a new period lets go."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from clearway.flow.periods import begin_us, end_us
from clearway.loop.budgets import look
from clearway.loop.snapshot import restore, take
from clearway.model import events as ev
from clearway.model.asks import BudgetStanding, LookBudgets, SetBudget, SetClock, Submit
from clearway.model.budgets import BudgetSpec, read_budget
from clearway.model.errors import InputError, UnknownWordError
from clearway.model.reasons import Code
from clearway.model.states import End, State
from clearway.model.values import MICROS, SECOND_US, instant
from clearway.testing.builders import Bench, job, node

if TYPE_CHECKING:
    from clearway.model.ids import JobId

HOUR_S, DAY_S = 3600, 86_400
BUDGET = BudgetSpec("b", tenant="red", gpu_milli_hours=4000, period="day")


def bench(*budgets: BudgetSpec, **words: Any) -> Bench:
    b = Bench(node(gpus=4, **words))
    b.step(*map(SetBudget, budgets))
    return b


def started(b: Bench, *names: str, **words: Any) -> list[JobId]:
    numbers = b.submit(*(job(name, **{"tenant": "red", **words}) for name in names))
    for number in numbers:
        if b.entry(number).held:
            b.up(number)
    return list(numbers)


def standing(b: Bench, at: int = 0) -> BudgetStanding:
    found: Any = b.step(LookBudgets()).answers[0]
    one = found[at]
    assert isinstance(one, BudgetStanding)
    return one


def told(b: Bench, kind: type[ev.BudgetNoticed | ev.BudgetUsedUp | ev.BudgetBegan]) -> list[int]:
    return [record.at_us // SECOND_US for record in b.all(kind)]


def why(b: Bench, number: JobId) -> list[Code]:
    return [reason.code for reason in b.entry(number).reasons]


def test_it_is_told_at_its_part_used_up_at_the_whole_and_begins_anew() -> None:
    b = bench(BUDGET)
    first, _ = started(b, "first", "second")
    b.at(1.6 * HOUR_S)
    assert (told(b, ev.BudgetNoticed), told(b, ev.BudgetUsedUp)) == ([1.6 * HOUR_S], [])
    b.at(2 * HOUR_S)
    assert told(b, ev.BudgetUsedUp) == [2 * HOUR_S]
    (third,) = started(b, "third")
    assert (b.entry(third).state, why(b, third)) == (State.PENDING, [Code.BUDGET])
    assert dict(b.entry(third).reasons[0].facts) == {
        "budget": "b", "gpu_milli_hours": 4000, "period": "day", "until_us": DAY_S * SECOND_US,
    }  # fmt: skip
    assert b.entry(first).state is State.RUNNING
    b.at(3 * HOUR_S)
    assert standing(b).gpus == 2 * 3 * HOUR_S * SECOND_US * 1000
    assert standing(b).used_up
    b.at(DAY_S)
    assert told(b, ev.BudgetBegan) == [DAY_S]
    assert b.entry(third).held
    assert standing(b).gpus == 0
    b.at(DAY_S + HOUR_S)
    assert standing(b).gpus == 3 * HOUR_S * SECOND_US * 1000


def test_one_that_stood_in_the_line_leaves_it_and_holds_back_nobody() -> None:
    b = bench(BUDGET)
    (big,) = started(b, "big", gpus=4)
    (next_one,) = started(b, "next", priority=9)
    (other,) = started(b, "other", tenant="blue")
    assert why(b, next_one) != [Code.BUDGET]
    b.at(HOUR_S)
    assert why(b, next_one) == [Code.BUDGET]
    b.end(big)
    assert (b.entry(next_one).held, bool(b.entry(other).held)) == ({}, True)


@pytest.mark.parametrize("used_up", ["wait", "stop"])
def test_only_who_asks_for_it_has_what_runs_stopped(used_up: str) -> None:
    b = bench(BudgetSpec("b", queue="default", gpu_milli_hours=1000, used_up=used_up))
    runs, stays, idle = (started(b, name, **words)[0] for name, words in _THREE)
    b.at(HOUR_S)
    stopped = {r.job: (r.end, r.cause.code) for r in b.all(ev.Stopping)}
    assert stopped == ({runs: (End.PREEMPTED, Code.BUDGET)} if used_up == "stop" else {})
    assert b.entry(stays).state is State.RUNNING
    assert b.entry(idle).state is State.RUNNING


_THREE: tuple[tuple[str, dict[str, Any]], ...] = (
    ("runs", {}),
    ("stays", {"preemptible": False}),
    ("no-gpu", {"gpus": 0}),
)


def test_money_counts_by_the_price_of_the_part_that_is_held() -> None:
    b = bench(BudgetSpec("m", tenant="red", cost_micros=3 * MICROS), price_micros=8 * MICROS)
    started(b, "quarter")
    b.at(1.5 * HOUR_S - 1)
    assert told(b, ev.BudgetUsedUp) == []
    b.at(1.5 * HOUR_S)
    assert told(b, ev.BudgetUsedUp) == [1.5 * HOUR_S]


def test_a_larger_budget_lets_them_go_and_keeps_what_is_used() -> None:
    b = bench(BUDGET)
    started(b, "first", gpus=2)
    b.at(2 * HOUR_S)
    (waits,) = started(b, "waits")
    b.step(SetBudget(BudgetSpec("b", tenant="red", gpu_milli_hours=10_000, period="day")))
    assert b.entry(waits).held
    assert standing(b).gpus == 2 * 2 * HOUR_S * SECOND_US * 1000


def test_a_budget_that_comes_later_counts_from_then_what_runs_already() -> None:
    b = bench()
    started(b, "first", gpus=2)
    b.at(HOUR_S, SetBudget(BUDGET))
    b.at(2 * HOUR_S)
    assert standing(b).gpus == 2 * HOUR_S * SECOND_US * 1000


def test_the_wall_clock_says_when_a_day_is_over() -> None:
    b = bench(BUDGET)
    b.at(10, SetClock((DAY_S - 100) * SECOND_US))
    b.at(100)
    assert told(b, ev.BudgetBegan) == [100]
    assert standing(b).until_us == (100 + DAY_S) * SECOND_US


def test_periods_without_use_pass_without_a_word() -> None:
    b = bench(BUDGET)
    assert b.next_us is None
    (first,) = started(b, "first", gpus=1)
    b.at(HOUR_S)
    b.end(first)
    b.at(DAY_S)
    assert (told(b, ev.BudgetBegan), b.next_us) == ([DAY_S], None)
    b.at(10.5 * DAY_S)
    started(b, "late", gpus=4)
    b.at(10.5 * DAY_S + HOUR_S)
    assert told(b, ev.BudgetUsedUp) == [10.5 * DAY_S + HOUR_S]
    assert standing(b).until_us == 11 * DAY_S * SECOND_US


def test_a_period_that_is_over_and_not_recorded_counts_for_nothing() -> None:
    b = bench(BUDGET)
    started(b, "first", gpus=1)
    b.at(2 * HOUR_S)
    at_us = int((DAY_S + 3 * HOUR_S) * SECOND_US)
    (now,), (later,) = look(b.world, b.now_us), look(b.world, at_us)
    assert (now.gpus, now.until_us) == (1000 * 2 * HOUR_S * SECOND_US, DAY_S * SECOND_US)
    assert (later.gpus, later.until_us) == (1000 * 3 * HOUR_S * SECOND_US, 2 * DAY_S * SECOND_US)
    b.at(DAY_S + 3 * HOUR_S)
    assert look(b.world, at_us) == (later,), "as it is when it is recorded"


def test_it_is_known_across_a_snapshot_and_a_journal() -> None:
    b = bench(BUDGET)
    started(b, "first", gpus=2)
    b.at(HOUR_S)
    b.step(Submit((job("later", tenant="red"),)))
    b.at(1.5 * HOUR_S)
    again = restore(take(b.world))
    track, kept = b.world.state.budgets, again.state.budgets
    assert kept.adds == track.adds
    for one in (kept, _replayed(b).state.budgets):
        mine, theirs = one.tracks["b"], track.tracks["b"]
        assert mine.used_by(b.now_us) == theirs.used_by(b.now_us)
        assert (mine.until_us, mine.rate, mine.noticed) == (theirs.until_us, theirs.rate, theirs.noticed)
    assert take(restore(take(b.world))).budgets == take(b.world).budgets


def _replayed(b: Bench) -> Any:
    again = Bench().world
    for record in b.journal:
        again.apply(record)
    return again


@pytest.mark.parametrize(
    ("period", "began", "now", "over"),
    [
        ("day", "2026-11-30T00:00:00Z", "2026-11-30T23:59:59Z", "2026-12-01T00:00:00Z"),
        ("week", "2026-11-30T00:00:00Z", "2026-11-30T00:00:00Z", "2026-12-07T00:00:00Z"),
        ("week", "2026-11-30T00:00:00Z", "2026-12-06T12:00:00Z", "2026-12-07T00:00:00Z"),
        ("month", "2026-12-01T00:00:00Z", "2026-12-31T12:00:00Z", "2027-01-01T00:00:00Z"),
        ("month", "2028-02-01T00:00:00Z", "2028-02-29T00:00:00Z", "2028-03-01T00:00:00Z"),
    ],
)
def test_periods_are_those_of_the_calendar(period: str, began: str, now: str, over: str) -> None:
    assert begin_us(period, instant("now", now)) == instant("began", began)
    assert end_us(period, instant("now", now)) == instant("over", over)


@pytest.mark.parametrize(
    "words",
    [
        {"tenant": "red", "gpu_hours": 1},
        {"name": "b", "gpu_hours": 1},
        {"name": "b", "tenant": "red", "queue": "q", "gpu_hours": 1},
        {"name": "b", "tenant": "red"},
        {"name": "b", "tenant": "red", "gpu_hours": 0},
        {"name": "b", "tenant": "red", "gpu_hours": -1},
        {"name": "b", "tenant": "red", "cost": True},
        {"name": "b", "tenant": "red", "cost": 1, "period": "year"},
        {"name": "b", "tenant": "red", "cost": 1, "notice": 1.5},
        {"name": "b", "tenant": "red", "cost": 1, "used_up": "kill"},
    ],
)
def test_a_bad_budget_is_refused(words: dict[str, object]) -> None:
    with pytest.raises(InputError):
        read_budget(words)


def test_every_word_is_read_and_an_unknown_one_named() -> None:
    words = {"name": "b", "queue": "q", "gpu_hours": 1.5, "cost": 2, "period": "week", "notice": 0.5, "used_up": "stop"}
    assert read_budget(words) == BudgetSpec("b", "", "q", 1500, 2 * MICROS, "week", 500, "stop")
    with pytest.raises(UnknownWordError):
        read_budget({**words, "gpuhours": 1})
