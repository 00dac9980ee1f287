"""Graphs with loops and a state, drawn at random, and what each comes to: slow, plain, without the product's code."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple, TypedDict

from clearway.sdk.flows import END, START, Send, StateGraph, interrupt


class State(TypedDict):
    """What a graph remembers: by all kinds of reducers."""

    log: Annotated[list[str], operator.add]
    count: Annotated[int, operator.add]
    most: Annotated[int, max]
    last: str


BEGIN = {"log": [], "count": 0, "most": 0, "last": ""}


class Sent(NamedTuple):
    """A visit with an argument of its own."""

    node: str
    arg: int


Entry = str | tuple[str | Sent, ...]


@dataclass(frozen=True)
class Node:
    """A node: it asks a person so many questions, and fails at the first try if it is flaky."""

    name: str
    adds: int
    asks: int
    flaky: bool

    def __call__(self, given: Any) -> dict[str, Any]:
        told = [interrupt(f"{self.name} {_told(given)} {i}") for i in range(self.asks)]
        return self.change(given, told)

    def change(self, given: Any, told: list[str]) -> dict[str, Any]:
        """Return the change that a visit makes, which tells all that the node was handed."""
        log = [f"{self.name} {_told(given)} {told}"]
        change: dict[str, Any] = {"log": log, "count": self.adds, "last": self.name}
        return change if self.adds % 2 else {**change, "most": given if isinstance(given, int) else given["count"]}


def _told(given: Any) -> str:
    return f"({given})" if isinstance(given, int) else f"{given['count']} {given['last']} {given['most']}"


@dataclass(frozen=True)
class Route:
    """A conditional edge: the state picks a line of a table; `named`: it says keys, which a map leads to nodes."""

    table: tuple[Entry, ...]
    named: bool

    def pick(self, state: dict[str, Any]) -> list[str | Sent]:
        entry = self.table[state["count"] % len(self.table)]
        return [entry] if isinstance(entry, str) else list(entry)

    def __call__(self, state: dict[str, Any]) -> Any:
        entry = self.table[state["count"] % len(self.table)]
        found = [
            Send(one.node, one.arg) if isinstance(one, Sent) else f"to {one}" if self.named else one
            for one in self.pick(state)
        ]
        return found[0] if isinstance(entry, str) else found


class Drawing(NamedTuple):
    """All that a graph consists of."""

    nodes: tuple[Node, ...]
    edges: tuple[tuple[str, str], ...]
    branches: tuple[tuple[str, Route], ...]
    limit: int

    def built(self) -> StateGraph:
        """Return it as a user writes it."""
        graph = StateGraph(State)
        for node in self.nodes:
            graph.add_node(node.name, node, max_retries=1, retry_backoff=0)
        for edge in self.edges:
            graph.add_edge(*edge)
        names = {f"to {name}": name for name in (END, *(node.name for node in self.nodes))}
        for start, route in self.branches:
            graph.add_conditional_edges(start, route, names if route.named else None)
        return graph


class Came(NamedTuple):
    """What a graph came to; what it asks takes passes, but no rounds.

    `visits` are those that gave back a change, with how often each node began anew.
    """

    state: dict[str, Any] | None
    passes: int
    visits: int
    questions: int


def come_to(drawing: Drawing) -> Came:
    """Go round by round: all nodes of a round see the same state, their changes are taken in in order of the nodes."""
    state, reached, rounds, passes, visits, questions = dict(BEGIN), [START], 0, 0, 0, 0
    while True:
        tasks = [(node, given) for node in drawing.nodes for name, given in following(drawing, reached, state)
                 if name == node.name]  # fmt: skip
        rounds, passes = rounds + 1, passes + 1
        if not tasks:
            return Came(state, passes, visits, questions)
        if rounds == drawing.limit:
            return Came(None, passes, visits, questions)
        asking = [sum(node.asks > n for node, _ in tasks) for n in range(3)]
        passes += sum(asked + 1 for asked in asking if asked)
        visits, questions = visits + len(tasks) + sum(asking), questions + sum(asking)
        changes = []
        for node, given in tasks:
            told = [f"yes to {node.name} {_told(given)} {i}" for i in range(node.asks)]
            changes.append(node.change(given, told))
        for change in changes:
            state = taken_in(state, change)
        reached = [node.name for node in drawing.nodes if any(node is visited for visited, _ in tasks)]


def following(drawing: Drawing, reached: list[str], state: dict[str, Any]) -> list[tuple[str, Any]]:
    """Return the nodes that come next with what each is handed: by its edges once, and once for each that is sent."""
    found: list[tuple[str, Any]] = []
    for name in reached:
        targets: list[str | Sent] = [end for start, end in drawing.edges if start == name]
        for start, route in drawing.branches:
            targets += route.pick(state) if start == name else []
        for target in targets:
            if isinstance(target, Sent):
                found.append((target.node, target.arg))
            elif (target, state) not in found:
                found.append((target, state))
    return found


def taken_in(state: dict[str, Any], change: dict[str, Any]) -> dict[str, Any]:
    return {
        "log": state["log"] + change["log"],
        "count": state["count"] + change["count"],
        "most": max(state["most"], change.get("most", state["most"])),
        "last": change["last"],
    }
