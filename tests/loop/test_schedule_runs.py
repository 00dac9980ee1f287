"""Schedules in a world driven by hand: what one tick's run means for the next, and what a clock that is set does."""

from __future__ import annotations

from typing import Any

import pytest

from clearway.flow.schedule_words import read_schedule
from clearway.flow.words import read_flow
from clearway.loop import schedule_state
from clearway.loop.snapshot import restore, take
from clearway.model import flow_events as fe
from clearway.model.asks import (
    ControllerUp,
    LookFlows,
    LookSchedules,
    PauseSchedule,
    ResumeFlow,
    SetClock,
    SetSchedule,
)
from clearway.model.states import State
from clearway.model.values import SECOND_US
from clearway.testing.builders import Bench, node

NOON = 1_767_614_400  # 2026-01-05T12:00:00Z
PAUSES = [{"name": "ask", "pause": "Go on?"}]
RUNS = [{"name": "a", "run": "x", "cpus": 1}]
ENDS_AT_ONCE = [{**RUNS[0], "when": "false"}]


def begun(**words: Any) -> Bench:
    bench = Bench(node("n", cpus=64_000))
    bench.step(SetClock(NOON * SECOND_US), schedule(**words))
    return bench


def schedule(**words: Any) -> SetSchedule:
    of_flow = {"name": "W", "steps": words.pop("steps", PAUSES), **words.pop("more", {})}
    words = {"name": "S", "cron": "*/5 * * * *", "workflow": "W", **words}
    return SetSchedule(read_schedule(words, {"W": read_flow(of_flow)}))


def ticks(bench: Bench) -> list[str]:
    """Return the runs, by the minutes of their ticks, and the minutes of those that were skipped with a minus."""
    return [one.run[-10:-4] if one.run else f"-{one.tick_us // 60 // SECOND_US % 60}" for one in bench.all(fe.Ticked)]


def states(bench: Bench) -> list[str]:
    found: Any = bench.step(LookFlows()).answers[0]
    return [view.state for view in found]


def test_with_replace_a_run_that_holds_nothing_makes_way_at_once() -> None:
    bench = begun(overlap="replace")
    bench.at(0)
    assert states(bench) == ["running"]
    bench.at(300)
    assert states(bench) == ["cancelled", "running"]


@pytest.mark.parametrize("overlap", ["skip", "queue", "replace", "allow"])
def test_runs_that_end_at_once_keep_none_behind_them_waiting(overlap: str) -> None:
    bench = begun(steps=ENDS_AT_ONCE, overlap=overlap, catchup="all")
    bench.now_us = 1801 * SECOND_US
    bench.step(ControllerUp())
    assert len(bench.all(fe.Ticked)) == 7
    assert states(bench) == ["succeeded"] * 7


def test_the_time_limit_of_a_run_is_counted_from_when_it_may_begin() -> None:
    bench = begun(overlap="queue", more={"time_limit": 400})
    bench.at(300)
    bench.at(390, ResumeFlow(bench.all(fe.FlowBegan)[0].flow))
    assert states(bench) == ["succeeded", "running"]
    bench.at(789)
    assert states(bench)[:2] == ["succeeded", "running"]
    bench.at(790)
    assert states(bench)[:2] == ["succeeded", "failed"]
    view: Any = bench.step(LookFlows()).answers[0]
    assert view[1].began_us == 390 * SECOND_US


def test_no_tick_comes_twice_however_far_the_clock_is_set_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schedule_state, "KEPT_TICKS", 20)
    bench = begun(cron="* * * * * *", steps=ENDS_AT_ONCE, overlap="allow", catchup="all")
    many = 60
    bench.at(many)
    assert len(bench.all(fe.Ticked)) == many + 1
    for back in (10, 50, 500):
        bench.world = restore(take(bench.world))
        bench.step(SetClock((NOON - back) * SECOND_US))
        bench.at(bench.now_us / SECOND_US + 30)
        found = [one.tick_us for one in bench.all(fe.Ticked)]
        assert len(found) == len(set(found))


def test_a_pause_lets_its_ticks_pass_and_nothing_else() -> None:
    bench = begun(steps=ENDS_AT_ONCE)
    bench.at(300, PauseSchedule("S"))
    before = ticks(bench)
    bench.at(901, PauseSchedule("S", paused=False))
    assert ticks(bench) == before
    found: Any = bench.step(LookSchedules("S", 2)).answers[0]
    assert [tick.at_us // SECOND_US - NOON for tick in found[0].ahead] == [1200, 1500]
    bench.at(1200)
    assert len(ticks(bench)) == len(before) + 1
    assert {one.state for one in bench.all(fe.FlowEnded)} == {State.SUCCEEDED}
