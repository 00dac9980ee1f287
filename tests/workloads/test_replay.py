"""A whole replay: known answers, agreement with the summary of a scenario, and what an interruption leaves."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from clearway.loop.world import World
from clearway.model.fleet import PolicySpec
from clearway.model.job import Demand, JobSpec, Role
from clearway.model.values import SECOND_US
from clearway.observe.summary import Summary
from clearway.sim.engine import SimEngine
from clearway.sim.heap import VirtualClock
from clearway.sim.results.fold import Fold
from clearway.sim.results.replay import Plan, replay
from clearway.sim.results.side_by_side import run_all
from clearway.sim.run import drive
from clearway.sim.truth import Truth
from clearway.sim.workloads import Arrival, open_workload
from clearway.sim.workloads.fleets import Fleet, fleet_for
from clearway.sim.workloads.shapes import gpu_nodes
from clearway.sim.workloads.survey import Survey
from clearway.sim.workloads.writer import written

if TYPE_CHECKING:
    from pathlib import Path

    from clearway.model.events import Record

S = SECOND_US
FIFO = PolicySpec(order=("fifo",), backfill="none")
EASY = PolicySpec(order=("fifo",), backfill="easy", estimate="oracle")


def plan(file: Path, policy: PolicySpec = FIFO, label: str = "fifo") -> Plan:
    trace = open_workload(file)
    return Plan(file, fleet_for(trace, Survey.of(trace)), label, policy)


def small(tmp_path: Path, *rows: tuple[str, int, int, int]) -> Plan:
    """Jobs by name, submit, run time (seconds) and GPUs, on one node of 4."""
    file = tmp_path / "small.jsonl"
    with written(file) as write:
        for name, at, run, gpus in rows:
            spec = JobSpec(name, (Role(demand=Demand(gpus=gpus)),))
            write(Arrival(at * S, spec, Truth(runtimes_us=(run * S,))))
    return Plan(file, Fleet(gpu_nodes(1, 4)), "fifo", FIFO)


def test_a_small_case_by_hand(tmp_path: Path) -> None:
    """`b` waits for `a`, and without backfill `c` waits behind `b` though it would fit."""
    outcome = replay(small(tmp_path, ("a", 0, 100, 3), ("b", 10, 100, 2), ("c", 20, 10, 1)))
    f = outcome.figures
    assert (f["finished"], f["makespan"], outcome.unit, outcome.capacity) == (3, 200, "gpus", 4)
    assert f["wait"] == {"mean": pytest.approx((0 + 90 + 80) / 3), "median": 80, "p95": 90}
    assert f["completion"]["mean"] == pytest.approx((100 + 190 + 90) / 3)
    assert f["use"] == pytest.approx((300 + 200 + 10) / (4 * 200))
    assert f["bounded_slowdown"] == pytest.approx((1 + 1.9 + 9) / 3)


def test_backfill_starts_what_does_not_touch_the_reservation(tmp_path: Path) -> None:
    rows = ("a", 0, 100, 3), ("b", 10, 100, 2), ("c", 20, 10, 1)
    outcome = replay(small(tmp_path, *rows)._replace(policy=EASY))
    assert outcome.figures["wait"]["mean"] == pytest.approx(90 / 3)


def test_a_replay_agrees_with_the_summary_of_the_same_records(data: Path) -> None:
    trace = open_workload(data / "muri" / "trace3.csv.gz")
    records: list[Record] = []
    fold, summary = Fold(by_gpu=True), Summary()
    engine = SimEngine(VirtualClock(), trace.nodes, FIFO.lease_us)
    drive(World(FIFO), engine, fold.expect(trace.arrivals()), records.extend)
    fold(records)
    for record in records:
        summary.apply(record)
    outcome = replay(plan(trace.path))
    theirs, ours = summary.as_dict(), outcome.figures
    pairs = {
        "makespan": ours["makespan"], "gpu_use": ours["use"], "mean_wait": ours["wait"]["mean"],
        "p95_wait": ours["wait"]["p95"], "mean_jct": ours["completion"]["mean"], "p95_jct": ours["completion"]["p95"],
        "mean_bounded_slowdown": ours["bounded_slowdown"], "fragmented": ours["fragmented"],
    }  # fmt: skip
    assert {name: theirs[name] for name in pairs} == pytest.approx(pairs)


def test_queues_add_up_to_the_whole(data: Path) -> None:
    f = replay(plan(data / "fgd-openb" / "openb_pod_list_gpushare60.csv.gz")).figures
    assert sum(q["finished"] for q in f["queues"].values()) == f["finished"]
    assert sum(q["use"] for q in f["queues"].values()) == pytest.approx(f["use"])


def test_the_same_replay_gives_the_same_figures_in_another_process(data: Path) -> None:
    wanted = plan(data / "itp-elasticflow" / "195job.csv.gz")
    alone = run_all([wanted], 1, lambda *_: None)
    beside = run_all([wanted, wanted], 2, lambda *_: None)
    assert [o.figures for o in beside] == [alone[0].figures] * 2


def test_an_interrupted_run_shows_what_had_finished(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clearway.sim.results.replay.LOOK_EVERY_S", 0.0)
    outcome = replay(plan(data / "muri" / "trace3.csv.gz"), lambda finished: finished < 100)
    assert not outcome.complete
    assert 100 <= outcome.figures["finished"] < 992
    assert outcome.figures["wait"]["mean"] is not None


def test_what_is_kept_grows_with_what_is_alive(tmp_path: Path) -> None:
    """After every job has ended, nothing is left of any but its row."""
    file = tmp_path / "many.jsonl"
    with written(file) as write:
        for n in range(500):
            write(Arrival(n * S, JobSpec(f"j{n}", (Role(demand=Demand(gpus=1)),)), Truth(runtimes_us=(5 * S,))))
    fold = Fold(by_gpu=True)
    engine = SimEngine(VirtualClock(), gpu_nodes(1, 8), FIFO.lease_us)
    world = World(FIFO)
    drive(world, engine, fold.expect(open_workload(file).arrivals()), fold)
    assert (fold.alive, len(fold.columns), len(world.jobs)) == (0, 500, 0)


def test_jobs_of_one_name_are_told_apart(tmp_path: Path) -> None:
    outcome = replay(small(tmp_path, ("same", 0, 100, 4), ("same", 1, 10, 4), ("same", 1, 20, 4), ("same", 300, 30, 4)))
    assert sorted(zip(outcome.jobs.number.tolist(), outcome.jobs.run_us.tolist(), strict=True)) == [
        (0, 100 * S), (1, 10 * S), (2, 20 * S), (3, 30 * S),
    ]  # fmt: skip
    assert sorted(outcome.jobs.ideal_us.tolist()) == [10 * S, 20 * S, 30 * S, 100 * S]


def test_early_jobs_fill_the_machines_and_do_not_count(tmp_path: Path) -> None:
    outcome = replay(small(tmp_path, ("a", 0, 100, 4), ("b", 10, 50, 4), ("c", 20, 10, 4))._replace(first=1))
    assert (outcome.jobs.number.tolist(), outcome.figures["finished"]) == ([1, 2], 2)
    assert outcome.figures["wait"]["mean"] == (90 + 130) / 2
    assert outcome.early is not None
    assert outcome.early.number.tolist() == [0]
