"""What the runner knows of one task."""

from __future__ import annotations

from enum import Enum

TYPE_CHECKING = False  # not from typing: the runner pays for every module
if TYPE_CHECKING:
    from typing import Any


class Phase(Enum):
    """Where a task is."""

    QUEUED = "queued"  # told, not forked yet
    LAUNCHING = "launching"  # forked, not yet the command
    UP = "up"
    ENDING = "ending"  # its main process is gone, others may be left
    GONE = "gone"


class Task:
    """One task of one attempt. `mine`: this runner forked it, and so learns its exit code from the system."""

    __slots__ = (
        "acked", "again", "asked_signal", "code", "cpus", "empty_looks", "error", "held", "key", "kill_at", "known",
        "limit", "logs", "mine", "oom", "order", "paused", "peak", "phase", "pid", "pidfd", "sought", "start", "told",
    )  # fmt: skip

    def __init__(self, key: str, order: dict[str, Any] | None = None) -> None:
        self.key = key
        self.order = order
        self.phase = Phase.QUEUED
        self.pid = 0
        self.start = 0
        self.mine = False
        self.logs: tuple[str, ...] = ()
        self.limit = 0
        """The files it writes to, and how many bytes each may hold; none for a task that another runner forked."""
        self.code: int | None = None
        self.error = self.again = ""
        """Why it never ran; why it could not be started just now, through no fault of its own."""
        self.oom = False
        """Whether the system killed something of it because it had used up its memory."""
        self.held = ""
        """The numbers of its devices and the thousandths of each that it holds: `0,1:1000`."""
        self.cpus: int | None = None
        self.peak: int | None = None
        """Thousandths of a CPU that it used in the mean, and the most bytes of its largest process, as the system told
        them at its end; None: nobody was told.
        """
        self.acked = False
        self.paused = False
        self.asked_signal = 0
        self.sought = False
        """Whether each of its processes is to be found: it ends, or something is to be done to all of them."""
        self.kill_at: float | None = None
        self.empty_looks = 0
        """How often nothing of it was found after its main process ended."""
        self.told = -1
        """The pipe that tells whether the command runs, -1 when closed."""
        self.pidfd = -1
        """Stands for the main process of a task that another runner forked, -1 when closed."""
        self.known: frozenset[tuple[int, int]] = frozenset()
        """Number and start time of processes that were seen as part of it."""

    @property
    def live(self) -> bool:
        """Whether it has or may have processes."""
        return self.phase in (Phase.LAUNCHING, Phase.UP, Phase.ENDING)

    def gone(self) -> dict[str, Any]:
        """Return the message that says that it is gone."""
        told = {"is": "gone", "task": self.key, "code": self.code, "error": self.error, "oom": self.oom}
        return {**told, "cpus": self.cpus, "peak": self.peak}
