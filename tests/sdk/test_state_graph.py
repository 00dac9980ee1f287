"""What a round of a graph makes of what its nodes gave back, as its jobs see it."""

from __future__ import annotations

import operator
from typing import Annotated, Any, TypedDict

import pytest

from clearway.model.errors import InputError
from clearway.sdk.flows import END, START, Send, StateGraph


class State(TypedDict):
    log: Annotated[list[str], operator.add]
    left: int


def graph_of(route: Any, names: Any = None) -> StateGraph:
    graph = StateGraph(State)
    graph.add_node("think", lambda state: {"log": ["thought"], "left": state["left"] - 1})
    graph.add_node("act", lambda _: None)
    graph.add_edge(START, "think")
    graph.add_edge(START, "act")
    graph.add_conditional_edges("think", route, names)
    return graph


def round_after(graph: StateGraph, planned: dict[str, Any], think: Any, act: Any) -> dict[str, Any]:
    """Return the round after one whose nodes gave back this; None: the node was left out."""
    return graph.plan({**planned, "results.think": think, "results.act": act, "answer": None})


def begun(graph: StateGraph) -> dict[str, Any]:
    return graph.plan({"begin": [{"log": [], "left": 2}]})


@pytest.mark.parametrize("left_out", [None, [None]])
def test_a_node_that_was_left_out_or_had_nothing_to_do_changes_nothing_and_is_passed(left_out: Any) -> None:
    graph = graph_of(lambda state: "act" if state["left"] == 2 else END)
    found = round_after(graph, begun(graph), left_out, [{"update": {"log": ["acted"]}}])
    assert (found["state"], [len(ones) for ones in found["tasks"].values()]) == ({"log": ["acted"], "left": 2}, [0, 1])
    assert graph.visit("act", found["tasks"]["act"][0]) == {"update": None}


@pytest.mark.parametrize("change", [["a"], "a", 3, {"nonsense": 1}])
def test_what_is_no_change_of_the_state_is_refused_in_the_job_of_the_node(change: Any) -> None:
    graph = StateGraph(State).add_node("think", lambda _: change)
    with pytest.raises(InputError, match="state"):
        graph.visit("think", {"state": {}, "answers": []})


def test_an_edge_that_leads_nowhere_says_what_it_knows() -> None:
    for route, names in (("nowhere", None), ("nowhere", {"go": "act"}), (Send("nowhere", 1), None), (None, None)):
        graph = graph_of(lambda _, route=route: route, names)
        with pytest.raises(InputError, match="go|act"):
            round_after(graph, begun(graph), [{"update": None}], [{"update": None}])


def test_an_edge_may_give_back_several_in_any_form() -> None:
    for several in (["act", Send("act", 1)], ("act", Send("act", 1))):
        graph = graph_of(lambda _, several=several: several)
        found = round_after(graph, begun(graph), [{"update": None}], [{"update": None}])
        assert [task.get("arg") for task in found["tasks"]["act"]] == [None, 1]


def test_a_question_is_no_round() -> None:
    graph = graph_of(lambda _: END)
    first = begun(graph)
    asked = round_after(graph, first, [{"asks": "Really?"}], [{"update": {"log": ["acted"]}}])
    again = graph.plan({**asked, "results.think": [], "results.act": [], "answer": "yes"})
    assert [one["rounds"] for one in (first, asked, again)] == [1, 1, 1]
    assert [task["answers"] for task in again["tasks"]["think"]] == [["yes"]]
    last = round_after(graph, again, [{"update": {"left": 0}}], [])
    assert (last["done"], last["rounds"], last["state"]) == (True, 2, {"log": ["acted"], "left": 0})


def test_a_run_that_began_under_an_older_version_goes_on() -> None:
    graph = graph_of(lambda _: END)
    task = {"node": "think", "answers": [], "state": {"log": [], "left": 2}}
    old = {"state": {"log": ["acted"], "left": 2}, "answered": [], "done": False}
    kept = ("state", "tasks", "asked", "answered", "reached", "done")  # what its words hand on

    def then(given: dict[str, Any], think: Any, act: Any, answer: Any = None) -> dict[str, Any]:
        found = graph.plan({**given, "results.think": think, "results.act": act, "answer": answer})
        return {key: found[key] for key in kept}

    asked = [{**task, "question": "Really?"}]
    answered = then({**old, "tasks": {"think": [], "act": []}, "asked": asked, "reached": ["act"]}, [], [], "yes")
    assert answered["tasks"]["think"][0]["answers"] == ["yes"]
    assert then(answered, [{"update": {"left": 1}}], [])["state"] == {"log": ["acted"], "left": 1}
    both = {"think": [task], "act": [{**task, "node": "act"}]}
    asks = then({**old, "tasks": both, "asked": None, "reached": []}, [{"asks": "?"}], [{"update": {"log": ["more"]}}])
    done = then(then(asks, [], [], "yes"), [{"update": {"left": 0}}], [])
    assert (done["done"], done["state"]) == (True, {"log": ["acted", "more"], "left": 0})
