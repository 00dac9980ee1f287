"""What whoever stands beside a task is told of it: its key, and the orders to stop it, to stand still and to go on."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING, Any

from clearway.model.events import TaskRef
from clearway.model.ids import JobId

if TYPE_CHECKING:
    from clearway.model.actions import Halt, Pause


def key_of(task: TaskRef) -> str:
    """Return the text under which a task is known: job, attempt, role and index with dots between."""
    return f"{task.job}.{task.attempt}.{task.role}.{task.index}"


def task_of(key: str) -> TaskRef:
    """Return the task of such a text."""
    job, attempt, role, index = map(int, key.split("."))
    return TaskRef(JobId(job), attempt, role, index)


def halt_order(halt: Halt) -> dict[str, Any]:
    """Return the order to stop a task."""
    number = int(signal.Signals[halt.signal])
    return {"do": "halt", "task": key_of(halt.task), "signal": number, "grace_us": halt.grace_us}


def pause_order(pause: Pause) -> dict[str, Any]:
    """Return the order to make a task stand still or go on."""
    return {"do": "pause", "task": key_of(pause.task), "paused": pause.paused}
