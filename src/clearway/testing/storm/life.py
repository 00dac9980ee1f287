"""A controller that lives for days, with work coming and going: what it holds at the end of a day it held before.

Jobs, gangs, arrays, chains, steps of workflows, ticks of schedules and trials of searches come and go, some fail, some
are cancelled, nodes fall silent and come back. Every hour what all of it takes is counted, and compared between days.
"""

from __future__ import annotations

import gc
from collections import Counter
from random import Random
from typing import TYPE_CHECKING, NamedTuple

from clearway.control import snapshots
from clearway.control.board import Board
from clearway.control.controller import AUDIT_EVERY_US, Controller
from clearway.control.upkeep import tidy, write
from clearway.engines.fake import FakeEngine, Life, ManualClock, Room
from clearway.flow.schedule_words import read_schedule
from clearway.flow.search_words import read_search
from clearway.flow.words import read_flow
from clearway.loop.world import World
from clearway.model.array import read_array
from clearway.model.asks import Cancel, SetLimit, SetPolicy, SetQueue, SetSchedule, Submit, SubmitSearch
from clearway.model.fleet import NodeSpec, PolicySpec
from clearway.model.job import Demand, JobSpec, Role
from clearway.model.values import SECOND_US
from clearway.ports.journal import Mark
from clearway.testing.storm import checks
from clearway.testing.storm.clocks import WALL_US
from clearway.testing.storm.sizes import sizes
from clearway.testing.storm.storm import PromptUpkeep
from clearway.testing.storm.weather import LIMITS, QUEUES

if TYPE_CHECKING:
    from clearway.model.actions import Launch
    from clearway.model.asks import Ask
    from clearway.model.flow import ScheduleSpec, SearchSpec
    from clearway.store.sqlite import SqliteJournal

HOUR_US = 3600 * SECOND_US
JOBS_AN_HOUR = 240
SNAPSHOT_EVERY = 5_000
KEPT_FINISHED = 200
ROOM_TO_MOVE = 1.25
SLACK = 300
"""A container of a day may have so much more at the second day's end than it had in any hour of the first."""
BY_DESIGN = (
    "world.state.over._codes",
    "world.state.flows.searches",
    "world.state.flows.schedules.tracks[].taken",
    "controller._engine",
)
"""One byte a job for ever; the newest thousand searches; the newest ten thousand ticks of a schedule.

What the engine of tests holds is no matter.
"""


class Counted(NamedTuple):
    """What was there at the end of an hour."""

    sizes: Counter[str]
    objects: int
    records: int
    jobs: int


class Days:
    """One controller that lives through hours of `JOBS_AN_HOUR` jobs and more, on a journal with retention."""

    def __init__(self, journal: SqliteJournal, seed: int = 1, retention_us: int = HOUR_US, varied: int = 2000) -> None:
        """Begin before anything has happened. `varied`: so many different demands come."""
        self._varied = varied
        self._chance, self._journal = Random(seed), journal
        self.clock = ManualClock(WALL_US)
        nodes = [NodeSpec(f"n{i}", cpus=16000, memory=2**36, gpus=4, gpu_model="T4") for i in range(4)]
        self.room = Room(nodes, self.clock, self._life, seed=seed)
        policy = PolicySpec(preempt=("priority",), priority_inheritance=True, calm_us=0, lease_us=30 * SECOND_US)
        first: list[Ask] = [SetPolicy(policy), *map(SetQueue, QUEUES), *map(SetLimit, LIMITS)]
        first += map(SetSchedule, _schedules())
        self.controller = Controller(
            World(policy, seed), self.clock, FakeEngine(self.room), journal, board=Board(KEPT_FINISHED),
            first=first, upkeep=_Upkeep(journal, every=SNAPSHOT_EVERY, retention_us=retention_us),
        )  # fmt: skip
        self.controller.take_over()
        self._number = 0
        self._looked_us = self.clock.now_us()
        self._next_job_us = self.clock.now_us()
        self._away: str | None = None

    def live(self, hours: int) -> list[Counted]:
        """Live so many hours, and return what was there at the end of each."""
        return [self._hour() for _ in range(hours)]

    def _hour(self) -> Counted:
        end_us = self.clock.now_us() + HOUR_US
        self._move_a_node()
        while self.clock.now_us() < end_us:
            ahead = (self.controller.next_us, self._next_job_us, self._looked_us + AUDIT_EVERY_US, end_us)
            wanted = min(at_us for at_us in ahead if at_us is not None)
            FakeEngine(self.room).wait(max(wanted - self.clock.now_us(), 0) / SECOND_US)
            self.controller.turn([*self.controller.reports(), *self._asks()])
            if self.clock.now_us() - self._looked_us >= AUDIT_EVERY_US:
                self._looked_us = self.clock.now_us()
                self.controller.look_at_itself()
        self.controller.world.validate()
        return self._count()

    def _count(self) -> Counted:
        self.room.clean()
        gc.collect()
        parts = {"world": self.controller.world, "board": self.controller.board, "controller": self.controller}
        return Counted(sizes(parts), len(gc.get_objects()), self._journal.count(), self.controller.world.state.next_job)

    def _move_a_node(self) -> None:
        if self._away is not None:
            self.room.bring_back(self._away)
            self._away = None
        else:
            self._away = self._chance.choice(list(self.room.nodes))
            (self.room.lose_node if self._chance.randrange(2) else self.room.cut_node)(self._away)

    def _asks(self) -> list[Ask]:
        asks: list[Ask] = []
        while self._next_job_us <= self.clock.now_us():
            self._next_job_us += self._chance.randint(1, 2 * HOUR_US // JOBS_AN_HOUR)
            self._number += 1
            asks.append(Submit((self._job(),)))
            if self._number % 500 == 0:
                asks.append(SubmitSearch(_search(self._number)))
            if self._number % 10 == 0 and self.controller.world.jobs:
                asks.append(Cancel(self._chance.choice(list(self.controller.world.jobs))))
        return asks

    def _job(self) -> JobSpec:
        chance, number = self._chance, self._number
        demand = chance.choice((
            Demand(gpus=1), Demand(gpus=2, cpus=1000), Demand(share=500), Demand(cpus=chance.randint(1, self._varied)),
        ))  # fmt: skip
        before = f"j{number - 1}"
        known = self.controller.world.job_named(before) is not None
        return JobSpec(
            f"j{number}", (Role("task", tasks := chance.choice((1, 1, 2)), tasks, demand),),
            queue=chance.choice(("default", "lab", "small")), priority=chance.randrange(3),
            user=f"u{number % 50}", uses=("db",) if number % 40 == 0 else (),
            after=(before,) if known and number % 7 == 0 else (), max_retries=chance.randrange(2),
            start_deadline_us=HOUR_US, time_limit_us=600 * SECOND_US, retry_jitter="full",
            array=read_array("array", "0-4%3") if number % 50 == 0 else None, idempotency_key=f"key-{number}",
        )  # fmt: skip

    @staticmethod
    def _life(launch: Launch) -> Life:
        chance = Random(f"{launch.spec.name} {launch.task.attempt}")
        run_us = chance.choice((1, 5, 20, 60, 900)) * SECOND_US
        return Life(run_us, chance.choice((0, 0, 0, 1)), chance.choice((0, 3 * SECOND_US, None)))


class _Upkeep(PromptUpkeep):
    """Also drops what is past its time."""

    def _take(self, world: World, board: Board) -> None:
        mark = Mark(self._journal.last(), world.now_us)
        self.begin(mark.number)
        write(self._journal, mark, snapshots.written(world, board, mark.number))
        tidy(self._journal, mark.at_us, self._retention_us)


def _schedules() -> list[ScheduleSpec]:
    flow = read_flow({
        "name": "report",
        "steps": [
            {"name": "load", "run": "true", "cpus": 1},
            {"name": "end", "after": ["load"], "rule": "all_done", "run": "true", "gpus": 1},
        ],
    })  # fmt: skip
    return [
        read_schedule({"name": "minute", "cron": "* * * * *", "job": {"run": "true", "cpus": 1}}, {}),
        read_schedule(
            {"name": "often", "cron": "* * * * *", "workflow": "report", "overlap": "allow"}, {"report": flow}
        ),
    ]


def _search(number: int) -> SearchSpec:
    job = {"run": "true", "cpus": 1}
    return read_search({"name": f"x{number}", "trials": 3, "space": {"x": [1, 2, 3]}, "sampler": "grid", "job": job})


def judge(first: list[Counted], second: list[Counted]) -> None:
    """See that a second day left nothing behind that a first had not. BrokenError names what grew."""
    most = Counter[str]()
    for one in first:
        most |= one.sizes
    grown = [
        f"{path}: {most[path]} and then {held}"
        for path, held in sorted(second[-1].sizes.items())
        if held > most[path] * ROOM_TO_MOVE + SLACK and not path.startswith(BY_DESIGN)
    ]
    checks.demand(holds=not grown, text=f"it grows: {'; '.join(grown)}")
    for what, slack in (("objects", 0), ("records", 2 * SNAPSHOT_EVERY)):  # records are dropped with a snapshot
        before, after = max(getattr(one, what) for one in first), getattr(second[-1], what)
        checks.demand(holds=after <= before * ROOM_TO_MOVE + slack, text=f"{what} grow: {before} and then {after}")
    came = second[-1].jobs - first[-1].jobs
    checks.demand(holds=came >= JOBS_AN_HOUR * len(second), text=f"only {came} jobs came and went")
