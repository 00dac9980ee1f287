"""Workflows from Python.

    from clearway import task
    from clearway.sdk.flows import flow

    @task(max_retries=2)
    def fetch(day): ...

    @task(gpus=1)
    def train(rows): ...

    @flow
    def nightly(day):
        return train(fetch(day))

    nightly("2026-01-05")             # runs it, waits, and returns what it gives back

Graphs with loops and state are in `clearway.sdk.flows.state_graph`.
"""

from __future__ import annotations

from clearway.sdk.flows.build import Condition, Flow, Ref, flow, pause
from clearway.sdk.flows.habits import WAYS
from clearway.sdk.flows.run import FlowRun
from clearway.sdk.flows.state_graph import END, START, Command, Send, StateGraph, interrupt

__all__ = [
    "END", "START", "Command", "Condition", "Flow", "FlowRun", "Ref", "Send", "StateGraph", "flow", "interrupt",
    "pause",
]  # fmt: skip


def __getattr__(name: str) -> object:
    """Say how it is done here where somebody imports what another library has."""
    if name in WAYS:
        raise ImportError(f"clearway has no {name}: {WAYS[name]}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
