"""Scenario files: which there are, what happens in one, and which of its expectations are broken."""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple

from clearway.model.errors import ClearwayError, InputError, NotYetError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from clearway.sim.script import Scenario
    from clearway.testing.judge import Breach

SUFFIXES = frozenset({".yaml", ".yml"})


class Verdict(NamedTuple):
    """What became of one scenario: broken lines, or why it could not be run, or neither."""

    file: Path
    broken: tuple[Breach, ...]
    refused: InputError | None
    took_s: float
    expects: bool = True
    """Whether the file has an `expect`; without one only the rules that always hold are judged."""

    @property
    def holds(self) -> bool:
        """Whether it ran and everything came true."""
        return not self.broken and self.refused is None

    @property
    def waits_for(self) -> str:
        """The word that this version does not carry out yet, if it was not run for that."""
        return self.refused.field if isinstance(self.refused, NotYetError) else ""


def files_of(paths: Iterable[Path]) -> list[Path]:
    """Return the scenario files that the paths name, those of a folder in order of name; InputError: there are none."""
    found: list[Path] = []
    for path in paths:
        if not path.exists():
            raise InputError("FILE_OR_FOLDER", str(path), "a file or a folder that exists")
        inside = sorted(p for p in path.rglob("*") if p.suffix in SUFFIXES and p.is_file()) if path.is_dir() else [path]
        if not inside:
            raise InputError("FILE_OR_FOLDER", str(path), "a folder with scenarios (.yaml, .yml)")
        found += inside
    return list(dict.fromkeys(found))


def timeline_of(path: Path) -> dict[str, Any]:
    """Run a scenario and return its timeline. Raises InputError for a file that is no scenario."""
    return _played(_read(path))


def alone(path: Path) -> list[tuple[str, dict[str, Any]]]:
    """Return what each order of a scenario's policy would come to alone, as summaries; nothing if none are weighed."""
    from msgspec.structs import replace

    from clearway.policies.registry import objectives

    scenario = _read(path)
    return [(name, _played(replace(scenario, policy=spec))["summary"]) for name, spec in objectives(scenario.policy)]


def judged(path: Path) -> Verdict:
    """Run a scenario and judge it: what it expects, and what holds in every one."""
    from clearway.testing.judge import Breach

    began, expects = monotonic(), True
    broken: list[Breach] = []
    refused = None
    try:
        scenario = _read(path)
        expects = bool(scenario.expect)
        broken = _broken(scenario)
    except InputError as error:
        refused = error
    except ClearwayError as error:  # a defect of ours; the other scenarios are judged nevertheless
        broken = [Breach(f"it cannot be played to its end: {error}")]
    return Verdict(path, tuple(broken), refused, monotonic() - began, expects)


def _broken(scenario: Scenario) -> list[Breach]:
    from clearway.sim.scenario import LARGER
    from clearway.testing.judge import Breach, breaches, check_expect, same, untold

    names = {name for batch in scenario.batches for name in batch.all_names()}
    larger = any(scenario.raw.get(key) for key in LARGER)
    check_expect(scenario.expect, names, larger=larger, places=_places(scenario))
    timeline = _played(scenario)
    refusals = [Breach(line) for line in untold(scenario.raw, timeline)]
    return [*refusals, *breaches(scenario.raw, timeline), *map(Breach, same(scenario.raw, _played_raw))]


def _places(scenario: Scenario) -> dict[str, set[str]]:
    """Return the names of the nodes, queues and limits that a scenario has or may come to have."""
    from clearway.sim.events import NodesJoin, QueueWish

    joined = [event.nodes for event in scenario.events if isinstance(event, NodesJoin)]
    nodes = {node.name for some in (scenario.nodes, *joined) for node in some}
    nodes |= {f"{kind['name']}-*" for kind in (scenario.raw.get("fleet") or {}).get("types") or []}
    queues = [*scenario.queues, *(event.queue for event in scenario.events if isinstance(event, QueueWish))]
    named = {"default", *(queue.name for queue in queues), *(queue.parent for queue in queues)}
    return {"node": nodes, "queue": named, "limit": {limit.name for limit in scenario.limits}}


def _read(path: Path) -> Scenario:
    """Read a scenario file; one that never has a node is no scenario, however well the rest can be read."""
    from clearway.sim.scenario import read_scenario

    scenario = read_scenario(path)
    added = any(isinstance(event, dict) and "add_node" in event for event in scenario.raw.get("events") or [])
    if not scenario.raw.get("fleet") and not added:
        raise InputError("fleet", scenario.raw.get("fleet"), "a scenario needs a fleet: {nodes: [{name: n1, gpus: 1}]}")
    return scenario


def _played_raw(raw: Mapping[str, Any]) -> dict[str, Any]:
    import yaml

    from clearway.sim.scenario import read_scenario

    return _played(read_scenario(yaml.safe_dump(dict(raw))))


def _played(scenario: Scenario) -> dict[str, Any]:
    from clearway.observe.timeline import Timeline
    from clearway.sim.run import simulate

    outcome = simulate(scenario)
    timeline = Timeline(busy=outcome.busy)
    for record in outcome.records:
        timeline.apply(record)
    return timeline.as_dict()
