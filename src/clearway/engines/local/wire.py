"""Messages between controller and runner: one JSON map a line."""

from __future__ import annotations

import json

TYPE_CHECKING = False  # not from typing: the runner imports this file and pays for every module
if TYPE_CHECKING:
    from typing import Any

    Message = dict[str, Any]

PROTOCOL = 1
"""Changes when an old runner and a new controller would not understand each other."""

LONGEST_MESSAGE = 64 * 2**20
"""Bytes of one message. A launch holds a job's whole environment and script, of which the system passes 3 MB on."""


class BrokenMessageError(Exception):
    """What came is not a message; nothing after it can be trusted."""


def packed(message: Message) -> bytes:
    """Return the bytes of a message."""
    return json.dumps(message, separators=(",", ":")).encode("ascii") + b"\n"


class Reader:
    """Cuts a stream of bytes into messages; a message may come in any number of pieces."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._held = 0

    def feed(self, data: bytes) -> list[Message]:
        """Take bytes and return the messages that are whole now. Raises BrokenMessageError."""
        *ends, rest = data.split(b"\n")
        found = [self._finish(end) for end in ends]
        self._pieces.append(rest)
        self._held += len(rest)
        if self._held > LONGEST_MESSAGE:
            raise BrokenMessageError(f"a message has more than {LONGEST_MESSAGE} bytes")
        return found

    def _finish(self, end: bytes) -> Message:
        line = b"".join([*self._pieces, end])
        self._pieces, self._held = [], 0
        try:
            message = json.loads(line)
        except ValueError as error:
            raise BrokenMessageError("a line is not JSON") from error
        if not isinstance(message, dict):
            raise BrokenMessageError("a line is not a map")
        return message
