"""The examples of workflows run, and come to what their page says."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from clearway.flow.schedule_words import read_schedule
from clearway.flow.search_words import read_search
from clearway.flow.words import read_flow
from examples.flows import trials
from examples.flows.agent import agent

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


def test_the_agent_acts_until_it_knows_enough_and_asks_before_it_answers() -> None:
    graph = agent().graph
    given: dict[str, Any] = {"begin": [{"log": [], "wrong": [], "next": 0, "answer": ""}]}
    asked, rounds = [], 0
    while not (plan := graph.plan(given))["done"] or plan["asked"]:
        rounds += 1
        asked += [plan["question"]] if plan["asked"] else []
        visits = {name: [graph.visit(name, task) for task in tasks] for name, tasks in plan["tasks"].items()}
        given = {**plan, **{f"results.{name}": found for name, found in visits.items()}, "answer": "yes"}
    state = plan["state"]
    assert [line.split()[0] for line in state["log"]] == ["thinks:", "acts:"] * 4 + ["was"]
    assert len(asked) == 1
    hardest, _ = max(state["wrong"], key=lambda one: one[1])
    assert f"4 digits {hardest:.0f} is the hardest" in asked[0]
    assert state["answer"] == f"{hardest:.0f}"
    assert rounds < 20, "its limit is not reached"


def test_a_trial_of_the_search_reports_each_pass(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told = tmp_path / "metrics"
    monkeypatch.setenv("CLEARWAY_METRICS", str(told))
    found = trials.loss(rate=-2.0, decay=-4.0, hidden=16, batch=64)
    lines = [json.loads(line) for line in told.read_text().splitlines()]
    assert [line["step"] for line in lines] == list(range(1, trials.PASSES + 1))
    assert lines[-1]["loss"] == found["loss"] < lines[0]["loss"]
    read_search({"name": "X", "trials": 2, "space": trials.SPACE, "sampler": "cmaes", "job": {"run": "x"}})
