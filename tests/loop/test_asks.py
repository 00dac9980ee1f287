"""What people ask: batches, keys, dependencies, cancels, queues, policies, drains."""

from __future__ import annotations

import pytest

from clearway.model import events as ev
from clearway.model.asks import Cancel, Drain, Refuse, Resume, SetLimit, SetPolicy, SetQueue, Submit, Suspend
from clearway.model.errors import ClearwayError, ConflictError, InputError, NotFoundError
from clearway.model.fleet import LimitSpec, PolicySpec, QueueSpec
from clearway.model.ids import JobId
from clearway.model.reasons import Code, because
from clearway.model.states import State
from clearway.model.values import SECOND_US
from clearway.ports.engine import TaskIsGone
from clearway.testing.builders import Bench, job, node

# --- batches and keys ------------------------------------------------------------------------------


def refused(bench: Bench, *specs: object) -> ClearwayError:
    before = len(bench.journal)
    (answer,) = bench.step(Submit(specs)).answers  # type: ignore[arg-type]
    assert isinstance(answer, ClearwayError)
    assert bench.journal[before:] == [], "nothing of a refused batch is recorded"
    return answer


def test_a_batch_enters_whole_or_not_at_all() -> None:
    bench = Bench(node())
    assert isinstance(refused(bench, job("good"), job("bad", queue="nowhere")), InputError)
    assert isinstance(refused(bench, job("good"), job("bad", uses=("nothing",))), InputError)
    assert isinstance(refused(bench, job("good"), job("bad", after=("nobody",))), InputError)
    assert bench.submit(job("good")) == (1,)


def test_numbers_follow_one_another() -> None:
    bench = Bench(node())
    assert bench.submit(job("a"), job("b")) == (1, 2)
    bench.step(Refuse("c", because(Code.BAD_VALUE)))
    assert bench.submit(job("d")) == (4,)


def test_a_known_key_gives_the_earlier_job_even_when_it_is_over() -> None:
    bench = Bench(node())
    (number,) = bench.submit(job(idempotency_key="k"))
    assert bench.submit(job(idempotency_key="k")) == (number,)
    bench.end(number)
    assert bench.submit(job("other"), job(idempotency_key="k")) == (2, number)
    assert len(bench.all(ev.Submitted)) == 2


def test_a_key_with_other_content_is_a_conflict() -> None:
    bench = Bench(node())
    bench.submit(job(idempotency_key="k"))
    assert isinstance(refused(bench, job("fine"), job(gpus=2, idempotency_key="k")), ConflictError)


def test_a_key_is_its_users_own() -> None:
    bench = Bench(node())
    (ada,) = bench.submit(job("train", user="ada", idempotency_key="k"))
    (eve,) = bench.submit(job("other", user="eve", idempotency_key="k"))
    assert ada != eve, "no conflict, and nothing of hers"
    assert bench.submit(job("train", user="ada", idempotency_key="k")) == (ada,)
    assert bench.submit(job("x", user="ada", idempotency_key="l"), job("y", user="eve", idempotency_key="l")) == (3, 4)


def test_a_key_counts_within_its_batch_too() -> None:
    bench = Bench(node())
    assert bench.submit(job(idempotency_key="k"), job(idempotency_key="k"), job("c")) == (1, 1, 2)
    assert isinstance(refused(bench, job("x", idempotency_key="l"), job("y", idempotency_key="l")), ConflictError)


# --- dependencies ----------------------------------------------------------------------------------


def test_a_job_waits_for_those_before_it_and_says_for_whom() -> None:
    bench = Bench(node())
    a, b, c = bench.submit(job("a"), job("b"), job("c", after=("a", "b")))
    assert bench.waits(c)[0] == because(Code.AFTER, jobs="a, b")
    bench.end(a)
    assert bench.waits(c)[0] == because(Code.AFTER, jobs="b")
    bench.end(b)
    assert bench.entry(c).held


def test_a_batch_may_name_jobs_in_any_order() -> None:
    bench = Bench(node())
    late, early = bench.submit(job("late", after=("early",)), job("early"))
    assert bench.waits(late)[0] == because(Code.AFTER, jobs="early")
    bench.end(early)
    assert bench.entry(late).held


@pytest.mark.parametrize("names", [("a",), ("b", "a"), ("b", "c", "a")])
def test_jobs_cannot_wait_for_one_another(names: tuple[str, ...]) -> None:
    bench = Bench(node())
    ring = [job(name, after=(following,)) for name, following in zip(names, names[1:] + names[:1], strict=True)]
    assert isinstance(refused(bench, job("fine"), *ring), InputError)


def test_naming_a_job_twice_is_naming_it_once() -> None:
    bench = Bench(node())
    a, b = bench.submit(job("a"), job("b", after=("a", "a")))
    bench.end(a)
    assert bench.entry(b).held
    bench.end(b)
    assert not bench.world.jobs


def test_names_are_bound_at_the_submit() -> None:
    bench = Bench(node())
    first, waiting = bench.submit(job("a"), job("b", after=("a",)))
    (again,) = bench.submit(job("a"))
    bench.end(again, 1)
    bench.end(first)
    assert bench.entry(waiting).held


def test_a_dependency_that_has_succeeded_is_no_wait() -> None:
    bench = Bench(node())
    (a,) = bench.submit(job("a"))
    bench.end(a)
    (b,) = bench.submit(job("b", after=("a",)))
    assert bench.entry(b).held


def test_a_dependency_that_has_failed_fails_the_job_and_all_behind_it() -> None:
    bench = Bench(node())
    (a,) = bench.submit(job("a"))
    bench.end(a, 1)
    b, c, d = bench.submit(job("b", after=("c",)), job("c", after=("a",)), job("d", after=("b", "c")))
    assert not bench.world.jobs
    reasons = {r.job: r.reason for r in bench.journal if isinstance(r, ev.Ended)}
    assert reasons[c] == because(Code.DEPENDENCY, job="a", state="failed")
    assert reasons[b] == because(Code.DEPENDENCY, job="c", state="failed")
    assert reasons[d] == because(Code.DEPENDENCY, job="c", state="failed")


def test_a_chain_of_any_length_fails_at_once() -> None:
    bench = Bench(node())
    many = 3000
    numbers = bench.submit(job("j0"), *(job(f"j{i}", after=(f"j{i - 1}",)) for i in range(1, many)))
    bench.step(Cancel(numbers[0]))
    assert bench.entry(numbers[0]).state == State.STOPPING
    bench.end(numbers[0], -15)
    ended = bench.all(ev.Ended)
    assert len(ended) == many
    assert len({r.job for r in ended}) == many


def test_several_failures_at_once_end_a_job_once() -> None:
    bench = Bench(node())
    a, b, _ = bench.submit(job("a"), job("b"), job("c", after=("a", "b")))
    bench.step(TaskIsGone(bench.task(a), 1), TaskIsGone(bench.task(b), 1))
    assert [r.job for r in bench.all(ev.Ended)] == [1, 3, 2]


# --- cancel ----------------------------------------------------------------------------------------


def test_cancel_before_the_start() -> None:
    bench = Bench(node(gpus=1))
    _, waiting, dependent = bench.submit(job("a"), job("b"), job("c", after=("b",)))
    bench.step(Cancel(waiting, "ada"))
    assert waiting not in bench.world.jobs
    assert dependent not in bench.world.jobs
    states = {r.job: (r.state, r.reason and r.reason.code) for r in bench.journal if isinstance(r, ev.Ended)}
    assert states == {waiting: (State.CANCELLED, Code.CANCELLED), dependent: (State.FAILED, Code.DEPENDENCY)}


@pytest.mark.parametrize("is_up", [False, True])
def test_cancel_of_one_that_starts_or_runs(is_up: bool) -> None:  # noqa: FBT001
    bench = Bench(node())
    (number,) = bench.submit(job())
    if is_up:
        bench.up(number)
    bench.step(Cancel(number))
    bench.end(number, 0)
    (end,) = bench.all(ev.Ended)
    assert end.state == State.CANCELLED, "intent counts, not the exit code"


def test_cancel_in_the_step_of_the_submit() -> None:
    bench = Bench(node())
    bench.step(Submit((job(),)), Cancel(JobId(1)))
    assert not bench.world.jobs
    assert not bench.all(ev.Started)


def test_cancel_while_a_delay_runs() -> None:
    bench = Bench(node())
    (number,) = bench.submit(job(max_retries=1))
    bench.end(number, 1)
    bench.step(Cancel(number))
    bench.at(10)
    assert len(bench.all(ev.Started)) == 1


def test_cancel_while_its_gang_is_stopped_for_a_retry() -> None:
    bench = Bench(node())
    (number,) = bench.submit(job(tasks=2, max_retries=3))
    first, second = bench.tasks(number)
    bench.step(TaskIsGone(first, 1))
    bench.step(Cancel(number))
    bench.step(TaskIsGone(second, -15))
    assert [r.state for r in bench.all(ev.Ended)] == [State.CANCELLED]


def test_cancel_twice_and_after_the_end_changes_nothing() -> None:
    bench = Bench(node())
    (number,) = bench.submit(job())
    bench.step(Cancel(number))
    assert bench.step(Cancel(number)).records == []
    bench.end(number, -15)
    assert bench.step(Cancel(number)).records == []


def test_an_end_that_came_before_the_cancel_counts() -> None:
    bench = Bench(node())
    (number,) = bench.submit(job())
    bench.step(Cancel(number), TaskIsGone(bench.task(number), 0))
    assert [r.state for r in bench.all(ev.Ended)] == [State.SUCCEEDED]


@pytest.mark.parametrize("ask", [Cancel(JobId(9)), Suspend(JobId(9)), Resume(JobId(9)), Drain("nowhere")])
def test_what_does_not_exist_is_not_found(ask: object) -> None:
    step = Bench(node()).step(ask)  # type: ignore[arg-type]
    assert isinstance(step.answers[0], NotFoundError)
    assert step.records == []


def test_only_what_runs_can_be_suspended_and_only_what_is_suspended_resumed() -> None:
    bench = Bench(node(gpus=1))
    first, second = bench.submit(job("a"), job("b"))
    for ask in (Suspend(second), Resume(first), Resume(second)):
        assert isinstance(bench.step(ask).answers[0], ConflictError)
    bench.step(Suspend(first))
    assert isinstance(bench.step(Suspend(first)).answers[0], ConflictError)
    assert bench.entry(first).held, "it keeps its grants"


# --- queues, limits, policies ----------------------------------------------------------------------


def test_a_limit_holds_back_and_a_larger_one_lets_go() -> None:
    bench = Bench(node())
    bench.step(SetQueue(QueueSpec("q", limit=(("gpus", 1000),))))
    first, second = bench.submit(job("a", queue="q"), job("b", queue="q"))
    assert bench.entry(first).held
    assert bench.waits(second)[0].code == Code.QUEUE_LIMIT
    bench.step(SetQueue(QueueSpec("q", limit=(("gpus", 2000),))))
    assert bench.entry(second).held


def test_a_smaller_limit_stops_nobody_and_lets_nobody_in() -> None:
    bench = Bench(node())
    bench.step(SetQueue(QueueSpec("q", limit=(("gpus", 2000),))))
    first, second = bench.submit(job("a", queue="q"), job("b", queue="q"))
    bench.step(SetQueue(QueueSpec("q", limit=(("gpus", 1000),))))
    (third,) = bench.submit(job("c", queue="q"))
    bench.end(first)
    assert bench.entry(second).held
    assert not bench.entry(third).held
    bench.end(second)
    assert bench.entry(third).held


def test_a_limit_above_counts_all_queues_below() -> None:
    bench = Bench(node())
    bench.step(SetQueue(QueueSpec("org", limit=(("gpus", 2000),))))
    bench.step(SetQueue(QueueSpec("q", "org")), SetQueue(QueueSpec("r", "org")))
    _, _, third = bench.submit(job("a", queue="q"), job("b", queue="r"), job("c", queue="q"))
    why = bench.waits(third)[0]
    assert (why.code, why.get("queue"), why.get("used"), why.get("limit")) == (Code.QUEUE_LIMIT, "org", 2000, 2000)


def test_a_queue_cannot_be_below_itself_or_below_nothing() -> None:
    bench = Bench(node())
    bench.step(SetQueue(QueueSpec("a")), SetQueue(QueueSpec("b", "a")))
    for queue in (QueueSpec("a", "b"), QueueSpec("c", "c"), QueueSpec("d", "nowhere")):
        assert isinstance(bench.step(SetQueue(queue)).answers[0], InputError)


def test_moving_a_queue_takes_its_use_along() -> None:
    bench = Bench(node())
    bench.step(SetQueue(QueueSpec("x", limit=(("gpus", 1000),))), SetQueue(QueueSpec("y", limit=(("gpus", 1000),))))
    bench.step(SetQueue(QueueSpec("q", "x")), SetQueue(QueueSpec("r", "x")), SetQueue(QueueSpec("s", "y")))
    (first,) = bench.submit(job("a", queue="q"))
    bench.step(SetQueue(QueueSpec("q", "y")))
    beside, below = bench.submit(job("b", queue="r"), job("c", queue="s"))
    assert bench.entry(beside).held, "x is free again"
    assert not bench.entry(below).held, "y is full now"
    bench.end(first)
    assert bench.entry(below).held


def test_shared_limits_hold_across_queues_and_are_given_back() -> None:
    bench = Bench(node())
    bench.step(SetLimit(LimitSpec("db", 1)), SetQueue(QueueSpec("q")))
    first, second = bench.submit(job("a", uses=("db",)), job("b", queue="q", uses=("db",)))
    assert bench.waits(second)[0].code == Code.SLOTS
    bench.end(first)
    assert bench.entry(second).held


def test_naming_a_shared_limit_twice_takes_one_slot() -> None:
    bench = Bench(node())
    bench.step(SetLimit(LimitSpec("db", 2)))
    _, second = bench.submit(job("a", uses=("db", "db")), job("b", uses=("db",)))
    assert bench.entry(second).held


def test_another_policy_orders_those_who_wait_anew() -> None:
    bench = Bench(node(gpus=1), policy=PolicySpec(order=("fifo",)))
    first, plain, urgent = bench.submit(job("a"), job("plain"), job("urgent", priority=9))
    bench.step(SetPolicy(PolicySpec(order=("priority", "fifo"))))
    bench.end(first)
    assert bench.entry(urgent).held
    assert not bench.entry(plain).held
    assert bench.waits(plain)


def test_a_policy_that_cannot_be_is_refused_and_nothing_changes() -> None:
    bench = Bench(node())
    step = bench.step(SetPolicy(PolicySpec(order=("by-the-moon",))))
    assert isinstance(step.answers[0], InputError)
    assert step.records == []
    assert bench.world.policy == PolicySpec()


def test_on_a_drained_node_nothing_starts_and_what_runs_goes_on() -> None:
    bench = Bench(node())
    (first,) = bench.submit(job("a"))
    bench.step(Drain("n"))
    (second,) = bench.submit(job("b"))
    assert bench.entry(first).held
    assert bench.waits(second)
    assert bench.step(Drain("n")).records == [], "drained already"
    bench.step(Drain("n", drained=False))
    assert bench.entry(second).held


def test_a_job_that_suspends_and_ends() -> None:
    bench = Bench(node())
    (number,) = bench.submit(job(time_limit_us=SECOND_US))
    bench.step(Suspend(number))
    bench.end(number, 0)
    assert [r.state for r in bench.all(ev.Ended)] == [State.SUCCEEDED]


# --- inherited priority ----------------------------------------------------------------------------

INHERITING = PolicySpec(priority_inheritance=True)


def test_a_job_goes_first_for_the_sake_of_one_that_waits_for_it_however_far_behind() -> None:
    bench = Bench(node(gpus=1), policy=INHERITING)
    many = 2000
    busy, plain, first, *_ = bench.submit(
        job("busy"), job("plain"), job("j0"), *(job(f"j{i}", after=(f"j{i - 1}",)) for i in range(1, many))
    )
    (urgent,) = bench.submit(job("urgent", priority=9, after=(f"j{many - 1}",)))
    assert bench.world.state.priority(bench.entry(first)) == 9
    bench.end(busy)
    assert bench.entry(first).held
    assert not bench.entry(plain).held
    bench.step(Cancel(urgent))
    assert bench.world.state.priority(bench.entry(first)) == 0


def test_the_order_within_a_batch_changes_nothing_about_who_inherits() -> None:
    bench = Bench(node(gpus=1), policy=INHERITING)
    _, plain, urgent, early = bench.submit(
        job("busy"), job("plain", priority=1), job("urgent", priority=9, after=("early",)), job("early")
    )
    assert bench.world.state.priority(bench.entry(early)) == 9
    bench.end(JobId(1))
    assert bench.entry(early).held
    assert not bench.entry(plain).held
    assert not bench.entry(urgent).held


def test_thousands_that_wait_for_one_are_no_matter() -> None:
    bench = Bench(node(gpus=1))
    bench.submit(job("first"), *(job(f"j{i}", after=("first",)) for i in range(20_000)))
    bench.step(Cancel(JobId(1)))
    bench.end(JobId(1), -15)
    assert not bench.world.jobs
