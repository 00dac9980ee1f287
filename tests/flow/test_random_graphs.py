"""Random workflows beside the slow reference, undisturbed and with controllers that die at every step."""

from __future__ import annotations

import json
from typing import Any

import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from clearway.flow.rules import RULES
from clearway.sim.run import simulate
from clearway.testing.judge import judge, timeline_of
from tests.flow.reference import befores, come_to

RESULTS: st.SearchStrategy[Any] = st.one_of(
    st.none(), st.just([]), st.lists(st.integers(0, 3), min_size=1, max_size=3), st.builds(dict, x=st.integers(0, 3))
)


@st.composite
def graphs(draw: st.DrawFn) -> list[dict[str, Any]]:
    steps: list[dict[str, Any]] = []
    for i in range(draw(st.integers(1, 7))):
        names = [s["name"] for s in steps]
        step: dict[str, Any] = {"name": f"s{i}", "cpus": 1, "runtime": draw(st.integers(1, 9))}
        if names:
            step["after"] = draw(st.lists(st.sampled_from(names), max_size=3, unique=True))
        if draw(st.integers(0, 2)):
            step["returns"] = draw(RESULTS)
        kind = draw(st.sampled_from(["plain", "plain", "fails", "each", "map", "loop"]))
        if kind == "fails":
            step |= {"exit_code": 1, "max_retries": draw(st.integers(0, 1)), "retry_backoff": 1}
        elif kind == "each" or (kind == "map" and not names):
            step |= {"each": draw(st.lists(st.integers(0, 5), max_size=3)), "outcomes": draw(_outcomes)}
        elif kind == "map":
            step |= {"each": draw(st.sampled_from(names)), "outcomes": draw(_outcomes)}
        elif kind == "loop":
            step |= {"until": draw(st.integers(1, 4)), "max_loops": draw(st.integers(1, 4))}
        if befores(step):
            step["rule"] = draw(st.sampled_from(["all_succeeded", "all_succeeded", *RULES]))
            if not draw(st.integers(0, 3)):
                condition = (st.sampled_from(befores(step)), st.sampled_from(["==", "<", ">="]), st.integers(0, 3))
                step["when"] = draw(st.tuples(*condition))
        steps.append(step)
    for step in steps:
        behind = [s["name"] for s in steps if step["name"] in befores(s)]
        if behind and not draw(st.integers(0, 4)):
            step["choose"] = draw(st.lists(st.sampled_from(behind), max_size=2, unique=True))
    return steps


_outcomes = st.lists(st.sampled_from(["succeeded", "succeeded", "failed", "skipped"]), max_size=3)


def scenario(steps: list[dict[str, Any]], *events: dict[str, Any]) -> dict[str, Any]:
    written = []
    for step in steps:
        words = dict(step)
        if "until" in words:
            words["until"] = f"pass >= {words['until']}"
        if "when" in words:
            name, sign, number = words["when"]
            words["when"] = f"{name}.x {sign} {number}"
        written.append(words)
    return {
        "policy": {"order": ["fifo"], "backfill": "none", "preempt": []},
        "fleet": {"nodes": [{"name": "n1", "cpus": 3}]},
        "workflows": [{"name": "W", "steps": written}],
        "events": list(events),
    }


def played(raw: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(json.dumps(timeline_of(simulate(yaml.safe_dump(raw, sort_keys=False)))))
    assert judge(raw, found) == []
    return found


def compare(steps: list[dict[str, Any]], timeline: dict[str, Any]) -> None:
    flow, expected = timeline["workflows"]["W"], come_to(steps)
    for step in steps:
        name = step["name"]
        mine, wanted = flow["steps"][name], expected["steps"][name]
        jobs = [j for n, j in timeline["jobs"].items() if n.split("[")[0].split("@")[0] == f"W.{name}"]
        assert (name, mine["state"]) == (name, wanted["state"])
        assert sum(len(job["attempts"]) for job in jobs) == wanted["starts"], name
        if wanted["state"] in ("succeeded", "failed"):
            assert mine["result"] == wanted["result"], name
            if not step.get("rule", "").startswith("one_"):  # an early one does not know all of what it is handed
                assert mine["input"] == wanted["input"], name
    assert flow["state"] == expected["state"]
    assert all(job["ended"] is not None for job in timeline["jobs"].values())


@settings(max_examples=80, deadline=None)
@given(graphs())
def test_a_workflow_comes_to_what_its_words_say(steps: list[dict[str, Any]]) -> None:
    compare(steps, played(scenario(steps)))


@settings(max_examples=30, deadline=None)
@given(graphs(), st.integers(0, 8), st.integers(0, 3))
def test_a_controller_that_dies_at_every_step_changes_nothing_but_the_times(
    steps: list[dict[str, Any]], first: int, down: int
) -> None:
    events: list[dict[str, Any]] = []
    for at in range(first, 120, 5 + down):
        events += [{"at": at, "kill_controller": "hard"}, {"at": at + down, "start_controller": True}]
    compare(steps, played(scenario(steps, *events)))


@settings(max_examples=30, deadline=None)
@given(graphs(), st.integers(0, 40))
def test_a_cancelled_workflow_ends_with_all_its_parts(steps: list[dict[str, Any]], at: int) -> None:
    timeline = played(scenario(steps, {"at": at, "cancel": "W"}))
    flow = timeline["workflows"]["W"]
    assert flow["state"] in ("cancelled", come_to(steps)["state"])
    assert flow["ended"] is not None
    if flow["state"] == "cancelled":
        assert flow["ended"] == at
        assert all(attempt["from"] <= at for job in timeline["jobs"].values() for attempt in job["attempts"])
        assert {step["state"] for step in flow["steps"].values()}.isdisjoint({"pending", "running"})


@settings(max_examples=30, deadline=None)
@given(graphs())
def test_running_again_leaves_what_succeeded_as_it_is(steps: list[dict[str, Any]]) -> None:
    first = played(scenario(steps))["workflows"]["W"]
    again = played(scenario(steps, {"at": 500, "rerun": "W"}))
    flow = again["workflows"]["W"]
    assert len(flow["runs"]) == (1 if first["state"] == "succeeded" else 2)
    for name, step in first["steps"].items():
        if step["state"] == "succeeded":
            assert (flow["steps"][name]["state"], flow["steps"][name]["result"]) == ("succeeded", step["result"])
            jobs = [j for n, j in again["jobs"].items() if n.split("[")[0].split("@")[0] == f"W.{name}"]
            assert all(a["from"] < 500 for job in jobs for a in job["attempts"])
