"""Scenarios played through the real loop: restarts, cuts, losses, messages that come twice."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from clearway.loop.world import World
from clearway.model.errors import NotYetError
from clearway.model.events import (
    AttemptEnded,
    ControllerStarted,
    Ended,
    NodeDrained,
    NodeNoticed,
    Record,
    Refused,
    Started,
    Submitted,
    TaskEnded,
)
from clearway.model.fleet import NodeSpec, PolicySpec
from clearway.model.job import Demand, JobSpec, Role
from clearway.model.states import End, State
from clearway.observe.timeline import Timeline
from clearway.sim.engine import SimEngine
from clearway.sim.heap import VirtualClock
from clearway.sim.run import Outcome, drive, simulate
from clearway.sim.scenario import read_scenario
from clearway.sim.truth import Truth
from clearway.testing.judge import judge

if TYPE_CHECKING:
    from collections.abc import Iterator

SECOND = 1_000_000
HEAD = """
policy: {order: [fifo], backfill: none, preempt: [], lease: 30}
fleet: {nodes: [{name: n1, gpus: 1}, {name: n2, gpus: 1}]}
"""


def play(jobs: str, *events: str, more: str = "") -> Outcome:
    return simulate(f"{HEAD}{more}jobs: [{jobs}]\nevents: [{', '.join(events)}]\n")


def attempts(outcome: Outcome, name: str) -> list[tuple[float, float | None, End | None]]:
    """Return from, to and end of each attempt of a job."""
    job = next(n for n, found in outcome.jobs.items() if found == name)
    starts = [r.at_us / SECOND for r in outcome.records if isinstance(r, Started) and r.job == job]
    ends = [(r.at_us / SECOND, r.end) for r in outcome.records if isinstance(r, AttemptEnded) and r.job == job]
    return [(at, *(ends[i] if i < len(ends) else (None, None))) for i, at in enumerate(starts)]


def state(outcome: Outcome, name: str) -> tuple[float, State] | None:
    job = next(n for n, found in outcome.jobs.items() if found == name)
    return next(((r.at_us / SECOND, r.state) for r in outcome.records if isinstance(r, Ended) and r.job == job), None)


def decided(outcome: Outcome) -> list[Record]:
    return [r for r in outcome.records if not isinstance(r, TaskEnded)]


def test_a_job_runs_as_long_as_it_really_takes() -> None:
    outcome = play("{name: J, submit: 1, gpus: 1, runtime: 10, busy: 0.25}, {name: K, gpus: 1, runtime: 2}")
    assert attempts(outcome, "J") == [(1.0, 11.0, End.SUCCEEDED)]
    assert outcome.end_us == 11 * SECOND
    assert outcome.busy == {"J": 250}
    assert sorted(outcome.jobs.values()) == ["J", "K"]
    assert sorted(outcome.nodes.values()) == ["n1", "n2"]


def test_the_observation_ends_at_until() -> None:
    outcome = play("{name: J, gpus: 1, runtime: 100}", more="until: 50\n")
    assert attempts(outcome, "J") == [(0.0, None, None)]
    assert outcome.end_us == 50 * SECOND


def test_what_ends_while_no_controller_runs_is_known_when_one_does() -> None:
    kill, start = "{at: 5, kill_controller: hard}", "{at: 20, start_controller: true}"
    outcome = play("{name: J, gpus: 1, runtime: 10}, {name: K, gpus: 1, runtime: 12, exit_code: 3}", kill, start)
    assert attempts(outcome, "J") == [(0.0, 20.0, End.SUCCEEDED)]
    assert attempts(outcome, "K") == [(0.0, 20.0, End.FAILED)]


def test_jobs_and_wishes_of_a_time_without_controller_are_tried_again_until_one_answers() -> None:
    outcome = play(
        "{name: R, gpus: 1, runtime: 100}, {name: J, submit: 8, gpus: 1, runtime: 10}, {name: K, submit: 7, gpus: 1}",
        "{at: 5, kill_controller: hard}",
        "{at: 9, cancel: R}",
        "{at: 9, cancel: K}",
        "{at: 20, start_controller: true}",
    )
    assert state(outcome, "R") == (20.0, State.CANCELLED)
    assert state(outcome, "K") == (20.0, State.CANCELLED)
    assert [r.at_us for r in outcome.records if isinstance(r, Submitted)] == [0, 20 * SECOND, 20 * SECOND]
    assert attempts(outcome, "J") == [(20.0, 30.0, End.SUCCEEDED)]
    assert outcome.refused == []


def test_a_controller_that_never_comes_back_leaves_its_jobs_running() -> None:
    outcome = play("{name: J, gpus: 1, runtime: 10}", "{at: 5, kill_controller: hard}")
    assert attempts(outcome, "J") == [(0.0, None, None)]


def test_a_controller_that_runs_is_not_started_twice() -> None:
    outcome = play("{name: J, gpus: 1, runtime: 10}", "{at: 5, start_controller: true}")
    assert sum(isinstance(r, ControllerStarted) for r in outcome.records) == 1


def test_when_everything_is_killed_running_attempts_are_lost_and_others_follow() -> None:
    outcome = play("{name: J, gpus: 1, runtime: 10}", "{at: 5, kill_all: hard}", "{at: 8, start_controller: true}")
    assert attempts(outcome, "J") == [(0.0, 8.0, End.LOST), (8.0, 18.0, End.SUCCEEDED)]


def test_a_lost_node_is_judged_when_its_lease_has_run_out() -> None:
    outcome = play("{name: J, gpus: 1, pin: n1, runtime: 50}", "{at: 25, node_lost: n1}")
    assert attempts(outcome, "J") == [(0.0, 50.0, End.LOST), (50.0, 100.0, End.SUCCEEDED)]


def test_a_node_that_is_back_sooner_has_lost_its_tasks_all_the_same() -> None:
    outcome = play("{name: J, gpus: 1, pin: n1, runtime: 50}", "{at: 22, node_lost: n1}", "{at: 24, node_ready: n1}")
    assert attempts(outcome, "J") == [(0.0, 24.0, End.LOST), (24.0, 74.0, End.SUCCEEDED)]


def test_a_cut_shorter_than_the_lease_changes_nothing() -> None:
    outcome = play("{name: J, gpus: 1, runtime: 50}", "{at: 25, cut_network: n1}", "{at: 45, restore_network: n1}")
    assert attempts(outcome, "J") == [(0.0, 50.0, End.SUCCEEDED)]


def test_a_job_that_ends_during_a_cut_ends_when_its_node_is_reached() -> None:
    cut = ("{at: 25, cut_network: n1}", "{at: 45, restore_network: n1}")
    outcome = play("{name: J, gpus: 1, pin: n1, runtime: 30}", *cut)
    assert attempts(outcome, "J") == [(0.0, 45.0, End.SUCCEEDED)]


def test_a_copy_that_was_given_up_is_stopped_when_its_node_is_reached() -> None:
    cut = ("{at: 20, cut_network: n1}", "{at: 70, restore_network: n1}")
    outcome = play("{name: J, gpus: 1, pin: n1, runtime: 80}", *cut)
    assert attempts(outcome, "J") == [(0.0, 40.0, End.LOST), (40.0, 120.0, End.SUCCEEDED)]
    assert state(outcome, "J") == (120.0, State.SUCCEEDED)


def test_a_spot_notice_keeps_new_jobs_away_and_the_node_is_welcome_when_it_is_back() -> None:
    outcome = play(
        "{name: J, submit: 15, gpus: 1, runtime: 5}, {name: B, gpus: 1, pin: n2, runtime: 30}, "
        "{name: L, submit: 60, tasks: 2, gpus: 1, runtime: 1}",
        "{at: 10, spot_notice: n1}",
        "{at: 60, node_ready: n1}",
    )
    assert attempts(outcome, "J") == [(30.0, 35.0, End.SUCCEEDED)]
    assert attempts(outcome, "L") == [(60.0, 61.0, End.SUCCEEDED)]
    assert [r.gone_us for r in outcome.records if isinstance(r, NodeNoticed)] == [40 * SECOND]


def test_a_node_that_a_person_drained_stays_so_when_it_is_back() -> None:
    outcome = play("{name: J, gpus: 1}", "{at: 5, drain: n1}", "{at: 10, spot_notice: n1}", "{at: 60, node_ready: n1}")
    assert [r.drained for r in outcome.records if isinstance(r, NodeDrained)] == [True]


@pytest.mark.parametrize("which", ["J", '"J#1"'])
def test_an_end_that_is_delivered_again_changes_nothing(which: str) -> None:
    jobs = "{name: J, gpus: 1, runtime: [10, 50], exit_code: [1, 0], max_retries: 1, retry_backoff: 5}"
    plain = play(jobs)
    again = play(jobs, *(f"{{at: {t}, redeliver_end: {which}}}" for t in (1, 11, 30, 99)))
    assert decided(again) == decided(plain)
    assert attempts(again, "J") == [(0.0, 10.0, End.FAILED), (15.0, 65.0, End.SUCCEEDED)]


def test_a_step_of_the_wall_clock_changes_nothing() -> None:
    jobs = "{name: J, gpus: 1, runtime: 100, time_limit: 300}"
    steps = ("{at: 40, wall_clock_step: 3600}", "{at: 70, wall_clock_step: -3600}")
    assert play(jobs, *steps).records == play(jobs).records


def test_a_submit_that_the_loop_refuses_becomes_a_refused_job() -> None:
    outcome = play("{name: J, queue: none, gpus: 1}, {name: K, after: [nobody]}, {name: L, gpus: 1, runtime: 1}")
    refused = {r.name: str(r.reason) for r in outcome.records if isinstance(r, Refused)}
    assert sorted(refused) == ["J", "K"]
    assert "none" in refused["J"]
    assert "nobody" in refused["K"]
    assert state(outcome, "L") == (1.0, State.SUCCEEDED)


def test_a_wish_that_cannot_be_granted_is_kept_and_not_swallowed() -> None:
    outcome = play("{name: J, submit: 10, gpus: 1, runtime: 1}", "{at: 5, cancel: J}")
    ((at_us, said),) = outcome.refused
    assert at_us == 5 * SECOND
    assert "J" in said


def test_the_same_scenario_and_seed_give_the_same_journal_in_any_process() -> None:
    code = (
        "import sys, hashlib; sys.path.insert(0, sys.argv[1]); import chaos, yaml\n"
        "from clearway.sim.run import simulate\n"
        "o = simulate(yaml.safe_dump(chaos.scenario(11)), seed=5)\n"
        "print(hashlib.sha256(repr(o.records).encode()).hexdigest())"
    )
    found = set()
    for seed in ("1", "2"):
        command = [sys.executable, "-c", code, str(Path(__file__).parent)]
        ran = subprocess.run(command, check=True, capture_output=True, env={**os.environ, "PYTHONHASHSEED": seed})
        found.add(ran.stdout)
    assert len(found) == 1


def test_a_stream_of_jobs_is_driven_with_only_the_living_in_memory() -> None:
    roles = (Role(demand=Demand(gpus=1)),)

    def stream() -> Iterator[tuple[int, JobSpec, Truth]]:
        for i in range(3000):
            yield i * SECOND, JobSpec(f"j{i}", roles), Truth((3 * SECOND,))

    engine = SimEngine(VirtualClock(), [NodeSpec("n1", gpus=4)], 30 * SECOND)
    world, ends = World(PolicySpec()), list[Ended]()
    most = 0

    def sink(records: list[Record]) -> None:
        nonlocal most
        ends.extend(r for r in records if isinstance(r, Ended))
        most = max(most, len(engine._truths))  # nothing else shows what is kept

    assert drive(world, engine, stream(), sink) == 3002 * SECOND
    assert len(ends) == 3000
    assert most <= 4
    assert world.jobs == {}


# --- the shared scenarios ----------------------------------------------------------------------


def test_every_shared_scenario_holds_or_waits_for_a_word_that_comes_later(shared: Path) -> None:
    broken, played = {}, 0
    for file in sorted((shared / "scenarios").glob("*.yaml")):
        try:
            scenario = read_scenario(file)
        except NotYetError:
            continue
        played += 1
        lines = judge(scenario.raw, timeline(simulate(scenario)))
        if lines:
            broken[file.name] = lines
    assert broken == {}
    assert played >= 44


def timeline(outcome: Outcome) -> dict[str, object]:
    shown = Timeline(busy=outcome.busy)
    for record in outcome.records:
        shown.apply(record)
    return shown.as_dict()
