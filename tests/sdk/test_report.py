"""What a trial tells on its way: lines in a file that any program can write."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

import clearway
from clearway.sdk import report as reports

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


def test_how_far_it_is_goes_into_a_file_of_its_own_at_most_every_second(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    metrics, reached = tmp_path / "metrics", tmp_path / "progress"
    monkeypatch.setenv("CLEARWAY_METRICS", str(metrics))
    monkeypatch.setenv("CLEARWAY_PROGRESS", str(reached))
    monkeypatch.setattr(reports, "_next_s", 0.0)
    for step in range(101):
        clearway.report(step=step, total=100)
    told = [json.loads(line) for line in reached.read_text().splitlines()]
    assert told[0] == {"step": 0, "total": 100}
    assert told[-1] == {"step": 100, "total": 100}
    assert len(told) < 10
    assert not metrics.exists(), "it is worth nothing"
    clearway.report(0.5, step=100, total=100)
    assert json.loads(metrics.read_text()) == {"step": 100, "value": 0.5}
    with pytest.raises(TypeError, match="step"):
        clearway.report(0.5, total=9)
    with pytest.raises(ValueError, match="none of 9"):
        clearway.report(step=10, total=9)


def test_outside_a_trial_nothing_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CLEARWAY_METRICS", raising=False)
    clearway.report(0.5)
    with pytest.raises(TypeError):
        clearway.report(0.5, loss=1)
    with pytest.raises(ValueError, match="JSON"):
        clearway.report(float("nan"))
