"""What is really used, as the API shows it: of devices, of jobs, and why it is not known where it is not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clearway.model.events import TaskRef
from clearway.model.job import WHOLE

if TYPE_CHECKING:
    from clearway.api.desk import Desk
    from clearway.control import JobRow, NodeRow
    from clearway.ports.engine import Measured, TaskUse


def measured_row(found: Measured) -> dict[str, Any]:
    """Return whether devices are measured, and if not why."""
    known = any(one.busy is not None for one in found.devices.values())
    return {"devices": known, "why_not": None if known else found.why_not or "the driver tells no utilisation"}


def device_use(found: Measured, row: NodeRow, number: int) -> dict[str, Any]:
    """Return which part of the time a device works, and how many bytes of its memory are taken."""
    use = found.devices.get((row.spec.name, number))
    return {"used": None if use is None else part(use.busy), "gpu_memory_used": None if use is None else use.memory}


def job_use(desk: Desk, row: JobRow) -> dict[str, Any] | None:
    """Return what the tasks of a job use together now; None where nothing is measured of it."""
    tasks = desk.controller.measured.tasks
    mine = [tasks[key] for one in row.grants if (key := TaskRef(row.id, row.attempt, one.role, one.index)) in tasks]
    if not mine or row.over:
        return None
    busy = [one.busy for one in mine if one.busy is not None]
    return {
        "cpus": part(_sum(mine, "cpus")),
        "memory": _sum(mine, "memory"),
        "gpus": part(sum(busy) // len(busy)) if busy else None,
        "gpu_memory": _sum(mine, "gpu_memory"),
    }


def part(thousandths: int | None) -> float | None:
    """Return thousandths as a number."""
    return None if thousandths is None else thousandths / WHOLE


def _sum(tasks: list[TaskUse], word: str) -> int | None:
    known = [getattr(one, word) for one in tasks if getattr(one, word) is not None]
    return sum(known) if known else None
