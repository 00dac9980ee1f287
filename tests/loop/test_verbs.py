"""Hold, release, requeue, other words for live jobs, and how queues stand."""

from __future__ import annotations

import pytest

from clearway.model import events as ev
from clearway.model.actions import Halt
from clearway.model.asks import (
    Cancel,
    Change,
    Hold,
    Look,
    Release,
    Requeue,
    SetQueue,
    Standing,
    Submit,
    Suspend,
)
from clearway.model.errors import ConflictError, InputError, NotFoundError
from clearway.model.fleet import PolicySpec, QueueSpec
from clearway.model.ids import JobId
from clearway.model.reasons import Code, because
from clearway.model.states import End, State
from clearway.model.values import SECOND_US
from clearway.testing.builders import Bench, job, node
from tests.loop.town import decided


def said(bench: Bench, ask: object) -> object:
    return bench.step(ask).answers[0]  # type: ignore[arg-type]


def same_after_rebuild(bench: Bench) -> None:
    """A world made from the journal stands as this one does, and decides the same."""
    other = bench.rebuilt()
    assert {j: (e.state, e.cls, e.reasons, e.spec, e.holder) for j, e in other.jobs.items()} == {
        j: (e.state, e.cls, e.reasons, e.spec, e.holder) for j, e in bench.world.jobs.items()
    }
    assert decided(other.step([], bench.now_us)) == decided(bench.step())


# --- hold and release -----------------------------------------------------------------------------


def test_a_held_job_waits_for_its_release_and_holds_back_nobody() -> None:
    bench = Bench(node())
    running, first = bench.submit(job("running", 4), job("first", 4))
    (second,) = bench.submit(job("second", 4))
    assert bench.waits(first)[0].code == Code.NO_CAPACITY
    bench.step(Hold(first, "ann"))
    assert bench.waits(first) == (because(Code.HELD, by="ann"),)
    same_after_rebuild(bench)
    bench.end(running)
    assert bench.entry(second).held, "the one behind it goes first"
    bench.step(Release(first))
    assert bench.entry(first).cls is not None
    bench.end(second)
    assert bench.entry(first).held
    same_after_rebuild(bench)


def test_a_job_that_was_promised_a_place_loses_it_when_it_is_held() -> None:
    bench = Bench(node())
    bench.submit(job("running", 4, time_limit_us=100 * SECOND_US))
    big, small = bench.submit(job("big", 4), job("small", 1))
    assert any(r.grants for r in bench.of(big, ev.Reserved))
    bench.step(Hold(big))
    assert bench.of(big, ev.Reserved)[-1].grants == ()
    assert not bench.world.state.view.reservations.get(big)
    bench.step(Release(big))
    assert bench.world.state.view.reservations[big].start_us == 100 * SECOND_US
    assert bench.entry(small).state == State.PENDING


def test_what_is_held_can_be_cancelled_and_misses_its_start_deadline() -> None:
    bench = Bench(node(gpus=0))
    a, b = bench.submit(job("a"), job("b", start_deadline_us=5 * SECOND_US))
    bench.step(Hold(a), Hold(b))
    bench.step(Cancel(a))
    bench.at(6)
    assert bench.of(a, ev.Ended)[0].state == State.CANCELLED
    assert getattr(bench.of(b, ev.Ended)[0].reason, "code", None) == Code.START_DEADLINE


def test_holding_twice_changes_nothing_and_releasing_what_is_free_is_a_conflict() -> None:
    bench = Bench(node(gpus=0))
    (a,) = bench.submit(job("a"))
    assert isinstance(said(bench, Release(a)), ConflictError)
    assert bench.step(Hold(a, "ann")).records
    assert bench.step(Hold(a, "bob")).records == []
    assert bench.waits(a) == (because(Code.HELD, by="ann"),)
    assert isinstance(said(bench, Hold(JobId(99))), NotFoundError)


def test_a_held_job_says_what_else_it_waits_for() -> None:
    bench = Bench(node())
    a, b = bench.submit(job("a"), job("b", after=("a",)))
    bench.step(Hold(b, "ann"))
    assert bench.waits(b) == (because(Code.HELD, by="ann"), because(Code.AFTER, jobs="a"))
    bench.end(a)
    assert bench.waits(b) == (because(Code.HELD, by="ann"),)
    bench.step(Release(b))
    assert bench.entry(b).held


def test_a_held_job_that_runs_goes_on_and_waits_once_it_ends() -> None:
    bench = Bench(node())
    (a,) = bench.submit(job("a", max_retries=1, retry_backoff_us=5 * SECOND_US))
    bench.up(a)
    bench.step(Hold(a, "ann"))
    assert bench.entry(a).state == State.RUNNING
    bench.end(a, 1)
    assert [r.code for r in bench.waits(a)] == [Code.HELD, Code.RETRY_DELAY]
    bench.at(10)
    assert bench.waits(a) == (because(Code.HELD, by="ann"),)
    same_after_rebuild(bench)
    bench.step(Release(a))
    assert bench.entry(a).attempt == 2


# --- requeue ----------------------------------------------------------------------------------------


def test_a_requeued_job_is_stopped_and_waits_with_its_first_submit_time() -> None:
    bench = Bench(node(), policy=PolicySpec(order=("fifo",)))
    (a,) = bench.submit(job("a", 4, max_losses=0))
    bench.up(a)
    bench.at(5)
    (b,) = bench.submit(job("b", 4))
    bench.step(Requeue(a, "ann"))
    assert isinstance(bench.orders[-1], Halt)
    assert bench.entry(a).intent is not None
    bench.end(a, 143)
    ended = bench.of(a, ev.AttemptEnded)[0]
    assert (ended.end, ended.cause) == (End.EVICTED, because(Code.REQUEUED, by="ann"))
    assert bench.entry(a).losses == 0, "a person's wish is no loss"
    assert bench.entry(a).attempt == 2, "it came first, and comes first again"
    assert bench.entry(b).state == State.PENDING
    same_after_rebuild(bench)


def test_requeue_and_hold_let_the_next_one_run() -> None:
    bench = Bench(node(), policy=PolicySpec(order=("fifo",)))
    a, b = bench.submit(job("a", 4), job("b", 4))
    bench.up(a)
    bench.step(Requeue(a, hold=True))
    bench.end(a)
    assert bench.entry(b).held
    assert bench.waits(a)[0].code == Code.HELD


def test_only_what_runs_can_be_requeued() -> None:
    bench = Bench(node())
    a, b = bench.submit(job("a", 4), job("b", 4))
    assert isinstance(said(bench, Requeue(b, hold=True)), ConflictError)
    assert bench.entry(b).holder is None, "what is refused does nothing"
    bench.step(Cancel(a))
    assert isinstance(said(bench, Requeue(a)), ConflictError), "it is stopped for good"
    bench.end(a)
    assert isinstance(said(bench, Requeue(a)), ConflictError), "it is over"


def test_a_second_requeue_and_one_of_a_suspended_job() -> None:
    bench = Bench(node())
    (a,) = bench.submit(job("a"))
    bench.up(a)
    bench.step(Suspend(a))
    bench.step(Requeue(a))
    assert bench.step(Requeue(a)).records == []
    bench.end(a)
    assert bench.entry(a).attempt == 2


def test_a_requeue_is_no_preemption_that_calm_counts() -> None:
    policy = PolicySpec(preempt=("priority",), calm_us=1000 * SECOND_US)
    bench = Bench(node(), policy=policy)
    (a,) = bench.submit(job("a", 4))
    bench.up(a)
    bench.step(Requeue(a))
    bench.end(a)
    bench.up(a)
    bench.submit(job("b", 4, priority=9))
    assert bench.entry(a).intent is not None, "it may be preempted right after"


# --- other words -------------------------------------------------------------------------------------


def test_a_larger_priority_moves_a_waiting_job_ahead() -> None:
    bench = Bench(node())
    running, a, b = bench.submit(job("running", 4), job("a", 4), job("b", 4))
    bench.step(Change(b, ("priority",), priority=5, by="ann"))
    same_after_rebuild(bench)
    bench.end(running)
    assert bench.entry(b).held
    assert not bench.entry(a).held
    record = bench.of(b, ev.Changed)[0]
    assert (record.spec.priority, record.by) == (5, "ann")


def test_a_larger_priority_lets_a_waiting_job_preempt() -> None:
    bench = Bench(node(), policy=PolicySpec(preempt=("priority",)))
    running, a, b = bench.submit(job("running", 4, priority=1), job("a", 4), job("b", 4))
    bench.up(running)
    bench.step(Change(b, ("priority",), priority=5))
    assert bench.entry(running).intent is not None
    bench.end(running)
    assert bench.entry(b).held
    assert not bench.entry(a).held


def test_a_smaller_priority_makes_a_running_job_a_victim() -> None:
    bench = Bench(node(), policy=PolicySpec(preempt=("priority",)))
    (running,) = bench.submit(job("running", 4, priority=9))
    bench.up(running)
    bench.submit(job("a", 4, priority=5))
    assert bench.entry(running).intent is None
    bench.step(Change(running, ("priority",), priority=1))
    assert bench.entry(running).intent is not None


def test_a_new_priority_is_inherited_by_what_the_job_waits_for() -> None:
    bench = Bench(node(), policy=PolicySpec(priority_inheritance=True))
    bench.submit(job("running", 4))
    other, needed, urgent = bench.submit(job("other", 4), job("needed", 4), job("urgent", after=("needed",)))
    bench.step(Change(urgent, ("priority",), priority=7))
    assert bench.world.state.priority(bench.entry(needed)) == 7
    bench.end(JobId(1))
    assert bench.entry(needed).held
    assert not bench.entry(other).held


def test_a_waiting_job_goes_to_another_queue_and_a_running_one_does_not() -> None:
    bench = Bench(node())
    bench.step(SetQueue(QueueSpec("closed", limit=(("gpus", 0),))))
    (a,) = bench.submit(job("a", queue="closed"))
    assert bench.waits(a)[0].code == Code.QUEUE_LIMIT
    bench.step(Change(a, ("queue",), queue="default"))
    assert bench.entry(a).held
    assert isinstance(said(bench, Change(a, ("queue",), queue="closed")), ConflictError)
    assert isinstance(said(bench, Change(a, ("queue",), queue="nowhere")), InputError)
    bench.end(a)
    assert isinstance(said(bench, Change(a, ("priority",), priority=1)), ConflictError), "it is over"


@pytest.mark.parametrize("limit_s", [30, 5])
def test_a_shorter_time_limit_holds_for_a_running_job(limit_s: int) -> None:
    bench = Bench(node())
    (a,) = bench.submit(job("a", time_limit_us=100 * SECOND_US))
    bench.up(a)
    bench.at(10)
    bench.step(Change(a, ("time_limit",), time_limit_us=limit_s * SECOND_US))
    bench.at(max(limit_s, 10))
    assert bench.entry(a).intent is not None
    assert bench.entry(a).intent.cause == because(Code.TIME_LIMIT, limit_us=limit_s * SECOND_US)  # type: ignore[union-attr]


def test_a_longer_time_limit_and_none_at_all() -> None:
    bench = Bench(node())
    a, b = bench.submit(job("a", time_limit_us=10 * SECOND_US), job("b", time_limit_us=10 * SECOND_US))
    bench.up(a)
    bench.up(b)
    bench.step(Change(a, ("time_limit",), time_limit_us=20 * SECOND_US), Change(b, ("time_limit",)))
    bench.at(15)
    assert bench.entry(a).intent is None
    bench.at(100)
    assert bench.entry(a).intent is not None
    assert bench.entry(b).intent is None


def test_a_promise_follows_the_new_end_of_what_runs() -> None:
    bench = Bench(node())
    (running,) = bench.submit(job("running", 4, time_limit_us=100 * SECOND_US))
    (big,) = bench.submit(job("big", 4, time_limit_us=SECOND_US))
    reservations = bench.world.state.view.reservations
    assert reservations[big].start_us == 100 * SECOND_US
    bench.step(Change(running, ("time_limit",), time_limit_us=40 * SECOND_US))
    assert reservations[big].start_us == 40 * SECOND_US
    bench.step(Change(running, ("time_limit",), time_limit_us=80 * SECOND_US))
    assert reservations[big].start_us == 80 * SECOND_US
    bench.step(Change(running, ("time_limit",)))
    assert big not in reservations
    same_after_rebuild(bench)


def test_a_change_that_changes_nothing_is_not_recorded() -> None:
    bench = Bench(node())
    (a,) = bench.submit(job("a", priority=3))
    assert bench.step(Change(a, ("priority",), priority=3)).records == []
    assert isinstance(said(bench, Change(a, ("name",))), InputError)


# --- queues -------------------------------------------------------------------------------------------


def test_words_of_a_queue_that_are_not_said_stay_as_they_are() -> None:
    bench = Bench(node())
    bench.step(SetQueue(QueueSpec("q", weight=3, limit=(("gpus", 2000),))))
    bench.step(SetQueue(QueueSpec("q", limit=(("gpus", 4000),)), ("limit",)))
    assert bench.world.queues["q"] == QueueSpec("q", weight=3, limit=(("gpus", 4000),))
    bench.step(SetQueue(QueueSpec("new", weight=5), ("weight",)))
    assert bench.world.queues["new"].weight == 5


def test_how_queues_stand_with_all_below_them() -> None:
    bench = Bench(node())
    bench.step(SetQueue(QueueSpec("org")), SetQueue(QueueSpec("team", parent="org")), SetQueue(QueueSpec("other")))
    bench.submit(job("a", 2, queue="team"), job("b", 4, queue="team"), job("c", 4, queue="other"))
    step = bench.step(Look())
    assert step.records == []
    (told,) = step.answers
    by_name = {one.name: one for one in told}  # type: ignore[attr-defined]
    assert by_name["org"] == Standing("org", (("gpus", 2000),), (("gpus", 4000),), "gpus", 2000)
    assert by_name["team"].share == 2000
    assert by_name["other"] == Standing("other", (), (("gpus", 4000),), "gpus", 2000)


def test_one_user_never_holds_more_than_a_queue_allows_each() -> None:
    bench = Bench(node(gpus=8))
    bench.step(SetQueue(QueueSpec("lab", limit_per_user=(("gpus", 2000),))), SetQueue(QueueSpec("team", parent="lab")))
    ann1, ann2, bob = bench.submit(
        job("a1", 2, queue="team", user="ann"),
        job("a2", 1, queue="team", user="ann"),
        job("b", 1, queue="team", user="bob"),
    )
    assert bench.entry(bob).held
    facts = {"queue": "lab", "resource": "gpus", "need": 1000, "used": 2000, "limit": 2000, "user": "ann"}
    assert bench.waits(ann2) == (because(Code.QUEUE_LIMIT, **facts),)  # type: ignore[arg-type]
    same_after_rebuild(bench)
    bench.end(ann1)
    assert bench.entry(ann2).held


def test_a_limit_for_each_user_that_comes_and_goes_holds_for_those_who_wait() -> None:
    bench = Bench(node())
    bench.submit(job("running", 4))
    ann1, ann2, bob = bench.submit(job("a1", 1, user="ann"), job("a2", 1, user="ann"), job("b", 1, user="bob"))
    bench.step(SetQueue(QueueSpec("default", limit_per_user=(("gpus", 1000),))))
    same_after_rebuild(bench)
    bench.end(JobId(1))
    assert [bool(bench.entry(j).held) for j in (ann1, ann2, bob)] == [True, False, True]
    bench.step(SetQueue(QueueSpec("default")))
    assert bench.entry(ann2).held
    same_after_rebuild(bench)


def test_an_elastic_job_grows_no_further_than_its_user_may() -> None:
    bench = Bench(node())
    bench.step(SetQueue(QueueSpec("default", limit_per_user=(("gpus", 2000),))))
    (a,) = bench.submit(job("a", 1, tasks=4, least=1, user="ann"))
    assert len(bench.entry(a).held) == 2
    bench.step(Submit((job("b", 1, tasks=4, least=1, user="bob"),)))
    assert len(bench.entry(JobId(a + 1)).held) == 2
