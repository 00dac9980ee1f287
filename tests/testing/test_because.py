"""Why an expectation is broken, and refused jobs that nobody expected."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from clearway.testing.judge import breaches, play, untold
from clearway.testing.judge.because import MOST_LINES

STORY = """
policy: {order: [priority, fifo], preempt: [priority]}
fleet: {nodes: [{name: n1, gpus: 1}]}
jobs:
  - {name: low, gpus: 1, runtime: 100}
  - {name: high, gpus: 1, runtime: 10, priority: 9, submit: 20}
  - {name: bad, gpus: 1, runtime: 5, exit_code: 3, submit: 200}
  - {name: next, gpus: 1, runtime: 5, submit: 201, after: [bad]}
"""
RAW: dict[str, Any] = yaml.safe_load(STORY)
TIMELINE = play(RAW)


@pytest.mark.parametrize(
    ("expect", "said"),
    [
        ("starts: {high: [0, 5]}", "high was submitted only at 20 s"),
        ("starts: {high: [50, 60]}", "high starts at 20 s: "),
        ("starts: {low#2: [0, 25]}", "low waited from 20 s to 30 s: "),
        ("ends: {low: [0, 100]}", "low ran from 30 s to 130 s, succeeded"),
        ("ends: {low: [0, 100]}", "low ran from 0 s to 20 s, preempted: "),
        ("ends: {bad: [300, 400]}", "bad ended failed at 205 s: "),
        ("final: {next: succeeded}", "next ended failed at 205 s: "),
        ("never_starts: [high]", "high starts at 20 s: "),
        ("order: [high, low]", "high was submitted only at 20 s"),
        ("order: [low, next]", "next ended failed at 205 s: "),
        ("attempts: {low: 1}", "low ran from 0 s to 20 s, preempted: "),
        ("preempted: {never: [low]}", "low ran from 0 s to 20 s, preempted: "),
        ("preempted: {exactly: []}", "low ran from 0 s to 20 s, preempted: "),
        ("preempted: {total_max: 0}", "low ran from 0 s to 20 s, preempted: "),
        ("either: [{attempts: {low: 1}}]", "low ran from 0 s to 20 s, preempted: "),
    ],
)
def test_a_broken_line_says_why(expect: str, said: str) -> None:
    (breach,) = breaches({**RAW, "expect": yaml.safe_load(expect)}, TIMELINE)
    assert any(line.startswith(said) for line in breach.why), breach
    assert len(breach.why) <= MOST_LINES


def test_refused_jobs_that_are_expected_are_not_told() -> None:
    raw = {**RAW, "queues": [{"name": "prod"}], "jobs": [{"name": "hi", "queue": "prdo", "gpus": 1, "runtime": 1}]}
    shown = play(raw)
    (line,) = untold(raw, shown)
    assert line.startswith("hi was refused: queue: 'prdo' is refused")
    assert line.endswith("; did you mean 'prod'?")
    for expect in ({"refused": ["hi"]}, {"final": {"h*": "refused"}}, {"reason": {"hi": ["queue"]}}):
        assert untold({**raw, "expect": expect}, shown) == []
        assert untold({**raw, "expect": {"either": [{}, expect]}}, shown) == []


@pytest.mark.parametrize(
    ("after", "said"),
    [
        ("secnd", "; did you mean 'second'?"),
        ("second", "; second enters later, was refused itself, or waits for first"),
    ],
)
def test_a_mistyped_or_circular_dependency_is_told(after: str, said: str) -> None:
    jobs = [
        {"name": "first", "runtime": 1, "after": [after]},
        {"name": "second", "runtime": 1, "after": ["first"]},
    ]
    raw = {"fleet": RAW["fleet"], "jobs": jobs}
    assert any(line.startswith("first was refused") and said in line for line in untold(raw, play(raw)))
