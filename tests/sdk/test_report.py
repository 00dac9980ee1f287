"""What a trial tells on its way: lines in a file that any program can write."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

import clearway

if TYPE_CHECKING:
    from pathlib import Path


def test_each_report_is_a_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "metrics"
    monkeypatch.setenv("CLEARWAY_METRICS", str(path))
    clearway.report(0.5)
    clearway.report(1, step=3)
    clearway.report(step=4, loss=0.25, accuracy=1)
    told = [json.loads(line) for line in path.read_text().splitlines()]
    assert told == [0.5, {"step": 3, "value": 1.0}, {"step": 4, "loss": 0.25, "accuracy": 1.0}]


def test_outside_a_trial_nothing_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CLEARWAY_METRICS", raising=False)
    clearway.report(0.5)
    with pytest.raises(TypeError):
        clearway.report(0.5, loss=1)
    with pytest.raises(ValueError, match="JSON"):
        clearway.report(float("nan"))
