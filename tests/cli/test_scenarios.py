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
WAITED = "needs 1 GPU on one node, 0 free on n1; 1 node: 1 with too few GPUs free"


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
    assert lines[1:3] == ["a 0 0 0 10 succeeded n1 [0]", f"b 0 10 10 15 succeeded n1 [0] {WAITED}"]
    assert any(line.startswith("n1 [a=") for line in lines)
    assert "GPUs held: 100 %" in lines


def test_a_scenario_that_holds(file: Path) -> None:
    result = call("test", str(file))
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.startswith("1 scenario: 1 holds (")


@pytest.mark.parametrize(
    ("old", "new", "key", "why"),
    [
        ("b: [10, 10]", "b: [0, 9]", "expect.starts", f"b waited from 0 s to 10 s: {WAITED}"),
        ("all: succeeded", "b: failed", "expect.final", "b ran from 10 s to 15 s, succeeded"),
    ],
)
def test_each_broken_line_is_named_with_its_file_and_why(file: Path, old: str, new: str, key: str, why: str) -> None:
    file.write_text(GOOD.replace(old, new))
    result = call("test", str(file))
    assert result.exit_code == faults.FAILED
    first, reason, last = result.stdout.splitlines()
    assert first.startswith(f"{file}: {key}: ")
    assert reason == f"    {why}"
    assert last.startswith("1 scenario: 0 hold, 1 broken (")
    found = json.loads(call("test", "--json", str(file)).stdout)["scenarios"][0]
    assert found["broken"] == [first.removeprefix(f"{file}: ")]
    assert found["why"] == [[why]]


def test_a_file_without_expectations_says_so(file: Path) -> None:
    file.write_text(GOOD.partition("expect:")[0])
    result = call("test", str(file))
    assert result.exit_code == 0
    first, last = result.stdout.splitlines()
    assert first == f"{file}: holds (only the rules that always hold; it has no `expect`)"
    assert last.startswith("1 scenario: 1 holds (without an `expect`) (")
    assert json.loads(call("test", "--json", str(file)).stdout)["scenarios"][0]["expects"] is False


def test_a_file_without_a_fleet_is_no_scenario(file: Path) -> None:
    file.write_text("jobs: [{name: a, gpus: 1, runtime: 10}]\n")
    result = call("test", str(file))
    assert result.exit_code == faults.BAD_INPUT
    assert "a scenario needs a fleet" in result.stdout
    assert "a scenario needs a fleet" in call("simulate", str(file)).stderr


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("a: [0, 0]", "a: 0", "expect.starts: a: 0 is refused: [from, to], in seconds"),
        ("a: [0, 0]", "aa: [0, 0]", "no job 'aa'; did you mean 'a'?"),
        ("all: succeeded", "a: succeded", "did you mean 'succeeded'?"),
    ],
)
def test_an_expectation_of_another_form_refuses_the_file(file: Path, old: str, new: str, said: str) -> None:
    file.write_text(GOOD.replace(old, new))
    result = call("test", str(file))
    assert result.exit_code == faults.BAD_INPUT
    first, last = result.stdout.splitlines()
    assert first.startswith(f"{file}: cannot be run: expect.")
    assert said in first
    assert last.startswith("1 scenario: 0 hold, 1 cannot be run (")


def test_a_refused_job_that_no_expectation_names_is_told(file: Path) -> None:
    file.write_text(GOOD.replace("runtime: 5}", "runtime: 5, queue: defalt}").replace("all:", "a:"))
    result = call("test", str(file))
    assert result.exit_code == faults.FAILED
    assert "b was refused: queue: 'defalt' is refused: " in result.stdout.splitlines()[0]
    assert result.stdout.splitlines()[0].endswith("; did you mean 'default'?")


def test_a_folder_is_judged_file_by_file(file: Path) -> None:
    (file.parent / "deeper").mkdir()
    (file.parent / "deeper" / "typo.yml").write_text(GOOD.replace("fleet:", "flet:"))
    (file.parent / "later.yaml").write_text(GOOD + "services: [{name: S}]\n")
    (file.parent / "notes.txt").write_text("no scenario")
    result = call("test", str(file.parent))
    assert result.exit_code == faults.FAILED
    typo, later, last = result.stdout.splitlines()
    assert "typo.yml: cannot be run: flet: this key is refused: no such word; did you mean 'fleet'?" in typo
    assert "later.yaml: not run: this version does not carry out services yet" in later
    assert last.startswith("3 scenarios: 1 holds, 1 cannot be run, 1 not run (")
    found: dict[str, Any] = json.loads(call("test", "--json", str(file.parent)).stdout)
    assert found["holds"] is False
    assert [s["holds"] for s in found["scenarios"]] == [False, True, False]
    assert [s["waits_for"] for s in found["scenarios"]] == [None, None, "services"]
    assert found["scenarios"][0]["refused"]["field"] == "flet"


@pytest.mark.parametrize("args", [["test"], ["simulate"]])
def test_what_cannot_be_read_is_named(args: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # a long path would be shown shortened
    (tmp_path / "nothing-there").mkdir()
    for path in ("none.yaml", "nothing-there"):
        result = call(*args, path)
        assert (result.exit_code, result.stdout) == (faults.BAD_INPUT, "")
        assert path in result.stderr


@pytest.mark.slow
def test_the_shared_scenarios_are_judged_one_by_one(shared: Path) -> None:
    found = json.loads(call("test", "--json", str(shared / "scenarios")).stdout)["scenarios"]
    assert len(found) == len(list((shared / "scenarios").glob("*.yaml")))
    wrong = [s["file"] for s in found if s["broken"] or (s["refused"] and not s["waits_for"])]
    assert wrong == []
