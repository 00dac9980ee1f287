"""The figures of a run, against a run that is added up by hand."""

from __future__ import annotations

import pytest

from clearway.model import events as ev
from clearway.model.fleet import NodeSpec
from clearway.model.ids import ClassId, JobId, NodeId
from clearway.model.job import Demand, JobSpec, Role
from clearway.model.reasons import Code, because
from clearway.model.states import End, State
from clearway.observe.summary import Summary

S = 1_000_000
N1, N2 = NodeId(0), NodeId(1)
PLACED, EXITED = because(Code.PLACED), because(Code.EXITED, exit_code=0)
ROOM = because(Code.NO_CAPACITY, gpus=2000)


def _job(number: int, gpus: int) -> tuple[JobId, JobSpec]:
    return JobId(number), JobSpec(f"j{number}", roles=(Role(demand=Demand(gpus=gpus)),))


def _start(at: int, job: int, attempt: int, node: NodeId, *devices: int) -> ev.Record:
    return ev.Started(at * S, JobId(job), attempt, (ev.Grant(0, 0, node, devices, 1000),), PLACED)


def _end(at: int, job: int, attempt: int = 1, end: End = End.SUCCEEDED) -> list[ev.Record]:
    ended: list[ev.Record] = [
        ev.TaskEnded(at * S, ev.TaskRef(JobId(job), attempt, 0, 0), 0),
        ev.AttemptEnded(at * S, JobId(job), attempt, end, EXITED),
    ]
    if end is End.PREEMPTED:
        return [*ended, ev.Requeued(at * S, JobId(job), at * S, EXITED)]
    return [*ended, ev.Ended(at * S, JobId(job), State.SUCCEEDED)]


def _fold(records: list[ev.Record], busy: dict[str, int] | None = None) -> dict[str, float | int | None]:
    summary = Summary(busy)
    for record in records:
        summary.apply(record)
    return summary.as_dict()


def _two_jobs() -> list[ev.Record]:
    """On four devices: j1 holds two from 10 to 50, j2 all four from 50 to 60; it waits from 20 on."""
    return [
        ev.NodeAdded(0, N1, NodeSpec("n1", gpus=4, price_micros=3_600_000)),
        ev.Submitted(10 * S, *_job(1, 2)),
        _start(10, 1, 1, N1, 0, 1),
        ev.Submitted(20 * S, *_job(2, 4)),
        ev.Joined(20 * S, JobId(2), ClassId(1)),
        ev.ClassWaits(20 * S, ClassId(1), (ROOM,)),
        *_end(50, 1),
        _start(50, 2, 1, N1, 0, 1, 2, 3),
        *_end(60, 2),
    ]


def test_a_device_in_turns_is_held_once_and_used_by_all_on_it() -> None:
    """On two devices: j1 and j2 share device 0 from 10 to 50, j1 goes on to 60; they want 0.4 and 0.8 of it."""
    shared = Demand(gpus=1, colocate=1)
    records = [
        ev.NodeAdded(0, N1, NodeSpec("n1", gpus=2)),
        *[ev.Submitted(10 * S, JobId(n), JobSpec(f"j{n}", roles=(Role(demand=shared),))) for n in (1, 2)],
        *[_start(10, n, 1, N1, 0) for n in (1, 2)],
        *_end(50, 2),
        *_end(60, 1),
    ]
    shown = _fold(records, {"j1": 400, "j2": 800})
    assert (shown["gpu_use"], shown["gpu_busy"]) == (0.5, (40 * 1 + 10 * 0.4) / 100)


def test_a_run_added_up_by_hand() -> None:
    shown = _fold(_two_jobs(), {"j1": 500})
    assert shown == {
        "makespan": 50.0,
        "gpu_use": (2 * 40 + 4 * 10) / (4 * 50),
        "gpu_busy": (1 * 40 + 4 * 10) / (4 * 50),
        "mean_wait": 15.0,
        "p95_wait": 30.0,
        "mean_jct": 40.0,
        "p95_jct": 40.0,
        "mean_bounded_slowdown": (1 + 40 / 10) / 2,
        "fragmented": (2 * 30) / (4 * 50),
        "cost": pytest.approx(50 * 3.6 / 3600),
        "preemptions": 0,
    }


def test_nothing_to_compute_from_is_null_never_nan() -> None:
    shown = _fold([])
    assert shown.pop("preemptions") == 0
    assert shown.pop("cost") == 0
    assert set(shown.values()) == {None}
    shown = _fold(
        [ev.NodeAdded(0, N1, NodeSpec("n1")), ev.Submitted(0, *_job(1, 0)), *[_start(0, 1, 1, N1)], *_end(0, 1)]
    )
    assert (shown["gpu_use"], shown["makespan"], shown["mean_bounded_slowdown"]) == (None, 0.0, 1.0)


def test_what_goes_on_after_the_last_end_does_not_count() -> None:
    records = [
        *_two_jobs(),
        ev.Submitted(60 * S, *_job(3, 1)),
        _start(60, 3, 1, N1, 0),
        ev.NodeAdded(900 * S, N2, NodeSpec("n2", gpus=8)),
    ]
    assert _fold(records)["gpu_use"] == _fold(_two_jobs())["gpu_use"]


def test_a_lost_node_is_not_there_and_holds_nothing() -> None:
    lost = because(Code.NODE_LOST, node="n2")
    shown = _fold(
        [
            ev.NodeAdded(0, N1, NodeSpec("n1", gpus=1)),
            ev.NodeAdded(0, N2, NodeSpec("n2", gpus=1)),
            ev.Submitted(0, *_job(1, 1)),
            _start(0, 1, 1, N2, 0),
            ev.NodeLost(10 * S, N2),
            ev.AttemptEnded(10 * S, JobId(1), 1, End.LOST, lost),
            ev.Requeued(10 * S, JobId(1), 0, lost),
            _start(20, 1, 2, N1, 0),
            ev.NodeHeard(30 * S, N2),
            *_end(40, 1, 2),
        ]
    )
    assert shown["gpu_use"] == (10 + 20) / (40 + 10 + 10)
    assert shown["mean_bounded_slowdown"] == 40 / 20


def test_preemptions_are_counted_by_attempt() -> None:
    shown = _fold(
        [
            ev.NodeAdded(0, N1, NodeSpec("n1", gpus=1)),
            ev.Submitted(0, *_job(1, 1)),
            _start(0, 1, 1, N1, 0),
            *_end(5, 1, 1, End.PREEMPTED),
            _start(8, 1, 2, N1, 0),
            *_end(9, 1, 2, End.PREEMPTED),
            _start(10, 1, 3, N1, 0),
            *_end(20, 1, 3),
        ]
    )
    assert shown["preemptions"] == 2
    assert shown["mean_wait"] == 0


def test_a_job_that_lacks_no_capacity_wastes_nothing() -> None:
    limit = because(Code.QUEUE_LIMIT, queue="q")
    for reasons, cls in (((limit,), True), ((limit,), False)):
        records = _two_jobs()
        why = ev.ClassWaits(20 * S, ClassId(1), reasons) if cls else ev.JobWaits(20 * S, JobId(2), reasons)
        records[5] = why
        assert _fold(records)["fragmented"] == 0


def test_a_job_without_gpus_wastes_none() -> None:
    records = _two_jobs()
    records[3] = ev.Submitted(20 * S, *_job(2, 0))
    assert _fold(records)["fragmented"] == 0


def test_memory_is_kept_for_what_lives_only() -> None:
    summary = Summary()
    summary.apply(ev.NodeAdded(0, N1, NodeSpec("n1", gpus=1)))
    for i in range(1000):
        for record in (ev.Submitted(i * S, *_job(i, 1)), _start(i, i, 1, N1, 0), *_end(i + 1, i)):
            summary.apply(record)
    assert not summary._jobs  # what it keeps is what is tested
    assert not summary._grants
    assert summary.as_dict()["gpu_use"] == 1


def test_the_95th_percentile_is_the_nearest_rank() -> None:
    records: list[ev.Record] = [ev.NodeAdded(0, N1, NodeSpec("n1", gpus=1))]
    for i in range(1, 21):
        records += [ev.Submitted(0, *_job(i, 1))]
    for i in range(1, 21):
        records += [_start(i, i, 1, N1, 0), *_end(i + 1, i)]
    shown = _fold(records)
    assert (shown["p95_wait"], shown["mean_wait"]) == (19.0, 10.5)
