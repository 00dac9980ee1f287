"""The metrics of a controller that is driven by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from clearway.control import Board, NodeRow
from clearway.control.controller import Controller
from clearway.engines.fake import FakeEngine, Life, ManualClock, Room
from clearway.loop.world import World
from clearway.model.asks import SetQueue, Submit
from clearway.model.errors import StoreError
from clearway.model.events import DevicesChanged, Grant, NodeAdded, NodeDrained, Started, Submitted, TaskRef
from clearway.model.fleet import QueueSpec
from clearway.model.ids import JobId, NodeId
from clearway.model.reasons import Code, because
from clearway.model.values import SECOND_US
from clearway.observe.devices import Split, Use, split, uses
from clearway.observe.exposition import Metrics
from clearway.observe.gauges import Gauges
from clearway.observe.meter import MOST_NAMES, OTHERS, Names
from clearway.ports.engine import Measured, TaskUse
from clearway.store.memory import MemoryJournal
from clearway.testing.builders import GIB, job, node

if TYPE_CHECKING:
    from clearway.model.job import JobSpec


class AtOnce:
    """Passes on at once, in the same thread."""

    waiting, lost = 3, 4

    def __init__(self, metrics: Metrics) -> None:
        self.begin, self.hear = metrics.meter.begin, metrics.meter.hear


class Rig:
    """A controller with a node of two GPUs; jobs run for 10 s and succeed."""

    def __init__(self, earlier: Rig | None = None) -> None:
        self.clock: ManualClock = ManualClock(SECOND_US) if earlier is None else earlier.clock
        new = Room([node(gpus=2)], self.clock, lambda _: Life(10 * SECOND_US))
        self.room: Room = new if earlier is None else earlier.room
        self.engine = FakeEngine(self.room)
        self.journal: MemoryJournal = MemoryJournal() if earlier is None else earlier.journal
        board = Board()
        self.metrics = Metrics(board)
        watching = AtOnce(self.metrics)
        self.controller = Controller(World(), self.clock, self.engine, self.journal, board=board, observer=watching)
        self.metrics.add(Gauges(self.controller, self.journal, watching))  # type: ignore[arg-type]
        self.controller.take_over()

    def turn(self, *asks: object) -> None:
        self.controller.turn(asks)  # type: ignore[arg-type]
        for _ in range(3):
            self.controller.turn(self.engine.reports())

    def later(self, by_s: int) -> None:
        self.clock.move_to(self.clock.now_us() + by_s * SECOND_US)
        self.turn()

    def value(self, name: str, **labels: str) -> float | None:
        return self.metrics.registry.get_sample_value(name, labels)


@pytest.fixture
def rig() -> Rig:
    return Rig()


def gpu(name: str, estimate_s: int | None = None) -> JobSpec:
    return job(name, time_estimate_us=None if estimate_s is None else estimate_s * SECOND_US)


def test_waits_ends_and_estimates_are_counted(rig: Rig) -> None:
    jobs = (gpu("a", 20), gpu("b"), gpu("c"))
    rig.turn(SetQueue(QueueSpec("team", guarantee=(("gpus", 1000),))), Submit(jobs))
    assert rig.value("clearway_queue_depth", queue="default") == 1
    assert rig.value("clearway_queue_running", queue="default") == 2
    assert rig.value("clearway_queue_gpus_held", queue="default") == 2
    assert rig.value("clearway_queue_gpus_guarantee", queue="team") == 1
    rig.later(10)
    rig.later(10)
    assert rig.value("clearway_jobs_submitted_total", queue="default") == 3
    assert rig.value("clearway_jobs_ended_total", queue="default", state="succeeded") == 3
    assert rig.value("clearway_attempts_ended_total", end="succeeded") == 3
    assert rig.value("clearway_job_wait_seconds_count", queue="default") == 3
    assert rig.value("clearway_job_wait_seconds_sum", queue="default") == 10
    assert rig.value("clearway_estimate_ratio_sum", source="stated") == 0.5
    assert rig.value("clearway_decision_seconds_count") == rig.value("clearway_commit_seconds_count")
    assert rig.value("clearway_journal_records") == rig.journal.last()
    assert (rig.value("clearway_leader"), rig.value("clearway_controller_state", state="up")) == (1, 1)
    assert (rig.value("clearway_unheard_turns"), rig.value("clearway_lost_turns_total")) == (3, 4)
    assert rig.value("clearway_nodes", state="ready") == 1


def test_a_later_controller_knows_since_when_jobs_wait(rig: Rig) -> None:
    rig.turn(Submit((gpu("a"), gpu("b"), gpu("c"))))
    later = Rig(rig)
    later.later(10)
    assert later.value("clearway_jobs_submitted_total", queue="default") is None
    assert later.value("clearway_job_wait_seconds_count", queue="default") == 1
    assert later.value("clearway_job_wait_seconds_sum", queue="default") == 10
    later.later(10)
    assert later.value("clearway_jobs_ended_total", queue="default", state="succeeded") == 3


def test_what_is_not_written_is_told(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: object) -> int:
        raise StoreError("the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(rig.journal, "append", full)
        rig.controller.turn([Submit((gpu("a"),))])
        rig.clock.move_to(rig.clock.now_us() + 7 * SECOND_US)
        assert (rig.value("clearway_journal_lag_records") or 0) > 0
        assert rig.value("clearway_journal_lag_seconds") == 7
        assert (rig.value("clearway_leader"), rig.value("clearway_controller_state", state="stuck")) == (0, 1)
        assert rig.value("clearway_jobs_submitted_total", queue="default") is None
    assert rig.controller.settle()
    assert rig.value("clearway_journal_lag_records") == 0
    assert rig.value("clearway_jobs_submitted_total", queue="default") == 1


def test_what_is_really_used_is_told_of_what_is_measured(rig: Rig) -> None:
    rig.turn(Submit((gpu("a"), gpu("b"))))
    kind = node().gpu_model
    assert rig.value("clearway_gpus_used", model=kind) is None, "nothing measures it"
    rig.room.measured = Measured(
        1, tasks={TaskRef(JobId(1), 1, 0, 0): TaskUse(busy=250), TaskRef(JobId(2), 1, 0, 0): TaskUse(cpus=1000)}
    )
    assert rig.value("clearway_gpus_held", model=kind) == 2
    assert rig.value("clearway_gpus_measured", model=kind) == 1, "of the other the devices are not measured"
    assert rig.value("clearway_gpus_used", model=kind) == 0.25
    rig.later(10)
    assert rig.value("clearway_gpus_used", model=kind) is None, "what is over uses nothing"


def test_a_task_uses_of_its_part_of_a_device() -> None:
    board, at = Board(), NodeId(1)
    board.fold(
        [NodeAdded(0, at, node(gpu_model="A")), Submitted(0, JobId(1), job("a")), Submitted(0, JobId(2), job("b"))]
    )
    board.fold([Started(0, JobId(1), 1, (Grant(0, 0, at, (1, 2), 300),), because(Code.PLACED))])
    board.fold([Started(0, JobId(2), 1, (Grant(0, 0, at, (3,), 0, 20 * GIB),), because(Code.PLACED))])
    tasks = {TaskRef(JobId(n), 1, 0, 0): TaskUse(busy=500) for n in (1, 2)} | {
        TaskRef(JobId(1), 7, 0, 0): TaskUse(busy=1000), TaskRef(JobId(9), 1, 0, 0): TaskUse(busy=1000),
    }  # fmt: skip
    assert sorted(uses(board, tasks)) == [Use("A", 250, 125), Use("A", 600, 300)]


def test_names_are_bounded() -> None:
    names = Names()
    said = [names(f"queue-{number}") for number in range(MOST_NAMES + 50)]
    assert len(set(said)) == MOST_NAMES + 1
    assert said[-1] == OTHERS
    assert names("queue-3") == "queue-3"


def test_devices_are_held_idle_in_pieces_or_closed() -> None:
    board, at = Board(), NodeId(1)
    board.fold([NodeAdded(0, at, node()), Submitted(0, JobId(1), job("a"))])
    board.fold([Started(0, JobId(1), 1, (Grant(0, 0, at, (2,), 300),), because(Code.PLACED))])
    board.fold([DevicesChanged(0, at, (3,))])
    assert split(board.nodes[at]) == Split(4000, 300, 2000, 700, 1000)
    board.fold([NodeDrained(0, at)])
    assert split(board.nodes[at]) == Split(4000, 300, 0, 0, 3700)


def test_a_device_that_is_shared_by_memory_or_cut_is_held_in_parts() -> None:
    by_memory = NodeRow(NodeId(1), node(gpus=2), memories=(20 * GIB,))
    assert split(by_memory) == Split(2000, 250, 1000, 750, 0)
    cut = NodeRow(NodeId(1), node(gpus=2, slices=((0, "3g.40gb"), (0, "4g.40gb"))), shares=(0, 0, 428))
    assert split(cut) == Split(2000, 428, 1000, 572, 0)
