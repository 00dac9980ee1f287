"""Scenario files played by the simulator, shown as timelines, and judged."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, cast

import yaml

from clearway.observe.timeline import Timeline
from clearway.sim.run import simulate
from clearway.testing.judge.verdict import judge

if TYPE_CHECKING:
    from pathlib import Path

    from clearway.sim.run import Outcome
    from clearway.testing.judge.values import Raw


def timeline_of(outcome: Outcome) -> Raw:
    """Return the timeline (docs/timeline.md) of what came of a scenario."""
    timeline = Timeline(busy=outcome.busy)
    for record in outcome.records:
        timeline.apply(record)
    return timeline.as_dict()


def play(scenario: Raw) -> Raw:
    """Run a scenario given as a map and return its timeline. What `same` takes."""
    return timeline_of(simulate(yaml.safe_dump(scenario, sort_keys=False, allow_unicode=True)))


def judge_file(path: Path) -> tuple[Raw, list[str]]:
    """Run a scenario file; return its timeline and every broken line.

    Errors: those of `clearway.sim.scenario.read_scenario` (InputError, NotYetError) where the file cannot be run.
    """
    outcome = simulate(path)
    # As a reader of the printed timeline gets it.
    shown = cast("Raw", json.loads(json.dumps(timeline_of(outcome))))
    return shown, judge(outcome.scenario.raw, shown)
