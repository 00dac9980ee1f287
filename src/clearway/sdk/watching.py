"""Server-sent events read as they come; where the connection breaks, reading goes on behind the last one seen."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

from clearway.model.errors import ControllerError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from clearway.sdk.transport import Transport

PAUSE_S = 0.5
TRIES = 20
"""So often in a row a connection may fail before that is an error: a controller may be starting anew."""


def events(transport: Transport, query: dict[str, object]) -> Iterator[dict[str, Any]]:
    """Yield events; ControllerError where no controller answers any more."""
    failed = 0
    while True:
        try:
            for event in _read(transport.stream("events", query)):
                failed = 0
                query = {**query, "after": event["id"]}
                yield event
        except ControllerError:
            failed += 1
            if failed == TRIES:
                raise
        time.sleep(PAUSE_S)


def _read(pieces: Iterator[bytes]) -> Iterator[dict[str, Any]]:
    rest = b""
    for piece in pieces:
        *whole, rest = (rest + piece).split(b"\n\n")
        for text in whole:
            lines = dict(line.split(b": ", 1) for line in text.split(b"\n"))
            if b"data" in lines:
                yield {"id": int(lines[b"id"]), **json.loads(lines[b"data"])}
