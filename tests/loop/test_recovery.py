"""A world that is rebuilt from its journal: it knows the same, and tells again what may not have been told."""

from __future__ import annotations

from clearway.model import events as ev
from clearway.model.actions import Halt, Launch, Pause
from clearway.model.asks import Cancel, ControllerUp, Resume, Suspend
from clearway.model.states import State
from clearway.model.values import SECOND_US
from clearway.ports.engine import NodeIsUp, TaskIsGone
from clearway.testing.builders import Bench, job, node


def take_over(bench: Bench, *more: TaskIsGone, running: bool = True) -> None:
    """Have a new controller take over; the node still runs what holds something, or nothing."""
    bench.world = bench.rebuilt()
    bench.orders.clear()
    held = [task for number in bench.world.jobs for task in bench.tasks(number)]
    up = tuple(task for task in held if task not in {one.task for one in more}) if running else ()
    bench.step(ControllerUp(), *more, NodeIsUp(bench.world.ledger.specs[0], up))


def told(bench: Bench) -> list[tuple[type, int]]:
    return [(type(order), order.task.job) for order in bench.orders]


def test_what_runs_goes_on() -> None:
    bench = Bench(node())
    (number,) = bench.submit(job())
    bench.up(number)
    take_over(bench)
    assert bench.entry(number).state == State.RUNNING
    assert bench.orders == []


def test_a_start_that_was_perhaps_not_told_is_told_again() -> None:
    bench = Bench(node())
    (number,) = bench.submit(job())
    take_over(bench, running=False)
    assert (Launch, number) in told(bench)
    assert bench.entry(number).attempt == 1


def test_a_stop_that_was_perhaps_not_told_is_told_again() -> None:
    bench = Bench(node())
    (number,) = bench.submit(job())
    bench.up(number)
    bench.step(Cancel(number))
    take_over(bench)
    assert (Halt, number) in told(bench)


def test_standing_still_and_going_on_are_told_again() -> None:
    bench = Bench(node())
    still, on = bench.submit(job("a"), job("b"))
    bench.up(still)
    bench.up(on)
    bench.step(Suspend(still), Suspend(on))
    bench.step(Resume(on))
    take_over(bench)
    assert {(o.task.job, o.paused) for o in bench.orders if isinstance(o, Pause)} == {(still, True), (on, False)}


def test_one_that_stands_still_and_was_perhaps_never_started_is_started() -> None:
    bench = Bench(node())
    (number,) = bench.submit(job())
    bench.step(Suspend(number))
    take_over(bench, running=False)
    assert told(bench)[:2] == [(Launch, number), (Pause, number)]


def test_an_end_that_nobody_had_written_down_counts() -> None:
    bench = Bench(node())
    (number,) = bench.submit(job())
    bench.up(number)
    take_over(bench, TaskIsGone(bench.task(number), 0))
    (end,) = bench.all(ev.Ended)
    assert end.state == State.SUCCEEDED


def test_what_ran_and_is_gone_without_a_word_is_lost() -> None:
    bench = Bench(node())
    (number,) = bench.submit(job())
    bench.up(number)
    take_over(bench, running=False)
    assert bench.entry(number).held, "the engine has not said that it is gone"
    bench.step(TaskIsGone(bench.task(number)))
    assert bench.entry(number).losses == 1
    assert bench.entry(number).attempt == 2


def test_a_delay_that_ran_out_before_the_takeover_puts_nobody_twice_into_the_line() -> None:
    bench = Bench(node(gpus=1))
    (first,) = bench.submit(job("a", max_retries=1))
    (second,) = bench.submit(job("b"))
    bench.end(first, 1)
    assert bench.entry(second).held
    bench.at(3)
    joined = len(bench.of(first, ev.Joined))
    take_over(bench)
    bench.at(10)
    assert len(bench.of(first, ev.Joined)) == joined
    bench.end(second)
    bench.end(first)
    assert not bench.world.jobs


def test_timers_go_on() -> None:
    bench = Bench(node(gpus=1))
    running, waiting = bench.submit(job("a", time_limit_us=60 * SECOND_US), job("b", start_deadline_us=70 * SECOND_US))
    bench.up(running)
    bench.at(10)
    take_over(bench)
    bench.at(60)
    assert bench.entry(running).state == State.STOPPING
    bench.at(70)
    assert waiting not in bench.world.jobs


def test_keys_names_and_numbers_are_known() -> None:
    bench = Bench(node())
    (number,) = bench.submit(job("a", idempotency_key="k"))
    bench.end(number)
    take_over(bench)
    assert bench.submit(job("a", idempotency_key="k"), job("b", after=("a",))) == (number, 2)
    assert bench.entry(bench.world.job_named("b")).held  # type: ignore[arg-type]


def test_a_long_journal_is_read_in_no_time() -> None:
    bench = Bench(node(gpus=1))
    bench.submit(*(job(f"j{i}") for i in range(20_000)))
    world = bench.rebuilt()
    assert len(world.jobs) == 20_000
    assert not world.state.ready
