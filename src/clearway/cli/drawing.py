"""Drawings of a workflow: for a terminal, and as Mermaid."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clearway.cli.shown import plain

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

MARKS = {
    "pending": "·", "running": ">", "succeeded": "+", "failed": "!", "cancelled": "x", "skipped": "-",
    "upstream_failed": "!",
}  # fmt: skip


def as_text(steps: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Yield one line for each step: how deep it stands, what it is, and what comes before it."""
    depth: dict[str, int] = {}
    for step in steps:  # none stands before what it waits for
        depth[step["name"]] = 1 + max((depth[name] for name in step["after"]), default=-1)
    for step in steps:
        before = f"  <- {', '.join(map(plain, step['after']))}" if step["after"] else ""
        loop = f"  (until {plain(step['until'])})" if step.get("until") else ""
        mark = MARKS.get(step["state"], "?")
        yield f"{'  ' * depth[step['name']]}{mark} {plain(step['name'])} {step['state']}{loop}{before}"


def as_mermaid(steps: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Yield the lines of a Mermaid flowchart."""
    number = {step["name"]: f"s{i}" for i, step in enumerate(steps)}
    yield "flowchart TD"
    for step in steps:
        label = plain(step["name"]).replace('"', "#quot;")
        yield f'  {number[step["name"]]}["{label}"]:::{step["state"]}'
        if step.get("until"):
            yield f"  {number[step['name']]} -->|again| {number[step['name']]}"
    for step in steps:
        for before in step["after"]:
            yield f"  {number[before]} --> {number[step['name']]}"
    yield "  classDef succeeded fill:#cfc"
    yield "  classDef running fill:#cdf"
    yield "  classDef failed fill:#fcc"
    yield "  classDef upstream_failed fill:#fdd"
    yield "  classDef skipped fill:#eee"
