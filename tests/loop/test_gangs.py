"""Jobs of several tasks: they start together, and end together."""

from __future__ import annotations

from clearway.model import events as ev
from clearway.model.actions import Halt, Launch
from clearway.model.asks import Cancel, SetQueue
from clearway.model.fleet import QueueSpec
from clearway.model.reasons import Code
from clearway.model.states import End, State
from clearway.ports.engine import NodeIsGone, TaskIsGone, TaskIsUp
from clearway.testing.builders import Bench, job, node, role


def test_all_tasks_are_launched_with_their_ranks() -> None:
    bench = Bench(node("a", 2), node("b", 2))
    (number,) = bench.submit(job(roles=(role("lead", 1), role("work", 3, gpus=1))))
    launches = [order for order in bench.orders if isinstance(order, Launch)]
    assert [order.rank for order in launches] == [0, 1, 2, 3]
    assert {order.world_size for order in launches} == {4}
    assert len(bench.entry(number).held) == 4


def test_it_runs_when_all_its_tasks_are_up() -> None:
    bench = Bench(node())
    (number,) = bench.submit(job(tasks=2))
    first, second = bench.tasks(number)
    bench.step(TaskIsUp(first))
    assert bench.entry(number).state == State.STARTING
    bench.step(TaskIsUp(second), TaskIsUp(second))
    assert bench.entry(number).state == State.RUNNING


def test_nothing_of_it_starts_where_not_all_of_it_finds_room() -> None:
    bench = Bench(node("a", 1), node("b", 1))
    first, gang = bench.submit(job("a"), job("gang", tasks=2))
    assert not bench.entry(gang).held
    bench.end(first)
    assert len(bench.entry(gang).held) == 2


def test_tasks_that_succeed_one_by_one() -> None:
    bench = Bench(node())
    (number,) = bench.submit(job(tasks=2))
    first, second = bench.tasks(number)
    bench.step(TaskIsGone(first, 0))
    assert bench.entry(number).state == State.STARTING
    assert not [order for order in bench.orders if isinstance(order, Halt)]
    (other,) = bench.submit(job("other", 3))
    assert bench.entry(other).held, "what the first held is free"
    bench.step(TaskIsGone(second, 0))
    assert number not in bench.world.jobs


def test_one_that_fails_takes_the_others_with_it() -> None:
    bench = Bench(node())
    (number,) = bench.submit(job(tasks=3))
    first, *others = bench.tasks(number)
    bench.step(TaskIsGone(first, 9))
    assert [order.task for order in bench.orders if isinstance(order, Halt)] == others
    bench.step(TaskIsGone(others[0], -15))
    assert bench.entry(number).state == State.STOPPING
    bench.step(TaskIsGone(others[1], 0))
    (end,) = bench.all(ev.AttemptEnded)
    assert (end.end, end.cause.get("exit_code")) == (End.FAILED, 9)


def test_several_failures_in_one_step_are_one_failure() -> None:
    bench = Bench(node())
    (number,) = bench.submit(job(tasks=3, max_retries=1))
    bench.end(number, 4)
    assert len(bench.all(ev.Stopping)) == 1
    assert bench.entry(number).retries == 1


def test_one_that_cannot_start_takes_the_others_with_it_for_good() -> None:
    bench = Bench(node())
    (number,) = bench.submit(job(tasks=2, max_retries=5))
    first, second = bench.tasks(number)
    bench.step(TaskIsUp(first), TaskIsGone(second, None, "no such folder"))
    bench.step(TaskIsGone(first, -15))
    (end,) = bench.all(ev.Ended)
    assert end.reason is not None
    assert end.reason.code == Code.START_FAILED


def test_a_stop_whose_tasks_end_one_by_one_frees_each_at_its_end() -> None:
    bench = Bench(node(gpus=2))
    number, other = bench.submit(job("a", tasks=2), job("b"))
    first, second = bench.tasks(number)
    bench.step(Cancel(number))
    bench.step(TaskIsGone(second, -15))
    assert bench.entry(other).grants[0].devices == (1,)
    assert bench.entry(number).state == State.STOPPING
    bench.step(TaskIsGone(first, -15))
    assert number not in bench.world.jobs


def test_a_lost_node_stops_what_is_left_elsewhere() -> None:
    bench = Bench(node("a", 1), node("b", 1))
    (number,) = bench.submit(job(tasks=2))
    bench.up(number)
    bench.step(NodeIsGone("a"))
    assert bench.entry(number).state == State.STOPPING
    (left,) = bench.tasks(number)
    assert [order.task for order in bench.orders if isinstance(order, Halt)] == [left]
    bench.step(TaskIsGone(left, -15))
    assert bench.entry(number).losses == 1
    assert bench.entry(number).state == State.PENDING


def test_losing_the_second_node_while_stopping_for_the_first_is_one_loss() -> None:
    bench = Bench(node("a", 1), node("b", 1))
    (number,) = bench.submit(job(tasks=2))
    bench.step(NodeIsGone("a"), NodeIsGone("b"))
    assert bench.entry(number).losses == 1
    assert bench.entry(number).state == State.PENDING


def test_fewer_tasks_than_wished_start_where_no_more_fit() -> None:
    bench = Bench(node(gpus=3))
    (number,) = bench.submit(job(tasks=8, least=2))
    assert len(bench.entry(number).held) == 3


def test_the_limit_of_a_queue_bounds_the_tasks_beyond_the_least() -> None:
    bench = Bench(node(gpus=8))
    bench.step(SetQueue(QueueSpec("q", limit=(("gpus", 4000),))))
    (number,) = bench.submit(job(queue="q", tasks=8, least=2))
    assert len(bench.entry(number).held) == 4


def test_the_limit_of_a_queue_counts_the_tasks_of_all_roles() -> None:
    bench = Bench(node(gpus=8))
    bench.step(SetQueue(QueueSpec("q", limit=(("gpus", 4000),))))
    (number,) = bench.submit(job(queue="q", roles=(role("a", 2, gpus=1), role("b", 4, 1, gpus=1))))
    assert len(bench.entry(number).held) == 4


def test_the_limit_of_a_queue_counts_the_wished_tasks_of_all_roles() -> None:
    bench = Bench(node(gpus=8))
    bench.step(SetQueue(QueueSpec("q", limit=(("gpus", 5000),))))
    (number,) = bench.submit(job(queue="q", roles=(role("a", 4, 1, gpus=1), role("b", 4, 1, gpus=1))))
    assert len(bench.entry(number).held) == 5


def test_a_role_that_may_have_no_task_does_not_hold_back_the_others() -> None:
    bench = Bench(node(gpus=1))
    (number,) = bench.submit(job(roles=(role("main", gpus=1), role("extra", 2, 0, gpus=1))))
    assert [grant.role for grant in bench.entry(number).grants] == [0]


def test_a_job_of_which_nothing_must_run_waits_until_something_can() -> None:
    bench = Bench(node(gpus=1))
    first, number = bench.submit(job("a"), job("b", roles=(role("extra", 2, 0, gpus=1),)))
    assert bench.waits(number)
    bench.end(first)
    assert len(bench.entry(number).held) == 1


def test_a_job_whose_roles_never_fit_together_holds_up_nobody() -> None:
    bench = Bench(node(gpus=1))
    hopeless, other = bench.submit(job("a", roles=(role("x", gpus=1), role("y", gpus=1))), job("b"))
    assert bench.entry(other).held
    assert bench.waits(hopeless)[0].code == Code.NEVER_FITS


def test_a_task_that_is_done_is_not_replaced() -> None:
    bench = Bench(node(gpus=4))
    (number,) = bench.submit(job(tasks=2, least=1))
    bench.up(number)
    first, second = bench.tasks(number)
    bench.step(TaskIsGone(first, 0))
    assert bench.tasks(number) == [second]
    bench.step(TaskIsGone(second, 0))
    assert number not in bench.world.jobs


def test_it_grows_when_room_comes_and_ends_with_all_its_tasks() -> None:
    bench = Bench(node(gpus=2))
    other, number = bench.submit(job("other"), job(tasks=2, least=1))
    assert len(bench.entry(number).held) == 1
    bench.end(other)
    assert len(bench.entry(number).held) == 2
    assert [order.task.index for order in bench.orders if isinstance(order, Launch) and order.task.job == number][
        -1
    ] == 1
    bench.up(number)
    bench.end(number)
    assert number not in bench.world.jobs
