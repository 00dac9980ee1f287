"""A controller that dies between any two of its acts, hundreds of times in one run, from one seed.

Its successors have the journal and the engine, nothing else. Whatever the moment: no job accepted is lost, no attempt
starts twice, the books add up, and in the end nothing runs that nobody knows of.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

from clearway.control.controller import Controller
from clearway.loop.world import World
from clearway.model import events as ev
from clearway.model.fleet import PolicySpec
from clearway.model.states import TERMINAL
from clearway.sim.heap import VirtualClock
from clearway.store.memory import MemoryJournal
from clearway.testing.virtual import Life
from tests.test_differential import SETTINGS, machines, workload

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from clearway.model.actions import Action
    from clearway.ports.engine import Engine, Inventory, Measured, Report

KILL_ONE_IN = 12
"""So often, at each of four places of a turn, the controller dies."""


class Killed(BaseException):
    """The controller dies here."""


class Fate:
    """Decides where it dies."""

    def __init__(self, seed: int) -> None:
        self._rng = random.Random(seed)
        self.kills = 0

    def maybe(self) -> None:
        if self._rng.randrange(KILL_ONE_IN) == 0:
            self.kills += 1
            raise Killed


class FatalJournal(MemoryJournal):
    """A journal at whose appends the controller may die: before, and after."""

    def __init__(self, fate: Fate) -> None:
        super().__init__()
        self._fate = fate

    def append(self, records: Sequence[ev.Record]) -> int:
        self._fate.maybe()
        last = super().append(records)
        self._fate.maybe()
        return last


class FatalEngine:
    """An engine at whose orders the controller may die: before some, and after all."""

    trouble = ""

    def __init__(self, engine: Engine, fate: Fate) -> None:
        self._engine, self._fate = engine, fate

    @property
    def measured(self) -> Measured:
        return self._engine.measured

    @property
    def lacks(self) -> Mapping[str, str]:
        return self._engine.lacks

    def enforced(self) -> dict[str, str]:
        return self._engine.enforced()

    def open(self) -> Inventory:
        return self._engine.open()

    def carry_out(self, actions: Sequence[Action]) -> None:
        for action in actions:
            self._fate.maybe()
            self._engine.carry_out([action])
        self._fate.maybe()

    def reports(self) -> list[Report]:
        return self._engine.reports()

    def wait(self, timeout_s: float) -> None:
        self._engine.wait(timeout_s)

    def wake(self) -> None:
        self._engine.wake()

    def acknowledge(self, tasks: Sequence[ev.TaskRef]) -> None:
        self._engine.acknowledge(tasks)

    def look(self) -> None:
        self._engine.look()

    def close(self) -> None:
        self._engine.close()


@pytest.mark.parametrize("seed", range(6))
def test_dying_between_any_two_acts(seed: int) -> None:
    clock, policy, fate = VirtualClock(), PolicySpec(lease_us=5_000_000), Fate(seed)
    engine = machines(clock, policy)
    journal = FatalJournal(fate)
    life = Life(clock, engine, workload(seed))
    while True:
        controller = Controller(World(policy, seed), clock, FatalEngine(engine, fate), journal, first=SETTINGS)
        try:
            controller.take_over()
            life.live(controller)
            break
        except Killed:
            continue
    assert fate.kills > 100
    records = [entry.record for entry in journal.read()]
    check(records, policy, seed)
    assert not engine._runs.keys() - {(j, e.attempt) for j, e in controller.world.jobs.items() if e.held}
    assert not [row for row in controller.board.jobs.values() if row.state not in TERMINAL and row.grants]


def check(records: list[ev.Record], policy: PolicySpec, seed: int) -> None:
    world = World(policy, seed)
    for record in records:
        world.apply(record)
        world.validate()
    submitted = [r.job for r in records if isinstance(r, ev.Submitted)]
    assert submitted == list(range(1, len(submitted) + 1))
    starts = [(r.job, r.attempt) for r in records if isinstance(r, ev.Started)]
    ups = [r.task for r in records if isinstance(r, ev.TaskStarted)]
    ends = [r.job for r in records if isinstance(r, ev.Ended)]
    for once in (starts, ups, ends):
        assert len(once) == len(set(once))
    assert len(ends) > 0.8 * len(submitted) > 0
    assert not any(entry.held for entry in world.jobs.values())
