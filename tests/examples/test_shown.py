"""The examples that compare ways to run one day: what they show is in the README, word for word."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from examples import copying, jam, models, training
from examples.shown import Raw, figures, show, table

if TYPE_CHECKING:
    from pathlib import Path
    from types import ModuleType

EXAMPLES = {"jam": jam, "training": training, "copying": copying, "models": models}


@pytest.fixture(scope="module")
def shown() -> dict[str, dict[str, Raw]]:
    """Play each once, for all tests of this file."""
    return {name: figures(module.SIDES, module.COLUMNS) for name, module in EXAMPLES.items()}


@pytest.mark.parametrize(("name", "module"), EXAMPLES.items())
def test_the_readme_shows_what_the_command_prints(
    name: str, module: ModuleType, shown: dict[str, dict[str, Raw]], root: Path
) -> None:
    printed = table(shown[name], module.COLUMNS)
    assert f"$ python -m examples.{name}\n{printed}\n```" in (root / "README.md").read_text()


def test_services_that_take_turns_free_the_cards(shown: dict[str, dict[str, Raw]]) -> None:
    before, _, after = shown["jam"].values()
    assert after["gpu_busy"] > 2 * before["gpu_busy"]
    assert after["fine-tunes wait"] < before["fine-tunes wait"]
    assert after["pipelines wait"] < before["pipelines wait"]


@pytest.mark.parametrize(
    ("name", "figure"),
    [
        ("training", "racks"),
        ("training", "GPU hours"),
        ("copying", "GPU hours of copying"),
        ("models", "wait for H100"),
    ],
)
def test_the_score_is_worth_something(name: str, figure: str, shown: dict[str, dict[str, Raw]]) -> None:
    off, on = shown[name].values()
    assert on[figure] < off[figure]


def test_as_json_it_prints_the_same_figures(
    shown: dict[str, dict[str, Raw]], capsys: pytest.CaptureFixture[str]
) -> None:
    show("", jam.SIDES, jam.COLUMNS, ["--json"])
    assert json.loads(capsys.readouterr().out) == shown["jam"]
