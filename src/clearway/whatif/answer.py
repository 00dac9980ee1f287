"""What would have become of the past: the same jobs as things are and as they would be, paired job by job."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from clearway.model.errors import InputError
from clearway.sim.results.comparison import comparison, fleet_words
from clearway.sim.results.groups import fidelity, groups
from clearway.sim.results.replay import Plan, units
from clearway.sim.results.roll import Roll, roll
from clearway.sim.results.side_by_side import run_all
from clearway.sim.results.sizes import sizes
from clearway.sim.results.verdict import Answer, Came
from clearway.sim.results.window import busiest
from clearway.sim.thinking import MOST_US, NOBODY, Thinking, thinking
from clearway.sim.workloads import open_workload
from clearway.sim.workloads.fleets import Fleet, fleet_for, read_fleet
from clearway.sim.workloads.survey import Survey
from clearway.whatif.changes import other_limits, other_machines, other_queues

if TYPE_CHECKING:
    from collections.abc import Callable

    from clearway.model.fleet import PolicySpec
    from clearway.sim.results.outcome import Outcome
    from clearway.sim.workloads.trace import Trace

AS_IS, WHAT_IF = "as is", "what if"
NEVER_US = 1 << 61
FILES = (".yaml", ".yml", ".json", ".machines", ".csv", ".gz")


class Question(NamedTuple):
    """What is asked. `base` and `policy` are policies with their labels, `policy` None for the same one.

    `fleet`, `queues` and `limits` are changes as people write them; `think_us` 0 has every job enter when it did;
    jobs submitted before `first_us` fill the machines and do not count; `read` says which past it is.
    """

    workload: Path
    read: str
    base: tuple[str, PolicySpec]
    policy: tuple[str, PolicySpec] | None = None
    base_fleet: Path | None = None
    fleet: tuple[str, ...] = ()
    queues: tuple[str, ...] = ()
    limits: tuple[str, ...] = ()
    think_us: int = MOST_US
    first_us: int = 0
    seed: int = 0
    pictures: bool = False


@dataclass(frozen=True)
class Prepared:
    """A question whose past has been looked at: the two plans, and whose the jobs are."""

    question: Question
    trace: Trace
    who: Roll
    plans: tuple[Plan, Plan]

    def answer(self, workers: int, told: Callable[[int, int], None]) -> Answer | None:
        """Run both; None where it was interrupted before there was anything to compare."""
        plans, source = self.plans, "none"
        thought = None
        if self.question.think_us and (self.who.whose["user"] != NOBODY).any():
            source = "record" if self.who.recorded else "replay"
        if source == "record":
            thought = self._thinking(self.who.took_us)
            plans = (plans[0]._replace(thinking=thought), plans[1]._replace(thinking=thought))
        if source == "replay":
            outcomes = run_all(plans[:1], 1, told)
            if not outcomes or not outcomes[0].complete:
                return None
            thought = self._thinking(_took(len(self.who), outcomes[0]))
            plans = (plans[0], plans[1]._replace(thinking=thought))
            outcomes += run_all(plans[1:], 1, lambda _, finished: told(1, finished))
        else:
            outcomes = run_all(plans, workers, told)
        return self._said(plans, outcomes, thought, source) if len(outcomes) == len(plans) else None

    def _thinking(self, took_us: np.ndarray[tuple[int], np.dtype[np.int64]]) -> Thinking:
        submit_us = self.who.submit_us
        return thinking(self.who.whose["user"], submit_us, submit_us + took_us, self.question.think_us)

    def _said(self, plans: tuple[Plan, Plan], outcomes: list[Outcome], thought: Thinking | None, source: str) -> Answer:
        base, other = outcomes
        question = self.question
        classes = sizes(base.jobs.milli)
        hang = thought.jobs if thought is not None else 0
        held = max(0, len(self.who) - int(other.figures["jobs"])) if thought is not None and other.complete else 0
        return Answer(
            comparison(self.trace, plans, outcomes), question.read,
            f"{question.base[0]} on {fleet_words(plans[0].fleet.nodes)}", _changes(question, plans),
            tuple(groups(base.jobs, other.jobs, self.who, classes, question.seed)), fidelity(base.jobs, self.who),
            Came(len(self.who), hang, source, held, question.think_us), plans[0].first, question.seed,
        )  # fmt: skip


def prepare(question: Question) -> Prepared:
    """Look at the past and work out both sides. Raises InputError for a past or a change that cannot be."""
    trace = open_workload(question.workload)
    survey = Survey.of(trace)
    if not survey.jobs:
        raise InputError("workload", str(question.workload), "a workload with jobs that can be read")
    before = fleet_for(trace, survey, question.base_fleet)
    after = _changed(before, trace, survey, question)
    who = roll(trace.arrivals(), by_gpu=units(before.nodes)[0] == "gpus")
    first = int(np.searchsorted(who.submit_us, question.first_us))
    if first == len(who):
        raise InputError("since", question.first_us, "a time after which jobs were submitted")
    window = busiest(trace.arrivals(), before.nodes) if question.pictures else None
    policies = (question.base[1], (question.policy or question.base)[1])
    plans = (
        Plan(question.workload, before, AS_IS, policies[0], question.seed, 1.0, window, None, first),
        Plan(question.workload, after, WHAT_IF, policies[1], question.seed, 1.0, window, None, first),
    )
    return Prepared(question, trace, who, plans)


def _took(jobs: int, outcome: Outcome) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Return how long each job took in a replay; one that did not end never did."""
    found = np.full(jobs, NEVER_US, dtype=np.int64)
    for done in (outcome.early, outcome.jobs):
        if done is not None:
            found[done.number] = done.jct_us
    return found


def _changed(before: Fleet, trace: Trace, survey: Survey, question: Question) -> Fleet:
    changes = question.fleet
    after = before
    if len(changes) == 1 and changes[0].endswith(FILES):
        after = fleet_for(trace, survey, Path(changes[0]))
        if not read_fleet(Path(changes[0])).queues:
            after = after._replace(queues=before.queues)
    elif changes:
        after = before._replace(nodes=other_machines(before.nodes, changes))
    return after._replace(
        queues=other_queues(after.queues, question.queues),
        limits=other_limits(after.limits or before.limits, question.limits),
    )


def _changes(question: Question, plans: tuple[Plan, Plan]) -> tuple[str, ...]:
    """Return what is otherwise, one sentence each."""
    said = []
    if question.policy is not None:
        said.append(f"policy {question.policy[0]} instead of {question.base[0]}")
    if question.fleet:
        said.append(f"machines {' '.join(question.fleet)}: {fleet_words(plans[1].fleet.nodes)}")
    said += [f"queue {change}" for change in question.queues]
    return (*said, *(f"shared limit {change}" for change in question.limits))
