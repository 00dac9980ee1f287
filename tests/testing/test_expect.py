"""Each key of `expect` about jobs: what holds is passed, what does not is named."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from clearway.testing.judge import EXPECT, judge
from tests.testing.stories import independent_judge, job, line, losses, ran, shares, stops, task, timeline

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

CASES: list[tuple[Callable[[], Any], str, Any, Any]] = [
    (line, "starts", {"b": [100, 100]}, {"b": [0, 99.9]}),
    (line, "starts", {"*": [0, 100]}, {"*": [0, 50]}),
    (stops, "starts", {"low#2": [40, 40]}, {"low#2": [41, 50]}),
    (stops, "starts", {"low#2": [40, 40]}, {"low#3": [0, 1000]}),
    (line, "ends", {"c": [25, 25]}, {"c": [25.1, 26]}),
    (losses, "ends", {"g#1": [80, 80]}, {"g#1": [50, 79]}),
    (stops, "ends", {"low": [140, 140]}, {"never": [0, 1000]}),
    (stops, "never_starts", ["never"], ["high"]),
    (stops, "never_starts", ["ne*"], ["h*"]),
    (line, "order", ["a", "c", "b"], ["a", "b", "c"]),
    (line, "order", [["a", "b"], ["c", "b"]], [["a", "b"], ["b", "c"]]),
    (line, "after", [{"job": "b", "after": "a"}], [{"job": "c", "after": "a"}]),
    (line, "after", [{"job": "b", "after": "a", "within": 0}], [{"job": "b", "after": "c", "within": 10}]),
    (stops, "after", [{"job": "low", "after": "high"}], [{"job": "low", "after": "never"}]),
    (line, "final", {"all": ["succeeded", "failed"]}, {"all": "succeeded"}),
    (stops, "final", {"never": "pending"}, {"never": "running"}),
    (stops, "preempted", {"exactly": ["low"]}, {"exactly": []}),
    (stops, "preempted", {"never": ["h*"]}, {"never": ["l*"]}),
    (stops, "preempted", {"count": 0, "of": ["high"]}, {"count": 1, "of": ["high"]}),
    (stops, "preempted", {"max_each": 1, "total_max": 1}, {"total_max": 0}),
    (stops, "attempts", {"low": 2}, {"low": 1}),
    (stops, "attempts", {"low": [1, 2], "never": 0}, {"low": [3, 4]}),
    (losses, "placed", {"g": ["n2", "n1"]}, {"g": ["n1"]}),
    (shares, "devices", {"m": [1]}, {"m": [0]}),
    (shares, "devices", {"link": [0, 1]}, {"link": [0]}),
    (shares, "distinct_devices", {"link": 2}, {"link": 1}),
    (line, "running", [{"at": 24, "jobs": ["*"], "count": 2}], [{"at": 25, "jobs": ["*"], "count": 2}]),
    (line, "running", [{"at": 0, "jobs": ["a"], "count": 1}], [{"at": 0, "jobs": ["a"], "count": {"max": 0}}]),
    (
        line,
        "use",
        [{"node": "n1", "from": 5, "to": 25, "gpus": {"eq": 2}}],
        [{"node": "n1", "from": 5, "to": 25.1, "gpus": {"eq": 2}}],
    ),
    (
        line,
        "use",
        [{"queue": "q", "from": 0, "to": 150, "gpus": {"max": 1, "min": 1}}],
        [{"queue": "q", "from": 0, "to": 151, "gpus": {"min": 1}}],
    ),
    (
        shares,
        "use",
        [{"node": "n1", "from": 0, "to": 10, "gpu_memory": {"eq": "6GiB"}}],
        [{"node": "n1", "from": 0, "to": 10, "gpu_memory": {"eq": "6GB"}}],
    ),
    (
        stops,
        "use",
        [{"limit": "db", "from": 0, "to": 5, "slots": {"eq": 1}}],
        [{"limit": "db", "from": 0, "to": 6, "slots": {"eq": 1}}],
    ),
    (line, "reason", {"b": ["LIMIT", ["xyzzy", "queue"]]}, {"b": [["xyzzy", "plugh"]]}),
    (line, "reason", {"b": {"at": 99.9, "mentions": ["limit"]}}, {"b": {"at": 100, "mentions": ["limit"]}}),
    (line, "reason", {"f": ["code 3"]}, {"f": ["code 4"]}),
    (stops, "reason", {"low": {"start": 2, "mentions": ["order"]}}, {"low": {"start": 3, "mentions": ["order"]}}),
    (stops, "refused", ["bad"], ["never"]),
    (stops, "runs", {"low": 2}, {"low": [3, 9]}),
    (
        line,
        "either",
        [{"starts": {"b": [0, 1]}}, {"starts": {"b": [100, 101]}}],
        [{"starts": {"b": [0, 1]}}, {"starts": {"b": [2, 3]}}],
    ),
]


@pytest.mark.parametrize(("make", "key", "holds", "breaks"), CASES)
def test_a_key_holds_or_is_named(
    make: Callable[[], Any], key: str, holds: object, breaks: object, shared: Path
) -> None:
    scenario, shown = make()
    theirs = independent_judge(shared)
    good, bad = {**scenario, "expect": {key: holds}}, {**scenario, "expect": {key: breaks}}
    assert judge(good, shown) == []
    assert theirs(good, shown) == []
    lines = judge(bad, shown)
    assert lines
    assert all(text.startswith(f"expect.{key}: ") for text in lines)
    assert theirs(bad, shown)


def test_slack_is_added_to_the_upper_end_only() -> None:
    scenario, shown = line()
    for window, slack, holds in (([0, 99], 1, True), ([0, 99], 0.5, False), ([101, 200], 5, False)):
        found = judge({**scenario, "expect": {"slack": slack, "starts": {"b": window}}}, shown)
        assert (found == []) is holds


def test_an_unknown_key_is_named_with_the_nearest() -> None:
    scenario, shown = line()
    assert judge({**scenario, "expect": {"start": {"a": [0, 1]}}}, shown) == [
        "expect.start: no such key; did you mean 'starts'?"
    ]


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("preempted", {"exactely": []}),
        ("running", [{"at": 0, "jobs": ["a"], "count": 1, "when": 3}]),
        ("use", [{"node": "n1", "from": 0, "to": 1, "gpus": {"most": 3}}]),
        ("reason", {"b": {"mention": ["limit"], "mentions": []}}),
        ("after", [{"job": "b", "after": "a", "withn": 3}]),
    ],
)
def test_an_unknown_word_inside_a_key_is_named(key: str, value: object) -> None:
    scenario, shown = line()
    assert any("no such word" in text for text in judge({**scenario, "expect": {key: value}}, shown))


@pytest.mark.parametrize(
    "expect",
    [
        {"attempts": {"typo*": 1}},
        {"attempts": {"typo": 0}},
        {"never_starts": ["typo"]},
        {"placed": {"typo*": ["n1"]}},
        {"final": {"typo*": "succeeded"}},
        {"starts": {"typo*": [0, 1]}},
    ],
)
def test_a_name_that_nothing_has_is_never_passed(expect: Any) -> None:
    scenario, shown = line()
    assert judge({**scenario, "expect": expect}, shown)


@pytest.mark.parametrize("key", [*EXPECT, "either"])
@pytest.mark.parametrize("value", [3, "x", [3], {"a": 3}, {"a": [{"b": None}]}, [[3]]])
def test_an_expectation_of_another_form_is_a_line_not_an_error(key: str, value: object) -> None:
    scenario, shown = line()
    assert all(isinstance(text, str) for text in judge({**scenario, "expect": {key: value}}, shown))


@pytest.mark.parametrize(
    "shown",
    [
        {},
        {"jobs": 3},
        {"jobs": {"a": {}}},
        {"jobs": {"a": {"attempts": [{}]}}},
        {"jobs": {}, "events": [{}]},
        {"jobs": {}, "events": [{"at": None, "kind": "ended"}]},
        {"jobs": []},
    ],
)
def test_a_timeline_of_another_form_is_a_line_not_an_error(shown: Any) -> None:
    scenario, _ = line()
    assert judge(scenario, shown)


def test_device_numbers_of_several_nodes_do_not_compare() -> None:
    scenario, _ = line()
    scenario["fleet"]["nodes"].append({"name": "n2", "gpus": 2})
    scenario["jobs"] = [{"name": "a", "tasks": 2, "gpus": 1, "runtime": 1}]
    scenario["expect"] = {"devices": {"a": [0]}}
    shown = timeline({"a": job(0, ran(task(0, 1), task(0, 1, "n2")))})
    assert judge(scenario, shown) == ["expect.devices: a has devices of 2 nodes, expected [0]"]
