"""`clearway simulate` and `clearway test`, on scenarios that hold and on ones that do not."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner, Result

from clearway.cli import faults
from clearway.cli.main import cli

if TYPE_CHECKING:
    from pathlib import Path

GOOD = """
title: one after the other
policy: {order: [fifo]}
fleet: {nodes: [{name: n1, gpus: 1}]}
jobs:
  - {name: a, gpus: 1, runtime: 10}
  - {name: b, gpus: 1, runtime: 5}
expect:
  starts: {a: [0, 0], b: [10, 10]}
  final: {all: succeeded}
"""


def call(*args: str) -> Result:
    return CliRunner().invoke(cli, args, prog_name="clearway")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    made = tmp_path / "good.yaml"
    made.write_text(GOOD)
    return made


def test_simulate_prints_the_timeline_as_one_document(file: Path) -> None:
    result = call("simulate", str(file), "--json")
    assert result.exit_code == 0, result.stderr
    timeline = json.loads(result.stdout)
    assert [timeline["jobs"][name]["ended"] for name in "ab"] == [10.0, 15.0]
    assert timeline["summary"]["makespan"] == 15.0


def test_simulate_shows_people_a_table_and_a_chart(file: Path) -> None:
    lines = [" ".join(line.split()) for line in call("simulate", str(file)).stdout.splitlines()]
    assert lines[1:3] == ["a 0 0 0 10 succeeded n1 [0]", "b 0 10 10 15 succeeded n1 [0]"]
    assert any(line.startswith("n1 [a=") for line in lines)
    assert "GPUs held: 100 %" in lines


def test_a_scenario_that_holds(file: Path) -> None:
    result = call("test", str(file))
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.startswith("1 scenario: 1 holds (")


@pytest.mark.parametrize(
    ("old", "new", "key"),
    [("b: [10, 10]", "b: [0, 9]", "expect.starts"), ("all: succeeded", "b: failed", "expect.final")],
)
def test_each_broken_line_is_named_with_its_file(file: Path, old: str, new: str, key: str) -> None:
    file.write_text(GOOD.replace(old, new))
    result = call("test", str(file))
    assert result.exit_code == faults.FAILED
    first, last = result.stdout.splitlines()
    assert first.startswith(f"{file}: {key}: ")
    assert last.startswith("1 scenario: 0 hold, 1 broken (")


def test_a_folder_is_judged_file_by_file(file: Path) -> None:
    (file.parent / "deeper").mkdir()
    (file.parent / "deeper" / "typo.yml").write_text(GOOD.replace("fleet:", "flet:"))
    (file.parent / "later.yaml").write_text(GOOD + "workflows: [{name: W, steps: [{name: s, runtime: 1}]}]\n")
    (file.parent / "notes.txt").write_text("no scenario")
    result = call("test", str(file.parent))
    assert result.exit_code == faults.FAILED
    typo, later, last = result.stdout.splitlines()
    assert "typo.yml: cannot be run: flet: this key is refused: no such word; did you mean 'fleet'?" in typo
    assert "later.yaml: not run: this version does not carry out workflows yet" in later
    assert last.startswith("3 scenarios: 1 holds, 1 cannot be run, 1 not run (")
    found: dict[str, Any] = json.loads(call("test", "--json", str(file.parent)).stdout)
    assert found["holds"] is False
    assert [s["holds"] for s in found["scenarios"]] == [False, True, False]
    assert [s["waits_for"] for s in found["scenarios"]] == [None, None, "workflows"]
    assert found["scenarios"][0]["refused"]["field"] == "flet"


@pytest.mark.parametrize("args", [["test"], ["simulate"]])
def test_what_cannot_be_read_is_named(args: list[str], tmp_path: Path) -> None:
    for path in (tmp_path / "none.yaml", tmp_path):
        result = call(*args, str(path))
        assert (result.exit_code, result.stdout) == (faults.BAD_INPUT, "")
        assert str(path) in result.stderr


@pytest.mark.slow
def test_the_shared_scenarios_are_judged_one_by_one(shared: Path) -> None:
    found = json.loads(call("test", "--json", str(shared / "scenarios")).stdout)["scenarios"]
    assert len(found) == len(list((shared / "scenarios").glob("*.yaml")))
    wrong = [s["file"] for s in found if s["broken"] or (s["refused"] and not s["waits_for"])]
    assert wrong == []
