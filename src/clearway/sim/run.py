"""A scenario played from its beginning to its end, and any stream of jobs driven through the same loop."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from clearway.loop.world import World
from clearway.model.asks import Book, ControllerUp, SetBudget, SetClock, SetLimit, SetMachineType, SetQueue, SetSchedule
from clearway.model.events import MachineOrdered, NodeAdded, Record, Refused, Submitted
from clearway.model.ids import JobId, NodeId
from clearway.model.job import WHOLE
from clearway.sim.driver import Driver
from clearway.sim.engine import SimEngine
from clearway.sim.events import RerunWish
from clearway.sim.faults import Script
from clearway.sim.flow_play import FlowPlay
from clearway.sim.forecasting import forecasting_for
from clearway.sim.heap import VirtualClock
from clearway.sim.provider import SimProvider
from clearway.sim.scenario import read_scenario
from clearway.sim.script import Scenario

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from clearway.model.asks import Ask
    from clearway.ports.engine import Report
    from clearway.sim.arrivals import Arrivals, Listed
    from clearway.sim.truth import Truth


class Outcome(msgspec.Struct, frozen=True, eq=False):
    """What came of a scenario. `records` is the journal; moments are microseconds from the scenario's beginning.

    `end_us` is the end of the observation. `jobs` and `nodes` are names by number. What only the simulator knows:
    `busy`, by a job's name, the part of its devices that it really used, in thousandths, where that is not all of it.
    `refused` are wishes of people that were answered with an error.
    """

    scenario: Scenario
    records: list[Record]
    end_us: int
    jobs: dict[JobId, str]
    nodes: dict[NodeId, str]
    busy: dict[str, int]
    refused: list[tuple[int, str]]


def simulate(source: str | Path | Scenario, *, seed: int = 0) -> Outcome:
    """Play a scenario in virtual time; the same source and seed give the same outcome, on any machine.

    Errors: those of `read_scenario`, where `source` is not one that has been read.
    """
    scenario = source if isinstance(source, Scenario) else read_scenario(source)
    journal: list[Record] = []

    def rebuild() -> World:
        world = World(scenario.policy, seed)
        for record in journal:
            world.apply(record)
        return forecasting_for(world)

    engine = SimEngine(VirtualClock(), scenario.nodes, scenario.policy.lease_us)
    script = Script(scenario.events, journal, rebuild, scenario.clock_us if scenario.schedules else None)
    busy: dict[str, int] = {}

    def entered(name: str, job: JobId, truth: Truth) -> None:
        script.entered(name, job)
        if truth.busy != WHOLE:
            busy[name] = truth.busy

    provider = SimProvider(engine, {one.kind.name: one.boots for one in scenario.types}) if scenario.types else None
    driver = Driver(rebuild(), engine, scenario.arrivals(), journal.extend, script, entered, provider)
    play = script.play_of = FlowPlay(scenario, engine, entered)
    driver.listen = play.hear
    engine.keeps = any(isinstance(event, RerunWish) for event in scenario.events)
    driver.opening = _opening(engine, _set_up(scenario))
    end_us = driver.run(scenario.until_us)
    return _outcome(scenario, journal, end_us, busy, driver.refused)


def drive(
    world: World,
    engine: SimEngine,
    arrivals: Iterable[Listed] | Arrivals,
    sink: Callable[[list[Record]], None],
    until_us: int | None = None,
    set_up: Sequence[Ask] = (),
) -> int:
    """Drive jobs, pulled in order of time when their moment comes, through a world; return the moment of the end.

    `sink` is given the records of each step before they are carried out. `set_up` is asked first (queues, limits).
    Memory grows with the jobs that are alive, not with those that have been.
    """
    driver = Driver(world, engine, arrivals, sink)
    driver.opening = _opening(engine, set_up)
    return driver.run(until_us)


def _set_up(scenario: Scenario) -> list[Ask]:
    by_wall = scenario.clock_us and (scenario.schedules or scenario.budgets)
    clock: list[Ask] = [SetClock(scenario.clock_us)] if by_wall else []
    schedules: list[Ask] = [SetSchedule(entry.spec) for entry in scenario.schedules]
    queues: list[Ask] = [
        *map(SetLimit, scenario.limits),
        *map(SetBudget, scenario.budgets),
        *map(SetQueue, scenario.queues),
        *map(Book, scenario.bookings),
    ]
    types: list[Ask] = [SetMachineType(one.kind) for one in scenario.types]
    return [*clock, *queues, *types, *schedules]


def _opening(engine: SimEngine, set_up: Sequence[Ask]) -> list[Ask | Report]:
    found = engine.open()
    return [ControllerUp(), *found.gone, *found.nodes, *set_up]


def _outcome(
    scenario: Scenario, journal: list[Record], end_us: int, busy: dict[str, int], refused: list[tuple[int, str]]
) -> Outcome:
    jobs = {r.job: r.spec.name if isinstance(r, Submitted) else r.name for r in journal if isinstance(r, _ENTRIES)}
    nodes = {r.node: r.spec.name for r in journal if isinstance(r, NodeAdded)}
    nodes |= {r.node: r.name for r in journal if isinstance(r, MachineOrdered)}
    return Outcome(scenario, journal, end_us, jobs, nodes, busy, refused)


_ENTRIES = (Submitted, Refused)
