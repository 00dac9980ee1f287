"""Notices on their way: kept as files until who is to have them has them, sent in a thread of their own.

A notice is sent at least once, again and again with growing pauses, for a day. Where a place fails, all that is for it
waits for its next try; other places do not.
"""

from __future__ import annotations

import hashlib
import logging
import os
import threading
import time
from typing import TYPE_CHECKING, NamedTuple, Protocol

import msgspec

from clearway.model.errors import ClearwayError
from clearway.observe.noticing import Notice

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

LOG = logging.getLogger("clearway.notices")
FIRST_S, LAST_S = 1.0, 300.0
"""Pauses before a place that failed is tried again: doubled from the first to the last."""
GIVE_UP_S = 24 * 3600.0
MOST_FILES = 10_000
"""So many may wait for one place; beyond it the oldest are dropped, and the log says so."""
LOOK_S = 15.0
END_S = 5.0
CURSOR_EVERY_S = 1.0


class NotSentError(ClearwayError):
    """A notice could not be sent; it is tried again."""


class Place(Protocol):
    """Where notices go."""

    @property
    def name(self) -> str:
        """Return what tells it from others, without secrets."""
        ...

    def wants(self, notice: Notice) -> bool:
        """Return whether it is to have a notice."""
        ...

    def send(self, notice: Notice) -> None:
        """Send one. NotSentError: it is not there."""
        ...


class _Waits(NamedTuple):
    pause_s: float = 0.0
    until_s: float = 0.0


class Outbox:
    """The files in a folder, and the thread that sends them. `look` is called every LOOK_S in that thread."""

    def __init__(self, folder: Path, places: Sequence[Place]) -> None:
        """Keep files in `folder`, which is made; what lies there for other places is dropped."""
        self._folder, self._places = folder, {_key(place): place for place in places}
        folder.mkdir(mode=0o700, exist_ok=True)
        self._waits = dict.fromkeys(self._places, _Waits())
        self._called, self._ending = threading.Event(), threading.Event()
        self._cursor, self._cursor_s = -1, 0.0
        self.look: Callable[[], None] = _nothing
        self.sent = self.failed = 0
        self._thread = threading.Thread(target=self._run, name="clearway-notices", daemon=True)
        for path in folder.glob("*.json"):
            if path.name.split(".")[1] not in self._places:
                path.unlink(missing_ok=True)

    def since(self) -> int | None:
        """Return up to which record notices had been put here, None where none ever were."""
        try:
            return int((self._folder / "cursor").read_text())
        except (FileNotFoundError, ValueError):
            return None

    def done(self, number: int) -> None:
        """Note that notices of all records up to this one are here; written down once a second at most."""
        self._cursor = number
        if time.monotonic() - self._cursor_s >= CURSOR_EVERY_S:
            self._write_cursor()

    def put(self, notice: Notice) -> None:
        """Keep a notice for each place that wants it."""
        body = msgspec.json.encode(notice)
        for key, place in self._places.items():
            if place.wants(notice):
                mark = hashlib.sha256(notice.id.encode()).hexdigest()[:16]
                path = self._folder / f"{time.time_ns():020d}.{key}.{mark}.json"
                if not any(self._folder.glob(f"*.{key}.{mark}.json")):  # told twice: it waits here already
                    _write(path, body)
        self._called.set()

    def start(self) -> None:
        """Begin to send."""
        self._thread.start()

    def close(self) -> None:
        """End after the notice that is being sent; the others wait for the next controller."""
        self._ending.set()
        self._called.set()
        if self._thread.is_alive():
            self._thread.join(END_S)
        if self._cursor >= 0:
            self._write_cursor()

    # --- inside --------------------------------------------------------------------------------

    def _run(self) -> None:
        looked_s = 0.0
        while not self._ending.is_set():
            now_s = time.monotonic()
            try:
                if now_s - looked_s >= LOOK_S:
                    looked_s = now_s
                    self.look()
                pause_s = self._send_all()
            except Exception:
                LOG.exception("notices could not be looked after; it is tried again")
                pause_s = LOOK_S
            self._called.wait(min(pause_s, LOOK_S))
            self._called.clear()

    def _send_all(self) -> float:
        """Send what can be sent, and return in how many seconds to try again."""
        waiting = sorted(self._folder.glob("*.json"))
        for key, place in self._places.items():
            mine = [path for path in waiting if path.name.split(".")[1] == key]
            for path in mine[: max(len(mine) - MOST_FILES, 0)]:
                LOG.error("a notice for %s was dropped: more than %d wait", place.name, MOST_FILES)
                path.unlink(missing_ok=True)
            self._send_to(key, place, mine[max(len(mine) - MOST_FILES, 0) :])
        left = [one.until_s - time.monotonic() for one in self._waits.values() if one.pause_s]
        return max(min(left, default=LOOK_S), 0.01)

    def _send_to(self, key: str, place: Place, paths: list[Path]) -> None:
        for path in paths:
            if self._ending.is_set() or time.monotonic() < self._waits[key].until_s:
                return
            try:
                place.send(msgspec.json.decode(path.read_bytes(), type=Notice))
            except NotSentError as error:
                self._put_off(key, place, path, error)
                return
            except msgspec.MsgspecError:
                LOG.exception("the notice %s is damaged, and dropped", path.name)
            self._waits[key] = _Waits()
            path.unlink(missing_ok=True)
            self.sent += 1

    def _put_off(self, key: str, place: Place, path: Path, error: NotSentError) -> None:
        self.failed += 1
        pause_s = min(self._waits[key].pause_s * 2 or FIRST_S, LAST_S)
        if not self._waits[key].pause_s:
            LOG.warning("%s was not told, and is tried again: %s", place.name, error)
        self._waits[key] = _Waits(pause_s, time.monotonic() + pause_s)
        if time.time_ns() - int(path.name.split(".")[0]) > GIVE_UP_S * 1e9:
            LOG.error("%s was not told for a day, and will not be: %s", place.name, error)
            path.unlink(missing_ok=True)

    def _write_cursor(self) -> None:
        self._cursor_s = time.monotonic()
        _write(self._folder / "cursor", str(self._cursor).encode())


def _key(place: Place) -> str:
    return hashlib.sha256(place.name.encode()).hexdigest()[:12]


def _write(path: Path, body: bytes) -> None:
    """Write a file whole or not at all, for its owner alone."""
    new = path.with_name(path.name + ".new")
    with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(body)
    new.replace(path)


def _nothing() -> None:
    """Look at nothing."""
