"""Advice about jobs on a fleet of a file: the scenario is played up to a moment, and asked there."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from clearway.loop.world import World
from clearway.model.words import read_job
from clearway.sim.forecasting import forecasting_for
from clearway.sim.run import simulate
from clearway.sim.scenario import read_scenario
from clearway.whatif.outlook import advise

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from clearway.model.job import JobSpec
    from clearway.model.outlook import Outlook


def advise_in(path: Path, jobs: Sequence[Mapping[str, object]], at_us: int = 0) -> list[tuple[str, Outlook]]:
    """Return the name and the outlook of each job if they were submitted at a moment of a scenario.

    Errors: those of `read_scenario`, of a job's words, and of a submit.
    """
    scenario = read_scenario(path)
    world = World(scenario.policy)
    for record in simulate(scenario).records:
        if record.at_us > at_us:
            break
        world.apply(record)
    forecasting_for(world)
    specs = [_read(world, dict(words)) for words in jobs]
    return [(spec.name, found) for spec, found in zip(specs, advise(world, specs, at_us), strict=True)]


def _read(world: World, words: dict[str, Any]) -> JobSpec:
    """Read a job with the defaults of its queue: of those upwards from it, the nearest that states a word decides."""
    queue = words.get("queue")
    found: dict[str, Any] = {}
    for name in reversed(world.state.view.queues.chain(queue if isinstance(queue, str) else "default")):
        found.update(json.loads(world.queues[name].defaults))
    return read_job(words, found)
