"""What happens on simulated machines: run times, stops, faults, and what is reported of it."""

from __future__ import annotations

from typing import Any

import pytest

from clearway.model.actions import Launch
from clearway.model.events import Grant, TaskRef
from clearway.model.fleet import NodeSpec
from clearway.model.ids import NodeId
from clearway.ports.engine import NodeIsGone, NodeIsNoticed, NodeIsQuiet, NodeIsUp, TaskIsGone, TaskIsUp
from clearway.sim.engine import KILLED
from clearway.sim.truth import FULL, Truth
from tests.sim.lab import JOB, LEASE, SECOND, Lab, every, job, runs

# --- run times ---------------------------------------------------------------------------------


def test_a_task_is_up_at_once_and_gone_after_its_run_time() -> None:
    lab = Lab()
    lab.launch(job(), runs(10, exit_codes=(3,)), "n1")
    assert lab.until(9) == [(0.0, TaskIsUp(TaskRef(JOB, 1, 0, 0)))]
    assert lab.until(10) == [(10.0, TaskIsGone(TaskRef(JOB, 1, 0, 0), 3))]


def test_a_run_time_of_nothing_ends_at_once() -> None:
    lab = Lab()
    lab.launch(job(), runs(0), "n1")
    assert [type(r) for _, r in lab.until(0)] == [TaskIsUp, TaskIsGone]


def test_a_job_without_a_run_time_runs_until_it_is_stopped() -> None:
    lab = Lab()
    lab.launch(job(), Truth(), "n1")
    assert lab.ends(10**6) == []
    lab.halt((0, "n1"))
    assert lab.ends(10**6) == [(10.0**6, 0, KILLED)]


def test_each_attempt_has_its_own_run_time_and_exit_code() -> None:
    lab = Lab()
    truth = runs(5, 7, exit_codes=(1, 0))
    lab.launch(job(), truth, "n1")
    assert lab.ends(5) == [(5.0, 0, 1)]
    lab.launch(job(), truth, "n1", attempt=2)
    assert lab.ends(99) == [(12.0, 0, 0)]


def test_the_tasks_of_a_gang_end_together_and_begin_with_the_last_of_them() -> None:
    lab = Lab()
    spec, truth = job(2), runs(10)
    lab.engine.know(JOB, truth)
    first, second = (Launch(TaskRef(JOB, 1, 0, i), spec, Grant(0, i, NodeId(0)), "n1", i, 2) for i in (0, 1))
    lab.engine.carry_out([first])
    assert lab.ends(4) == []
    lab.engine.carry_out([second])
    assert lab.ends(99) == [(14.0, 0, 0), (14.0, 1, 0)]


def test_the_work_of_an_elastic_job_is_shared_by_its_tasks() -> None:
    lab = Lab()
    spec = job(4, 1)
    lab.launch(spec, runs(100), "n1", "n1")
    lab.until(50)  # 100 of 400
    grown = [Launch(TaskRef(JOB, 1, 0, i), spec, Grant(0, i, NodeId(0)), "n1", i, 4) for i in (2, 3)]
    lab.engine.carry_out(grown)
    lab.until(75)  # 200 of 400
    lab.halt((1, "n1"), (2, "n1"), (3, "n1"))
    assert lab.ends(274) == [(75.0, 1, KILLED), (75.0, 2, KILLED), (75.0, 3, KILLED)]
    assert lab.ends(999) == [(275.0, 0, 0)]


def test_a_faster_model_divides_the_run_time_and_a_gang_goes_as_fast_as_its_slowest_task() -> None:
    fast, slow = NodeSpec("n1", gpus=2, gpu_model="H100"), NodeSpec("n2", gpus=2, gpu_model="A100")
    truth = runs(100, speed=(("A100", FULL), ("H100", 5 * FULL // 2)))
    lab = Lab(fast, slow)
    lab.launch(job(), truth, "n1")
    assert lab.ends(999) == [(40.0, 0, 0)]
    lab = Lab(fast, slow)
    lab.launch(job(2), truth, "n1", "n2")
    assert lab.ends(999) == [(100.0, 0, 0), (100.0, 1, 0)]


@pytest.mark.parametrize(
    ("places", "devices", "takes"),
    [
        (("n1",), (0,), 100.0),  # one device is near to itself
        (("n1",), (0, 1), 100.0),  # nvlink, which states nothing
        (("n1",), (1, 2), 120.0),  # pcie
        (("n1",), (0, 3), 150.0),  # node
        (("n1", "n2"), (0,), 200.0),  # rack
        (("n1", "n3"), (0,), 300.0),  # zone
        (("n1", "n4"), (0,), 300.0),  # no domain holds both: as bad as the widest one that is stated
    ],
)
def test_the_smallest_domain_that_holds_all_devices_slows_it_down(
    places: tuple[str, ...], devices: tuple[int, ...], takes: float
) -> None:
    parts: dict[str, Any] = {"gpus": 4, "links": ((0, 1), (2, 3)), "pcie": ((1, 2),)}
    lab = Lab(
        NodeSpec("n1", rack="r1", zone="z1", **parts), NodeSpec("n2", rack="r1", zone="z1", **parts),
        NodeSpec("n3", rack="r2", zone="z1", **parts), NodeSpec("n4", **parts),
    )  # fmt: skip
    slow = tuple((level, round(f * FULL)) for level, f in [("node", 1.5), ("pcie", 1.2), ("rack", 2), ("zone", 3)])
    lab.launch(job(len(places)), runs(100, slowdown=slow), *places, devices=devices)
    assert {at for at, _, _ in lab.ends(999)} == {takes}


# --- stopping and standing still ---------------------------------------------------------------


def test_stopping_takes_its_time_and_the_end_is_reported_when_it_is_gone() -> None:
    lab = Lab()
    lab.launch(job(), runs(100, stop_us=30 * SECOND), "n1")
    lab.until(10)
    lab.halt((0, "n1"))
    lab.halt((0, "n1"))
    assert lab.ends(999) == [(40.0, 0, KILLED)]


def test_what_never_stops_survives_every_order_and_ends_by_itself() -> None:
    lab = Lab()
    lab.launch(job(), runs(100, stop_us=None), "n1")
    lab.until(10)
    lab.halt((0, "n1"))
    assert lab.ends(999) == [(100.0, 0, 0)]


def test_time_standing_still_is_no_running_time() -> None:
    lab = Lab()
    lab.launch(job(2), runs(90), "n1", "n2")
    lab.until(40)
    lab.pause((0, "n1"), (1, "n2"), paused=True)
    assert lab.ends(240) == []
    lab.pause((0, "n1"), (1, "n2"), paused=False)
    assert {at for at, _, _ in lab.ends(999)} == {290.0}


def test_what_stands_still_can_be_stopped() -> None:
    lab = Lab()
    lab.launch(job(), runs(90), "n1")
    lab.pause((0, "n1"), paused=True)
    lab.until(50)
    lab.halt((0, "n1"))
    assert lab.ends(999) == [(50.0, 0, KILLED)]


# --- orders told twice -------------------------------------------------------------------------


def test_a_launch_told_twice_starts_once() -> None:
    lab = Lab()
    lab.launch(job(), runs(10), "n1")
    lab.until(5)
    lab.launch(job(), runs(10), "n1")
    assert lab.until(5) == [(5.0, TaskIsUp(TaskRef(JOB, 1, 0, 0)))]
    assert lab.ends(99) == [(10.0, 0, 0)]
    lab.launch(job(), runs(10), "n1")
    assert lab.ends(99) == [(99.0, 0, 0)]  # its end, once more


def test_a_launch_of_what_died_without_a_word_does_not_run_it_again() -> None:
    lab = Lab()
    lab.launch(job(), runs(10), "n1")
    lab.engine.power_cut()
    lab.launch(job(), runs(10), "n1")
    assert lab.ends(99) == [(0.0, 0, None)]


def test_a_halt_of_what_is_unknown_or_over_answers_with_its_end() -> None:
    lab = Lab()
    lab.halt((7, "n1"))
    assert lab.ends(0) == [(0.0, 7, None)]
    lab.launch(job(), runs(1), "n1")
    lab.until(1)
    lab.halt((0, "n1"))
    assert lab.ends(1) == [(1.0, 0, 0)]
    lab.engine.acknowledge([TaskRef(JOB, 1, 0, 0)])
    assert lab.engine.open().gone == (TaskIsGone(TaskRef(JOB, 1, 0, 7)),)


def test_a_launch_on_a_node_that_is_not_there_comes_back_as_a_report() -> None:
    lab = Lab()
    lab.launch(job(), runs(1), "n9")
    ((_, report),) = lab.until(0)
    assert isinstance(report, TaskIsGone)
    assert "n9" in report.error


# --- machines ----------------------------------------------------------------------------------


def test_a_lost_machine_is_missed_at_its_next_heartbeat_and_its_tasks_say_nothing() -> None:
    lab = Lab()
    lab.launch(job(), runs(100), "n1")
    lab.until(25)
    lab.engine.lose("n1")
    assert lab.until(999) == [(30.0, NodeIsQuiet("n1", 10 * SECOND))]


def test_what_dies_at_a_heartbeat_has_not_sent_it() -> None:
    lab = Lab()
    lab.until(20)
    lab.engine.lose("n1")
    assert lab.until(999) == [(20.0, NodeIsQuiet("n1", 10 * SECOND))]


def test_a_machine_that_is_back_before_it_was_missed_was_never_quiet_and_is_empty() -> None:
    lab = Lab()
    lab.launch(job(), runs(100), "n1")
    lab.until(22)
    lab.engine.lose("n1")
    lab.until(25)
    lab.engine.revive("n1")
    ((at, report),) = lab.until(999)
    assert at == 25.0
    assert report == NodeIsUp(NodeSpec("n1", gpus=4))


def test_a_dead_machine_hears_nothing() -> None:
    lab = Lab()
    lab.engine.lose("n1")
    lab.launch(job(), runs(1), "n1")
    lab.halt((0, "n1"))
    assert lab.ends(999) == []


def test_the_rest_of_a_broken_gang_waits_until_it_is_stopped() -> None:
    lab = Lab()
    lab.launch(job(2), runs(100), "n1", "n2")
    lab.until(50)
    lab.engine.lose("n2")
    assert lab.ends(500) == []
    lab.halt((0, "n1"))
    assert lab.ends(999) == [(500.0, 0, KILLED)]


def test_processes_of_a_cut_off_machine_go_on_and_their_ends_are_told_when_it_is_reached() -> None:
    lab = Lab()
    lab.launch(job(), runs(60), "n1")
    lab.until(50)
    lab.engine.cut("n1")
    assert [r for _, r in lab.until(80)] == [NodeIsQuiet("n1", 10 * SECOND)]
    lab.engine.restore("n1")
    assert lab.until(80) == [(80.0, TaskIsGone(TaskRef(JOB, 1, 0, 0), 0)), (80.0, NodeIsUp(NodeSpec("n1", gpus=4)))]


def test_a_machine_that_is_reached_again_tells_what_runs_and_hears_its_orders() -> None:
    lab = Lab()
    lab.launch(job(), runs(100, stop_us=5 * SECOND), "n1")
    lab.until(50)
    lab.engine.cut("n1")
    lab.halt((0, "n1"))
    lab.until(70)
    lab.engine.restore("n1")
    (_, hello), (at, gone) = lab.until(999)
    assert hello == NodeIsUp(NodeSpec("n1", gpus=4), (TaskRef(JOB, 1, 0, 0),))
    assert (at, gone) == (75.0, TaskIsGone(TaskRef(JOB, 1, 0, 0), KILLED))


def test_a_cut_off_machine_that_dies_takes_its_news_with_it() -> None:
    lab = Lab()
    lab.launch(job(), runs(10), "n1")
    lab.engine.cut("n1")
    lab.until(20)
    lab.engine.lose("n1")
    lab.until(30)
    lab.engine.restore("n1")  # a dead machine is not cut off
    assert lab.until(30) == []
    lab.engine.revive("n1")
    assert lab.until(999) == [(30.0, NodeIsUp(NodeSpec("n1", gpus=4)))]


def test_nobody_reads_what_an_attempt_saves_while_it_is_cut_off_and_taken_for_lost() -> None:
    lab = Lab()
    spec, truth = job(checkpoint=every(10)), runs(100)
    lab.launch(spec, truth, "n1")
    lab.until(25)
    lab.engine.cut("n1")
    lab.until(55)
    lab.engine.write_off(JOB, 1)
    lab.launch(spec, truth, "n2", attempt=2)
    lab.until(60)
    lab.engine.restore("n1")
    lab.halt((0, "n1"))
    assert [(at, code) for at, _, code in lab.ends(999)] == [(60.0, KILLED), (135.0, 0)]


def test_a_short_cut_costs_no_checkpoint() -> None:
    lab = Lab()
    spec, truth = job(checkpoint=every(10)), runs(100)
    lab.launch(spec, truth, "n1")
    lab.engine.cut("n1")
    lab.until(25)
    lab.engine.restore("n1")
    lab.until(35)
    lab.halt((0, "n1"))
    lab.until(35)
    lab.launch(spec, truth, "n1", attempt=2)
    assert [at for at, _, _ in lab.ends(999)] == [105.0]


def test_a_machine_taken_by_its_provider_is_known_to_be_lost_at_once() -> None:
    lab = Lab()
    lab.launch(job(), runs(100), "n1")
    lab.until(10)
    lab.engine.notice("n1", 30 * SECOND)
    assert lab.until(999) == [(10.0, NodeIsNoticed("n1", 30 * SECOND)), (40.0, NodeIsQuiet("n1", LEASE))]


def test_what_ends_at_the_moment_of_a_loss_has_ended() -> None:
    lab = Lab()
    lab.engine.notice("n1", 30 * SECOND)
    lab.launch(job(), runs(30), "n1")
    assert lab.ends(999) == [(30.0, 0, 0)]


def test_machines_join_leave_and_sicken() -> None:
    lab = Lab()
    lab.launch(job(), runs(100), "n1")
    lab.until(1)
    lab.engine.join(NodeSpec("n3"))
    lab.engine.sicken("n1", [2])
    lab.engine.sicken("n1", [0, 2])
    lab.engine.leave("n1")
    running = (TaskRef(JOB, 1, 0, 0),)
    assert [r for _, r in lab.until(999)] == [
        NodeIsUp(NodeSpec("n3")), NodeIsUp(NodeSpec("n1", gpus=4), running, (2,)),
        NodeIsUp(NodeSpec("n1", gpus=4), running, (0, 2)), NodeIsGone("n1"),
    ]  # fmt: skip


# --- who opens it anew -------------------------------------------------------------------------


def test_an_inventory_holds_what_runs_what_ended_and_who_is_silent() -> None:
    lab = Lab()
    lab.launch(job(), runs(10), "n1")
    lab.engine.lose("n2")
    lab.until(20)
    found = lab.engine.open()
    assert found.nodes == (NodeIsUp(NodeSpec("n1", gpus=4)),)
    assert found.gone == (TaskIsGone(TaskRef(JOB, 1, 0, 0), 0),)
    assert [r for _, r in lab.until(20)] == [NodeIsQuiet("n2", 0)]
    lab.engine.acknowledge([r.task for r in found.gone])
    assert lab.engine.open().gone == ()


def test_who_learned_of_a_silence_on_opening_is_not_told_it_again() -> None:
    lab = Lab()
    lab.until(15)
    lab.engine.lose("n2")
    lab.engine.open()
    assert [(at, r) for at, r in lab.until(999)] == [(15.0, NodeIsQuiet("n2", 0))]


def test_a_removal_that_nobody_heard_of_is_told_to_who_opens() -> None:
    lab = Lab()
    lab.engine.leave("n2")
    lab.engine.open()
    assert [r for _, r in lab.until(0)] == [NodeIsGone("n2")]


def test_after_a_power_cut_machines_are_there_and_empty() -> None:
    lab = Lab()
    lab.launch(job(checkpoint=every(10)), runs(100), "n1")
    lab.until(25)
    lab.engine.power_cut()
    assert lab.engine.open().nodes == (NodeIsUp(NodeSpec("n1", gpus=4)), NodeIsUp(NodeSpec("n2", gpus=4)))
    lab.launch(job(checkpoint=every(10)), runs(100), "n1", attempt=2)
    assert lab.ends(999) == [(105.0, 0, 0)]


def test_waiting_moves_the_clock_to_what_happens_next() -> None:
    lab = Lab()
    lab.launch(job(), runs(10), "n1")
    lab.engine.reports()
    lab.engine.wait(3)
    assert lab.clock.now_us() == 3 * SECOND
    lab.engine.wait(60)
    assert lab.clock.now_us() == 10 * SECOND
    assert lab.engine.reports() == [TaskIsGone(TaskRef(JOB, 1, 0, 0), 0)]
    lab.engine.wake()
    lab.engine.close()


def test_nothing_is_kept_of_what_is_over() -> None:
    lab = Lab()
    for n in range(50):
        lab.launch(job(), runs(1), "n1", attempt=n + 1)
        lab.until(n + 1)
        lab.engine.acknowledge([TaskRef(JOB, n + 1, 0, 0)])
    lab.engine.forget(JOB)
    kept = {name: value for name, value in vars(lab.engine).items() if name.startswith("_") and name != "_machines"}
    assert all(not value for value in kept.values() if isinstance(value, dict | set | list)), kept
    assert lab.engine.ahead_us() is None
