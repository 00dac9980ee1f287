"""Workflows, graphs and searches from Python, by a real controller."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import clearway
from clearway.model.errors import FlowError, InputError, LoopLimitError
from clearway.sdk.flows import START, StateGraph
from tests.api.live import kill_controller, until
from tests.sdk import flows_used as used

if TYPE_CHECKING:
    from pathlib import Path

    from clearway.sdk.client import Client

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("client")]
PATIENCE_S = 120


def test_a_function_builds_a_workflow(tmp_path: Path) -> None:
    run = used.sums.submit(3, str(tmp_path))
    assert run.result(PATIENCE_S) == {"sum": 10, "low": {"odd", "10"}, "high": None}
    assert {step["name"]: step["state"] for step in run.row["steps"]} == {
        "rows": "succeeded", "double": "succeeded", "total": "succeeded", "odd": "succeeded", "even": "skipped",
    }  # fmt: skip
    assert (tmp_path / "ran").read_text().split() == ["rows", "rows"]


def test_a_flow_inside_a_flow() -> None:
    assert used.outer(2) == {"sum": 33}


def test_a_person_is_asked() -> None:
    run = used.asks.submit()
    until(run.waiting, "it asks")
    assert [(step["pause"], step["input"]) for step in run.waiting()] == [("How many?", 4)]
    run.resume(21)
    assert run.result(PATIENCE_S) == 42


def test_a_run_finishes_on_the_definition_it_began_with(home: Path) -> None:
    old = used.asks.submit()
    until(old.waiting, "the old one asks")
    new = used.asks_again.submit()
    until(new.waiting, "the new one asks")
    kill_controller(home)
    clearway.sdk.connect(home)
    assert [step["pause"] for run in (old, new) for step in run.waiting()] == ["How many?", "How many, at last?"]
    new.resume(1)
    old.resume(21)
    assert (new.result(PATIENCE_S), old.result(PATIENCE_S)) == (4, 42)
    assert (new.row["name"], old.row["name"]) == ("asks", "asks")
    assert [len(run.row["steps"]) for run in (old, new)] == [3, 3]


def test_a_failure_is_an_error_that_says_why() -> None:
    with pytest.raises(FlowError, match=r"workflow broken failed: step fails failed; job broken.*it said: \w+Error"):
        used.broken()


def test_a_graph_loops_fans_out_and_asks_also_over_a_kill(home: Path) -> None:
    run = used.agent().submit({"log": [], "left": 1, "sum": 1})
    until(run.waiting, "it asks")
    kill_controller(home)
    clearway.sdk.connect(home)
    assert [one["question"] for one in run.waiting()] == ["Go on?"]
    run.resume("yes")
    until(lambda: [one["question"] for one in run.waiting()] == ["Really?"], "it asks again")
    run.resume("yes!")
    found = run.result(PATIENCE_S)
    assert found["log"] == ["think 1", "act 0", "told yes and yes!", "think 0"]


def test_a_graph_that_does_not_end_says_so() -> None:
    with pytest.raises(LoopLimitError, match="loop limit: 2 passes"):
        used.agent(limit=2).invoke({"log": [], "left": 5, "sum": -100})


@pytest.mark.parametrize(
    ("edges", "said"),
    [([], "START"), ([(START, "none")], "none")],
)
def test_edges_that_lead_nowhere_are_refused(edges: list[tuple[str, str]], said: str) -> None:
    graph = StateGraph(used.State).add_node("think", used.think)
    for edge in edges:
        graph.add_edge(*edge)
    with pytest.raises(InputError, match=said):
        graph.compile()


def test_a_function_is_tuned() -> None:
    space = {"x": [1, 2, 3, 4], "offset": [5]}
    found = clearway.tune(used.loss, space, trials=4, parallel=2, sampler="grid", stop="median", max_retries=1)
    assert (found.point, found.value) == ({"x": 3, "offset": 5}, 5.0)
    assert [len(trial["reports"]) for trial in found.trials] == [3] * 4


def test_calls_hold_results_and_may_be_async() -> None:
    assert used.held() == {"sum": 2 + 3 + 3 + 4}


def test_a_node_says_itself_what_comes_next() -> None:
    start = {"log": [], "left": 1, "sum": 0}
    assert list(used.handing().stream(start)) == [
        {"hand_on": {"log": ["hand on"], "left": 0}}, {"note_end": {"log": ["end 0"]}},
        {"note_end": {"log": ["end 9"]}},
    ]  # fmt: skip
    run = used.handing().submit(start)
    assert run.result(PATIENCE_S) == run.values()
    logs = [state["log"] for state in run.rounds("values")]
    assert logs == [[], ["hand on"], ["hand on", "end 0", "end 9"]]


def test_a_limit_for_one_run_and_a_node_that_gives_back_nonsense() -> None:
    start = {"log": [], "left": 5, "sum": -100}
    with pytest.raises(LoopLimitError, match="2 passes"):
        used.agent().invoke(start, {"recursion_limit": 2})
    graph = StateGraph(used.State).add_node(used.wrong).set_entry_point("wrong").compile("nonsense")
    with pytest.raises(FlowError, match="a map with what changes of the state, None, or a Command"):
        graph.invoke(start)


def test_who_waits_for_a_person_is_told_so(capsys: pytest.CaptureFixture[str]) -> None:
    run = used.asks.submit()
    until(run.waiting, "it asks")
    with pytest.raises(TimeoutError):
        run.wait(0)
    assert f"clearway flow resume id:{run.id} --value .." in capsys.readouterr().err
    run.resume(1)
    assert run.result(PATIENCE_S) == 2


def test_a_flow_runs_on_a_schedule(client: Client) -> None:
    row = used.sums.schedule("0 3 * * *", 3, "/nowhere", name="sums-nightly", timezone="Europe/Berlin")
    assert (row["name"], row["timezone"]) == ("sums-nightly", "Europe/Berlin")
    client.remove_schedule("sums-nightly")
