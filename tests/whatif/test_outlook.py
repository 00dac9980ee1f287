"""What is said about a waiting job comes true: every change, the expected moment, and what it lacks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from clearway.model.array import Array
from clearway.model.asks import Cancel, Change, Drain, SetLimit, SetQueue, Submit
from clearway.model.errors import ConflictError, InputError, NotFoundError
from clearway.model.events import Started, TaskRef
from clearway.model.fleet import LimitSpec, PolicySpec, QueueSpec
from clearway.model.ids import JobId
from clearway.model.job import Topology
from clearway.model.states import State
from clearway.model.values import SECOND_US
from clearway.ports.engine import NodeIsUp, TaskIsGone
from clearway.testing.builders import GIB, Bench, job, node, role
from clearway.whatif.ahead import ahead
from clearway.whatif.outlook import advise, outlook
from tests.whatif.towns import JOBS, NODES, POLICIES, changed, town

if TYPE_CHECKING:
    from clearway.loop.world import World

S = SECOND_US
NO_SHRINK = tuple(p for p in Phase if p is not Phase.shrink)
seen: set[str] = set()


def _waiting(bench: Bench) -> list[JobId]:
    return [entry.id for entry in bench.world.jobs.values() if entry.state == State.PENDING]


@settings(max_examples=60, deadline=None, phases=NO_SHRINK)
@given(nodes=NODES, jobs=JOBS, policy=POLICIES)
def test_with_each_change_that_is_named_the_job_starts_in_that_very_step(
    nodes: list[dict[str, Any]], jobs: list[dict[str, Any]], policy: PolicySpec
) -> None:
    bench = town(nodes, jobs, policy)
    for number in _waiting(bench):
        spec = bench.entry(number).spec
        found = outlook(bench.world, number, bench.now_us)
        assert found.lacks
        for change in found.changes:
            seen.add(change.word)
            again, other = bench.rebuilt(), changed(spec, change.word, change.after)
            if change.how == "set":
                asked = [
                    Change(
                        number,
                        (change.word,),
                        priority=other.priority,
                        queue=other.queue,
                        time_limit_us=other.time_limit_us,
                    )
                ]
                step, wanted = again.step(asked, bench.now_us), number
            else:
                step = again.step([Cancel(number), Submit((other,))], bench.now_us)
                wanted = JobId(again.state.next_job - 1)
            (start,) = [r for r in step.records if isinstance(r, Started) and r.job == wanted]
            assert tuple(sorted({again.node_name(g.node) for g in start.grants})) == change.nodes


def test_the_towns_by_chance_see_many_kinds_of_change() -> None:
    assert {"gpus", "topology", "gpu_model", "queue", "tasks"} <= seen, seen


@settings(max_examples=60, deadline=None, phases=NO_SHRINK)
@given(nodes=NODES, jobs=JOBS, policy=POLICIES)
def test_the_expected_moment_is_met_where_estimates_are_exact_and_nothing_else_comes(
    nodes: list[dict[str, Any]], jobs: list[dict[str, Any]], policy: PolicySpec
) -> None:
    bench = town(nodes, jobs, policy)
    waiting = _waiting(bench)
    expected = ahead(bench.world, waiting, bench.now_us)
    really = _live_on(bench.rebuilt(), bench.now_us)
    assert {number: one.start_us for number, one in expected.items()} == {
        number: start for number, start in really.items() if number in waiting
    }
    for number in waiting:
        assert outlook(bench.world, number, bench.now_us).start_us == really.get(number)


def _live_on(world: World, now_us: int) -> dict[JobId, int]:
    """Live on without arrivals: every attempt runs exactly as long as it is estimated to. Returns the first starts."""
    starts: dict[JobId, int] = {}
    step = world.step((), now_us)
    while True:
        for record in step.records:
            if isinstance(record, Started):
                starts.setdefault(record.job, record.at_us)
        ends = {
            entry.id: entry.started_us + (entry.spec.estimate_us or 0) for entry in world.jobs.values() if entry.held
        }
        ahead_us = [*ends.values(), *([step.next_us] if step.next_us is not None else [])]
        if not ends:
            return starts
        now_us = max(now_us, min(ahead_us))
        over = [number for number, end in ends.items() if end <= now_us]
        gone = [TaskIsGone(TaskRef(n, world.jobs[n].attempt, *key), 0) for n in over for key in world.jobs[n].held]
        step = world.step(gone, now_us)


@settings(max_examples=40, deadline=None)
@given(nodes=NODES, jobs=JOBS, policy=POLICIES, pick=st.integers(0, 99))
def test_a_question_changes_nothing(
    nodes: list[dict[str, Any]], jobs: list[dict[str, Any]], policy: PolicySpec, pick: int
) -> None:
    asked, left = town(nodes, jobs, policy), town(nodes, jobs, policy)
    waiting = _waiting(asked)
    if not waiting:
        return
    outlook(asked.world, waiting[pick % len(waiting)], asked.now_us + 10 * S)
    running = [entry.id for entry in asked.world.jobs.values() if entry.held]
    for number in running:
        assert asked.end(number).records == left.end(number).records
    asked.world.validate()


# --- by hand ---------------------------------------------------------------------------------------


def _changes(bench: Bench, number: JobId) -> list[tuple[str, Any, Any]]:
    return [(one.word, one.before, one.after) for one in outlook(bench.world, number, bench.now_us).changes]


def test_fewer_gpus_and_who_has_the_others() -> None:
    bench = Bench(node("n1", 8))
    first, number = bench.submit(job("a", 4, time_limit_us=60 * S), job("b", 8))
    found = outlook(bench.world, number, bench.now_us)
    assert _changes(bench, number) == [("gpus", 8000, 4000)]
    (lack,) = found.lacks
    assert (lack.level, lack.name, lack.resource, lack.need, lack.has, lack.short) == (
        "node",
        "n1",
        "gpus",
        8000,
        4000,
        4000,
    )
    assert [(one.job, one.amount, one.until_us) for one in lack.holders] == [(first, 4000, 60 * S)]
    assert "ended" in lack.lifts
    assert (found.verdict, found.start_us, found.nodes) == ("waits", 60 * S, ("n1",))


def test_another_model_and_where_it_could_stand() -> None:
    bench = Bench(node("n1"), node("n2", gpu_model="H100"))
    a100 = (role(gpus=4, gpu_models=("A100",)),)
    _, number = bench.submit(job("a", roles=a100), job("b", roles=a100))
    found = outlook(bench.world, number, bench.now_us)
    assert ("gpu_model", ("A100",), ("A100", "H100")) in _changes(bench, number)
    assert (found.fits, found.of_nodes, found.start_us) == (("n1",), 2, None)


def test_a_wider_domain() -> None:
    bench = Bench(node("n1", links=((0, 1), (2, 3))))
    (number,) = bench.submit(job("b", 4, topology=Topology("nvlink")))
    found = outlook(bench.world, number, bench.now_us)
    assert found.verdict == "never"
    assert _changes(bench, number)[0] == ("topology", "nvlink", "node")


def test_another_queue_and_the_limit_of_a_parent() -> None:
    bench = Bench(node("n1", 8))
    bench.step(SetQueue(QueueSpec("org", limit=(("gpus", 4000),))), SetQueue(QueueSpec("mine", "org")))
    first, number = bench.submit(job("a", 3, queue="mine"), job("b", 2, queue="mine"))
    found = outlook(bench.world, number, bench.now_us)
    assert ("queue", "mine", "default") in _changes(bench, number)
    assert ("gpus", 2000, 1000) in _changes(bench, number)
    (lack,) = found.lacks
    assert (lack.level, lack.name, lack.short, lack.holders[0].job) == ("parent", "org", 1000, first)


def test_a_limit_per_user_and_a_job_beyond_its_limit() -> None:
    bench = Bench(node("n1", 8))
    bench.step(SetQueue(QueueSpec("mine", limit_per_user=(("gpus", 2000),))))
    first, number, over = bench.submit(
        job("a", 1, queue="mine", user="ann"), job("b", 2, queue="mine", user="ann"),
        job("c", 4, queue="mine", user="bob"),
    )  # fmt: skip
    (lack,) = outlook(bench.world, number, bench.now_us).lacks
    assert (lack.level, lack.name, lack.short, lack.holders[0].job) == ("user", "mine", 1000, first)
    assert outlook(bench.world, over, bench.now_us).verdict == "limited"


def test_a_shorter_limit_passes_a_reservation() -> None:
    bench = Bench(node("n1"))
    bench.submit(job("a", 2, time_limit_us=100 * S), job("b", 4, time_limit_us=50 * S))
    (number,) = bench.submit(job("c", 2, time_limit_us=300 * S))
    found = outlook(bench.world, number, bench.now_us)
    assert ("time_limit", 300 * S, 100 * S) in _changes(bench, number)
    assert (found.lacks[0].level, found.lacks[0].name, found.lacks[0].until_us) == ("order", "b", 100 * S)


def test_slots_of_a_shared_limit() -> None:
    bench = Bench(node("n1"))
    bench.step(SetLimit(LimitSpec("database", 1)))
    first, number = bench.submit(job("a", 1, uses=("database",)), job("b", 1, uses=("database",)))
    (lack,) = outlook(bench.world, number, bench.now_us).lacks
    assert (lack.level, lack.name, lack.resource, lack.short) == ("limit", "database", "slots", 1)
    assert [one.job for one in lack.holders] == [first]


def test_a_device_that_is_shared() -> None:
    bench = Bench(node("n1", 1))
    first, number = bench.submit(job("a", roles=(role(share=700),)), job("b", roles=(role(share=600),)))
    found = outlook(bench.world, number, bench.now_us)
    (lack,) = found.lacks
    assert (lack.level, lack.resource, lack.need, lack.has, lack.holders[0].job) == ("device", "gpus", 600, 300, first)
    assert ("gpus", 600, 300) in _changes(bench, number)


def test_jobs_before_it() -> None:
    bench = Bench(node("n1"))
    first, number = bench.submit(job("a", 1, time_limit_us=9 * S), job("b", 1, after=("a",)))
    found = outlook(bench.world, number, bench.now_us)
    assert (found.lacks[0].level, found.lacks[0].holders[0].job) == ("dependency", first)
    assert found.start_us == 9 * S
    with pytest.raises(ConflictError):
        outlook(bench.world, first, bench.now_us)
    with pytest.raises(NotFoundError):
        outlook(bench.world, JobId(99), bench.now_us)


def test_advice_before_a_submit() -> None:
    bench = Bench(node("n1", 4))
    bench.submit(job("a", 2, time_limit_us=60 * S))
    before = bench.world.state.next_job
    specs = [job("small", 2), job("large", 4), job("huge", 9), job("late", 1)]
    small, large, huge, late = advise(bench.world, specs, 5 * S)
    assert (small.verdict, small.nodes) == ("starts", ("n1",))
    assert (large.verdict, large.start_us) == ("waits", None)  # nobody knows when `small` ends
    assert (huge.verdict, late.verdict) == ("never", "waits")
    assert bench.world.state.next_job == before
    with pytest.raises(InputError):
        advise(bench.world, [job("x", queue="nowhere")], 5 * S)


def test_nodes_out_of_service_are_named() -> None:
    bench = Bench(node("n1"), node("n2"))
    bench.step(Drain("n1"), NodeIsUp(node("n2"), unhealthy=(0, 1, 2)))
    number, part = bench.submit(job("a", 2), job("b", roles=(role(share=500, cpus=17_000),)))
    (lack,) = outlook(bench.world, number, bench.now_us).lacks
    assert (lack.name, lack.resource, lack.lifts) == ("n2", "nodes", ("device_unhealthy",))
    bench.step(Drain("n2"))
    lacks = outlook(bench.world, number, bench.now_us).lacks
    assert [(one.name, one.resource, one.lifts) for one in lacks] == [("n1, n2", "nodes", ("drained",))]
    found = outlook(bench.world, part, bench.now_us)
    assert (found.verdict, found.lacks[0].resource, found.lacks[0].lifts) == ("never", "cpus", ("node_ready",))


def test_a_gang_of_which_nothing_fits_lacks_all_of_its_tasks() -> None:
    bench = Bench(node("n1"))
    _, number = bench.submit(job("a", 4), job("b", 1, tasks=3))
    tasks, gpus = outlook(bench.world, number, bench.now_us).lacks
    assert (tasks.level, tasks.resource, tasks.need, tasks.has, tasks.short) == ("fleet", "tasks", 3, 0, 3)
    assert (gpus.name, gpus.resource, gpus.short) == ("n1", "gpus", 1000)


def test_where_no_node_could_ever_do_nobody_holds_what_is_lacking() -> None:
    bench = Bench(node("n1", 2), node("n2", 2))
    _, number, large = bench.submit(
        job("a", 1), job("b", roles=(role(tasks=3, one_per_node=True, gpus=1),)),
        job("c", roles=(role(gpus=1, gpu_memory=90 * GIB),)),
    )  # fmt: skip
    found = outlook(bench.world, number, bench.now_us)
    (lack,) = found.lacks
    assert (found.verdict, lack.holders, lack.lifts, lack.short) == ("never", (), ("node_ready",), 1)
    (memory,) = outlook(bench.world, large, bench.now_us).lacks
    assert (memory.level, memory.resource, memory.has) == ("device", "gpu_memory", 80 * GIB)


def test_who_has_a_device_is_told_by_what_it_has_of_that_device() -> None:
    bench = Bench(node("n1", 2))
    first, _ = bench.submit(job("a", roles=(role(share=600),)), job("b", 1))
    (number,) = bench.submit(job("c", roles=(role(share=500),)))
    (lack,) = outlook(bench.world, number, bench.now_us).lacks
    assert [(one.job, one.amount) for one in lack.holders] == [(first, 600)]
    bench = Bench(node("n1", 1))
    first, number = bench.submit(job("a", 1), job("b", roles=(role(gpu_memory=GIB),)))
    (lack,) = outlook(bench.world, number, bench.now_us).lacks
    assert [(one.job, one.amount) for one in lack.holders] == [(first, 80 * GIB)]


def test_who_has_memory_of_a_device_keeps_others_from_having_it_whole() -> None:
    bench = Bench(node("n1", 1))
    first, number = bench.submit(job("a", roles=(role(gpu_memory=5 * GIB),)), job("b", 1))
    (lack,) = outlook(bench.world, number, bench.now_us).lacks
    assert [one.job for one in lack.holders] == [first]


def test_an_array_has_the_outlook_of_its_first_job_in_the_line() -> None:
    bench = Bench(node("n1"))
    bench.submit(job("a", 4, time_limit_us=9 * S))
    (number,) = bench.submit(job("b", 1, array=Array(((0, 5, 1),), 2)))
    found = outlook(bench.world, number, bench.now_us)
    assert (found.lacks[0].name, found.start_us) == ("n1", 9 * S)
    (advised,) = advise(Bench(node("n1")).world, [job("b", 1, array=Array(((0, 5, 1),), 2))], 0)
    assert advised.verdict == "starts"


def test_a_larger_priority_passes_what_is_promised() -> None:
    bench = Bench(node("n1"))
    bench.submit(job("a", 2, time_limit_us=100 * S))
    bench.submit(job("b", 4, priority=3))
    (number,) = bench.submit(job("c", 2))
    assert ("priority", 0, 4) in _changes(bench, number)


def test_looking_ahead_ends_when_it_is_told_to_and_says_up_to_when() -> None:
    bench = Bench(node("n1"))
    bench.submit(job("a", 4, time_limit_us=9 * S))
    *_, number = bench.submit(*(job(f"b{n}", 4, time_limit_us=9 * S) for n in range(5)))
    left = iter([True, True, True, False, False])
    found = outlook(bench.world, number, bench.now_us, lambda: next(left))
    assert (found.start_us, found.looked_us) == (None, 18 * S)
    found = outlook(bench.world, number, bench.now_us, lambda: False)
    assert (found.start_us, found.looked_us) == (None, bench.now_us), "no world is copied where no time is left"
    assert outlook(bench.world, number, bench.now_us).looked_us is None


def test_no_further_ahead_than_a_month_is_looked() -> None:
    bench = Bench(node("n1"))
    weeks_us = 20 * 86_400 * S
    bench.submit(job("a", 4, time_limit_us=weeks_us))
    second, third = bench.submit(job("b", 4, time_limit_us=weeks_us), job("c", 4, time_limit_us=S))
    assert outlook(bench.world, second, bench.now_us).start_us is not None
    found = outlook(bench.world, third, bench.now_us)
    assert found.start_us is None
    assert found.looked_us is not None


def test_nothing_is_looked_at_ahead_for_what_never_starts() -> None:
    bench = Bench(node("n1"))
    bench.submit(job("a", 4, time_limit_us=9 * S))
    (number,) = bench.submit(job("b", 5))
    found = outlook(bench.world, number, bench.now_us, lambda: False)
    assert (found.verdict, found.start_us, found.looked_us) == ("never", None, None)


def test_an_attempt_that_failed_while_looking_ahead_and_waits_for_its_next() -> None:
    bench = Bench(node("n1"))
    bench.submit(job("a", 2, time_limit_us=9 * S, max_retries=1, retry_on=("timed_out",), retry_backoff_us=60 * S))
    (number,) = bench.submit(job("b", 4))
    bench.up(JobId(1))
    assert outlook(bench.world, number, bench.now_us).start_us is not None


def test_counts_are_those_of_now() -> None:
    bench = Bench(node("n1"))
    bench.submit(job("a", 2, time_limit_us=50 * S))
    (number,) = bench.submit(job("b", 4))
    bench.submit(job("d", 2, time_limit_us=9 * S))
    assert bench.waits(number)[0].get("most_free_gpus") == 2000
    reason = outlook(bench.world, number, bench.now_us).reason
    assert reason is not None
    assert reason.get("most_free_gpus") == 0
