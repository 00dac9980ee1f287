"""Which waiting jobs lack capacity, kept while the records of their reasons pass."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from clearway.model.reasons import Code

if TYPE_CHECKING:
    from clearway.model.ids import ClassId, JobId
    from clearway.model.reasons import Reason


@dataclass(slots=True)
class _Class:
    """The members of a class of waiting jobs, and whether they lack capacity."""

    members: int = 0
    short: bool = False


class Shortage:
    """Counts the jobs that wait for capacity."""

    def __init__(self) -> None:
        """Start with none."""
        self.count = 0
        self._class_of: dict[JobId, ClassId] = {}
        self._alone: set[JobId] = set()
        self._classes: dict[ClassId, _Class] = {}

    def join(self, job: JobId, cls: ClassId) -> None:
        """Count a job among the members of a class; it waits for what the class waits for."""
        self.leave(job)
        line = self._classes.setdefault(cls, _Class())
        self._class_of[job] = cls
        line.members += 1
        self.count += line.short

    def leave(self, job: JobId) -> None:
        """Drop a job: it waits no more."""
        cls = self._class_of.pop(job, None)
        if cls is not None:
            line = self._classes[cls]
            line.members -= 1
            self.count -= line.short
        elif job in self._alone:
            self._alone.remove(job)
            self.count -= 1

    def class_waits(self, cls: ClassId, reasons: tuple[Reason, ...]) -> None:
        """Take the reasons of a class."""
        line = self._classes.setdefault(cls, _Class())
        short = _lacks_capacity(reasons)
        self.count += line.members * (short - line.short)
        line.short = short

    def job_waits(self, job: JobId, reasons: tuple[Reason, ...]) -> None:
        """Take the reasons of one job."""
        self.leave(job)
        if _lacks_capacity(reasons):
            self._alone.add(job)
            self.count += 1


def _lacks_capacity(reasons: tuple[Reason, ...]) -> bool:
    return any(r.code is Code.NO_CAPACITY for r in reasons)
