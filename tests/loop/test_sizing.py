"""What a job needs is said before it joins the line, applied where it may be, and taken back when it was too little."""

from __future__ import annotations

from typing import Any

import pytest

from clearway.loop.forecasting import Forecasting
from clearway.loop.snapshot.restore import restore
from clearway.loop.snapshot.take import take
from clearway.model import events as ev
from clearway.model.array import Array
from clearway.model.asks import Change, Rerun
from clearway.model.job import Demand, JobSpec, Role
from clearway.model.reasons import Code
from clearway.model.states import End, State
from clearway.model.use import Used
from clearway.ports.engine import TaskIsGone
from clearway.testing.builders import Bench, node
from clearway.whatif.outlook import advise
from tests.loop.forecasters import Told

GIB = 2**30
TOOK = Used(peak_cpus=400, peak_memory=GIB, peak_gpu_memory=4 * GIB, worked=1)


def bench() -> Bench:
    made = Bench(node(gpus=2))
    made.world.forecasting = Forecasting(Told())
    return made


def spec(right_size: str = "apply", demand: Demand | None = None, **words: Any) -> JobSpec:
    asks = Demand(memory=24 * GIB, cpus=8000) if demand is None else demand
    words = {"user": "ann", "run": ("train",), **words}
    return JobSpec("train", (Role(demand=asks),), right_size=right_size, **words)


def over(made: Bench, job: JobSpec, exit_code: int = 0, *, oom: bool = False, used: Used | None = TOOK) -> int:
    (number,) = made.submit(job)
    ends(made, number, exit_code, oom=oom, used=used)
    return number


def ends(made: Bench, number: Any, exit_code: int = 0, *, oom: bool = False, used: Used | None = TOOK) -> None:
    made.up(number)
    made.pass_s(5)
    made.step(*(TaskIsGone(task, exit_code, oom=oom, used=used) for task in made.tasks(number)))


def taught(job: JobSpec) -> Bench:
    made = bench()
    for _ in range(3):
        over(made, job)
    assert made.all(ev.Sized) == []
    return made


def test_it_is_suggested_and_changes_nothing() -> None:
    made = taught(spec("suggest"))
    (number,) = made.submit(spec("suggest"))
    (record,) = made.all(ev.Sized)
    assert {need.word: need.applied for need in record.needs} == {"memory": False, "cpus": False}
    assert made.entry(number).spec == spec("suggest")
    assert made.journal.index(record) < made.journal.index(made.of(number, ev.Joined)[-1])


def test_nothing_is_said_where_that_is_off_or_nobody_forecasts() -> None:
    made = taught(spec("suggest"))
    made.submit(spec("off"))
    made.world.forecasting = None
    made.submit(spec("apply"))
    assert made.all(ev.Sized) == []


def test_it_is_applied_to_memory_and_cpus_and_the_job_starts_with_less() -> None:
    made = taught(spec())
    (number,) = made.submit(spec())
    demand = made.entry(number).spec.roles[0].demand
    assert GIB < demand.memory < 2 * GIB
    assert demand.cpus == 500
    made.up(number)
    assert made.world.ledger.holdings[number][0].demand == demand
    rebuilt = made.rebuilt()
    assert rebuilt.jobs[number].spec == made.entry(number).spec
    assert rebuilt.jobs[number].needs == made.entry(number).needs


def test_gpus_are_never_taken_from_a_job_and_their_memory_only_from_a_share() -> None:
    whole = spec(demand=Demand(gpus=2, gpu_memory=40 * GIB))
    made = taught(whole)
    (number,) = made.submit(whole)
    needs = made.last(ev.Sized).needs
    assert {need.word: (need.enough < need.asked, need.applied) for need in needs} == {
        "gpu_memory": (True, False), "gpus": (True, False),
    }  # fmt: skip
    assert made.entry(number).spec == whole
    share = spec(demand=Demand(share=500, gpu_memory=40 * GIB))
    made = taught(share)
    (number,) = made.submit(share)
    assert 4 * GIB < made.entry(number).spec.roles[0].demand.gpu_memory < 6 * GIB


def test_others_jobs_are_no_ground_to_take_anything() -> None:
    made = taught(spec(user="bob"))
    (number,) = made.submit(spec(user="ann", run=("other",)))
    (need, _) = made.last(ev.Sized).needs
    assert (need.own, need.applied) == (False, False)
    assert made.entry(number).spec.roles[0].demand.memory == 24 * GIB


def test_an_array_is_looked_at_job_by_job() -> None:
    made = taught(spec())
    (number,) = made.submit(spec(array=Array(((0, 2, 1),))))
    assert [record.job for record in made.all(ev.Sized)] == [number + 1, number + 2, number + 3]


# --- too little ------------------------------------------------------------------------------------


def test_who_was_given_too_little_is_tried_again_with_all_and_has_not_failed() -> None:
    made = taught(spec())
    (number,) = made.submit(spec())
    ends(made, number, -9, oom=True)
    entry = made.entry(number)
    assert (entry.retries, entry.spec.roles[0].demand.memory, entry.spec.roles[0].demand.cpus) == (0, 24 * GIB, 8000)
    cause = made.of(number, ev.Requeued)[-1].cause
    assert (cause.code, cause.get("word"), cause.get("asked")) == (Code.RAN_SHORT, "memory", 24 * GIB)
    assert entry.attempt == 2, "it has started again at once"
    assert made.rebuilt().jobs[number].retries == 0
    ends(made, number, -9, oom=True)
    assert made.of(number, ev.Ended)[-1].state == State.FAILED, "with all that it asks for it is its own failure"


@pytest.mark.parametrize(
    ("code", "used", "again"),
    [
        (1, TOOK, False),
        (1, Used(peak_gpu_memory=5 * GIB), True),
        (0, Used(peak_gpu_memory=5 * GIB), False),
        (1, None, False),
    ],
)
def test_a_share_that_filled_its_gpu_memory_and_failed_gets_all_of_it(code: int, used: Used, again: bool) -> None:  # noqa: FBT001
    share = spec(demand=Demand(share=500, gpu_memory=40 * GIB))
    made = taught(share)
    (number,) = made.submit(share)
    ends(made, number, code, used=used)
    assert bool(made.of(number, ev.Requeued)) == again


def test_another_failure_is_the_jobs_own() -> None:
    made = taught(spec(max_retries=1))
    (number,) = made.submit(spec(max_retries=1))
    ends(made, number, 3)
    assert made.entry(number).retries == 1
    assert made.entry(number).needs[0].applied, "it keeps what it was given"


def test_running_out_raises_what_is_suggested_to_the_next() -> None:
    made = bench()
    for _ in range(3):
        over(made, spec(), -9, oom=True, used=None)
    assert [record.needs[0].ooms for record in made.all(ev.Sized)] == [1, 2]
    made.submit(spec())
    need = made.last(ev.Sized).needs[0]
    assert (need.enough, need.ooms, need.applied) == (36 * GIB, 3, False), "nobody gets more than he asks for"


def test_a_killed_controllers_snapshot_knows_what_was_given_and_taken() -> None:
    made = taught(spec())
    (number,) = made.submit(JobSpec("two", spec().roles * 1, user="ann", run=("train",), right_size="apply"))
    made.up(number)
    copy = restore(take(made.world))
    assert copy.jobs[number].needs == made.entry(number).needs != ()
    assert copy.state.runs.kept == made.world.state.runs.kept
    assert copy.state.runs.kept[0].took[0].took.memory == GIB


def test_a_changed_job_keeps_what_it_was_given_and_one_run_again_gets_what_it_asks_for() -> None:
    made = taught(spec())
    (number,) = made.submit(spec())
    made.step(Change(number, ("priority",), 7))
    assert made.entry(number).spec.roles[0].demand.memory < 2 * GIB
    ends(made, number, 3)
    made.step(Rerun(number))
    assert made.entry(number).spec.roles[0].demand.memory == 24 * GIB
    assert made.entry(number).needs == ()


def test_what_a_gang_took_is_the_most_of_each_task() -> None:
    made = bench()
    gang = JobSpec("gang", (Role(tasks=2, min_tasks=2, demand=Demand(memory=8 * GIB)),), user="u")
    (number,) = made.submit(gang)
    made.up(number)
    made.pass_s(1)
    first, second = made.tasks(number)
    made.step(TaskIsGone(first, 0, used=Used(peak_memory=3, worked=1)))
    made.step(TaskIsGone(second, 0, used=Used(peak_memory=2, peak_cpus=9)))
    (took,) = made.world.state.runs.kept[-1].took
    assert (took.took.memory, took.took.cpus, took.took.gpus, took.oom) == (3, 9, 1, False)
    assert made.last(ev.AttemptEnded).end == End.SUCCEEDED


# --- advice ----------------------------------------------------------------------------------------


def test_advice_says_what_would_do_and_where_the_job_would_start_with_it() -> None:
    job = spec("suggest", Demand(memory=60 * GIB))
    made = taught(job)
    made.submit(spec("off", Demand(memory=40 * GIB), run=("holds",)))
    (found,) = advise(made.world, [job], made.now_us)
    assert (found.verdict, [need.word for need in found.needs], found.needs_nodes) == ("waits", ["memory"], ("n",))
    (applied,) = advise(made.world, [spec("apply", Demand(memory=60 * GIB))], made.now_us)
    assert (applied.verdict, applied.needs[0].applied) == ("starts", True)
    assert made.all(ev.Sized) == [], "advice enters nothing"


def test_a_peak_that_no_look_sees_costs_a_second_attempt_only_now_and_then() -> None:
    made, needed, again = taught(spec()), 6 * GIB, 0
    for _ in range(60):
        (number,) = made.submit(spec())
        if (made.entry(number).spec.roles[0].demand.memory or 0) < needed:
            ends(made, number, 137, oom=True)
            again += 1
        ends(made, number)
    assert again == len(made.all(ev.Requeued)) == 4
