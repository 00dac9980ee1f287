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

from clearway.sdk.flows.build import Condition, Flow, Ref, flow
from clearway.sdk.flows.run import FlowRun
from clearway.sdk.flows.state_graph import END, START, Send, StateGraph, interrupt

__all__ = ["END", "START", "Condition", "Flow", "FlowRun", "Ref", "Send", "StateGraph", "flow", "interrupt"]
