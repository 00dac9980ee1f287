"""Records folded into the timeline of docs/timeline.md: by hand, record by record."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from clearway.model import events as ev
from clearway.model.fleet import NodeSpec, PolicySpec, QueueSpec
from clearway.model.ids import ClassId, JobId, NodeId
from clearway.model.job import Demand, JobSpec, Role
from clearway.model.reasons import Code, because
from clearway.model.states import End, State
from clearway.observe.timeline import Face, Timeline, job_entry, records_of
from clearway.store.memory import MemoryJournal
from clearway.testing.records import every_record

if TYPE_CHECKING:
    from collections.abc import Sequence

S = 1_000_000
N1, N2 = NodeId(0), NodeId(1)
A, B, C = JobId(1), JobId(2), JobId(3)
ONE, TWO = ClassId(1), ClassId(2)
PLACED = because(Code.PLACED, nodes="n1")
SHORT = (because(Code.NO_CAPACITY, gpus=2000, tasks=1, most_free_gpus=0, best_node="n1"),)
BEHIND = (because(Code.BEHIND, first="A"),)


def _spec(name: str, gpus: int = 1, tasks: int = 1) -> JobSpec:
    return JobSpec(name, roles=(Role("task", tasks, tasks, Demand(gpus=gpus)),))


def _grant(index: int = 0, node: NodeId = N1, devices: tuple[int, ...] = (0,), **more: Any) -> ev.Grant:
    return ev.Grant(0, index, node, devices, **{"share": 1000, **more})


def _fleet() -> list[ev.Record]:
    return [ev.NodeAdded(0, N1, NodeSpec("n1", gpus=2)), ev.NodeAdded(0, N2, NodeSpec("n2", gpus=2))]


def _over(at: int, job: JobId, attempt: int, code: int = 0, *, tasks: int = 1) -> list[ev.Record]:
    ended: list[ev.Record] = [ev.TaskEnded(at, ev.TaskRef(job, attempt, 0, i), code) for i in range(tasks)]
    end, state = (End.FAILED, State.FAILED) if code else (End.SUCCEEDED, State.SUCCEEDED)
    cause = because(Code.EXITED, exit_code=code)
    return [*ended, ev.AttemptEnded(at, job, attempt, end, cause), ev.Ended(at, job, state, cause if code else None)]


def _fold(records: Sequence[ev.Record], face: Face | None = None) -> Any:
    timeline = Timeline(face)
    for record in records:
        timeline.apply(record)
    return json.loads(json.dumps(timeline.as_dict()))


def test_a_job_that_waits_runs_and_ends() -> None:
    shown = _fold(
        [
            *_fleet(),
            ev.Submitted(10 * S, A, _spec("L")),
            ev.Joined(10 * S, A, ONE),
            ev.ClassWaits(10 * S, ONE, SHORT),
            ev.Started(100 * S, A, 1, (_grant(devices=(0, 1)),), PLACED),
            *_over(150 * S, A, 1),
        ]
    )
    assert shown["jobs"] == {
        "L": {
            "state": "succeeded",
            "submitted": 10.0,
            "ended": 150.0,
            "reason": None,
            "attempts": [
                {
                    "number": 1,
                    "from": 100.0,
                    "to": 150.0,
                    "end": "succeeded",
                    "cause": None,
                    "tasks": [
                        {
                            "role": "task",
                            "index": 0,
                            "node": "n1",
                            "devices": [0, 1],
                            "share": 1000,
                            "from": 100.0,
                            "to": 150.0,
                        }
                    ],
                }
            ],
            "waits": [
                {
                    "from": 10.0,
                    "to": 100.0,
                    "reasons": [
                        {"code": "no-capacity", "text": "needs 2 GPUs on one node, 0 free on n1", "needs": {"gpus": 2}}
                    ],
                }
            ],
        }
    }
    assert shown["events"] == [
        {"at": 10.0, "kind": "submitted", "job": "L"},
        {"at": 100.0, "kind": "started", "job": "L", "attempt": 1, "cause": "was next in order and fits on n1"},
        {"at": 150.0, "kind": "ended", "job": "L", "state": "succeeded"},
    ]


def test_a_summary_has_all_figures() -> None:
    means = ["mean_wait", "p95_wait", "mean_jct", "p95_jct", "mean_bounded_slowdown"]
    figures = ["makespan", "gpu_use", "gpu_busy", *means, "fragmented", "cost", "preemptions"]
    assert list(_fold([])["summary"]) == figures


def _waits(shown: Any, name: str) -> list[tuple[float, float | None, list[str]]]:
    return [(w["from"], w["to"], [r["code"] for r in w["reasons"]]) for w in shown["jobs"][name]["waits"]]


def test_reasons_of_a_class_hold_from_before_the_job_joined_and_change_with_it() -> None:
    shown = _fold(
        [
            *_fleet(),
            ev.Submitted(0, A, _spec("a")),
            ev.Joined(0, A, ONE),
            ev.ClassWaits(0, ONE, SHORT),
            ev.Submitted(5 * S, B, _spec("b")),
            ev.Joined(5 * S, B, ONE),
            ev.ClassWaits(7 * S, ONE, SHORT),
            ev.ClassWaits(9 * S, ONE, BEHIND),
        ]
    )
    assert _waits(shown, "a") == [(0.0, 9.0, ["no-capacity"]), (9.0, None, ["behind"])]
    assert _waits(shown, "b") == [(5.0, 9.0, ["no-capacity"]), (9.0, None, ["behind"])]


def test_the_last_of_several_reasons_of_one_moment_counts() -> None:
    shown = _fold(
        [
            *_fleet(),
            ev.Submitted(0, A, _spec("a")),
            ev.JobWaits(0, A, BEHIND),
            ev.Joined(0, A, ONE),
            ev.ClassWaits(0, ONE, BEHIND),
            ev.ClassWaits(0, ONE, SHORT),
        ]
    )
    assert _waits(shown, "a") == [(0.0, None, ["no-capacity"])]


def test_own_reasons_and_those_of_other_classes_follow_one_another_without_gaps() -> None:
    delay = (because(Code.RETRY_DELAY, until_us=30 * S, tries=1, max_retries=1),)
    shown = _fold(
        [
            *_fleet(),
            ev.Submitted(0, A, _spec("a")),
            ev.JobWaits(0, A, (because(Code.AFTER, jobs="x"),)),
            ev.Joined(4 * S, A, ONE),
            ev.ClassWaits(4 * S, ONE, SHORT),
            ev.ClassWaits(6 * S, TWO, BEHIND),
            ev.Joined(8 * S, A, TWO),
            ev.Started(10 * S, A, 1, (_grant(),), PLACED),
            ev.ClassWaits(11 * S, TWO, SHORT),
            ev.TaskEnded(20 * S, ev.TaskRef(A, 1, 0, 0), 1),
            ev.AttemptEnded(20 * S, A, 1, End.FAILED, because(Code.EXITED, exit_code=1)),
            ev.Requeued(20 * S, A, 30 * S, because(Code.EXITED, exit_code=1)),
            ev.JobWaits(20 * S, A, delay),
            ev.Joined(30 * S, A, ONE),
        ]
    )
    assert _waits(shown, "a") == [
        (0.0, 4.0, ["after"]),
        (4.0, 8.0, ["no-capacity"]),
        (8.0, 10.0, ["behind"]),
        (20.0, 30.0, ["retry-delay"]),
        (30.0, None, ["no-capacity"]),
    ]
    entry = shown["jobs"]["a"]
    assert entry["state"] == "pending"
    assert entry["attempts"][0]["cause"] == "exited with code 1"


def test_equal_neighbours_are_one_wait() -> None:
    shown = _fold(
        [
            *_fleet(),
            ev.Submitted(0, A, _spec("a")),
            ev.JobWaits(0, A, BEHIND),
            ev.JobWaits(2 * S, A, BEHIND),
            ev.Joined(4 * S, A, ONE),
            ev.ClassWaits(4 * S, ONE, BEHIND),
            ev.Started(6 * S, A, 1, (_grant(),), PLACED),
        ]
    )
    assert _waits(shown, "a") == [(0.0, 6.0, ["behind"])]


def test_each_task_ends_by_itself_and_the_attempt_when_it_stopped_counting() -> None:
    shown = _fold(
        [
            *_fleet(),
            ev.Submitted(0, A, _spec("a", tasks=2)),
            ev.Started(0, A, 1, (_grant(0), _grant(1, N2)), PLACED),
            ev.TaskStarted(1, ev.TaskRef(A, 1, 0, 0)),
            ev.TaskEnded(5 * S, ev.TaskRef(A, 1, 0, 1), 0),
            *_over(9 * S, A, 1),
        ]
    )
    attempt = shown["jobs"]["a"]["attempts"][0]
    assert [t["to"] for t in attempt["tasks"]] == [9.0, 5.0]
    assert attempt["to"] == 9.0


def test_tasks_on_a_lost_node_end_with_it_and_a_late_report_changes_nothing() -> None:
    lost = because(Code.NODE_LOST, node="n2", lease_us=30 * S)
    shown = _fold(
        [
            *_fleet(),
            ev.Submitted(0, A, _spec("a", tasks=2)),
            ev.Started(0, A, 1, (_grant(0), _grant(1, N2)), PLACED),
            ev.NodeLost(40 * S, N2),
            ev.Stopping(40 * S, A, 1, End.LOST, lost),
            ev.TaskEnded(42 * S, ev.TaskRef(A, 1, 0, 0), None),
            ev.AttemptEnded(42 * S, A, 1, End.LOST, lost),
            ev.Requeued(42 * S, A, 42 * S, lost),
            ev.Joined(42 * S, A, ONE),
            ev.ClassWaits(42 * S, ONE, SHORT),
            ev.NodeHeard(60 * S, N2),
            ev.Started(60 * S, A, 2, (_grant(0), _grant(1, N2)), PLACED),
            ev.TaskEnded(61 * S, ev.TaskRef(A, 1, 0, 1), None),
        ]
    )
    first, second = shown["jobs"]["a"]["attempts"]
    assert [t["to"] for t in first["tasks"]] == [42.0, 40.0]
    assert (first["end"], first["cause"]) == ("lost", "node n2 was lost: not heard of for the lease of 30 s")
    assert [t["to"] for t in second["tasks"]] == [None, None]
    assert [e["kind"] for e in shown["events"]] == [
        "submitted",
        "started",
        "node_lost",
        "stopping",
        "node_ready",
        "started",
    ]


def test_a_refused_job_ends_as_it_enters() -> None:
    bad = because(Code.BAD_VALUE, field="gpus", value="1.5", rule="whole")
    shown = _fold([ev.Refused(3 * S, A, "bad", bad)])
    assert shown["jobs"]["bad"] == {
        "state": "refused",
        "submitted": 3.0,
        "ended": 3.0,
        "attempts": [],
        "waits": [],
        "reason": {"code": "bad-value", "text": "gpus: 1.5 is refused: whole"},
    }
    assert shown["events"][0]["kind"] == "refused"


def test_shares_and_memory_shares_say_what_they_hold() -> None:
    grant = ev.Grant(0, 0, N1, (1,), 0, 6 * 2**30)
    shown = _fold([*_fleet(), ev.Submitted(0, A, _spec("a")), ev.Started(0, A, 1, (grant,), PLACED)])
    task = shown["jobs"]["a"]["attempts"][0]["tasks"][0]
    assert (task["devices"], task["share"], task["gpu_memory"], task["to"]) == ([1], 0, 6 * 2**30, None)


def test_other_events_are_told() -> None:
    shown = _fold(
        [
            *_fleet(),
            ev.Submitted(0, A, _spec("a")),
            ev.Started(0, A, 1, (_grant(),), PLACED),
            ev.Paused(1, A, 1, paused=True),
            ev.Paused(2, A, 1, paused=False),
            ev.Reserved(3, A, 9 * S, (_grant(),)),
            ev.Reserved(4, A, 9 * S, ()),
            ev.NodeDrained(5, N1),
            ev.NodeDrained(6, N1, drained=False),
            ev.DevicesChanged(7, N1, (1,)),
            ev.QueueChanged(8, QueueSpec("q")),
            ev.PolicyChanged(9, PolicySpec()),
            ev.NodeAdded(10, NodeId(2), NodeSpec("n3")),
        ]
    )
    assert [e["kind"] for e in shown["events"][2:]] == [
        "suspended",
        "resumed",
        "reserved",
        "drained",
        "node_ready",
        "device_unhealthy",
        "queue_changed",
        "policy_changed",
        "node_ready",
    ]
    assert shown["events"][4] == {"at": 0.000003, "kind": "reserved", "job": "a", "start": 9.0, "nodes": ["n1"]}


def test_an_own_reservation_is_said_while_it_holds() -> None:
    shown = _fold(
        [
            *_fleet(),
            ev.Submitted(0, A, _spec("a")),
            ev.Joined(0, A, ONE),
            ev.ClassWaits(0, ONE, SHORT),
            ev.Reserved(0, A, 90 * S, (_grant(),)),
            ev.Reserved(20 * S, A, 95 * S, (_grant(node=N2),)),
            ev.Reserved(30 * S, A, 0, ()),
            ev.ClassWaits(40 * S, ONE, BEHIND),
        ]
    )
    assert _waits(shown, "a") == [
        (0.0, 20.0, ["no-capacity", "reservation"]),
        (20.0, 30.0, ["no-capacity", "reservation"]),
        (30.0, 40.0, ["no-capacity"]),
        (40.0, None, ["behind"]),
    ]
    texts = [w["reasons"][1]["text"] for w in shown["jobs"]["a"]["waits"][:2]]
    assert texts == ["has a reservation to start at 90 s on n1", "has a reservation to start at 95 s on n2"]


def test_moments_count_from_the_start_that_is_told() -> None:
    start = 1_700_000_000 * S
    records: list[ev.Record] = [
        ev.Submitted(start + S, A, _spec("a")),
        ev.JobWaits(start + S, A, (because(Code.RESERVATION, start_us=start + 9 * S, node="n1"),)),
    ]
    shown = _fold(records, Face(start))
    entry = shown["jobs"]["a"]
    assert entry["submitted"] == 1.0
    assert entry["waits"][0]["reasons"][0]["text"] == "has a reservation to start at 9 s on n1"


def test_jobs_of_one_name_are_told_apart() -> None:
    shown = _fold([ev.Submitted(0, A, _spec("a")), ev.Submitted(1, B, _spec("a"))])
    assert list(shown["jobs"]) == ["a", "a (2)"]


def test_one_job_of_a_journal_is_as_in_the_whole_timeline() -> None:
    records: list[ev.Record] = [
        *_fleet(),
        ev.ClassWaits(1 * S, ONE, SHORT),
        ev.Submitted(2 * S, A, _spec("a")),
        ev.Submitted(2 * S, B, _spec("b")),
        ev.Joined(2 * S, A, ONE),
        ev.Joined(2 * S, B, TWO),
        ev.ClassWaits(2 * S, TWO, BEHIND),
        ev.ClassWaits(4 * S, ONE, BEHIND),
        ev.Started(5 * S, A, 1, (_grant(node=N2),), PLACED),
        *_over(9 * S, A, 1, code=3),
    ]
    journal = MemoryJournal()
    journal.append(records)
    mine = records_of(journal, A)
    assert [r for r in records if r in mine] == mine
    assert not any(isinstance(r, ev.ClassWaits) and r.cls == TWO for r in mine)
    entry = job_entry(mine, A, {N1: "n1", N2: "n2"}.__getitem__)
    assert json.loads(json.dumps(entry)) == _fold(records)["jobs"]["a"]


def test_every_kind_of_record_is_taken() -> None:
    timeline = Timeline()
    known = {ev.NodeAdded, ev.Submitted}
    ordered = sorted(every_record(), key=lambda r: type(r) not in known)
    for record in ordered:
        timeline.apply(record)
    json.dumps(timeline.as_dict())
