"""Keeping what tasks write within bounds, without standing between a task and its file.

A task writes straight into its log, so nothing can hold it up and every byte arrives as it was. When a log has grown
beyond its limit, its middle is cut: the system gives the disk space back and leaves a hole, before which a line says
what is missing. Offsets stay what they were; a reader skips holes.
"""

from __future__ import annotations

import ctypes
import errno
import os

TYPE_CHECKING = False  # not from typing: the runner pays for every module
if TYPE_CHECKING:
    from collections.abc import Iterable

BLOCK = 4096  # holes begin and end where blocks do
HEAD_BYTES = 64 * 1024
"""So much of the beginning stays, or a quarter of the limit where that is less: it says how the task was set up."""

SLACK = 8
"""A log is cut when it is one part in so many over its limit, so that not every look cuts a little."""

_KEEP_SIZE, _PUNCH_HOLE = 1, 2


class Cuts:
    """Cuts the logs of tasks. `trouble` says why a log could not be cut, empty when all is well."""

    def __init__(self) -> None:
        self.trouble = ""
        self._fallocate = ctypes.CDLL(None, use_errno=True).fallocate
        self._fallocate.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_int64]

    def look(self, paths: Iterable[str], limit: int) -> None:
        """Cut logs where they are longer than `limit` bytes; 0 is no limit."""
        for path in paths if limit else ():
            self._look(path, limit)

    def _look(self, path: str, limit: int) -> None:
        try:
            held = os.stat(path).st_blocks * 512  # what it takes on the disk, whatever was cut before  # noqa: PTH116
            if held > limit + limit // SLACK:
                self._cut(path, limit)
        except FileNotFoundError:
            return
        except OSError as error:
            self.trouble = f"the log {path!r} cannot be cut though it is longer than {limit} bytes: {error.strerror}"

    def _cut(self, path: str, limit: int) -> None:
        fd = os.open(path, os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            first = min(HEAD_BYTES, limit // 4) // BLOCK * BLOCK
            behind = (os.fstat(fd).st_size - (limit - first)) // BLOCK * BLOCK
            if behind <= first + BLOCK:
                return
            line = f"\n[{behind - first} bytes are cut here: the log is longer than {limit} bytes]\n".encode()
            os.pwrite(fd, line.ljust(BLOCK, b"\n"), first)
            if self._fallocate(fd, _PUNCH_HOLE | _KEEP_SIZE, first + BLOCK, behind - first - BLOCK) != 0:
                number = ctypes.get_errno()
                known = "this file system cannot" if number == errno.EOPNOTSUPP else os.strerror(number)
                raise OSError(number, known)
        finally:
            os.close(fd)
