"""Every scenario, cut anywhere: a snapshot and the records after it lead to the world of the whole journal.

What is new in the world is in some scenario, so that what a snapshot leaves out is noticed here.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest

from clearway.loop.snapshot import WorldKept, restore, settled, take
from clearway.loop.world import World
from clearway.sim.run import simulate
from clearway.testing.builders import rebuild

if TYPE_CHECKING:
    from clearway.model.events import Record
    from clearway.model.fleet import PolicySpec

SCENARIOS = sorted((Path(__file__).parents[1] / "scenarios").glob("*.yaml"))
CUTS = 12
"""So many places are tried in each journal, from the first record to the last."""


def again(world: World) -> World:
    """Return the world that a snapshot of this one leads to, sent through its bytes."""
    return restore(msgspec.json.decode(msgspec.json.encode(take(world)), type=WorldKept))


def facts(world: World) -> WorldKept:
    world.validate()
    return settled(take(world))


@pytest.mark.parametrize("file", SCENARIOS, ids=lambda file: file.stem)
def test_a_snapshot_anywhere(file: Path) -> None:
    found = simulate(file)
    cut_anywhere(found.records, found.scenario.policy)


def cut_anywhere(records: list[Record], policy: PolicySpec) -> None:
    whole = facts(rebuild(records, policy))
    world = World(policy)
    last = cuts = 0
    for number, record in enumerate(records, 1):
        world.apply(record)
        moment_is_over = number == len(records) or records[number].at_us > record.at_us
        if moment_is_over and number - last >= len(records) // CUTS:
            world, last = again(world), number  # from here on it is one that came from a snapshot, or from several
            cuts += 1
    assert cuts
    assert facts(world) == whole
