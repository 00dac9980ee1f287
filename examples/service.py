"""A service that runs programs, as somebody else might offer it: it knows names and programs, and nothing of Clearway.

Nothing really runs, and time passes when somebody waits: that is enough for an engine to be written against it.
"""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

NEVER = float("inf")


class Program(NamedTuple):
    """What a line of words does: it runs so long, ends with a code, and needs a while when it is told to stop."""

    runs_s: float = NEVER
    code: int = 0
    stops_in_s: float = 0.0
    stop_code: int | None = None
    """None: that of the signal."""


def read(words: Sequence[str]) -> Program:
    """Read `exit 3`, `lasts 0.6`, `runs`, `stubborn` or `lingers 0.7 5`. Raises ValueError for anything else."""
    match words:
        case ["exit", code]:
            return Program(0.0, int(code))
        case ["lasts", seconds]:
            return Program(float(seconds))
        case ["runs"]:
            return Program()
        case ["stubborn"]:
            return Program(stops_in_s=NEVER)
        case ["lingers", seconds, code]:
            return Program(stops_in_s=float(seconds), stop_code=int(code))
        case _:
            raise ValueError(f"the program {words[0]!r} does not exist")


class Run:
    """One program that was started."""

    def __init__(self, program: Program, ends_at: float) -> None:
        self.program, self.ends_at, self.code = program, ends_at, program.code
        self.left_s: float | None = None  # while it stands still
        self.over = False


class Service:
    """All runs by name. They go on whoever looks."""

    def __init__(self) -> None:
        self.now = 0.0
        self.runs: dict[str, Run] = {}
        self.started: list[str] = []

    def start(self, name: str, words: Sequence[str]) -> None:
        """Start a program under a name. Raises ValueError for one that is none."""
        program = read(words)
        self.runs[name] = Run(program, self.now + program.runs_s)
        self.started.append(name)

    def stop(self, name: str, number: int, grace_s: float) -> None:
        """Send a signal, and kill after the grace."""
        run = self.runs[name]
        heeds = run.program.stops_in_s <= grace_s
        at = self.now + (run.program.stops_in_s if heeds else grace_s)
        if at < run.ends_at:
            own = run.program.stop_code
            run.ends_at, run.left_s, run.code = at, None, -int(signal.SIGKILL)
            if heeds:
                run.code = -number if own is None else own

    def stand_still(self, name: str, *, still: bool) -> None:
        """Have a program stand still, or go on."""
        run = self.runs[name]
        if still and run.left_s is None:
            run.left_s, run.ends_at = run.ends_at - self.now, NEVER
        elif not still and run.left_s is not None:
            run.ends_at, run.left_s = self.now + run.left_s, None

    def let_pass(self, seconds: float) -> None:
        """Let time pass until a program ends, at most so much."""
        ends = [run.ends_at for run in self.runs.values() if not run.over]
        self.now = min([max(end, self.now) for end in ends] + [self.now + seconds])

    def ended(self) -> list[str]:
        """Return the names of those that have ended since the last time."""
        found = [name for name, run in self.runs.items() if not run.over and run.ends_at <= self.now]
        for name in found:
            self.runs[name].over = True
        return found
