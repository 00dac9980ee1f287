"""The shared scenarios: each that uses only what is built holds, by our judge and by the independent one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from clearway.model.errors import NotYetError
from clearway.testing.judge import judge, judge_file, play, same
from tests.testing import mutants
from tests.testing.stories import independent_judge

FOLDER = Path(__file__).resolve().parent.parent.parent.parent / "shared" / "scenarios"
FILES = sorted(p.name for p in FOLDER.glob("*.yaml"))
LATER = {"services": "87"}
"""Scenarios by what they wait for."""

WAITING = {number for numbers in LATER.values() for number in numbers.split()}
BUILT = [name for name in FILES if name.split("-", maxsplit=1)[0] not in WAITING]
LARGE_JOBS = 100  # a file with more is judged, and not told lies about


def _read(name: str) -> Any:
    return yaml.safe_load((FOLDER / name).read_text())


def _as_they_read_it(name: str, scenario: Any) -> Any:
    """The independent judge cannot read the unit Ki, which docs/job.md allows."""
    return json.loads(json.dumps(scenario).replace('"1Ki"', "1024")) if name.startswith("83-") else scenario


@pytest.mark.parametrize("name", BUILT)
def test_a_scenario_holds_by_both_judges(name: str, shared: Path) -> None:
    shown, lines = judge_file(FOLDER / name)
    assert lines == []
    assert independent_judge(shared)(_as_they_read_it(name, _read(name)), shown) == []


@pytest.mark.parametrize("name", [n for n in FILES if n not in BUILT])
def test_what_is_not_built_says_so(name: str) -> None:
    with pytest.raises(NotYetError):
        judge_file(FOLDER / name)


def _small() -> list[str]:
    """Return the scenarios of plain jobs that are not large: the lies are about these."""
    plain = [name for name in BUILT if _read(name).keys().isdisjoint({"workflows", "schedules", "searches"})]
    counted = ((name, sum(j.get("count", 1) for j in _read(name).get("jobs") or [])) for name in plain)
    return [name for name, jobs in counted if jobs <= LARGE_JOBS and not name.startswith("51-")]


@pytest.mark.parametrize("name", _small())
def test_lies_about_a_scenario_are_seen_by_both(name: str, shared: Path) -> None:
    scenario, theirs = _as_they_read_it(name, _read(name)), independent_judge(shared)
    shown, _ = judge_file(FOLDER / name)
    missed = []
    for label, expect in mutants.of_expect(scenario["expect"]):
        wrong = {**scenario, "expect": expect}
        missed += [f"{who}: {label}" for who, found in (("ours", judge), ("theirs", theirs)) if not found(wrong, shown)]
    for label, _, told in mutants.of_timeline(scenario, shown):
        missed += [
            f"{who}: {label}" for who, found in (("ours", judge), ("theirs", theirs)) if not found(scenario, told)
        ]
    assert missed == []


@pytest.mark.parametrize("name", _small())
def test_names_and_the_order_of_what_is_equal_change_nothing(name: str) -> None:
    assert same(_read(name), play) == []
