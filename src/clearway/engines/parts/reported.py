"""What tasks report on their way, as engines see it that bring it into files of the home."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable

    from clearway.model.events import TaskRef
    from clearway.ports.engine import TaskReported


class Reported(Protocol):
    """What tasks reported on their way, read from files as they come."""

    def watch(self, tasks: Iterable[TaskRef]) -> None:
        """Look after tasks."""

    def wait_s(self) -> float | None:
        """Return after how long to look next, None where there is nothing to look at."""

    def look(self) -> list[TaskReported]:
        """Return what has been reported since the last look."""

    def last(self, task: TaskRef) -> list[TaskReported]:
        """Return what a task has reported that is over."""
