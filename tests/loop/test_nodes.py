"""Nodes that fall silent, are heard of, are lost, leave, come back, change."""

from __future__ import annotations

from clearway.model import events as ev
from clearway.model.actions import Halt, Launch
from clearway.model.asks import Cancel, ControllerUp, Drain, SetPolicy
from clearway.model.events import TaskRef
from clearway.model.fleet import PolicySpec
from clearway.model.ids import JobId
from clearway.model.reasons import Code
from clearway.model.states import End, State
from clearway.model.values import SECOND_US
from clearway.ports.engine import NodeIsGone, NodeIsQuiet, NodeIsUp, TaskIsGone, TaskIsUp
from clearway.testing.builders import GIB, Bench, job, node

# --- leases ----------------------------------------------------------------------------------------


def quiet_at_10(quiet_s: int = 0, policy: PolicySpec | None = None) -> tuple[Bench, JobId]:
    bench = Bench(node(), policy=policy)
    (number,) = bench.submit(job())
    bench.up(number)
    bench.at(10, NodeIsQuiet("n", quiet_s * SECOND_US))
    return bench, number


def lost_at_s(bench: Bench) -> list[float]:
    return [r.at_us / SECOND_US for r in bench.journal if isinstance(r, ev.NodeLost)]


def test_a_node_is_lost_when_its_lease_has_run_out_since_it_was_last_heard_of() -> None:
    bench, number = quiet_at_10(quiet_s=4)
    bench.at(100)
    assert lost_at_s(bench) == [36]
    ends = [r for r in bench.journal if isinstance(r, ev.AttemptEnded)]
    assert [(r.end, r.cause.code, r.cause.get("node")) for r in ends] == [(End.LOST, Code.NODE_LOST, "n")]
    assert bench.entry(number).state == State.PENDING


def test_a_node_that_is_heard_of_in_time_is_not_lost() -> None:
    bench, number = quiet_at_10()
    bench.at(39, NodeIsUp(node(), (bench.task(number),)))
    bench.at(100)
    assert lost_at_s(bench) == []
    assert bench.entry(number).state == State.RUNNING


def test_silence_told_twice_begins_one_lease() -> None:
    bench, _ = quiet_at_10()
    bench.at(25, NodeIsQuiet("n"))
    bench.at(100)
    assert lost_at_s(bench) == [40]


def test_falling_silent_again_begins_a_new_lease() -> None:
    bench, number = quiet_at_10()
    bench.at(20, NodeIsUp(node(), (bench.task(number),)))
    bench.at(30, NodeIsQuiet("n"))
    bench.at(100)
    assert lost_at_s(bench) == [60]


def test_another_lease_counts_at_once() -> None:
    shorter, _ = quiet_at_10()
    shorter.at(12, SetPolicy(PolicySpec(lease_us=5 * SECOND_US)))
    shorter.at(100)
    assert lost_at_s(shorter) == [15]
    longer, _ = quiet_at_10()
    longer.at(12, SetPolicy(PolicySpec(lease_us=50 * SECOND_US)))
    longer.at(100)
    assert lost_at_s(longer) == [60]


def test_a_new_controller_gives_every_node_a_full_lease() -> None:
    bench, _ = quiet_at_10()
    bench.world = bench.rebuilt()
    bench.now_us = 1000 * SECOND_US
    bench.step(ControllerUp(), NodeIsQuiet("n", 990 * SECOND_US))
    bench.at(2000)
    assert lost_at_s(bench) == [1030]


def test_a_node_that_a_new_controller_does_not_find_falls_silent_then() -> None:
    bench = Bench(node("a", 1), node("b", 1))
    one, two = bench.submit(job("one"), job("two"))
    bench.up(one)
    bench.up(two)
    bench.world = bench.rebuilt()
    bench.at(50, ControllerUp(), NodeIsUp(node("a", 1), (bench.task(one),)))
    bench.at(100)
    assert lost_at_s(bench) == [80]
    assert bench.entry(one).state == State.RUNNING
    assert bench.entry(two).state == State.PENDING


def test_nothing_starts_on_a_lost_node_until_it_is_back() -> None:
    bench, number = quiet_at_10()
    bench.at(50)
    assert bench.waits(number)
    bench.at(60, NodeIsUp(node()))
    assert bench.entry(number).attempt == 2
    assert bench.entry(number).held


def test_a_job_that_is_being_stopped_ends_with_its_node_as_it_was_meant_to() -> None:
    bench, number = quiet_at_10()
    bench.at(11, Cancel(number))
    bench.at(100)
    assert number not in bench.world.jobs
    (end,) = bench.all(ev.Ended)
    assert (end.state, end.at_us) == (State.CANCELLED, 40 * SECOND_US)


# --- many at once ----------------------------------------------------------------------------------


def silent_at_10(many: int, of: int) -> Bench:
    bench = Bench(*(node(f"n{i}", 1) for i in range(of)))
    numbers = bench.submit(*(job(f"j{i}") for i in range(of)))
    for number in numbers:
        bench.up(number)
    bench.at(10, *(NodeIsQuiet(f"n{i}") for i in range(many)))
    return bench


def test_a_few_silent_nodes_are_lost_together() -> None:
    bench = silent_at_10(3, of=3)
    bench.at(100)
    assert lost_at_s(bench) == [40, 40, 40]


def test_many_among_many_more_are_lost_together() -> None:
    bench = silent_at_10(4, of=8)
    bench.at(100)
    assert lost_at_s(bench) == [40, 40, 40, 40]


def test_where_more_are_silent_than_heard_of_one_a_lease_is_lost() -> None:
    bench = silent_at_10(5, of=8)
    bench.at(101)
    assert lost_at_s(bench) == [40, 70, 100]
    copy = bench.rebuilt()
    assert copy.state.lost == bench.world.state.lost


def test_while_none_is_heard_of_none_is_lost_and_then_each_is_given_a_lease() -> None:
    bench = silent_at_10(4, of=4)
    bench.at(1000)
    assert lost_at_s(bench) == []
    bench.at(1001, NodeIsUp(node("n0", 1), tuple(bench.tasks(JobId(1)))))
    bench.at(1030)
    assert lost_at_s(bench) == []
    bench.at(1020 + 200)
    assert lost_at_s(bench) == [1031, 1031, 1031], "three are few, once one is heard of"
    assert bench.entry(JobId(1)).attempt == 1


# --- heard of --------------------------------------------------------------------------------------


def test_a_node_that_comes_back_without_its_tasks_has_lost_them() -> None:
    bench, number = quiet_at_10()
    bench.at(20, NodeIsUp(node()))
    bench.step(TaskIsGone(bench.task(number)))
    assert bench.entry(number).attempt == 2
    ended = [r for r in bench.journal if isinstance(r, ev.AttemptEnded)]
    assert [r.end for r in ended] == [End.LOST]


def test_a_word_of_a_node_that_is_older_than_a_task_starts_nothing_beside_it() -> None:
    bench = Bench(node(gpus=1))
    (number,) = bench.submit(job())
    bench.up(number)
    old = bench.task(number)
    bench.step(NodeIsUp(node(gpus=1)))
    assert (bench.entry(number).state, bench.entry(number).attempt) == (State.STOPPING, 1)
    assert bench.entry(number).held, "the engine has not said that it is gone"
    assert isinstance(bench.orders[-1], Halt)
    bench.at(20, NodeIsUp(node(gpus=1), (old,)))
    assert bench.entry(number).held, "it is being stopped"
    bench.at(25, TaskIsGone(old, 143))
    assert bench.entry(number).attempt == 2
    (ended,) = bench.all(ev.AttemptEnded)
    assert ended.end == End.LOST


def test_an_end_told_with_the_node_counts() -> None:
    bench, number = quiet_at_10()
    bench.step(NodeIsUp(node()), TaskIsGone(bench.task(number), 0))
    (end,) = bench.all(ev.Ended)
    assert end.state == State.SUCCEEDED


def test_a_start_told_after_the_node_is_no_loss() -> None:
    bench = Bench(node())
    (number,) = bench.submit(job())
    bench.step(NodeIsUp(node(gpus=3)), TaskIsUp(bench.task(number)))
    assert bench.entry(number).attempt == 1
    assert bench.entry(number).state == State.RUNNING


def test_what_a_silent_node_may_not_have_heard_is_told_again() -> None:
    bench = Bench(node())
    starting, stopping = bench.submit(job("a"), job("b"))
    bench.step(NodeIsQuiet("n"))
    bench.step(Cancel(stopping))
    bench.orders.clear()
    bench.at(5, NodeIsUp(node()))
    assert [(type(o), o.task.job) for o in bench.orders] == [(Launch, starting), (Halt, stopping)]


def test_a_node_that_names_a_task_tells_that_it_is_up() -> None:
    bench = Bench(node())
    (number,) = bench.submit(job())
    bench.step(NodeIsQuiet("n"))
    bench.step(NodeIsUp(node(), (bench.task(number),)))
    assert bench.entry(number).state == State.RUNNING


def test_what_should_not_run_is_stopped_and_nothing_starts_beside_it() -> None:
    bench, number = quiet_at_10()
    stray = bench.task(number)
    bench.at(50)
    bench.at(60, NodeIsUp(node(), (stray,)))
    assert not bench.entry(number).held, "its old process may still use the device"
    assert isinstance(bench.orders[-1], Halt)
    assert bench.orders[-1].task == stray
    bench.at(65, TaskIsGone(stray, -15))
    assert bench.entry(number).attempt == 2
    assert bench.entry(number).held


def test_a_stray_that_is_no_longer_there_bars_nothing() -> None:
    bench, number = quiet_at_10()
    stray = bench.task(number)
    bench.at(50)
    bench.at(60, NodeIsUp(node(), (stray,)))
    bench.at(70, NodeIsUp(node()))
    assert bench.entry(number).held


def test_the_same_node_twice_changes_nothing() -> None:
    bench = Bench(node())
    (number,) = bench.submit(job())
    bench.up(number)
    task = bench.task(number)
    assert bench.step(NodeIsUp(node(), (task,)), NodeIsUp(node(), (task,))).records == []


# --- coming and going ------------------------------------------------------------------------------


def test_a_node_that_leaves_takes_its_tasks_with_it() -> None:
    bench = Bench(node("a", 1), node("b", 1))
    first, second = bench.submit(job("a"), job("b"))
    gone = bench.world.node_name(bench.entry(first).grants[0].node)
    bench.step(NodeIsGone(gone))
    assert bench.entry(first).losses == 1
    assert bench.entry(second).held
    assert bench.step(NodeIsGone(gone)).records == []
    assert bench.world.node_named(gone) is None


def test_a_node_that_joins_again_under_its_name_is_another_one() -> None:
    bench = Bench(node())
    bench.step(Drain("n"))
    old = bench.world.node_named("n")
    bench.step(NodeIsGone("n"))
    bench.step(NodeIsUp(node(gpus=2)))
    assert bench.world.node_named("n") != old
    (number,) = bench.submit(job(gpus=2))
    assert bench.entry(number).held, "what was said of the old one does not count for it"


def test_a_node_that_left_while_it_was_lost_or_unclean_is_forgotten() -> None:
    bench, number = quiet_at_10()
    stray = bench.task(number)
    bench.at(50)
    bench.step(NodeIsUp(node(), (stray,)))
    bench.step(NodeIsGone("n"))
    assert bench.step(TaskIsGone(stray)).records == []
    bench.step(NodeIsUp(node()))
    assert bench.entry(number).held


def test_waiting_jobs_start_on_a_node_that_joins() -> None:
    bench = Bench(node("a", 1))
    (number,) = bench.submit(job(gpus=4))
    assert bench.waits(number)[0].code == Code.NEVER_FITS
    bench.step(NodeIsUp(node("b", 4)))
    assert bench.entry(number).held


def test_new_words_of_a_node_count_at_once_and_what_runs_goes_on() -> None:
    bench = Bench(node(gpus=2))
    first, second = bench.submit(job("a", 2), job("b", 2))
    bench.up(first)
    bench.step(NodeIsUp(node(gpus=4), (bench.task(first),)))
    assert bench.entry(second).held
    bench.end(first)
    bench.end(second)


def test_less_memory_on_the_devices_of_a_running_job() -> None:
    bench = Bench(node(gpus=1))
    first, second = bench.submit(job("a"), job("b"))
    bench.up(first)
    bench.step(NodeIsUp(node(gpus=1, gpu_memory=40 * GIB), (bench.task(first),)))
    assert not bench.entry(second).held
    bench.end(first)
    assert bench.entry(second).held


def test_a_node_that_shrinks_below_what_it_holds() -> None:
    bench = Bench(node(gpus=4))
    first, second = bench.submit(job("a", 4), job("b", 1))
    bench.up(first)
    bench.step(NodeIsUp(node(gpus=2, cpus=8000), (bench.task(first),)))
    assert bench.entry(first).held
    bench.end(first)
    assert bench.entry(second).held


def test_unhealthy_devices_get_nothing_new_and_what_runs_there_goes_on() -> None:
    bench = Bench(node(gpus=2))
    (first,) = bench.submit(job("a"))
    bench.up(first)
    task = bench.task(first)
    bench.step(NodeIsUp(node(gpus=2), (task,), (0, 1)))
    (second,) = bench.submit(job("b"))
    assert bench.entry(first).state == State.RUNNING
    assert not bench.entry(second).held
    bench.step(NodeIsUp(node(gpus=2), (task,), (0,)))
    assert bench.entry(second).grants[0].devices == (1,)
    bench.end(first)
    (third,) = bench.submit(job("c"))
    assert not bench.entry(third).held


# --- reports that are late, double or of something else ----------------------------------------------


def test_reports_of_an_older_attempt_change_nothing() -> None:
    bench = Bench(node())
    (number,) = bench.submit(job(max_retries=1, retry_backoff_us=0))
    old = bench.task(number)
    bench.end(number, 1)
    for report in (TaskIsGone(old, 0), TaskIsUp(old), TaskIsGone(old, 1)):
        assert bench.step(report).records == []
    assert bench.entry(number).attempt == 2
    assert bench.entry(number).state == State.STARTING


def test_reports_of_a_job_that_is_over_or_never_was_change_nothing() -> None:
    bench = Bench(node())
    (number,) = bench.submit(job())
    task = bench.task(number)
    bench.end(number)
    other = TaskRef(JobId(99), 1, 0, 0)
    for report in (
        TaskIsGone(task, 1),
        TaskIsUp(task),
        TaskIsGone(other),
        TaskIsUp(other),
        NodeIsQuiet("x"),
        NodeIsGone("x"),
    ):
        assert bench.step(report).records == []


def test_an_end_told_twice_in_one_step_is_one_end() -> None:
    bench = Bench(node())
    (number,) = bench.submit(job(max_retries=3))
    task = bench.task(number)
    bench.step(TaskIsGone(task, 1), TaskIsGone(task, 1))
    assert len(bench.all(ev.TaskEnded)) == 1
    assert bench.entry(number).retries == 1


def test_a_start_and_an_end_in_one_step_are_both_recorded() -> None:
    bench = Bench(node())
    (number,) = bench.submit(job())
    task = bench.task(number)
    bench.step(NodeIsUp(node()), TaskIsUp(task), TaskIsGone(task, 0))
    assert [type(r) for r in bench.journal[-4:]] == [ev.TaskStarted, ev.TaskEnded, ev.AttemptEnded, ev.Ended]


def test_what_ended_behind_the_word_of_its_node_is_no_stray() -> None:
    bench = Bench(node())
    (number,) = bench.submit(job())
    bench.up(number)
    task = bench.task(number)
    step = bench.at(5, NodeIsUp(node(), (task,)), TaskIsGone(task, 0))
    assert bench.world.state.over[number] == State.SUCCEEDED
    assert (list(step.found), [a for a in step.actions if isinstance(a, Halt)]) == ([], [])
    assert [type(r) for r in step.records if isinstance(r, ev.NodeHeard)] == []
    late = bench.at(6, NodeIsUp(node(), (task,)))
    assert [a.task for a in late.actions if isinstance(a, Halt)] == [task], "what is named after its end runs still"
