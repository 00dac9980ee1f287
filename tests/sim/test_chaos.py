"""Random scenarios with faults, through the whole driver: what may never happen, and what must in the end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import yaml

import clearway.sim.run
from clearway.loop.world import Step, World
from clearway.model.events import Ended, Record, Submitted
from clearway.model.states import TERMINAL
from clearway.observe.timeline import Timeline
from clearway.sim.run import Outcome, simulate
from clearway.testing.judge.places import asked, capacity
from clearway.testing.judge.rules import once, sums, why
from clearway.testing.judge.world import World as Judged
from tests.sim import chaos

if TYPE_CHECKING:
    from collections.abc import Sequence

SEEDS = range(60)


class Checked(World):
    """The real loop, with its books recomputed after every step."""

    def step(self, inputs: Sequence[Any], now_us: int) -> Step:
        step = super().step(inputs, now_us)
        self.validate()
        return step


@pytest.fixture(autouse=True)
def _checked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clearway.sim.run, "World", Checked)


@pytest.mark.parametrize("seed", SEEDS)
def test_whatever_happens_the_rules_hold(seed: int) -> None:
    words = chaos.scenario(seed)
    outcome = simulate(yaml.safe_dump(words), seed=seed)
    judged = Judged(words, timeline(outcome))
    broken = [f"{rule.__name__}: {line}" for rule in (capacity, sums, once, why, asked) for line in rule(judged)]
    assert broken == []


@pytest.mark.parametrize("seed", SEEDS)
def test_the_journal_alone_makes_the_same_world(seed: int) -> None:
    outcome = simulate(yaml.safe_dump(chaos.scenario(seed)), seed=seed)
    world = World(outcome.scenario.policy, seed)
    for record in outcome.records:
        world.apply(record)
    world.validate()
    ended = {r.job for r in outcome.records if isinstance(r, Ended)}
    taken = {r.job for r in outcome.records if isinstance(r, Submitted)}
    live = {job for job, entry in world.jobs.items() if entry.state not in TERMINAL}
    assert live == taken - ended


@pytest.mark.parametrize("seed", SEEDS)
def test_when_all_is_healed_nothing_runs_for_ever(seed: int) -> None:
    outcome = simulate(yaml.safe_dump(chaos.scenario(seed)), seed=seed)
    shown = timeline(outcome)["jobs"]
    assert [name for name, job in shown.items() if job["state"] == "running"] == []


def timeline(outcome: Outcome) -> dict[str, Any]:
    shown = Timeline()
    records: list[Record] = outcome.records
    for record in records:
        shown.apply(record)
    return shown.as_dict()
