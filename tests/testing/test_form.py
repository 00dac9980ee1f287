"""The form of `expect`: what is refused before anything runs, and that nothing which is allowed is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from clearway.model.array import read_array
from clearway.model.errors import InputError
from clearway.testing.judge import check_expect

ROOT = Path(__file__).resolve().parent.parent.parent
FILES = sorted(p for folder in ("tests/scenarios", "../shared/scenarios") for p in (ROOT / folder).glob("*.yaml"))
JOBS = ("hi", "low", "web-1", "web-2")
BEYOND_JOBS = ("workflows", "schedules", "services", "searches")


@pytest.mark.parametrize("file", FILES, ids=lambda p: p.stem)
def test_every_scenario_there_is_has_the_form(file: Path) -> None:
    raw = yaml.safe_load(file.read_text())
    names = [n for job in raw.get("jobs") or [] for n in _names(job)]
    check_expect(raw["expect"], names, larger=any(raw.get(key) for key in BEYOND_JOBS))


def _names(job: dict[str, Any]) -> list[str]:
    if "array" in job:
        array = read_array("array", job["array"])
        return [job["name"], *(f"{job['name']}[{array.index(i)}]" for i in range(array.size))]
    return [f"{job['name']}-{i + 1}" for i in range(job["count"])] if "count" in job else [job["name"]]


@pytest.mark.parametrize(
    "text",
    [
        "slack: 1.5s",
        "starts: {hi: [0, 1m], low#2: [0.5, 3], web-*: [0, 9]}",
        "never_starts: hi",
        "order: [[hi, low], [low, hi]]",
        "after: [{job: hi, after: low, within: 3}]",
        "final: {all: succeeded, hi: [failed, upstream_failed]}",
        "preempted: {exactly: [], never: [web-*], count: {min: 1}, of: [hi], max_each: 1, total_max: 2}",
        "attempts: {hi: 1, low: [1, 2]}",
        "running: [{at: 3, jobs: [web-*], count: {min: 1}}]",
        "use: [{queue: q, from: 0, to: 9, gpus: {eq: 0.5}, memory: {max: 1GiB}}]",
        "reason: {hi: [GPU, [a, b]], low: {at: 3, mentions: [GPU]}, web-1: {start: 1, mentions: priority}}",
        "either: [{starts: {hi: [0, 0]}}, {refused: [hi]}]",
    ],
)
def test_what_is_allowed_is_taken(text: str) -> None:
    check_expect(yaml.safe_load(text), JOBS)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("starts: {low: 0}", "expect.starts: low: 0 is refused: [from, to], in seconds"),
        ("starts: [low]", "expect.starts: ['low'] is refused: {J: [from, to], in seconds}"),
        ("ends: {low: [a, 3]}", "expect.ends: low: 'a' is refused"),
        ("ends: {low: [1, 2, 3]}", "expect.ends: low: [1, 2, 3] is refused"),
        ("starts: {hii#2: [0, 1]}", "no job 'hii'; did you mean 'hi'?"),
        ("never_starts: [zzz-*]", "no job 'zzz-*'"),
        ("never_starts: 3", "expect.never_starts: 3 is refused: a list of job names"),
        ("order: [hi, [low]]", "expect.order: ['low'] is refused: a job name"),
        ("order: [[hi], low]", "expect.order: 'low' is refused: a list of such lists"),
        ("after: [{job: hi}]", "after is missing"),
        ("after: [{job: hi, after: lw}]", "expect.after[0].after: 'lw' is refused: no job 'lw'; did you mean 'low'?"),
        ("after: [{job: hi, after: low, withn: 1}]", "did you mean 'within'?"),
        ("final: {hi: done}", "expect.final: hi: 'done' is refused: one of pending, running, succeeded, failed"),
        ("final: {hi: suceeded}", "did you mean 'succeeded'?"),
        ("final: {hi: null}", "expect.final: hi: null is refused"),
        ("final: succeeded", "expect.final: 'succeeded' is refused"),
        ("preempted: [hi]", "expect.preempted: ['hi'] is refused"),
        ("preempted: {exactly: [lo]}", "expect.preempted.exactly: 'lo' is refused: no job 'lo'; did you mean 'low'?"),
        ("preempted: {max_each: often}", "expect.preempted.max_each: 'often' is refused: a count"),
        ("attempts: {hi: two}", "expect.attempts: hi: 'two' is refused: a count"),
        ("attempts: {hi: [1]}", "expect.attempts: hi: [1] is refused: a count"),
        ("placed: {hi: n1}", "expect.placed: hi: 'n1' is refused: a list of node names"),
        ("devices: {hi: [a]}", "a list of device numbers"),
        ("running: {at: 1}", "expect.running"),
        ("running: [{at: 1, jobs: [hi]}]", "count is missing"),
        ("use: [{from: 0, to: 1}]", "one of queue, node, limit"),
        ("use: [{queue: q, from: 0, to: 1, gpus: 3}]", "expect.use[0].gpus: 3 is refused: a map of min, max, eq"),
        ("use: [{queue: q, from: 0, to: 1, gpus: {most: 3}}]", "most"),
        ("reason: {hi: {at: 3}}", "mentions is missing"),
        ("refused: [all]", "no job 'all'"),
        ("either: [{starts: {hi: 3}}]", "expect.either[0].starts: hi: 3 is refused: [from, to], in seconds"),
        ("use: [{node: n, from: 0, to: 1, gpus: {eq: x}}]", "expect.use[0].gpus.eq: 'x' is refused: an amount of gpus"),
        ("skips: 3", "expect.skips: 3 is refused: a map by name"),
        ("fires: {S: [x]}", "the file has no workflows, schedules, services or searches"),
        ("slack: soon", "expect.slack: 'soon' is refused: a time in seconds"),
    ],
)
def test_another_form_is_refused_where_it_stands(text: str, said: str) -> None:
    with pytest.raises(InputError) as refusal:
        check_expect(yaml.safe_load(text), JOBS)
    assert said in str(refusal.value)


def test_names_may_come_of_what_is_larger_than_a_job() -> None:
    check_expect({"final": {"W.s": "skipped"}, "fires": {"S": []}, "requests": []}, JOBS, larger=True)


PLACES = {"node": {"gpu-0", "gpu-1", "T-*"}, "queue": {"default", "research"}, "limit": {"database"}}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("placed: {a: [gpu-2]}", "no node 'gpu-2'; did you mean"),
        ("placed: {a: [gpu]}", "no node 'gpu'"),
        ("placed: {a: [1]}", "the name of a node"),
        ("use: [{queue: reserch, from: 0, to: 1, gpus: {eq: 1}}]", "no queue 'reserch'; did you mean 'research'"),
        ("use: [{node: n9, from: 0, to: 1, gpus: {eq: 1}}]", "no node 'n9'"),
        ("use: [{limit: databse, from: 0, to: 1, slots: {eq: 1}}]", "did you mean 'database'"),
    ],
)
def test_a_place_that_is_not_there_is_refused_with_the_nearest(text: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        check_expect(yaml.safe_load(text), {"a"}, places=PLACES)


def test_places_that_are_there_or_may_come_are_taken() -> None:
    text = "{placed: {a: [gpu-0, T-3]}, use: [{queue: default, from: 0, to: 1, gpus: {eq: 1}}]}"
    check_expect(yaml.safe_load(text), {"a"}, places=PLACES)
    check_expect(yaml.safe_load("placed: {a: [anything]}"), {"a"})
