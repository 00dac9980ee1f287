"""The nodes and edges of a graph as a Mermaid flowchart."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

SHAPES = {"__start__": "__start__([START])", "__end__": "__end__([END])"}


def drawn(
    nodes: Collection[str], edges: Mapping[str, Sequence[str]], branches: Mapping[str, Sequence[tuple[Any, Any]]]
) -> Iterator[str]:
    """Yield its lines. An edge that a function chooses is dotted; where that says no names, to every node and END."""
    yield "flowchart TD"
    yield from (f"  {SHAPES.get(node, f'{node}[{node}]')}" for node in ("__start__", *nodes, "__end__"))
    for start, ends in edges.items():
        yield from (f"  {start} --> {end}" for end in ends)
    for start, routes in branches.items():
        for _, names in routes:
            if names is None:
                yield from (f"  {start} -.-> {end}" for end in (*nodes, "__end__"))
            else:
                yield from (f"  {start} -.->|{_label(said)}| {end}" for said, end in names.items())


def _label(said: object) -> str:
    return "".join(letter if letter.isalnum() or letter in " _-." else " " for letter in str(said)) or " "
