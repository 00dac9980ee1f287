"""What is thought to be enough follows from what runs of the like took; doubt, and whose runs they were, are said."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clearway.forecast import needs as module
from clearway.forecast.needs import FEWEST, RUNS, Needs, Peaks
from clearway.model.job import Demand, JobSpec, Role
from clearway.model.needs import Amounts, Need, Took, asked_of, sized
from clearway.ports.forecaster import Run, known_of

if TYPE_CHECKING:
    import pytest

MIB, GIB = 2**20, 2**30
BY_NAME = "runs of this name and size by this user"


def spec(name: str = "train-1", user: str = "ann", role: str = "task", **demand: Any) -> JobSpec:
    return JobSpec(name, (Role(role, demand=Demand(**demand)),), user=user, run=(f"python {name}.py",))


def run(job: JobSpec, *, good: bool = True, oom: bool = False, **took: int) -> Run:
    (role,) = job.roles
    found = Took(role.name, role.tasks, asked_of(role), Amounts(**took), oom)
    return Run(known_of(job, 0), 1, 1, took=(found,), good=good)


def taught(*runs: Run) -> Needs:
    needs = Needs()
    for one in runs:
        needs.learn(one)
    return needs


def said(needs: Needs, job: JobSpec) -> tuple[Need, ...]:
    return needs.of(known_of(job, 0), job)


JOB = spec(memory=24 * GIB)


def test_the_most_of_a_few_runs_and_a_margin_are_enough() -> None:
    needs = taught(*(run(JOB, memory=mib * MIB) for mib in (4096, 6144, 5000)))
    (need,) = said(needs, spec("train-99", memory=24 * GIB))
    assert (need.word, need.asked, need.most, need.runs, need.basis) == ("memory", 24 * GIB, 6 * GIB, 3, BY_NAME)
    assert need.own
    assert 6 * GIB * 115 // 100 <= need.enough <= 6 * GIB * 122 // 100, "15 in 100 more, rounded up by 1/16 at most"


def test_of_too_few_runs_nothing_is_made() -> None:
    runs = [run(JOB, memory=GIB) for _ in range(FEWEST)]
    assert said(taught(*runs[1:]), JOB) == ()
    assert said(taught(*runs), JOB) != ()
    assert said(taught(*(run(JOB) for _ in range(9))), JOB) == (), "nothing was measured"


def test_one_in_twenty_may_take_more() -> None:
    rare = [run(JOB, memory=(20 if n % 25 == 0 else 2) * GIB) for n in range(1, RUNS + 1)]
    (need,) = said(taught(*rare), JOB)
    assert (need.most, need.runs) == (2 * GIB, RUNS)


def test_only_the_last_runs_count() -> None:
    needs = taught(run(JOB, memory=20 * GIB), *(run(JOB, memory=2 * GIB) for _ in range(RUNS)))
    assert said(needs, JOB)[0].most == 2 * GIB


def test_a_small_job_has_a_least_margin() -> None:
    small = spec(memory=GIB, cpus=8000)
    memory, cpus = said(taught(*(run(small, memory=10 * MIB, cpus=20) for _ in range(3))), small)
    assert (memory.enough, cpus.enough) == (80 * MIB, 200), "10 + 64 MiB up to 16, 0.02 + 0.1 CPUs up to 0.1"


def test_less_is_not_said_for_a_tenth() -> None:
    job = spec(cpus=1000)
    assert said(taught(*(run(job, cpus=800) for _ in range(3))), job) == ()  # 0.92, rounded up to 1.0
    assert said(taught(*(run(job, cpus=700) for _ in range(3))), job)[0].enough == 900


def test_what_was_not_asked_for_is_not_spoken_of() -> None:
    needs = taught(*(run(JOB, memory=GIB, cpus=500, gpu_memory=GIB, gpus=1) for _ in range(3)))
    assert [need.word for need in said(needs, JOB)] == ["memory"]


def test_how_many_gpus_did_anything_is_said_without_a_margin() -> None:
    job = spec(gpus=4)
    (need,) = said(taught(*(run(job, gpus=n) for n in (1, 2, 2))), job)
    assert (need.word, need.asked, need.enough) == ("gpus", 4, 2)
    assert said(taught(*(run(job, gpus=4) for _ in range(3))), job) == ()


# --- runs that ran out of memory -----------------------------------------------------------------


def test_running_out_raises_it_at_once_and_until_a_run_does_well_with_more() -> None:
    job = spec(memory=8 * GIB)
    needs = taught(run(job, good=False, oom=True, memory=8 * GIB))
    (need,) = said(needs, job)
    assert (need.enough, need.ooms, need.runs) == (12 * GIB, 1, 0)
    more = spec(memory=12 * GIB)
    needs.learn(run(more, good=False, oom=True))
    assert [(one.enough, one.ooms) for one in said(needs, more)] == [(18 * GIB, 2)]
    assert said(needs, spec(memory=18 * GIB)) == ()
    for _ in range(3):
        needs.learn(run(spec(memory=18 * GIB), memory=13 * GIB))
    (need,) = said(needs, job)
    assert (need.ooms, need.most) == (0, 13 * GIB), "what it really took is known now"
    assert 13 * GIB < need.enough < 17 * GIB


def test_a_run_that_did_well_with_no_more_lifts_nothing() -> None:
    job = spec(memory=8 * GIB)
    needs = taught(run(job, good=False, oom=True), *(run(job, memory=7 * GIB) for _ in range(9)))
    assert said(needs, job)[0].enough == 12 * GIB


def test_what_failed_or_was_broken_off_counts_only_where_it_took_more_than_any() -> None:
    needs = taught(*(run(JOB, memory=4 * GIB) for _ in range(3)))
    for gib in (1, 1, 1, 9):
        needs.learn(run(JOB, good=False, memory=gib * GIB))
    (need,) = said(needs, JOB)
    assert (need.most, need.runs) == (9 * GIB, 4)


def test_more_gpu_memory_is_suggested_for_a_share_alone() -> None:
    share, whole = spec(gpu_memory=8 * GIB), spec(gpus=1, gpu_memory=8 * GIB)
    needs = taught(*(run(job, gpu_memory=11 * GIB) for job in (share, whole) for _ in range(3)))
    (need,) = said(needs, share)
    assert need.enough > 11 * GIB
    assert said(needs, whole) == ()


# --- which runs are alike ------------------------------------------------------------------------


def test_without_runs_of_the_name_those_of_the_command_speak_then_those_of_the_queue() -> None:
    needs = taught(*(run(JOB, memory=GIB) for _ in range(3)))
    other = JobSpec("other", JOB.roles, user="ann", run=JOB.run)
    assert said(needs, other)[0].basis == "runs of this command by this user"
    stranger = JobSpec("x", JOB.roles, user="bob", run=("y",))
    (need,) = said(needs, stranger)
    assert (need.basis, need.own) == ("runs of this size in this queue", False)
    assert said(needs, JobSpec("x", JOB.roles, queue="q", user="bob")) == ()


def test_roles_are_learnt_apart() -> None:
    both = JobSpec(
        "j", (Role("lead", demand=Demand(memory=GIB)), Role("work", demand=Demand(memory=8 * GIB))), user="u"
    )
    took = tuple(Took(role.name, 1, asked_of(role), Amounts(memory=128 * MIB)) for role in both.roles)
    needs = taught(*(Run(known_of(both, 0), 1, 1, took=took, good=True) for _ in range(3)))
    assert [(need.role, need.asked) for need in said(needs, both)] == [("lead", GIB), ("work", 8 * GIB)]


def test_jobs_of_nobody_are_alike_by_queue_only() -> None:
    nobody = spec(user="", memory=24 * GIB)
    assert said(taught(*(run(nobody, memory=GIB) for _ in range(3))), nobody)[0].own is False


def test_what_was_not_seen_for_longest_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_GROUPS", 4)
    jobs = [JobSpec(name, (Role(demand=Demand(memory=24 * GIB)),), name, user="u") for name in "abc"]
    needs = taught(*(run(job, memory=GIB) for job in (jobs[0], jobs[1], jobs[0], jobs[2]) for _ in range(3)))
    assert len(needs._groups) == 4
    assert [bool(said(needs, job)) for job in jobs] == [True, False, True]


def test_the_same_runs_say_the_same() -> None:
    runs = [run(JOB, memory=(n * 7919 % 23) * GIB // 3) for n in range(200)]
    assert said(taught(*runs), JOB) == said(taught(*runs), JOB)


def test_peaks_without_any_know_nothing() -> None:
    assert (Peaks().most(), Peaks().enough(module.RULES["memory"])) == (0, None)


def test_a_job_is_given_what_is_applied_and_asks_for_the_rest() -> None:
    needs = (Need("task", "memory", 24 * GIB, GIB, applied=True), Need("task", "cpus", 8000, 1000))
    job = spec(memory=24 * GIB, cpus=8000, gpus=1)
    assert sized(job, needs).roles[0].demand == Demand(gpus=1, cpus=8000, memory=GIB)
    assert sized(sized(job, needs), ()) == sized(job, needs)
