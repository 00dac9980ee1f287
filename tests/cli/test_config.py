"""`clearway config`, as people call it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner, Result

from clearway.cli import faults
from clearway.cli.main import cli
from clearway.config.settings import SETTINGS

if TYPE_CHECKING:
    from pathlib import Path


def call(home: Path, *args: str) -> Result:
    return CliRunner().invoke(cli, ["--home", str(home), *args], prog_name="clearway")


def shown(home: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(call(home, "--json", "config", "show").stdout)["settings"]
    return found


def test_without_a_file_the_defaults_are_shown(tmp_path: Path) -> None:
    assert {name: row["from"] for name, row in shown(tmp_path).items()} == dict.fromkeys(SETTINGS, "default")
    text = call(tmp_path, "config", "show").stdout
    assert "none: all are the defaults" in text
    assert "32MiB" in text


def test_what_the_file_says_is_told_from_the_rest(tmp_path: Path) -> None:
    (tmp_path / "clearway.yaml").write_text("devices: 4\nqueues: [{name: research, weight: 2}]\n")
    rows = shown(tmp_path)
    assert (rows["devices"]["value"], rows["devices"]["from"]) == (4, "file")
    assert rows["queues"]["value"] == [{"name": "research", "weight": 2}]
    assert rows["policy"]["from"] == "default"
    assert '{"name": "research"' in call(tmp_path, "config", "show").stdout


@pytest.mark.parametrize("verb", ["show", "check"])
@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("devises: 4\n", "did you mean 'devices'"),
        ("devices: -1\n", "devices"),
        ("queues: [{name: a, wait: 2}]\n", "wait"),
        ("- a\n", "a map of settings"),
    ],
)
def test_a_bad_file_is_refused_with_the_setting_named(tmp_path: Path, verb: str, text: str, names: str) -> None:
    (tmp_path / "clearway.yaml").write_text(text)
    result = call(tmp_path, "config", verb)
    assert result.exit_code == faults.BAD_INPUT
    assert result.stdout == ""
    assert names in result.stderr


def test_a_policy_that_names_no_rule_is_found_by_check(tmp_path: Path) -> None:
    file = tmp_path / "other.yaml"
    file.write_text("policy: quick\n")
    result = call(tmp_path, "config", "check", str(file))
    assert (result.exit_code, result.stdout) == (faults.BAD_INPUT, "")
    assert "quick" in result.stderr


def test_a_good_file_is_said_to_be_right(tmp_path: Path) -> None:
    file = tmp_path / "other.yaml"
    file.write_text("policy: throughput\ndevices: 2\n")
    assert call(tmp_path, "config", "check", str(file)).stdout == f"{file}: 2 settings, all right\n"
    assert call(tmp_path, "config", "check").stdout.endswith("no settings; the defaults hold\n")
    told = json.loads(call(tmp_path, "--json", "config", "check", str(file)).stdout)
    assert told == {"file": str(file), "settings": ["devices", "policy"], "right": True}


@pytest.mark.parametrize(
    ("policy", "said"),
    [
        ("sjf", "all right"),
        ("priority+fifo+none", "all right"),
        ("sjf+forecast", "all right"),
        ("sjf+forecast+oracle", "one of forecast, oracle"),
        ("fifo+none+oracle", "only a replay knows"),
        ("{order: [fifo], estimate: oracle}", "only a replay knows"),
        ("nonsense", "joined by +"),
    ],
)
def test_a_policy_is_named_as_everywhere(tmp_path: Path, policy: str, said: str) -> None:
    (tmp_path / "clearway.yaml").write_text(f"policy: {policy}\n")
    result = call(tmp_path, "config", "check")
    assert said in result.stdout + result.stderr
