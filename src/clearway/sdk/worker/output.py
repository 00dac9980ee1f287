"""stdout and stderr of a worker: a call may close them, and the next one has them all the same."""

from __future__ import annotations

import contextlib
import os
import sys
from typing import TextIO

_NAMES = ("stdout", "stderr")


class Output:
    """Both streams as they were at first. It keeps descriptors of its own, which no call knows."""

    def __init__(self) -> None:
        self._kept = [os.dup(number) for number in (1, 2)]

    def begin(self) -> None:
        """Make anew what an earlier call closed."""
        for number, kept in enumerate(self._kept, 1):
            if not _same(number, kept):
                os.dup2(kept, number)
            stream = getattr(sys, _NAMES[number - 1])
            if stream is None or getattr(stream, "closed", False):
                setattr(sys, _NAMES[number - 1], _open(number))

    def written(self) -> tuple[int, int]:
        """Return how much this process has written to stdout and to stderr."""
        for name in _NAMES:
            with contextlib.suppress(Exception):  # closed, or some object of the call's own: what is written counts
                getattr(sys, name).flush()
        first, second = (os.fstat(kept).st_size for kept in self._kept)
        return first, second


def _same(number: int, kept: int) -> bool:
    try:
        return os.path.sameopenfile(number, kept)
    except OSError:
        return False


def _open(number: int) -> TextIO:
    return open(number, "w", 1, errors="backslashreplace", closefd=False)  # a line at a time
