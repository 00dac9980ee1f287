"""Reads live events as they come over the wire."""

from __future__ import annotations

import json
import socket
from typing import TYPE_CHECKING, Any, Self

from clearway.config.home import read_running

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PATIENCE_S = 30


class Watch:
    """A raw connection that reads server-sent events, to be closed."""

    def __init__(self, home: Path, query: str = "", header: str = "") -> None:
        running = read_running(home)
        assert running is not None
        self.peer = socket.socket(socket.AF_UNIX)
        self.peer.settimeout(PATIENCE_S)
        self.peer.connect(running.socket)
        self.peer.sendall(f"GET /api/v1/events{query} HTTP/1.1\r\nHost: x\r\n{header}\r\n".encode())
        self._file = self.peer.makefile("rb")
        self.head = b"".join(iter(self._file.readline, b"\r\n")).decode()

    def close(self) -> None:
        """Leave."""
        self._file.close()
        self.peer.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def events(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield number and data of each event as it comes."""
        text = b""
        while (size := int(self._file.readline(), 16)) > 0:
            text += self._file.read(size + 2)[:-2]
            *whole, text = text.split(b"\n\n")
            for one in whole:
                lines = dict(line.split(b": ", 1) for line in one.split(b"\n"))
                if b"data" in lines:
                    yield int(lines[b"id"]), json.loads(lines[b"data"])

    def until(self, kind: str, job: int) -> list[tuple[int, dict[str, Any]]]:
        """Return the events up to one of a kind about a job."""
        found = []
        for number, event in self.events():
            found.append((number, event))
            if event["kind"] == kind and event.get("job") == job:
                return found
        raise AssertionError(f"the stream ended without {kind} of {job}: {found}")
