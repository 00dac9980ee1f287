"""Clearway schedules AI work on shared GPUs, explains every decision and proves a policy by replay."""

from __future__ import annotations

TYPE_CHECKING = False  # not from typing: the runner pays for every module
if TYPE_CHECKING:
    from clearway.sdk.checkpoint import checkpoint as checkpoint
    from clearway.sdk.langgraph import on_clearway as on_clearway
    from clearway.sdk.report import report as report
    from clearway.sdk.tasks.canvas import chain as chain
    from clearway.sdk.tasks.canvas import chord as chord
    from clearway.sdk.tasks.canvas import chunks as chunks
    from clearway.sdk.tasks.canvas import group as group
    from clearway.sdk.tasks.canvas import starmap as starmap
    from clearway.sdk.tasks.task import task as task
    from clearway.sdk.tune import tune as tune

__version__ = "0.1.0"

_LATE = {
    "chain": "clearway.sdk.tasks.canvas",
    "checkpoint": "clearway.sdk.checkpoint",
    "on_clearway": "clearway.sdk.langgraph",
    "tune": "clearway.sdk.tune",
    "chord": "clearway.sdk.tasks.canvas",
    "chunks": "clearway.sdk.tasks.canvas",
    "group": "clearway.sdk.tasks.canvas",
    "report": "clearway.sdk.report",
    "starmap": "clearway.sdk.tasks.canvas",
    "task": "clearway.sdk.tasks.task",
}
"""Names for users' programs, and where they are."""

_OF_FLOWS = ("END", "START", "Command", "Send", "StateGraph", "interrupt", "pause")
"""Not here, because `flow` cannot be: it is the name of a room."""


def __getattr__(name: str) -> object:
    """Import what a program uses when it is used: the runner imports this package too."""
    if name in _LATE:
        from importlib import import_module  # noqa: PLC0415

        return getattr(import_module(_LATE[name]), name)
    if name in _OF_FLOWS:
        raise ImportError(f"from clearway.sdk.flows import {name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
