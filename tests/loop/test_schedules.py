"""Schedules that change at awkward moments: no tick is lost, no run begins beside another one, none waits for ever."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import pytest

from clearway.flow.schedule_words import read_schedule
from clearway.flow.words import read_flow
from clearway.loop.snapshot import WorldKept, restore, take
from clearway.model import events as ev
from clearway.model import flow_events as fe
from clearway.model.asks import (
    Cancel,
    CancelFlow,
    LookSchedules,
    PauseSchedule,
    RemoveSchedule,
    Rerun,
    RerunFlow,
    SetSchedule,
)
from clearway.model.errors import NotFoundError
from clearway.model.ids import FlowId, JobId
from clearway.model.states import State
from clearway.model.values import SECOND_US
from clearway.testing.builders import Bench, node

if TYPE_CHECKING:
    from collections.abc import Sequence

ONE, TWO, THREE = JobId(1), JobId(2), JobId(3)


def scheduled(cron: str = "* * * * *", **words: object) -> SetSchedule:
    return SetSchedule(read_schedule({"name": "s", "cron": cron, "job": {"gpus": 1}, **words}, {}))


def bench_of(ask: SetSchedule) -> Bench:
    """A schedule set a moment after a tick, so that the first one is that of the next minute."""
    bench = Bench(node("n", 4))
    bench.at(1, ask)
    return bench


def started(bench: Bench) -> Sequence[JobId]:
    return [record.job for record in bench.all(ev.Started)]


def ticks(bench: Bench) -> list[int]:
    return [record.tick_us // SECOND_US for record in bench.all(fe.Ticked)]


def test_who_is_replaced_while_it_waits_makes_no_room_beside_who_still_stops() -> None:
    bench = bench_of(scheduled(overlap="replace"))
    bench.at(60)
    bench.up(ONE)
    bench.at(180)  # the second has taken the place of the first, which is slow to go, and the third that of the second
    assert started(bench) == [ONE]
    bench.end(ONE)
    assert started(bench) == [ONE, THREE]


def test_who_is_cancelled_in_the_middle_of_a_queue_lets_nobody_pass() -> None:
    bench = bench_of(scheduled(overlap="queue"))
    bench.at(60)
    bench.up(ONE)
    bench.at(180, Cancel(TWO, "ada"))
    assert started(bench) == [ONE]
    bench.end(ONE)
    assert started(bench) == [ONE, THREE]


def test_the_runs_of_a_removed_schedule_go_on_one_after_the_other() -> None:
    bench = bench_of(scheduled(overlap="queue"))
    bench.at(60)
    bench.up(ONE)
    bench.at(180, RemoveSchedule("s"))
    assert bench.step(LookSchedules()).answers == [()]
    assert isinstance(bench.step(RemoveSchedule("s")).answers[0], NotFoundError)
    kept = msgspec.json.encode(take(bench.world))
    bench.world = restore(msgspec.json.decode(kept, type=WorldKept))
    for job in (ONE, TWO, THREE):
        assert started(bench)[-1] == job
        bench.up(job)
        bench.end(job)
    bench.at(600)
    assert (ticks(bench), bench.world.state.flows.schedules.tracks) == ([60, 120, 180], {})


def test_a_schedule_that_is_set_again_takes_up_the_runs_that_are_still_there() -> None:
    bench = bench_of(scheduled(overlap="queue"))
    bench.at(60)
    bench.up(ONE)
    bench.step(PauseSchedule("s"), RemoveSchedule("s"))
    bench.at(130, scheduled(overlap="queue"))
    bench.at(180)
    assert ticks(bench) == [60, 180]
    assert started(bench) == [ONE]


def flow_scheduled(**words: object) -> SetSchedule:
    flow = read_flow({"name": "w", "steps": [{"name": "a", "run": "true", "gpus": 1}]})
    return SetSchedule(read_schedule({"name": "s", "cron": "* * * * *", "workflow": "w", **words}, {"w": flow}))


@pytest.mark.parametrize("words", [{"overlap": "queue"}, {"overlap": "allow", "after_previous": True}])
def test_a_run_that_waits_ends_when_it_is_cancelled_and_waits_for_nobody_when_it_is_run_again(
    words: dict[str, object],
) -> None:
    bench = bench_of(flow_scheduled(**words))
    bench.at(60)
    bench.up(ONE)
    bench.at(121, CancelFlow(FlowId(2), "ada"))
    assert [(r.flow, r.state) for r in bench.all(fe.FlowEnded)] == [(2, State.CANCELLED)]
    bench.step(RerunFlow(FlowId(2), by="ada"))
    assert started(bench) == [ONE, TWO]


def test_a_job_that_waited_and_was_cancelled_can_be_run_again_when_its_schedule_is_gone() -> None:
    bench = bench_of(scheduled(overlap="queue"))
    bench.at(60)
    bench.up(ONE)
    bench.at(121, Cancel(TWO, "ada"), RemoveSchedule("s"))
    bench.end(ONE)
    bench.step(Rerun(TWO))
    assert started(bench) == [ONE, TWO]


def test_a_tick_is_not_lost_by_a_change_at_the_same_moment() -> None:
    for ask in (scheduled(), scheduled("0 0 1 1 *"), PauseSchedule("s"), RemoveSchedule("s")):
        bench = bench_of(scheduled())
        bench.at(59)
        bench.now_us = 60 * SECOND_US + 3000
        bench.step(ask)
        assert ticks(bench) == [60]
        assert started(bench) == [ONE]


def test_a_tick_that_is_late_on_purpose_is_not_lost_by_the_same_words() -> None:
    bench = bench_of(scheduled("0 * * * *", jitter="30m"))
    due_s = bench.next_us or 0
    assert due_s > 3602 * SECOND_US
    bench.at(3601, scheduled("0 * * * *", jitter="30m", overlap="queue"))
    bench.at(due_s / SECOND_US)
    assert ticks(bench) == [3600]
