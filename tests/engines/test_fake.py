from __future__ import annotations

from clearway.engines.fake import FakeEngine, Faults, Life, ManualClock, Room
from clearway.model.actions import Halt, Launch, Pause
from clearway.model.events import Grant, TaskRef
from clearway.model.fleet import NodeSpec
from clearway.model.ids import JobId, NodeId
from clearway.model.job import JobSpec
from clearway.ports.engine import NodeIsGone, NodeIsQuiet, NodeIsUp, Report, TaskIsGone, TaskIsUp

S = 1_000_000


def order(job: int, node: str = "n1") -> Launch:
    return Launch(TaskRef(JobId(job), 1, 0, 0), JobSpec("j"), Grant(0, 0, NodeId(0)), node, 0, 1)


def room_of(life: Life = Life(), faults: Faults = Faults(), seed: int = 0) -> Room:  # noqa: B008  both are frozen
    return Room([NodeSpec("n1"), NodeSpec("n2")], ManualClock(), lambda _: life, seed=seed, faults=faults)


def collect(engine: FakeEngine, until_us: int) -> list[tuple[int, Report]]:
    """Return all reports up to a moment, each with the moment it came."""
    clock, found = engine.room.clock, []
    while clock.now_us() < until_us:
        engine.wait((until_us - clock.now_us()) / S)
        found += [(clock.now_us(), report) for report in engine.reports()]
    return found


def test_a_task_takes_its_time() -> None:
    engine = FakeEngine(room_of(Life(run_us=7 * S, exit_code=3)))
    engine.carry_out([order(1)])
    assert engine.reports() == [TaskIsUp(order(1).task)]
    assert collect(engine, 10 * S) == [(7 * S, TaskIsGone(order(1).task, 3))]
    assert engine.room.clock.now_us() == 10 * S


def test_a_stop_takes_its_time_or_the_grace() -> None:
    for stop_us, grace_us, ends_at, code in ((2 * S, 5 * S, 2 * S, -15), (9 * S, 5 * S, 5 * S, -9), (None, S, S, -9)):
        engine = FakeEngine(room_of(Life(stop_us=stop_us)))
        engine.carry_out([order(1), Halt(order(1).task, "n1", "SIGTERM", grace_us)])
        assert collect(engine, 60 * S)[-1] == (ends_at, TaskIsGone(order(1).task, code))


def test_what_cannot_be_killed_stays() -> None:
    engine = FakeEngine(room_of(Life(unkillable=True)))
    engine.carry_out([order(1), Halt(order(1).task, "n1", "SIGTERM", 0)])
    assert collect(engine, 60 * S) == [(0, TaskIsUp(order(1).task))]
    assert engine.open().nodes[0].running == (order(1).task,)


def test_a_pause_costs_its_time() -> None:
    engine = FakeEngine(room_of(Life(run_us=10 * S)))
    engine.carry_out([order(1)])
    collect(engine, 4 * S)
    engine.carry_out([Pause(order(1).task, "n1", paused=True)])
    collect(engine, 100 * S)
    engine.carry_out([Pause(order(1).task, "n1", paused=False)])
    assert collect(engine, 200 * S) == [(106 * S, TaskIsGone(order(1).task, 0))]


def test_a_test_may_end_a_task_and_tell_it_again() -> None:
    room = room_of()
    engine = FakeEngine(room)
    engine.carry_out([order(1)])
    room.finish(order(1).task, 9)
    room.tell_again(order(1).task)
    assert engine.reports() == [TaskIsUp(order(1).task), *[TaskIsGone(order(1).task, 9)] * 2]


def test_a_refused_action_comes_back_with_the_reason() -> None:
    room = Room([NodeSpec("n1")], ManualClock(), refuses=lambda action: "no room" if action.task.job == 2 else "")
    engine = FakeEngine(room)
    engine.carry_out([order(1), order(2)])
    assert engine.reports() == [TaskIsUp(order(1).task), TaskIsGone(order(2).task, error="no room")]


def test_a_lost_node_takes_its_tasks_along_without_a_word() -> None:
    room = room_of(Life(run_us=5 * S))
    engine = FakeEngine(room)
    engine.carry_out([order(1), order(2, "n2")])
    engine.reports()
    room.lose_node("n1")
    assert collect(engine, 20 * S) == [(0, NodeIsQuiet("n1")), (5 * S, TaskIsGone(order(2).task, 0))]
    assert [up.spec.name for up in engine.open().nodes] == ["n2"]
    room.bring_back("n1")
    assert engine.reports() == [NodeIsUp(NodeSpec("n1"))]
    assert TaskIsGone(order(1).task) in engine.open().gone


def test_a_node_that_was_cut_off_tells_what_happened_when_it_is_back() -> None:
    room = room_of(Life(run_us=5 * S))
    engine = FakeEngine(room)
    engine.carry_out([order(1), order(3)])
    room.cut_node("n1")
    engine.reports()
    engine.carry_out([Halt(order(3).task, "n1", "SIGTERM", 0)])  # never arrives
    assert collect(engine, 20 * S) == []
    room.bring_back("n1")
    ends = [TaskIsGone(order(job).task, 0) for job in (1, 3)]
    assert engine.reports() == [*ends, NodeIsUp(NodeSpec("n1"))]


def test_nodes_join_change_and_leave() -> None:
    room = room_of()
    engine = FakeEngine(room)
    room.add_node(NodeSpec("n3"))
    room.hurt_devices("n3", (1,))
    room.remove_node("n3")
    assert engine.reports() == [NodeIsUp(NodeSpec("n3")), NodeIsUp(NodeSpec("n3"), (), (1,)), NodeIsGone("n3")]


def _story(seed: int) -> list[tuple[int, Report]]:
    engine = FakeEngine(room_of(Life(run_us=3 * S), Faults(lost=200, late=300, doubled=300), seed))
    engine.carry_out([order(job) for job in range(1, 41)])
    return collect(engine, 60 * S)


def test_faults_follow_from_the_seed() -> None:
    assert _story(1) == _story(1)
    assert _story(1) != _story(2)


def test_whatever_goes_astray_every_end_arrives() -> None:
    for seed in range(20):
        story = _story(seed)
        told = [report.task.job for _, report in story if isinstance(report, TaskIsGone)]
        assert set(told) == set(range(1, 41))
        assert len(told) > len(set(told))  # some twice
        assert told != sorted(told)  # and out of order
        assert max(at for at, _ in story) > 3 * S  # and late
