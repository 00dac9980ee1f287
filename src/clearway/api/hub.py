"""Live events for any number of readers: one look at the journal, one text for all who want the same.

Texts are written straight into the connection: no task runs for a reader, and nothing is kept for one but what its
connection has not sent yet. A reader for whom more than MOST_BEHIND bytes lie there is cut off; it goes on from the
last number that it has seen, by `Last-Event-ID`, as it would after any other break.
"""

from __future__ import annotations

import asyncio
import json
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from starlette.concurrency import run_in_threadpool

from clearway.api.moments import FACE
from clearway.observe.event_rows import EventRows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clearway.api.desk import Desk
    from clearway.ports.journal import Entry

TICK_S = 0.05
"""So often is looked for what is new; each thousand readers make it five ticks more, so that they cost no more."""
BEAT_S = 15.0
MOST_BEHIND = 256 * 1024
PAGE = 500
"""So many records are read at once."""
STALL_S = 30.0
"""A reader of the past that takes nothing for so long is cut off."""


class Wish(NamedTuple):
    """What a reader wants to see; nothing said means everything. `name` may end in a star."""

    kinds: frozenset[str] = frozenset()
    job: int | None = None
    name: str | None = None
    queue: str | None = None
    user: str | None = None
    tenant: str | None = None
    state: str | None = None

    def fits(self, row: dict[str, Any]) -> bool:
        """Whether an event is among it."""
        if self.kinds and row["kind"] not in self.kinds:
            return False
        named = self.name is None or _named(self.name, row.get("name"))
        return named and all(
            wanted is None or row.get(word) == wanted
            for word, wanted in (
                ("job", self.job), ("queue", self.queue), ("user", self.user), ("tenant", self.tenant),
                ("state", self.state),
            )
        )  # fmt: skip


def _named(wanted: str, name: str | None) -> bool:
    return name is not None and (name == wanted or (wanted.endswith("*") and name.startswith(wanted[:-1])))


class Reader:
    """One connection that reads along. `framed`: its answer is sent in chunks."""

    def __init__(self, transport: asyncio.Transport, wish: Wish, *, framed: bool) -> None:
        """Write to a transport whose head of an answer has been sent."""
        self.transport, self.wish, self._framed = transport, wish, framed

    @property
    def behind(self) -> int:
        """How many bytes it has not taken yet."""
        return self.transport.get_write_buffer_size()

    def write(self, text: bytes, chunk: bytes | None = None) -> None:
        """Send a text, whose form as a chunk may be known; cut off one that takes nothing."""
        if self.behind > MOST_BEHIND:
            self.transport.abort()
        elif text and not self.transport.is_closing():
            self.transport.write((chunk or as_chunk(text)) if self._framed else text)


class Hub:
    """All readers of one controller."""

    def __init__(self, desk: Desk) -> None:
        """Nobody reads yet."""
        self._desk = desk
        self._rows = EventRows(FACE, desk.node_name)
        self._readers: dict[Wish, set[Reader]] = {}
        self._seen = 0
        self._task: asyncio.Task[None] | None = None
        self.count = 0

    async def attend(self, reader: Reader, after: int | None) -> None:
        """Send a reader what came after a record (None: what comes from now on), and then what comes."""
        self._begin()
        at = self._seen if after is None else after
        reader.write(_text(at, "hello", {"kind": "hello", "at": FACE.at(self._desk.controller.now_us()), "after": at}))
        while at < self._seen and not reader.transport.is_closing():
            entries = await run_in_threadpool(self._read, at, self._seen)
            at = entries[-1].number if entries else self._seen
            reader.write(self._chosen(self._worded(entries), reader.wish))
            await _taken(reader)
        if not reader.transport.is_closing():
            self._readers.setdefault(reader.wish, set()).add(reader)
            self.count += 1

    def leave(self, reader: Reader) -> None:
        """Forget a reader."""
        mine = self._readers.get(reader.wish, set())
        if reader in mine:
            mine.remove(reader)
            self.count -= 1
        if not mine:
            self._readers.pop(reader.wish, None)

    def _begin(self) -> None:
        if self._task is None or self._task.done():
            self._seen = self._desk.journal.last()
            self._task = asyncio.ensure_future(self._go_on())

    async def _go_on(self) -> None:
        """Look for what is new until nobody reads for a while."""
        loop = asyncio.get_running_loop()
        beat_s = loop.time()
        while not self._desk.stopping.is_set():
            if self._desk.journal.last() > self._seen:
                entries = await run_in_threadpool(self._read, self._seen, self._desk.journal.last())
                self._tell(self._worded(entries))
                self._seen = entries[-1].number if entries else self._seen
            if loop.time() - beat_s >= BEAT_S:
                if not self.count:
                    return
                beat_s = loop.time()
                self._beat()
            await asyncio.sleep(TICK_S * (1 + self.count // 200))

    def _read(self, after: int, up_to: int) -> list[Entry]:
        return [entry for entry in islice(self._desk.journal.read(after), PAGE) if entry.number <= up_to]

    def _worded(self, entries: Sequence[Entry]) -> list[tuple[int, dict[str, Any]]]:
        found = ((entry.number, self._rows.row(entry.record)) for entry in entries)
        return [(number, self._known(row)) for number, row in found if row is not None]

    def _known(self, row: dict[str, Any]) -> dict[str, Any]:
        """Add what the board knows of a job: null where it has been forgotten."""
        if "job" not in row:
            return row
        job = self._desk.board.jobs.get(row["job"])
        about = {"name": None, "queue": None, "user": None, "tenant": None}
        return {**row, **{word: getattr(job, word, None) for word in about}}

    def _tell(self, rows: Sequence[tuple[int, dict[str, Any]]]) -> None:
        for wish, readers in list(self._readers.items()):
            text = self._chosen(rows, wish)
            if text:
                chunk = as_chunk(text)
                for reader in list(readers):
                    reader.write(text, chunk)

    @staticmethod
    def _chosen(rows: Sequence[tuple[int, dict[str, Any]]], wish: Wish) -> bytes:
        return b"".join(_text(number, row["kind"], row) for number, row in rows if wish.fits(row))

    def _beat(self) -> None:
        text = b": beat\nid: %d\n\n" % self._seen
        chunk = as_chunk(text)
        for readers in list(self._readers.values()):
            for reader in list(readers):
                reader.write(text, chunk)


async def _taken(reader: Reader) -> None:
    """Return when a reader has taken most of what was sent; cut it off where it takes nothing for long."""
    loop = asyncio.get_running_loop()
    since_s, last = loop.time(), reader.behind
    while reader.behind > MOST_BEHIND // 4 and not reader.transport.is_closing():
        await asyncio.sleep(TICK_S)
        if reader.behind < last:
            since_s, last = loop.time(), reader.behind
        elif loop.time() - since_s > STALL_S:
            reader.transport.abort()


def as_chunk(text: bytes) -> bytes:
    """Return bytes as a chunk of an HTTP/1.1 answer."""
    return b"%x\r\n%b\r\n" % (len(text), text)


def _text(number: int, kind: str, row: dict[str, Any]) -> bytes:
    return b"id: %d\nevent: %b\ndata: %b\n\n" % (number, kind.encode(), _json(row))


def _json(row: dict[str, Any]) -> bytes:
    try:
        return msgspec.json.encode(row)
    except UnicodeEncodeError:  # a name need not be UTF-8
        return json.dumps(row, separators=(",", ":")).encode()
