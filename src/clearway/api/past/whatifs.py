"""What-ifs that a controller was asked: worked out beside it, one after another, and a few of them kept."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

from starlette.concurrency import run_in_threadpool

from clearway.api.past.child import Question
from clearway.api.past.relay import ASK_AGAIN_S
from clearway.api.past.shelf import Row, Shelf
from clearway.model.errors import ClearwayError, ConflictError, FullError, NotFoundError

if TYPE_CHECKING:
    from pathlib import Path

    from clearway.api.past.relay import Relay

KEPT = 20
MOST_WORKING = 5
"""So many may be worked out or wait for it."""


class Whatifs:
    """The what-ifs of a controller. All but `rows`, `row`, `answer` and `page` is called in the server's loop."""

    def __init__(self, relay: Relay, home: Path, store: str) -> None:
        """Keep them in a home; `relay` has a process work, one at a time."""
        self._relay, self._home, self._store = relay, home, store
        self._shelf = Shelf(home)
        self._working: dict[int, tuple[Row, asyncio.Task[None]]] = {}
        self._failed: dict[int, Row] = {}
        self._last = 0

    def rows(self) -> list[Row]:
        """Return all of them, the newest first."""
        found = {number: self._shelf.row(number) for number in self._shelf.numbers()}
        found |= {number: row for number, (row, _) in list(self._working.items())} | self._failed
        return [found[number] for number in sorted(found, reverse=True)]

    def row(self, number: int) -> Row:
        """Return one of them. NotFoundError: there is none of this number."""
        for row in self.rows():
            if row["id"] == number:
                return row
        raise NotFoundError(f"there is no what-if {number}")

    def answer(self, number: int) -> Row | None:
        """Return the whole answer; None where there is none yet."""
        return self._shelf.answer(number) if self.row(number)["state"] == "done" else None

    def page(self, number: int) -> bytes:
        """Return the answer as a page for itself. ConflictError: it is not there yet, or never will be."""
        if (state := self.row(number)["state"]) != "done":
            raise ConflictError(f"what-if {number} is {state}: there is no page of it")
        return self._shelf.page(number)

    def begin(self, words: dict[str, Any], by: str, at: str) -> Row:
        """Have one worked out, by words that were read. FullError: too many are already."""
        if len(self._working) >= MOST_WORKING:
            raise FullError(f"{MOST_WORKING} what-ifs are being worked out already", ASK_AGAIN_S)
        self._last = number = 1 + max(self._last, *self._shelf.numbers(), *self._failed, 0)
        row: Row = {"id": number, "state": "working", "asked": at, "by": by, "words": words}
        self._working[number] = row, asyncio.ensure_future(self._work(row))
        return row

    async def remove(self, number: int) -> None:
        """Forget one, or stop working on it. NotFoundError: there is none of this number."""
        row = await run_in_threadpool(self.row, number)
        if row["state"] == "working" and number in self._working:
            task = self._working[number][1]
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        self._failed.pop(number, None)
        await run_in_threadpool(self._shelf.drop, number)

    async def _work(self, row: Row) -> None:
        number = row["id"]
        question = Question("whatif", str(self._home), self._store, {"words": row["words"], "row": row})
        try:
            async with self._relay.child(question) as process:
                told = b"" if process.stdout is None else await process.stdout.read()
            head, _, body = told.partition(b"\n")
            if not head or json.loads(head)["status"] != 200:  # noqa: PLR2004  HTTP's word for: it is done
                reason = json.loads(body)["detail"] if body else "the process that works has ended"
                self._failed[number] = {**row, "state": "failed", "reason": reason}
        except (ClearwayError, OSError, ValueError) as error:  # no process could be had, or it was killed as it began
            self._failed[number] = {**row, "state": "failed", "reason": str(error)}
        finally:
            del self._working[number]
        await run_in_threadpool(self._forget)

    def _forget(self) -> None:
        """Keep the newest."""
        for old in sorted({*self._shelf.numbers(), *self._failed}, reverse=True)[KEPT:]:
            self._failed.pop(old, None)
            self._shelf.drop(old)
