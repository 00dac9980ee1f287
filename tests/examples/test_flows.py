"""The examples of workflows run, and come to what their page says."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from clearway.flow.schedule_words import read_schedule
from clearway.flow.words import read_flow

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
def test_the_pipeline_on_the_digits() -> None:
    command = [sys.executable, "-m", "examples.flows.pipeline"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    states = dict(line.split() for line in done.stdout.splitlines()[:-1])
    assert {name for name, state in states.items() if state == "succeeded"} == set(states) - {"tell"}
    assert states["tell"] == "skipped"
    assert "deployed model-0." in done.stdout


def test_the_nightly_schedule_can_be_read() -> None:
    words = yaml.safe_load((ROOT / "examples" / "flows" / "nightly.yaml").read_text())
    flow = read_flow(words["workflow"])
    spec = read_schedule({**words, "workflow": flow.name}, {flow.name: flow})
    assert (spec.jitter_us, spec.catchup, len(spec.exclude)) == (600_000_000, "latest", 2)
