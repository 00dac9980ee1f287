"""What work is kept when an attempt ends before its job is done."""

from __future__ import annotations

from typing import Any

import pytest

from clearway.model.job import Checkpoint
from clearway.sim.engine import KILLED
from tests.sim.lab import JOB, SECOND, Lab, every, job, runs


def resumed_at(points: Checkpoint, stop_at: float, *, lost: bool, runtime: int = 150, **truth: Any) -> float:
    """Return how long attempt 2 runs after attempt 1 was stopped, or lost with its node, at a moment."""
    lab = Lab()
    words = runs(runtime, **truth)
    lab.launch(job(checkpoint=points), words, "n1")
    lab.until(stop_at)
    if lost:
        lab.engine.take_away("n1")
    else:
        lab.halt((0, "n1"))
    lab.until(stop_at + 100)
    begin = lab.clock.now_us()
    lab.launch(job(checkpoint=points), words, "n2", attempt=2)
    ((at, _, _),) = lab.ends(10_000)
    return at - begin / SECOND


@pytest.mark.parametrize("lost", [True, False])
def test_without_checkpoints_all_work_is_lost(*, lost: bool) -> None:
    assert resumed_at(Checkpoint(), 95, lost=lost) == 150


@pytest.mark.parametrize("lost", [True, False])
def test_the_newest_completed_checkpoint_counts(*, lost: bool) -> None:
    assert resumed_at(every(30), 95, lost=lost) == 60
    assert resumed_at(every(30), 29, lost=lost) == 150
    assert resumed_at(every(30), 30, lost=lost) == 120


@pytest.mark.parametrize("lost", [True, False])
def test_a_checkpoint_that_is_not_written_to_its_end_does_not_count(*, lost: bool) -> None:
    assert resumed_at(every(30, write=10), 95, lost=lost) == 90
    assert resumed_at(every(30, write=10), 100, lost=lost) == 60
    assert resumed_at(every(30, write=40), 95, lost=lost) == 120


def test_one_more_is_written_on_an_ordered_stop_where_the_job_does_so() -> None:
    points = Checkpoint(on_stop=True)
    assert resumed_at(points, 95, lost=False) == 55
    assert resumed_at(points, 95, lost=True) == 150
    assert resumed_at(every(30, on_stop=True), 95, lost=True) == 60


def test_a_last_checkpoint_that_does_not_fit_into_the_grace_is_lost() -> None:
    assert resumed_at(every(30, write=10, on_stop=True, grace=10), 95, lost=False) == 55
    assert resumed_at(every(30, write=11, on_stop=True, grace=10), 95, lost=False) == 90


def test_writing_the_last_checkpoint_takes_its_time() -> None:
    lab = Lab()
    lab.launch(job(checkpoint=every(0, write=7, on_stop=True)), runs(100, stop_us=SECOND), "n1")
    lab.until(20)
    lab.halt((0, "n1"))
    assert lab.ends(999) == [(27.0, 0, KILLED)]


def test_what_earlier_attempts_saved_is_kept_by_later_ones() -> None:
    lab = Lab()
    points, truth = every(30), runs(100)
    for attempt in (1, 2, 3):  # 30, then 5 more that no checkpoint holds, then 30 again
        lab.launch(job(checkpoint=points), truth, "n1", attempt=attempt)
        lab.until(lab.clock.now_us() / SECOND + (5 if attempt == 2 else 35))
        lab.halt((0, "n1"), attempt=attempt)
        lab.until(lab.clock.now_us() / SECOND)
    begin = lab.clock.now_us() / SECOND
    lab.launch(job(checkpoint=points), truth, "n1", attempt=4)
    assert [at - begin for at, _, _ in lab.ends(999)] == [40.0]


def test_checkpoints_are_written_in_running_time() -> None:
    lab = Lab()
    spec, truth = job(checkpoint=every(30)), runs(100)
    lab.launch(spec, truth, "n1")
    lab.until(20)
    lab.pause((0, "n1"), paused=True)
    lab.until(50)
    lab.pause((0, "n1"), paused=False)
    lab.until(70)  # 40 s of running time
    lab.halt((0, "n1"))
    lab.until(70)
    lab.launch(spec, truth, "n1", attempt=2)
    assert [at for at, _, _ in lab.ends(999)] == [140.0]


def test_a_checkpoint_of_an_elastic_job_holds_the_work_of_that_moment() -> None:
    lab = Lab()
    spec, truth = job(2, 1, checkpoint=every(30, write=5)), runs(100)
    lab.launch(spec, truth, "n1", "n1")
    lab.until(20)  # 40 of 200
    lab.halt((1, "n1"))
    lab.until(34)  # a checkpoint at 30 would hold 50, but is not complete
    lab.until(36)
    lab.halt((0, "n1"))
    lab.until(36)
    lab.launch(spec, truth, "n1", attempt=2)
    assert [at for at, _, _ in lab.ends(999)] == [36.0 + 150.0]


def test_what_is_known_of_a_job_that_is_over_is_forgotten() -> None:
    lab = Lab()
    lab.launch(job(checkpoint=every(1)), runs(5), "n1")
    lab.until(5)
    lab.engine.forget(JOB)
    lab.launch(job(checkpoint=every(1)), runs(5), "n1", attempt=2)
    assert [at for at, _, _ in lab.ends(999)] == [10.0]


def test_an_elastic_job_goes_on_without_a_lost_task_and_saves_for_nobody_once_it_is_taken_for_lost() -> None:
    lab = Lab()
    spec, truth = job(2, 1, checkpoint=every(10, on_stop=True)), runs(100)
    lab.launch(spec, truth, "n1", "n2")
    lab.until(20)  # 40 of 200
    lab.engine.lose("n2")
    lab.until(50)
    lab.engine.write_off(JOB, 1)
    lab.halt((0, "n1"))
    lab.until(50)
    lab.launch(spec, truth, "n1", attempt=2)
    assert [at for at, _, _ in lab.ends(999)] == [50.0 + 160.0]
    lab = Lab()
    lab.launch(spec, truth, "n1", "n2")
    lab.until(20)
    lab.engine.lose("n2")
    assert [at for at, _, _ in lab.ends(999)] == [20.0 + 160.0]
