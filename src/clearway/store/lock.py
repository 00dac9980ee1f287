"""One writer at a time: a locked file beside the database, which names who holds it."""

from __future__ import annotations

import fcntl
import os
from typing import TYPE_CHECKING

from clearway.model.errors import ConflictError, StoreError

if TYPE_CHECKING:
    from pathlib import Path

PRIVATE = 0o600
"""Mode of files that only their owner may read: a journal holds environments and command lines."""
PID_CHARS = 20
"""More than the digits of any process number."""


class WriterLock:
    """Held from construction to `release`. The kernel gives it back when the process dies, however it dies."""

    def __init__(self, database: Path) -> None:
        """Take the lock of `database`; ConflictError names the process that holds it."""
        path = database.with_name(database.name + ".lock")
        try:
            file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, PRIVATE)
        except OSError as error:
            raise StoreError(f"the lock file {path} cannot be opened: {error.strerror}") from error
        self._file: int | None = file
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            holder = os.pread(file, PID_CHARS, 0).decode("ascii", "replace").strip() or "another process"
            self.release()
            raise ConflictError(f"the journal {database} is written by process {holder}; only one may") from error
        self._sign(file)

    def release(self) -> None:
        """Give the lock back. Calling it again does nothing."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _sign(self, file: int) -> None:
        try:
            os.ftruncate(file, 0)
            os.pwrite(file, str(os.getpid()).encode(), 0)
        except OSError as error:
            self.release()
            raise StoreError(f"the lock of the journal cannot be written: {error.strerror}") from error
