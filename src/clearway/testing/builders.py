"""Small builders for tests: nodes and jobs with few words, and a world that is driven by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import msgspec

from clearway.loop.world import Step, World
from clearway.model.asks import ControllerUp, Submit
from clearway.model.errors import ClearwayError
from clearway.model.events import TaskRef
from clearway.model.fleet import NodeSpec, PolicySpec
from clearway.model.job import Demand, JobSpec, Role
from clearway.model.values import SECOND_US
from clearway.ports.engine import NodeIsUp, TaskIsGone, TaskIsUp

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clearway.loop.entry import JobEntry
    from clearway.model.actions import Action
    from clearway.model.asks import Ask
    from clearway.model.events import Record
    from clearway.model.ids import JobId
    from clearway.model.reasons import Reason
    from clearway.ports.engine import Report

GIB = 2**30
R = TypeVar("R")
"""A kind of record."""


def node(name: str = "n", gpus: int = 4, **words: object) -> NodeSpec:
    """Return a node with 4 devices of 80 GiB, 16 CPUs and 64 GiB, or what the words of NodeSpec say instead."""
    usual = NodeSpec(name, cpus=16_000, memory=64 * GIB, gpus=gpus, gpu_model="A100", gpu_memory=80 * GIB)
    return msgspec.structs.replace(usual, **words)


def role(
    name: str = "task", tasks: int = 1, least: int | None = None, *, one_per_node: bool = False, **needs: object
) -> Role:
    """Return a role of so many tasks, all needed unless `least` says fewer; `needs` are fields of Demand."""
    demand = msgspec.structs.replace(Demand(), **needs)
    return Role(name, tasks, tasks if least is None else least, demand, one_per_node)


def job(name: str = "j", gpus: int = 1, tasks: int = 1, least: int | None = None, **words: object) -> JobSpec:
    """Return a job whose tasks ask for so many devices each; `words` are fields of JobSpec (roles replace tasks)."""
    return msgspec.structs.replace(JobSpec(name, roles=(role(tasks=tasks, least=least, gpus=gpus),)), **words)


class Bench:
    """A world driven by hand: it keeps the journal and the orders, and checks the books after every step.

    `now_us` is moved by `at` and `pass_s`. Nothing happens by itself: a test reports what it wants to have happened.
    """

    def __init__(self, *nodes: NodeSpec, policy: PolicySpec | None = None, seed: int = 0) -> None:
        """Begin with these nodes up, at second 0."""
        self._policy, self._seed = policy, seed
        self.world = World(policy, seed)
        self.now_us = 0
        self.journal: list[Record] = []
        self.orders: list[Action] = []
        self.next_us: int | None = None
        self.step(ControllerUp(), *map(NodeIsUp, nodes))

    # --- time and steps ------------------------------------------------------------------------

    def step(self, *inputs: Ask | Report) -> Step:
        """Take a step with these inputs now."""
        step = self.world.step(inputs, self.now_us)
        self.journal += step.records
        self.orders += step.actions
        self.next_us = step.next_us
        self.world.validate()
        return step

    def at(self, moment_s: float, *inputs: Ask | Report) -> Step:
        """Go on to a second, taking a step at every moment at which the world wants one, and take a step there."""
        moment_us = round(moment_s * SECOND_US)
        while self.next_us is not None and self.now_us <= self.next_us < moment_us:
            self.now_us = self.next_us
            self.step()
        self.now_us = moment_us
        return self.step(*inputs)

    def pass_s(self, time_s: float) -> Step:
        """Let so many seconds pass."""
        return self.at(self.now_us / SECOND_US + time_s)

    # --- what happens --------------------------------------------------------------------------

    def submit(self, *specs: JobSpec) -> tuple[JobId, ...]:
        """Enter jobs as one batch and return their numbers; raises the ClearwayError of a refusal."""
        answer = self.step(Submit(specs)).answers[0]
        if isinstance(answer, ClearwayError):
            raise answer
        if not isinstance(answer, tuple):
            raise TypeError(f"a submit was answered with {answer!r}")
        return answer

    def task(self, number: JobId, index: int = 0, role: int = 0) -> TaskRef:
        """Return a task of a job's present attempt."""
        return TaskRef(number, self.world.jobs[number].attempt, role, index)

    def tasks(self, number: JobId) -> list[TaskRef]:
        """Return the tasks of a job that hold something."""
        entry = self.world.jobs[number]
        return [TaskRef(number, entry.attempt, *key) for key in entry.held]

    def up(self, number: JobId) -> Step:
        """Report that all tasks of a job run."""
        return self.step(*map(TaskIsUp, self.tasks(number)))

    def end(self, number: JobId, exit_code: int | None = 0, error: str = "") -> Step:
        """Report that all tasks of a job are gone."""
        return self.step(*(TaskIsGone(task, exit_code, error) for task in self.tasks(number)))

    # --- looking -------------------------------------------------------------------------------

    def entry(self, number: JobId) -> JobEntry:
        """Return a job that is not over."""
        return self.world.jobs[number]

    def of(self, number: JobId, kind: type[R]) -> list[R]:
        """Return the records of a kind about a job."""
        return [r for r in self.all(kind) if getattr(r, "job", None) == number or _task_job(r) == number]

    def all(self, kind: type[R]) -> list[R]:
        """Return the records of a kind."""
        return [r for r in self.journal if isinstance(r, kind)]

    def last(self, kind: type[R]) -> R:
        """Return the newest record of a kind."""
        return self.all(kind)[-1]

    def waits(self, number: JobId) -> tuple[Reason, ...]:
        """Return why a job waits: its own reasons, or those of its class."""
        entry = self.world.jobs[number]
        if entry.reasons or entry.cls is None:
            return entry.reasons
        return self.world.state.view.line.classes[entry.cls].reasons

    def rebuilt(self) -> World:
        """Return another world, made from the journal."""
        return rebuild(self.journal, self._policy, self._seed)


def rebuild(journal: Sequence[Record], policy: PolicySpec | None = None, seed: int = 0) -> World:
    """Return the world that a journal leads to."""
    world = World(policy, seed)
    for record in journal:
        world.apply(record)
    return world


def _task_job(record: object) -> JobId | None:
    task = getattr(record, "task", None)
    return task.job if isinstance(task, TaskRef) else None
