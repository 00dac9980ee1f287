"""Clearway schedules AI work on shared GPUs, explains every decision and proves a policy by replay."""

from __future__ import annotations

TYPE_CHECKING = False  # not from typing: the runner pays for every module
if TYPE_CHECKING:
    from clearway.sdk.checkpoint import checkpoint as checkpoint
    from clearway.sdk.report import report as report
    from clearway.sdk.tasks.task import task as task

__version__ = "0.1.0"


def __getattr__(name: str) -> object:
    """Import what a program inside a job uses when it is used: the runner imports this package too."""
    if name == "checkpoint":
        from clearway.sdk.checkpoint import checkpoint  # noqa: PLC0415

        return checkpoint
    if name == "task":
        from clearway.sdk.tasks.task import task  # noqa: PLC0415

        return task
    if name == "report":
        from clearway.sdk.report import report  # noqa: PLC0415

        return report
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
