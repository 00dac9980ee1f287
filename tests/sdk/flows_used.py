"""Tasks, flows and graphs that the tests of workflows from Python use."""

from __future__ import annotations

import operator
from pathlib import Path
from typing import Annotated, Any, TypedDict

import clearway
from clearway import task
from clearway.sdk.flows import END, START, Command, Send, StateGraph, flow, interrupt, pause


@task(max_retries=1, retry_backoff=0)
def rows(many: int, folder: str) -> list[int]:
    """Fail at the first try."""
    note(folder, "rows")
    if len(Path(folder, "ran").read_text().split()) == 1:
        raise RuntimeError("not yet")
    return list(range(many))


def note(folder: str, what: str) -> None:
    with Path(folder, "ran").open("a") as file:
        file.write(f"{what}\n")


@task
def double(x: int, by: int = 2) -> int:
    return x * by


@task
def total(xs: list[int], more: int) -> dict[str, int]:
    return {"sum": sum(xs) + more}


@task
def odd(found: dict[str, int]) -> set[str]:
    """Return something that JSON cannot hold."""
    return {"odd", str(found["sum"])}


@task
def even(found: dict[str, int]) -> str:
    return f"even {found['sum']}"


@flow(name="sums")
def sums(many: int, folder: str) -> Any:
    found = total(double.map(rows(many, folder), by=3), more=1)
    low = odd.options(when=found["sum"] < 100)(found)
    high = even.options(when=~(found["sum"] < 100))(found)
    return {"sum": found["sum"], "low": low, "high": high}


@flow
def inner(x: int) -> Any:
    return double(double(x))


@flow
def outer(x: int) -> Any:
    return total([1], inner(inner(x)))


@flow
def asks() -> Any:
    first = double(2)
    answer = pause("How many?", first)
    return double(answer)


def asks_otherwise() -> Any:
    """Be the next version of `asks`."""
    return double(double(pause("How many, at last?")))


asks_again = flow(name="asks")(asks_otherwise)


@task
def fails() -> int:
    raise ValueError("for good")


@flow
def broken() -> Any:
    return double(fails())


class State(TypedDict):
    """What the graph remembers."""

    log: Annotated[list[str], operator.add]
    left: int
    sum: Annotated[int, operator.add]


def think(state: dict[str, Any]) -> dict[str, Any]:
    return {"log": [f"think {state['left']}"], "left": state["left"] - 1}


def route(state: dict[str, Any]) -> Any:
    if state["left"] < 0:
        return END
    return [Send("act", n) for n in range(state["left"] + 1)]


def act(number: int) -> dict[str, Any]:
    return {"log": [f"act {number}"], "sum": number}


def check(state: dict[str, Any]) -> dict[str, Any]:
    if state["sum"] < 1:
        return {}
    return {"log": [f"told {interrupt('Go on?')} and {interrupt('Really?')}"]}


def agent(limit: int = 25) -> Any:
    graph = StateGraph(State)
    graph.add_node("think", think).add_node("act", act, max_retries=1).add_node("check", check)
    graph.add_edge(START, "think").add_edge("act", "check").add_edge("check", "think")
    graph.add_conditional_edges("think", route)
    return graph.compile("agent", max_loops=limit)


def loss(x: int, offset: int) -> float:
    for step in range(1, 4):
        clearway.report((x - 3) ** 2 + offset, step=step)
    return float((x - 3) ** 2 + offset)


@task
async def later(x: int) -> int:
    return x + 1


@flow
def held() -> Any:
    one: Any = later(1)
    some: Any = [one, later(2), 3]
    return total.submit(some, more=double.submit(one))


def hand_on(state: State) -> Command:
    goto: Any = ["note_end", Send("note_end", {"log": [], "left": 9, "sum": 0})] if state["left"] > 0 else ()
    return Command(update={"log": ["hand on"], "left": state["left"] - 1}, goto=goto)


def note_end(state: State) -> dict[str, Any]:
    return {"log": [f"end {state['left']}"]}


def handing() -> Any:
    return StateGraph(State).add_node(hand_on).add_node(note_end).set_entry_point("hand_on").compile("handing")


def wrong(_: State) -> Any:
    return ["no map"]
