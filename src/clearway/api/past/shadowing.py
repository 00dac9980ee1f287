"""Has a process of its own follow the journal with a candidate policy, and asks it how it stands; guards a promotion.

The process lives as long as its candidate and ends with the controller. What goes wrong with it is told, tried again
after a while, and changes nothing else: without it a guard sees nothing, and takes nothing back.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import msgspec

from clearway.model.errors import ClearwayError, ConflictError, ControllerError
from clearway.model.policies import Rollback, Worse

if TYPE_CHECKING:
    from asyncio.subprocess import Process

    from clearway.api.desk import Desk
    from clearway.model.policies import Candidate, PolicyStanding

LOG = logging.getLogger("clearway.policy")
MODULE = "clearway.api.past.shadow"
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1"}
"""Fits of forecasts are small: threads for their arithmetic would wait for each other, and hold up the loop."""
LOOK_S = 1.0
"""So often it is asked how it stands: the guard sees what starves somebody within that time."""
RETRY_S = 60.0
LATE_S = 15.0
"""A process that has not answered for so long does not see what is so now: that is said."""
SILENT_S = 600.0
"""One that has not answered for so long is ended. It may take minutes to come to the record of its candidate."""
END_S = 5.0
"""A process has so long to end when its stdin does."""
LONGEST_LINE = 2**24
Row = dict[str, Any]


class Shadowing:
    """The candidate's process of one controller. All but `row` is called in the server's loop."""

    def __init__(self, desk: Desk) -> None:
        """Begin with none."""
        self._desk = desk
        self._process: Process | None = None
        self._record = 0
        self._row: Row | None = None
        self._failed, self._again_s = "", 0.0
        self._asked_s: float | None = None
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Look after candidates from now on."""
        self._task = asyncio.ensure_future(self._run())

    async def stop(self) -> None:
        """End, and the process with it."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        await self._end()

    @property
    def _standing(self) -> PolicyStanding:
        return self._desk.controller.world.state.policies

    def row(self) -> Row:
        """Return how the candidate compares, and whether anybody looks: for any thread."""
        candidate, row, failed = self._standing.candidate, self._row, self._failed
        if candidate is None:
            state = "none"
        elif failed and self._record == candidate.record:
            state = "failed"
        elif row is None or self._record != candidate.record:
            state = "beginning"
        else:
            state = "catching up" if row["behind"] or self._late_s() else "watching"
        known = row if state in {"watching", "catching up", "failed"} else None
        return {
            "state": state, "reason": failed if state == "failed" else None,
            "in_force": self._standing.name or None, "candidate": None if candidate is None else candidate.name,
            "comparison": known,
        }  # fmt: skip

    def blind(self) -> str:
        """Return why nobody looks for the guard now; empty: somebody does, or begins to."""
        if self.row()["state"] == "failed":
            return self._failed
        late_s = self._late_s()
        return f"its process has not answered for {late_s:.0f} s" if late_s else ""

    def _late_s(self) -> float:
        """Return for how long the process has not answered, 0 where that is not long."""
        asked_s = self._asked_s
        waited_s = 0.0 if asked_s is None else time.monotonic() - asked_s
        return waited_s if waited_s >= LATE_S else 0.0

    async def _run(self) -> None:
        while True:
            candidate = self._standing.candidate
            if candidate is None:
                await self._end()
                self._record = 0
            elif self._desk.journal.last() >= candidate.record:
                try:
                    await self._look(candidate)
                except (ClearwayError, OSError, ValueError) as error:
                    await self._fail(str(error))
            await asyncio.sleep(LOOK_S)

    async def _look(self, candidate: Candidate) -> None:
        if self._record != candidate.record:
            await self._end()
            self._record, self._failed, self._again_s = candidate.record, "", 0.0
        if self._process is None:
            if time.monotonic() < self._again_s:
                return
            self._process = await self._begin(candidate)
        told = await self._ask(self._process)
        if told is None:
            return
        if "failed" in told:
            raise ControllerError(told["failed"])
        self._failed, self._row = "", told["comparison"]
        if told["worse"] is not None:
            await self._take_back(told["promoted"], msgspec.convert(told["worse"], Worse))

    async def _begin(self, candidate: Candidate) -> Process:
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", MODULE, stdin=pipe, stdout=pipe, env={**os.environ, **ONE_THREAD}, limit=LONGEST_LINE
        )
        settings = self._desk.settings
        _tell(process, {"home": str(settings.home), "store": settings.store, "record": candidate.record})
        return process

    async def _ask(self, process: Process) -> Row | None:
        """Return what the process tells; None: its candidate is none any more."""
        _tell(process, {"now_us": self._desk.controller.now_us()})
        line = b"" if process.stdout is None else await self._answer(process.stdout)
        if line is None:
            return None
        if not line:
            raise ControllerError(f"its process has ended with code {await process.wait()}")
        found: Row = json.loads(line)
        return found

    async def _answer(self, stdout: asyncio.StreamReader) -> bytes | None:
        self._asked_s = asked_s = time.monotonic()
        reading = asyncio.ensure_future(stdout.readline())
        try:
            while not (await asyncio.wait({reading}, timeout=LOOK_S))[0]:
                candidate = self._standing.candidate
                if candidate is None or candidate.record != self._record:
                    return None
                if time.monotonic() - asked_s > SILENT_S:
                    raise ControllerError(f"its process has not answered for {SILENT_S:.0f} s")
            return reading.result()
        finally:
            self._asked_s = None
            reading.cancel()

    async def _take_back(self, promoted: int, worse: Worse) -> None:
        with suppress(ConflictError):  # somebody was first
            await self._desk.ask(Rollback("", promoted, worse))
            LOG.warning("the guard has put policy %s in force again: %s", self._standing.name, worse)

    async def _fail(self, why: str) -> None:
        if why != self._failed:
            guarded = "; the guard sees nothing until it works again" if self._standing.guard is not None else ""
            LOG.warning("the candidate policy cannot be followed: %s%s", why, guarded)
        await self._end(keep=True)
        self._failed, self._again_s = why, time.monotonic() + RETRY_S

    async def _end(self, *, keep: bool = False) -> None:
        """End the process: it does so when its stdin ends, or is killed. Not `keep`: what it told is forgotten."""
        process, self._process = self._process, None
        if not keep:
            self._row, self._failed = None, ""
        if process is not None:
            if process.stdin is not None:
                process.stdin.close()
            try:
                await asyncio.wait_for(process.wait(), END_S)
            except TimeoutError:
                process.kill()
                await process.wait()


def _tell(process: Process, line: Row) -> None:
    if process.stdin is None:
        raise ControllerError("the process of the candidate has no ear")
    process.stdin.write(json.dumps(line).encode() + b"\n")
