"""Random workflows beside the slow reference, undisturbed and with controllers that die at every step."""

from __future__ import annotations

import json
from typing import Any

import yaml
from hypothesis import Phase, example, given, settings
from hypothesis import strategies as st

from clearway.flow.rules import RULES
from clearway.model import flow_events as fe
from clearway.sim.run import Outcome, simulate
from clearway.testing.judge import judge, timeline_of
from tests.flow.reference import befores, come_to

PHASES = (Phase.explicit, Phase.reuse, Phase.generate)  # to shrink a case takes minutes
RESULTS: st.SearchStrategy[Any] = st.one_of(
    st.none(), st.just([]), st.lists(st.integers(0, 3), min_size=1, max_size=3), st.builds(dict, x=st.integers(0, 3))
)


@st.composite
def graphs(draw: st.DrawFn, depth: int = 2, most: int = 7, *, undo: bool = True) -> list[dict[str, Any]]:
    """Draw steps in order; up to `depth` times one may be a workflow of its own, with at most 3 steps."""
    kinds = ["plain", "plain", "fails", "each", "map", "loop", *(["inner"] if depth else [])]
    steps: list[dict[str, Any]] = []
    for i in range(draw(st.integers(1, most))):
        names = [s["name"] for s in steps]
        step: dict[str, Any] = {"name": f"s{i}", "cpus": 1, "runtime": draw(st.integers(1, 9))}
        if names:
            step["after"] = draw(st.lists(st.sampled_from(names), max_size=3, unique=True))
        if draw(st.integers(0, 2)):
            step["returns"] = draw(RESULTS)
        kind = draw(st.sampled_from(kinds))
        if kind == "inner":
            inner = {"steps": draw(graphs(depth - 1, 3, undo=undo))}
            step = {word: step[word] for word in ("name", "after") if word in step} | {"workflow": inner}
        elif kind == "fails":
            step |= {"exit_code": 1, "max_retries": draw(st.integers(0, 1)), "retry_backoff": 1}
        elif kind == "each" or (kind == "map" and not names):
            step |= {"each": draw(st.lists(st.integers(0, 5), max_size=3)), "outcomes": draw(_outcomes)}
        elif kind == "map":
            step |= {"each": draw(st.sampled_from(names)), "outcomes": draw(_outcomes)}
        elif kind == "loop":
            step |= {"until": draw(st.integers(1, 4)), "max_loops": draw(st.integers(1, 4))}
        step |= draw(_undo) if undo else {}
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


_undo = st.sampled_from([{}, {}, {}, *({"undo": {"cpus": 1, "runtime": runtime}} for runtime in (1, 2, 3))])
_outcomes = st.lists(st.sampled_from(["succeeded", "succeeded", "failed", "skipped"]), max_size=3)


def scenario(steps: list[dict[str, Any]], *events: dict[str, Any]) -> dict[str, Any]:
    return {
        "policy": {"order": ["fifo"], "backfill": "none", "preempt": []},
        "fleet": {"nodes": [{"name": "n1", "cpus": 3}]},
        "workflows": [{"name": "W", "steps": written(steps)}],
        "events": list(events),
    }


def written(steps: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the steps in the words of a scenario."""
    found = []
    for step in steps:
        words = dict(step)
        if "workflow" in words:
            words["workflow"] = {"steps": written(words["workflow"]["steps"])}
        if "until" in words:
            words["until"] = f"pass >= {words['until']}"
        if "when" in words:
            name, sign, number = words["when"]
            words["when"] = f"{name}.x {sign} {number}"
        found.append(words)
    return found


def played(raw: dict[str, Any]) -> dict[str, Any]:
    return judged(raw, simulate(yaml.safe_dump(raw, sort_keys=False)))


def judged(raw: dict[str, Any], outcome: Outcome) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(json.dumps(timeline_of(outcome)))
    assert judge(raw, found) == []
    return found


def compare(steps: list[dict[str, Any]], timeline: dict[str, Any], left_out: str = "") -> None:
    compare_run("W", steps, timeline, come_to(steps, left_out=left_out), left_out)
    assert all(job["ended"] is not None for job in timeline["jobs"].values())


def compare_run(
    flow: str, steps: list[dict[str, Any]], timeline: dict[str, Any], expected: dict[str, Any], left_out: str = ""
) -> None:
    """Compare a workflow, and those inside it, with what the reference says."""
    run = timeline["workflows"][flow]
    for step in steps:
        name = step["name"]
        mine, wanted = run["steps"][name], expected["steps"][name]
        assert (flow, name, mine["state"]) == (flow, name, wanted["state"])
        assert mine["result"] == wanted["result"], name
        if name != left_out:
            assert len(attempts(timeline, f"{flow}.{name}")) == wanted["starts"], name
        if wanted["state"] in ("succeeded", "failed") and not early(step):  # that does not know all it is handed
            assert mine["input"] == wanted["input"], name
        if "inner" in wanted and not early(step):
            compare_run(f"{flow}.{name}", step["workflow"]["steps"], timeline, wanted["inner"])
    assert run["state"] == expected["state"]
    undone = [(attempts(timeline, f"{flow}.{step['name']}.undo"), step["name"]) for step in steps if "undo" in step]
    assert [name for tried, name in sorted((a, n) for a, n in undone if a)] == expected["undone"]
    assert all(len(tried) <= 1 for tried, _ in undone)


def attempts(timeline: dict[str, Any], name: str) -> list[int]:
    """Return when the attempts of a step began, of all its instances and passes."""
    jobs = [job for of, job in timeline["jobs"].items() if of.split("[")[0].split("@")[0] == name]
    return sorted(attempt["from"] for job in jobs for attempt in job["attempts"])


def early(step: dict[str, Any]) -> bool:
    """Return whether a step may begin before all is over that it comes after."""
    return bool(step.get("rule", "").startswith("one_"))


@settings(max_examples=80, deadline=None, phases=PHASES)
@given(graphs())
def test_a_workflow_comes_to_what_its_words_say(steps: list[dict[str, Any]]) -> None:
    compare(steps, played(scenario(steps)))


@settings(max_examples=30, deadline=None, phases=PHASES)
@given(graphs(), st.integers(0, 8), st.integers(0, 3))
def test_a_controller_that_dies_at_every_step_changes_nothing_but_the_times(
    steps: list[dict[str, Any]], first: int, down: int
) -> None:
    events: list[dict[str, Any]] = []
    for at in range(first, 120, 5 + down):
        events += [{"at": at, "kill_controller": "hard"}, {"at": at + down, "start_controller": True}]
    compare(steps, played(scenario(steps, *events)))


@settings(max_examples=30, deadline=None, phases=PHASES)
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


_BEHIND = {"name": "b", "after": ["a"], "cpus": 1, "runtime": 1, "rule": "all_done"}
_LOOPS = {"name": "a", "cpus": 1, "runtime": 5, "until": 3, "max_loops": 3, "returns": {"x": 1}}
_MANY = {"name": "a", "cpus": 1, "runtime": 5, "each": [1, 2, 3, 4]}


@example([_LOOPS, _BEHIND], 0, 7, [])
@example([_MANY, _BEHIND], 0, 7, [(0, 1)])
@settings(max_examples=60, deadline=None, phases=PHASES)
@given(graphs(), st.integers(0, 6), st.integers(0, 25), st.lists(st.tuples(st.integers(0, 99), st.integers(0, 3))))
def test_what_a_person_leaves_out_counts_as_skipped_also_where_controllers_die(
    steps: list[dict[str, Any]], which: int, at: int, deaths: list[tuple[int, int]]
) -> None:
    name, at_us = steps[which % len(steps)]["name"], at * 1_000_000 + 500_000
    events: list[dict[str, Any]] = []
    for place, down in deaths:
        when = at / 2 + place / 8  # before it, at it and after it
        events += [{"at": when, "kill_controller": "hard"}, {"at": when + down, "start_controller": True}]
    raw = scenario(steps, *events, {"at": at + 0.5, "skip": {"name": "W", "step": name}})
    raw["events"].sort(key=lambda event: event["at"])
    outcome = simulate(yaml.safe_dump(raw, sort_keys=False))
    asked = [r.at_us for r in outcome.records if isinstance(r, fe.StepSkipped)]
    compare(steps, timeline := judged(raw, outcome), name if asked else "")
    if not asked:  # it was over by then, or the whole
        ends = [r.at_us for r in outcome.records if isinstance(r, fe.StepEnded) and (r.flow, r.step) == (1, name)]
        assert outcome.refused
        assert min(ends) <= max(at_us, outcome.refused[0][0])
        return
    jobs = [job for of, job in timeline["jobs"].items() if of.split("[")[0].split("@")[0] == f"W.{name}"]
    assert all(attempt["from"] <= asked[0] / 1_000_000 for job in jobs for attempt in job["attempts"])


@settings(max_examples=30, deadline=None, phases=PHASES)
@given(graphs(undo=False))  # what was taken back runs again
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
