"""A large fleet with work on it, for measuring decisions: the core alone, and the whole loop around it.

Both rigs do the same: `turn(ends, arrivals, now_us)` is one cycle and returns what started. `CoreRig` makes the core
calls of the loop and nothing else; `LoopRig` steps the world, with every record of a job's life from submit to end.
"""

from __future__ import annotations

import random
from itertools import accumulate
from typing import TYPE_CHECKING, Protocol

import msgspec

from clearway.core.cycle import decide
from clearway.core.ledger import Held
from clearway.core.line import Waiting
from clearway.core.protocols import Candidate
from clearway.core.view import Reservation, Running, View
from clearway.loop.world import World
from clearway.model.asks import ControllerUp, SetQueue, Submit
from clearway.model.events import ClassWaits, Reserved, Started, Stopping, TaskRef
from clearway.model.fleet import NodeSpec, QueueSpec
from clearway.model.ids import JobId, NodeId
from clearway.model.values import MILLI, SECOND_US
from clearway.model.words import read_job
from clearway.policies.registry import rules_for
from clearway.ports.engine import NodeIsUp, TaskIsGone, TaskIsUp

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clearway.core.ledger import Ledger
    from clearway.model.asks import Ask
    from clearway.model.events import Record
    from clearway.model.fleet import PolicySpec
    from clearway.model.job import JobSpec
    from clearway.ports.engine import Report

NODES = 10_000
GPUS_OF = {"A100": 8, "H100": 8, "V100": 4, "T4": 4}
SHAPES = ((1, 8, 64), (1, 4, 32), (2, 16, 128), (4, 32, 256))  # GPUs, CPUs and GiB of a task
CPUS_A_GPU, GIB_A_GPU = 16, 128
GIB = 2**30
SHORTEST_S, LONGEST_S = 600, 36_000  # estimates: ten minutes to ten hours


class Rig(Protocol):
    """A fleet and a line with one way to go on."""

    @property
    def ledger(self) -> Ledger:
        """The books."""
        ...

    @property
    def waiting(self) -> int:
        """How many jobs wait."""
        ...

    def turn(self, ends: Sequence[JobId], arrivals: Sequence[JobSpec], now_us: int) -> list[Started]:
        """Take in ends and arrivals, decide, and return what started."""
        ...

    def validate(self) -> None:
        """Recompute the books; LedgerError where they are wrong."""
        ...


def fleet() -> list[NodeSpec]:
    """Return the nodes: four models in turn, CPUs and memory more than tasks of all devices ask for."""
    models = list(GPUS_OF)
    found = []
    for i in range(NODES):
        model = models[i % len(models)]
        gpus = GPUS_OF[model]
        cpus, memory = CPUS_A_GPU * MILLI * gpus, GIB_A_GPU * GIB * gpus
        found.append(NodeSpec(f"n{i}", gpus=gpus, gpu_model=model, cpus=cpus, memory=memory))
    return found


class Arrivals:
    """Jobs as they come: shapes by chance, as many of a model as it has GPUs; each with an estimate of its own."""

    def __init__(self, seed: int, queues: Sequence[str] = ("default",), *, distinct: bool = False) -> None:
        """Draw from all shapes in all queues; `distinct`: no job asks for the memory that another one does."""
        self._chance = random.Random(seed)
        self._distinct, self._drawn = distinct, 0
        self._shapes = [_job(model, shape, queue) for queue in queues for model in GPUS_OF for shape in SHAPES]
        self._weights = list(accumulate(GPUS_OF[spec.roles[0].demand.gpu_models[0]] for spec in self._shapes))

    def draw(self, many: int) -> list[JobSpec]:
        """Return so many jobs."""
        return [self._one() for _ in range(many)]

    def _one(self) -> JobSpec:
        (shape,) = self._chance.choices(self._shapes, cum_weights=self._weights)
        estimate_us = self._chance.randrange(SHORTEST_S, LONGEST_S) * SECOND_US
        if not self._distinct:
            return msgspec.structs.replace(shape, time_estimate_us=estimate_us)
        self._drawn += 1
        (role,) = shape.roles
        demand = msgspec.structs.replace(role.demand, memory=role.demand.memory - self._drawn)
        roles = (msgspec.structs.replace(role, demand=demand),)
        return msgspec.structs.replace(shape, time_estimate_us=estimate_us, roles=roles)


def _job(model: str, shape: tuple[int, int, int], queue: str) -> JobSpec:
    gpus, cpus, gib = shape
    return read_job(
        {"name": "job", "queue": queue, "gpus": gpus, "gpu_model": model, "cpus": cpus, "memory": f"{gib}GiB"}
    )


class CoreRig:
    """The core calls that the loop makes for each decision (`loop.state`), and nothing else."""

    def __init__(self, policy: PolicySpec, queues: Sequence[QueueSpec] = ()) -> None:
        """Begin with the fleet, empty."""
        self._view = View(rules_for(policy))
        for number, node in enumerate(fleet()):
            self._view.ledger.add_node(NodeId(number), node)
        for queue in queues:
            self._view.set_queue(queue, ())
        self._jobs: dict[JobId, Candidate] = {}
        self._next = 1

    @property
    def ledger(self) -> Ledger:
        """The books."""
        return self._view.ledger

    @property
    def waiting(self) -> int:
        """How many jobs wait."""
        return self._view.line.count

    def turn(self, ends: Sequence[JobId], arrivals: Sequence[JobSpec], now_us: int) -> list[Started]:
        """Free what ended, let the new ones join, decide, and count what started."""
        view = self._view
        for job in ends:
            view.free_task(job, self._jobs.pop(job).spec, 0, 0)
        for spec in arrivals:
            self._join(spec, now_us)
        if not view.line.count:  # as in `World._decide`: nobody waits, so there is nothing to decide
            return []
        return self._carry_out(decide(view, now_us).records, now_us)

    def _join(self, spec: JobSpec, now_us: int) -> None:
        job = JobId(self._next)
        self._next += 1
        candidate = self._jobs[job] = Candidate(job, spec, now_us, spec.estimate_us, spec.priority)
        self._view.join(Waiting(candidate, 0, spec.estimate_us), now_us)

    def _carry_out(self, records: Sequence[object], now_us: int) -> list[Started]:
        view, started = self._view, []
        view.ledger.gained.clear()
        view.changed_limits.clear()
        view.promises_changed = view.victims_changed = False
        for record in records:
            if isinstance(record, Started):
                self._start(record, now_us)
                started.append(record)
            elif isinstance(record, ClassWaits):
                view.line.classes[record.cls].reasons = record.reasons
                view.line.new.discard(record.cls)
            elif isinstance(record, Reserved):
                self._promise(record)
            else:
                raise TypeError(f"nothing here asks for {record}")
        return started

    def _start(self, record: Started, now_us: int) -> None:
        view, job, candidate = self._view, record.job, self._jobs[record.job]
        spec = candidate.spec
        view.leave(job)
        held = [Held(grant, spec.roles[grant.role].demand) for grant in record.grants]
        view.start(job, spec, held, now_us)
        running = Running(candidate, record.attempt, now_us, 0)
        running.use(record.grants)
        view.run(running)

    def _promise(self, record: Reserved) -> None:
        reservations = self._view.reservations
        if record.grants:
            reservations[record.job] = Reservation(record.job, record.start_us, record.grants, record.held)
        else:
            reservations.pop(record.job, None)
        self._view.promises_changed = True

    def validate(self) -> None:
        """Recompute the books; LedgerError where they are wrong."""
        self._view.ledger.validate()


class LoopRig:
    """The whole loop: submits, starts, reports of tasks that are up and gone, and all records of it."""

    def __init__(
        self, policy: PolicySpec, queues: Sequence[QueueSpec] = (), nodes: Sequence[NodeSpec] | None = None
    ) -> None:
        """Begin with the fleet, empty."""
        self.world = World(policy)
        self.records: Sequence[Record] = ()
        up = [NodeIsUp(node) for node in nodes or fleet()]
        self.world.step([ControllerUp(), *up, *map(SetQueue, queues)], 0)
        self._up: list[Report] = []
        self._tasks: dict[JobId, list[TaskRef]] = {}

    @property
    def ledger(self) -> Ledger:
        """The books."""
        return self.world.ledger

    @property
    def waiting(self) -> int:
        """How many jobs wait."""
        return self.world.state.view.line.count

    def turn(self, ends: Sequence[JobId], arrivals: Sequence[JobSpec], now_us: int) -> list[Started]:
        """Step once: what the last step started is up now and what it stopped is gone, these ended, those are new."""
        inputs: list[Ask | Report] = [*self._up, *self._gone(ends)]
        if arrivals:
            inputs.append(Submit(tuple(arrivals)))
        step = self.world.step(inputs, now_us)
        self.records = step.records
        started = [record for record in step.records if isinstance(record, Started)]
        self._up = [TaskIsUp(task) for record in started for task in _tasks(record)]
        self._tasks.update((record.job, _tasks(record)) for record in started)
        self._up += self._gone([record.job for record in step.records if isinstance(record, Stopping)])
        return started

    def _gone(self, ends: Sequence[JobId]) -> list[Report]:
        """Return the reports of ends; a job that was stopped, and waits again, has none."""
        return [TaskIsGone(task, 0) for job in ends for task in self._tasks.pop(job, ())]

    def validate(self) -> None:
        """Recompute the books; LedgerError where they are wrong."""
        self.world.validate()


def _tasks(record: Started) -> list[TaskRef]:
    return [TaskRef(record.job, record.attempt, grant.role, grant.index) for grant in record.grants]
