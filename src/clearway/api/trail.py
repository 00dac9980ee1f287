"""Who changed what, from where and when: a line of JSON for each change, in a file that only the owner can read.

A line is written before its answer is sent. It is not forced to the disk: a power cut may take the last moments. At a
size the file begins anew, and old ones are kept.
"""

from __future__ import annotations

import json
import logging
import os
from collections import deque
from threading import Lock
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NAME = "changes.jsonl"
OLD = 3
MOST_OWED = 1000
"""So many lines are kept while they cannot be written, the newest: what was done is done, and is answered as such."""
LOG = logging.getLogger(__name__)


class Trail:
    """The lines of one home. Any thread may write and read. What a full disk refuses is written with the next line."""

    def __init__(self, home: Path, size: int) -> None:
        """Append to HOME/changes.jsonl, which begins anew at `size` bytes."""
        self._path, self._size, self._lock = home / NAME, size, Lock()
        self._owed: deque[bytes] = deque(maxlen=MOST_OWED)
        self._failing = False

    def write(self, line: dict[str, Any]) -> None:
        """Add a line."""
        text = json.dumps(line, separators=(",", ":"), default=str).encode() + b"\n"
        with self._lock:
            self._owed.append(text)
            try:
                self._write_owed()
            except OSError as error:
                if not self._failing:
                    LOG.warning("who changes what cannot be written to %s now: %s", self._path, error.strerror)
                self._failing = True

    def _write_owed(self) -> None:
        file = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            while self._owed:
                os.write(file, self._owed[0])
                self._owed.popleft()
            full = os.fstat(file).st_size >= self._size
        finally:
            os.close(file)
        if self._failing:
            LOG.warning("who changes what can be written again")
        self._failing = False
        if full:
            self._begin_anew()

    def newest(self) -> Iterator[dict[str, Any]]:
        """Yield lines, the newest first."""
        for path in self._paths():
            try:
                lines = path.read_bytes().splitlines()
            except FileNotFoundError:
                continue
            for line in reversed(lines):
                try:
                    yield json.loads(line)
                except ValueError:
                    continue  # cut by a kill in the middle of a line

    def _paths(self) -> list[Path]:
        return [self._path, *(self._path.with_suffix(f".jsonl.{n}") for n in range(1, OLD + 1))]

    def _begin_anew(self) -> None:
        paths = self._paths()
        for older, newer in zip(paths[:0:-1], paths[-2::-1], strict=True):
            if newer.exists():
                newer.replace(older)
