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
            state = "catching up" if row["behind"] else "watching"
        known = row if state in {"watching", "catching up", "failed"} else None
        return {
            "state": state, "reason": failed if state == "failed" else None,
            "in_force": self._standing.name or None, "candidate": None if candidate is None else candidate.name,
            "comparison": known,
        }  # fmt: skip

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

    async def _ask(self, process: Process) -> Row:
        _tell(process, {"now_us": self._desk.controller.now_us()})
        line = b"" if process.stdout is None else await process.stdout.readline()
        if not line:
            raise ControllerError(f"its process has ended with code {await process.wait()}")
        found: Row = json.loads(line)
        return found

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
        """End the process: it does so when its stdin ends. Not `keep`: what it told is forgotten."""
        process, self._process = self._process, None
        if not keep:
            self._row, self._failed = None, ""
        if process is not None:
            if process.stdin is not None:
                process.stdin.close()
            await process.wait()


def _tell(process: Process, line: Row) -> None:
    if process.stdin is None:
        raise ControllerError("the process of the candidate has no ear")
    process.stdin.write(json.dumps(line).encode() + b"\n")
