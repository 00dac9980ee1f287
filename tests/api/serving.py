"""A real server in a thread of the test, on a socket of the test's own."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import socket
import threading
from typing import TYPE_CHECKING

from clearway.api.server import Server, port_socket, unix_socket

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from starlette.types import ASGIApp

STARTS_S = 10


@contextlib.contextmanager
def served(app: ASGIApp, home: Path) -> Iterator[tuple[str, int]]:
    """Serve `app` on HOME/socket and a free port of loopback; yields the socket's path and the port."""
    with unix_socket(home) as local, port_socket(("127.0.0.1", 0)) as open_to_all:
        ready = threading.Event()
        server = Server(app, ready.set)
        thread = threading.Thread(target=lambda: asyncio.run(server.serve([local, open_to_all])))
        where = (str(local.getsockname()), int(open_to_all.getsockname()[1]))
        thread.start()
        assert ready.wait(STARTS_S)
        try:
            yield where
        finally:
            server.should_exit = True
            thread.join(STARTS_S)


def raw_answer(address: str | tuple[str, int], sent: bytes) -> http.client.HTTPResponse:
    """Send bytes as they are, and return what is answered."""
    family = socket.AF_UNIX if isinstance(address, str) else socket.AF_INET
    with socket.socket(family) as peer:
        peer.settimeout(STARTS_S)
        peer.connect(address)
        peer.sendall(sent)
        answer = http.client.HTTPResponse(peer)
        answer.begin()
        answer.body = answer.read()  # type: ignore[attr-defined]
        return answer
