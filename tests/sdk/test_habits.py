"""What users of LangGraph, Prefect and Airflow write from habit: it works, or says in a line how it is done here."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import pytest

from clearway import task
from clearway.model.errors import ClearwayError
from clearway.sdk.flows import END, START, StateGraph, flow
from clearway.sdk.flows.habits import WAYS
from tests.sdk import flows_used

if TYPE_CHECKING:
    from collections.abc import Callable

used: Any = flows_used  # what is wrong on purpose


def graph() -> Any:  # whatever somebody calls on it
    return StateGraph(used.State).add_node(used.think)


def made(build: Callable[[], object]) -> Any:
    return flow(name="built")(build)


def test_a_graph_is_put_together_as_elsewhere() -> None:
    one = graph().set_entry_point("think").set_finish_point("think").compile()
    assert one.graph.edges == {START: ["think"], "think": [END]}
    two = StateGraph(used.State).add_sequence([used.think, ("again", used.think)]).add_edge(START, "think")
    assert two.edges == {"think": ["again"], START: ["think"]}
    three = graph().set_conditional_entry_point(used.route, path_map=["think"]).compile()
    assert "  __start__ -.->|think| think" in three.mermaid().splitlines()


@pytest.mark.parametrize(
    ("write", "said"),
    [
        (lambda: graph().add_edge(["think", "act"], END), "an edge from each"),
        (lambda: graph().add_node("call-model", used.think), "letters, digits and _"),
        (lambda: graph().add_node("a", used.think, gpu=1), "did you mean 'gpus'"),
        (lambda: graph().add_node("a", used.think, retry_policy=1), "max_retries"),
        (lambda: graph().add_node("a", other), "config"),
        (lambda: graph().add_node("a"), "a function after its name"),
        (lambda: graph().compile(checkpointer=object()), "graph.submit(state)"),
        (lambda: graph().compile(interrupt_before=["think"]), "interrupt(question)"),
        (lambda: StateGraph(dict), "TypedDict"),
        (lambda: StateGraph(used.State, input_schema=dict), "one schema"),
        (lambda: compiled().invoke({}, {"configurable": {"thread_id": "1"}}), ".resume(value)"),
        (lambda: compiled().invoke({}, {"tags": []}), "tags"),
        (lambda: compiled().invoke("resume"), "a map"),
        (lambda: compiled().stream({}, stream_mode="messages"), "updates or values"),
        (lambda: compiled().get_state({}), "run.values()"),
        (lambda: compiled().get_graph(), "mermaid"),
        (lambda: graph().nothing, "nothing"),
        (lambda: used.double.with_options(name="x"), "task.options"),
        (lambda: used.double.expand(x=[1]), "task.map"),
        (lambda: used.double.map([1], [2]), "one list"),
        (lambda: used.sums.serve(cron="@daily"), "flow.schedule"),
        (lambda: flow(log_prints=True)(first), "log_prints"),
        (lambda: flow(timeout_seconds=3)(first), "did you mean 'time_limit'"),
        (lambda: importlib.import_module("clearway.sdk.flows").MemorySaver, "graph.submit(state)"),
        (lambda: importlib.import_module("clearway").StateGraph, "from clearway.sdk.flows import StateGraph"),
        (importlib.import_module("clearway.flow"), "from clearway.sdk.flows import flow"),
    ],
)
def test_what_is_done_otherwise_says_how(write: Callable[[], object], said: str) -> None:
    with pytest.raises((ClearwayError, AttributeError, ImportError, TypeError)) as raised:
        write()
    assert said in str(raised.value)


def other(state: Any, config: Any) -> Any:
    return state, config


def compiled() -> Any:
    return graph().set_entry_point("think").compile()


@task(retries=2)
def retried() -> int:
    return 1


def first() -> Any:
    return used.double(2)


def tries() -> Any:
    return retried()


def lacks() -> Any:
    return used.double.submit()


async def nothing_yet() -> int:
    return 1


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (tries, "did you mean 'max_retries'"),
        (lambda: used.double.options(wait_for=[first()])(1), "did you mean 'after'"),
        (lambda: used.double(first() + 1), "compute with it in a task"),
        (lambda: used.double(len(first())), "compute with it in a task"),
        (lambda: used.even(f"{first()}"), "make the text in a task"),
        (lambda: used.double(first().value), "ref['value']"),
        (lambda: used.double(first().result()), "pass it on as it is"),
        (lambda: used.double.map([1, 2], by=first()), "put it into the items"),
        (lambda: used.double({1, 2}), "texts, numbers, lists and maps"),
        (lacks, "missing a required argument: 'x'"),
        (lambda: 1 if first() > 1 else 2, ".options(when=..)"),
        (lambda: [used.double(x) for x in first()], "task.map"),
    ],
)
def test_the_body_of_a_flow_says_what_it_is_not(body: Callable[[], object], said: str) -> None:
    with pytest.raises((ClearwayError, AttributeError, TypeError)) as raised:
        made(body).words()
    assert said in str(raised.value)


def test_a_flow_that_is_async_is_refused() -> None:
    for no_body in (nothing_yet, used.double):
        with pytest.raises(ClearwayError, match="a plain function"):
            flow(no_body)


def test_a_call_in_a_flow_may_be_submitted_and_hold_results() -> None:
    words, _ = made(lambda: used.total.submit([first(), {"a": first()}], more=1)).words()
    last = words["steps"][-1]
    assert last["after"] == ["double", "double_2"]
    assert last["args"]["result:double_2"] == {"from": "double_2"}


def test_each_way_is_a_line() -> None:
    assert all(way and "\n" not in way for way in WAYS.values())
