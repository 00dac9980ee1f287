"""What readers see follows from the records alone."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

from clearway.control.board import Board
from clearway.control.rows import QueueRow
from clearway.model import events as ev
from clearway.model.errors import NotFoundError
from clearway.model.fleet import LimitSpec, NodeSpec, PolicySpec, QueueSpec
from clearway.model.ids import ClassId, JobId, NodeId
from clearway.model.job import Demand, JobSpec, Role
from clearway.model.reasons import Code, because
from clearway.model.states import End, State
from clearway.testing.records import every_record

if TYPE_CHECKING:
    from collections.abc import Iterable

PLACED, EXITED = because(Code.PLACED, nodes="n1"), because(Code.EXITED, exit_code=3)
WAITS = (because(Code.NO_CAPACITY, gpus=2000),)
JOB, CLASS, N1 = JobId(1), ClassId(4), NodeId(0)
GRANTS = (ev.Grant(0, 0, N1, (0, 2), 1000), ev.Grant(0, 1, N1, (3,), 500))
ROLE = Role(tasks=2, min_tasks=2, demand=Demand(2, cpus=4000))
SPEC = JobSpec(name="train", queue="q", priority=5, user="ada", roles=(ROLE,))


def submitted(job: JobId = JOB, at_us: int = 1, spec: JobSpec = SPEC) -> list[ev.Record]:
    return [ev.Submitted(at_us, job, spec)]


def started(job: JobId = JOB, attempt: int = 1) -> list[ev.Record]:
    return [ev.Started(5, job, attempt, GRANTS, PLACED)]


def task(index: int = 0, attempt: int = 1, job: JobId = JOB) -> ev.TaskRef:
    return ev.TaskRef(job, attempt, 0, index)


def ended(job: JobId = JOB, state: State = State.SUCCEEDED, at_us: int = 9) -> list[ev.Record]:
    return [ev.AttemptEnded(at_us, job, 1, End.SUCCEEDED, EXITED), ev.Ended(at_us, job, state, EXITED)]


def board_of(*parts: Iterable[ev.Record], kept: int = 100) -> Board:
    board = Board(kept)
    board.fold([ev.NodeAdded(0, N1, NodeSpec("n1", gpus=4))])
    for part in parts:
        board.fold(part)
    return board


def test_a_new_job() -> None:
    row = board_of(submitted()).jobs[JOB]
    assert (row.id, row.name, row.state, row.queue, row.priority, row.user) == (
        1,
        "train",
        State.PENDING,
        "q",
        5,
        "ada",
    )
    assert (row.tasks, row.milli_gpus, row.submitted_us, row.attempt) == (2, 4000, 1, 0)
    assert (row.started_us, row.ended_us, row.grants, row.exit_code, row.reason) == (None, None, (), None, None)


def test_reasons_are_the_class_s_or_its_own() -> None:
    board = board_of(submitted(), [ev.ClassWaits(1, CLASS, WAITS), ev.Joined(2, JOB, CLASS)])
    assert board.reasons(board.jobs[JOB]) == WAITS
    changed = (because(Code.BEHIND, first="x"),)
    board.fold([ev.ClassWaits(3, CLASS, changed)])
    assert board.reasons(board.jobs[JOB]) == changed
    board.fold([ev.JobWaits(4, JOB, (because(Code.RETRY_DELAY),))])
    assert board.reasons(board.jobs[JOB]) == (because(Code.RETRY_DELAY),)
    board.fold(started())
    assert board.reasons(board.jobs[JOB]) == ()


def test_reasons_of_a_class_are_forgotten_with_its_last_job() -> None:
    board = board_of(submitted(), [ev.Joined(2, JOB, CLASS), ev.ClassWaits(2, CLASS, WAITS)])
    assert board.class_reasons == {CLASS: WAITS}
    board.fold([ev.Ended(3, JOB, State.CANCELLED)])
    assert board.class_reasons == {}


def test_the_life_of_an_attempt() -> None:
    board = board_of(submitted(), started())
    states = [board.jobs[JOB].state]
    for record in (
        ev.TaskStarted(6, task(0)), ev.TaskStarted(6, task(1)),
        ev.Paused(7, JOB, 1, paused=True), ev.Paused(7, JOB, 1, paused=False),
        ev.Stopping(8, JOB, 1, End.CANCELLED, PLACED),
    ):  # fmt: skip
        board.fold([record])
        states.append(board.jobs[JOB].state)
    assert states == [State.STARTING, State.STARTING, State.RUNNING, State.SUSPENDED, State.RUNNING, State.STOPPING]
    board.fold([ev.TaskEnded(9, task(0), 0), ev.TaskEnded(9, task(1), 3), *ended(state=State.CANCELLED)])
    row = board.jobs[JOB]
    assert (row.state, row.over, row.started_us, row.ended_us, row.exit_code) == (State.CANCELLED, True, 5, 9, 3)
    assert (row.reason, row.grants) == (EXITED, GRANTS)


def test_another_attempt() -> None:
    board = board_of(submitted(), started(), [ev.TaskEnded(6, task(0), 3), ev.TaskEnded(6, task(1), 0)])
    board.fold([ev.AttemptEnded(6, JOB, 1, End.FAILED, EXITED), ev.Requeued(6, JOB, 8, EXITED)])
    row = board.jobs[JOB]
    assert (row.state, row.grants, row.reasons) == (State.PENDING, (), (EXITED,))
    assert row.stopped_us == 6  # how long it ran does not grow while it waits
    board.fold(started(attempt=2))
    assert (board.jobs[JOB].attempt, board.jobs[JOB].exit_code, board.jobs[JOB].stopped_us) == (2, None, None)
    board.fold([ev.TaskEnded(7, task(0, attempt=1), 9)])  # a late word about the first attempt
    assert board.jobs[JOB].exit_code is None
    assert board.nodes[N1].tasks == 2


def test_what_nodes_and_queues_hold() -> None:
    board = board_of(submitted(), started())
    node, queue = board.nodes[N1], board.queues["q"]
    assert node.use == queue.use == (("cpus", 8000), ("gpus", 2500))
    assert (node.tasks, node.shares) == (2, (1000, 0, 1000, 500))
    assert (queue.pending, queue.running) == (0, 1)
    board.fold([ev.TaskEnded(6, task(0), 0)])
    assert (board.nodes[N1].use, board.nodes[N1].shares) == ((("cpus", 4000), ("gpus", 500)), (0, 0, 0, 500))
    board.fold([ev.TaskEnded(6, task(1), 0), *ended()])
    assert board.queues["q"] == QueueRow(QueueSpec("q"))
    assert (board.nodes[N1].tasks, board.nodes[N1].use) == (0, ())


def test_a_lost_node_holds_nothing() -> None:
    board = board_of(submitted(), started(), [ev.NodeQuiet(6, N1, 2)])
    assert board.nodes[N1].quiet_since_us == 2
    board.fold([ev.NodeLost(7, N1)])
    assert (board.nodes[N1].lost, board.nodes[N1].use, board.queues["q"].use) == (True, (), ())
    board.fold([ev.NodeHeard(8, N1)])
    assert (board.nodes[N1].lost, board.nodes[N1].quiet_since_us) == (False, None)
    board.fold([ev.TaskEnded(9, task(0), None), *ended()])
    assert board.nodes[N1].use == ()


def test_a_new_controller_forgives_silence() -> None:
    board = board_of([ev.NodeQuiet(6, N1, 2), ev.ControllerStarted(7)])
    assert board.nodes[N1].quiet_since_us is None


def test_a_node_that_left_keeps_its_name() -> None:
    board = board_of(submitted(), started(), [ev.NodeRemoved(7, N1)])
    assert N1 not in board.nodes
    assert board.node_names[N1] == "n1"
    assert board.queues["q"].use == ()


def test_words_of_nodes_queues_limits_and_policy() -> None:
    changed: list[ev.Record] = [
        ev.NodeAdded(1, N1, NodeSpec("n1", gpus=8)), ev.NodeDrained(2, N1), ev.DevicesChanged(3, N1, (7,)),
        ev.QueueChanged(4, QueueSpec("q", weight=3)), ev.LimitChanged(5, LimitSpec("db", 2)),
        ev.PolicyChanged(6, PolicySpec(("fifo",))),
    ]  # fmt: skip
    board = board_of(submitted(), changed)
    node = board.nodes[N1]
    assert (node.spec.gpus, node.drained, node.unhealthy) == (8, True, (7,))
    assert (board.queues["q"].spec.weight, board.queues["q"].pending) == (3, 1)
    assert board.limits["db"].slots == 2
    assert board.policy == PolicySpec(("fifo",))


def test_a_refused_job() -> None:
    reason = because(Code.BAD_VALUE, field="gpus")
    row = board_of([ev.Refused(3, JOB, "bad", reason)]).jobs[JOB]
    assert (row.state, row.submitted_us, row.ended_us, row.reason) == (State.REFUSED, 3, 3, reason)


def test_only_so_many_finished_jobs_are_kept() -> None:
    board = board_of(kept=3)
    for number in range(1, 7):
        board.fold([*submitted(JobId(number)), *ended(JobId(number))])
    board.fold(submitted(JobId(7), spec=JobSpec(name="alive")))
    assert list(board.jobs) == [4, 5, 6, 7]
    assert board.named("train") == 6
    assert board.named("alive") == 7
    assert board.named("none") is None
    board.fold([*submitted(JobId(8)), *ended(JobId(8))])
    assert list(board.jobs) == [5, 6, 7, 8]


def test_a_name_is_its_newest_job_s() -> None:
    board = board_of(submitted(JobId(1)), submitted(JobId(2)), ended(JobId(1)), kept=0)
    assert board.named("train") == 2


def test_the_row_of_a_job_that_is_no_longer_there() -> None:
    records = [*submitted(), *started(), ev.TaskEnded(6, task(0), 3), *ended(state=State.FAILED)]
    row = Board.row_of(records, JOB)
    assert (row.state, row.exit_code, row.grants) == (State.FAILED, 3, GRANTS)
    with pytest.raises(NotFoundError, match="no job 5"):
        Board.row_of([], JobId(5))


def test_every_kind_of_record_is_taken_in() -> None:
    board_of(submitted(JobId(7)), [ev.NodeAdded(0, NodeId(3), NodeSpec("n3"))], every_record())


def test_waiting_for_the_end() -> None:
    board = board_of(submitted())
    future = board.when_over(JOB)
    board.fold(started())
    assert not future.done()
    board.fold(ended())
    assert future.result(0).state is State.SUCCEEDED
    assert board.when_over(JOB).result(0).state is State.SUCCEEDED
    with pytest.raises(NotFoundError):
        board.when_over(JobId(99)).result(0)


def test_a_waiter_that_goes_away_is_forgotten() -> None:
    board = board_of(submitted())
    stay, go = board.when_over(JOB), board.when_over(JOB)
    go.cancel()
    assert board._waiters.waiting() == 1
    board.fold(ended())
    assert stay.result(0).over
    assert board._waiters.waiting() == 0


def test_readers_see_whole_rows_while_it_changes() -> None:
    board = board_of()
    wrong: list[object] = []
    stop = threading.Event()

    def read() -> None:
        while not stop.is_set():
            for row in list(board.jobs.values()):
                halves = [row] if row.over != (row.ended_us is not None) else []
                wrong.extend(halves)

    readers = [threading.Thread(target=read) for _ in range(3)]
    for reader in readers:
        reader.start()
    futures = []
    for number in range(1, 1500):
        board.fold(submitted(JobId(number)))
        futures.append(board.when_over(JobId(number)))
        board.fold([*started(JobId(number)), *ended(JobId(number))])
    stop.set()
    for reader in readers:
        reader.join()
    assert not wrong
    assert all(f.result(0).over for f in futures)
