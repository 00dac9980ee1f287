"""What the runner must not forget, in one file that only grows until it is written anew.

One JSON list a line: ["run", task, pid, start, boot, what it holds], ["exit", task, code, CPUs, peak], ["ack", task],
["gone", task, code, error, 1 where memory ran out or 0, CPUs, peak]. Many lines share one sync: that is what makes
hundreds of short processes a second possible.
"""

from __future__ import annotations

import contextlib
import json
import os

TYPE_CHECKING = False  # not from typing: the runner pays for every module
if TYPE_CHECKING:
    from collections.abc import Iterable

    Line = list[str | int | None]

GROWTH = 2**20
"""The file is written anew when it has so many bytes more than what it held when it was last written anew."""


class Records:
    """The open file. `add` only remembers a line, `sync` makes all of them durable or raises OSError.

    Lines that could not be written are kept and tried again at the next `sync`.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.broken_lines = 0
        self.urgent = False
        """Whether there are lines that are to be durable soon."""
        self._pending: list[bytes] = []
        self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self._size = self._base = 0

    def read(self) -> list[Line]:
        """Return all lines. A torn last line, as a kill in the middle of a write leaves it, is cut off."""
        with open(self.path, "rb") as file:  # noqa: PTH123  pathlib costs the runner 2 MB
            data = file.read()
        self._size = self._base = data.rfind(b"\n") + 1
        found = [_parsed(line) for line in data[: self._size].splitlines()]
        whole = [line for line in found if line is not None]
        self.broken_lines = len(found) - len(whole)
        return whole

    def add(self, *line: str | int | None, urgent: bool = True) -> None:
        """Remember a line until the next `sync`; one that is not urgent is no reason for one."""
        self.urgent = self.urgent or urgent
        self._pending.append(json.dumps(line, separators=(",", ":")).encode("ascii") + b"\n")

    def forget(self, count: int) -> None:
        """Take the last `count` lines back that were added and never written."""
        del self._pending[len(self._pending) - count :]

    @property
    def grown(self) -> bool:
        """Whether it is worth writing the file anew."""
        return self._size - self._base > GROWTH

    def grow_on(self) -> None:
        """Put off writing it anew, which failed, until it has grown by as much once more."""
        self._base = self._size

    def sync(self) -> None:
        """Write all remembered lines and wait until the disk has them. Raises OSError; nothing is half written then."""
        if not self._pending:
            return
        data = b"".join(self._pending)
        try:
            _write_all(self._fd, data, self._size)
            os.fdatasync(self._fd)
        except OSError:
            with contextlib.suppress(OSError):  # the rest of a torn line is cut off when the file is read, too
                os.ftruncate(self._fd, self._size)
            raise
        self._size += len(data)
        self._pending, self.urgent = [], False

    def rewrite(self, lines: Iterable[Line]) -> None:
        """Put a new file with these lines in the place of the old one. Raises OSError; the old one stays then."""
        data = b"".join(json.dumps(line, separators=(",", ":")).encode("ascii") + b"\n" for line in lines)
        fresh = self.path + ".new"
        fd = os.open(fresh, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        try:
            _write_all(fd, data, 0)
            os.fsync(fd)
            os.replace(fresh, self.path)  # noqa: PTH105
        except OSError:
            os.close(fd)
            raise
        _sync_folder(os.path.dirname(self.path))  # noqa: PTH120
        os.close(self._fd)
        self._fd, self._size, self._base = fd, len(data), len(data)

    def close(self) -> None:
        """Give the file up."""
        os.close(self._fd)


def _parsed(line: bytes) -> Line | None:
    try:
        found = json.loads(line)
    except ValueError:
        return None
    return found if isinstance(found, list) and len(found) > 1 else None


def _write_all(fd: int, data: bytes, at: int) -> None:
    view = memoryview(data)
    while view:
        done = os.pwrite(fd, view, at)
        view, at = view[done:], at + done


def _sync_folder(path: str) -> None:
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
