"""A LangGraph graph whose nodes run as tasks, by the real package."""

from __future__ import annotations

import operator
import os
from typing import Annotated, Any, TypedDict, cast

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, Send, interrupt

from clearway.model.errors import InputError
from clearway.sdk.langgraph import on_clearway

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("client")]
SETTINGS = {"devices": 2}


class State(TypedDict):
    """What the graph remembers."""

    log: Annotated[list[str], operator.add]
    pids: Annotated[list[int], operator.add]
    left: int


def think(state: dict[str, Any]) -> dict[str, Any]:
    return {"log": [f"think {state['left']}"], "left": state["left"] - 1, "pids": [os.getpid()]}


def act(state: dict[str, Any]) -> dict[str, Any]:
    return {"log": [f"act {state['n']}"], "pids": [os.getpid()]}


def ask(state: dict[str, Any]) -> dict[str, Any]:
    return {"log": [f"{interrupt('Go on?')} of {len(state['log'])}"]}


def wants(state: dict[str, Any], store: Any = None) -> dict[str, Any]:
    return {"log": [str(store), str(state)]}


def built(*more: Any) -> Any:
    def route(state: dict[str, Any]) -> Any:
        return [Send("act", {"n": n}) for n in range(2)] if state["left"] > 0 else "ask"

    graph = StateGraph(State)
    for node in (think, act, ask, *more):
        graph.add_node(node.__name__, node)
    graph.add_edge(START, "think")
    graph.add_conditional_edges("think", route, ["act", "ask"])
    graph.add_edge("act", "think")
    graph.add_edge("ask", END)
    return graph


def test_nodes_run_as_tasks_and_langgraph_keeps_its_loop() -> None:
    app = on_clearway(built(), here=["ask"], cpus=0.1, words={"think": {"max_retries": 1}})
    compiled, where = app.compile(checkpointer=InMemorySaver()), cast("Any", {"configurable": {"thread_id": "1"}})
    paused = compiled.invoke({"log": [], "pids": [], "left": 2}, where)
    assert [one.value for one in paused["__interrupt__"]] == ["Go on?"]
    found = compiled.invoke(Command(resume="yes"), where)
    assert found["log"] == ["think 2", "act 0", "act 1", "think 1", "yes of 4"]
    assert os.getpid() not in found["pids"]
    assert len(found["pids"]) == 4


def test_what_cannot_go_elsewhere_is_told() -> None:
    with pytest.raises(InputError, match="store"):
        on_clearway(built(wants), here=["ask"])
    with pytest.raises(InputError, match="a node without interrupt, or one named in `here`"):
        on_clearway(built())
    with pytest.raises(InputError, match="before `compile`"):
        on_clearway(built().compile())
    with pytest.raises(InputError, match="nobody"):
        on_clearway(built(), here=["nobody"])
