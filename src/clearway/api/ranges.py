"""Which part of a file a request wants: a Range header, in bytes."""

from __future__ import annotations

import re
from typing import NamedTuple

from clearway.api.problems import HttpFault

_ONE_RANGE = re.compile(r"bytes=(\d{0,19})-(\d{0,19})", re.ASCII)


class Part(NamedTuple):
    """Bytes `start` up to, not including, `end` of a file of `size` bytes; `whole` if no range was asked for."""

    start: int
    end: int
    size: int
    whole: bool

    @property
    def content_range(self) -> str:
        """The value of the Content-Range header."""
        return f"bytes {self.start}-{self.end - 1}/{self.size}"


def wanted_part(header: str | None, size: int) -> Part:
    """Return the part that a Range header asks for. A header that is no byte range, or several, means the whole.

    Raises HttpFault 416 for a range that the file does not have.
    """
    match = _ONE_RANGE.fullmatch(header.strip()) if header else None
    if match is None or match.groups() == ("", ""):
        return Part(0, size, size, whole=True)
    first, last = match.groups()
    if not first:  # the last n bytes
        start, end = max(0, size - int(last)), size
    else:
        start, end = int(first), min(size, int(last) + 1 if last else size)
    if start >= end:
        raise HttpFault(416, "range", f"the log has {size} bytes", {"Content-Range": f"bytes */{size}"})
    return Part(start, end, size, whole=False)
