"""Who may come in: the owner of the controller, and nobody else of this machine.

- Through the Unix socket: the directory (0700) and the socket (0600) keep others out, and the kernel's word on
  who the peer is (SO_PEERCRED) is checked besides. Root is somebody else, too, unless the controller is root's.
- Through loopback: anybody can connect, so everything but `health` needs the token from a file that only the
  owner can read; and the Host header must be a loopback name, so that no web page can reach us by rebinding a
  name of its own to 127.0.0.1. No CORS header is ever sent.
"""

from __future__ import annotations

import hmac
import logging
import os
import secrets
import socket
import struct
from typing import TYPE_CHECKING, Any

from uvicorn.protocols.http.h11_impl import H11Protocol

from clearway.api.events import TRANSPORT
from clearway.api.problems import problem
from clearway.model.errors import ControllerError

if TYPE_CHECKING:
    import asyncio
    from pathlib import Path

    from starlette.responses import Response
    from starlette.types import ASGIApp, Receive, Scope, Send

LOG = logging.getLogger(__name__)
OWNER = "owner"
OPEN_PATHS = frozenset({"/api/v1/health"})
HOSTS = frozenset({"127.0.0.1", "localhost", "[::1]"})
TOKEN_BYTES = 32
_CREDENTIALS = struct.Struct("3i")  # struct ucred: pid, uid, gid


class OwnerProtocol(H11Protocol):
    """HTTP for one connection, which marks its requests as the owner's where the kernel says so."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Let the owner in, turn another user of the machine away before reading a byte."""
        super().connection_made(transport)
        self.app_state = {**self.app_state, TRANSPORT: transport}
        peer: socket.socket = transport.get_extra_info("socket")
        if peer.family != socket.AF_UNIX:
            return
        uid = _peer_uid(peer)
        if uid == os.geteuid():
            self.app_state = {**self.app_state, OWNER: True}
            return
        LOG.warning("user %d was turned away from the socket", uid)
        transport.abort()


class Access:
    """The door of the app: lets through what is the owner's, or shows the token."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        """Guard `app`. An empty token opens nothing: then only the socket leads in."""
        self._app, self._token = app, token.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer it with the reason why not."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        refusal = self._refusal(scope) if scope["type"] == "http" else problem(400, "http", "only HTTP is spoken here")
        await (refusal or self._app)(_exact(scope), receive, send)

    def _refusal(self, scope: Scope) -> Response | None:
        if scope.get("state", {}).get(OWNER) is True:
            return None
        headers = dict(scope["headers"])
        host = headers.get(b"host", b"").decode("latin-1")
        if _without_port(host) not in HOSTS:
            return problem(421, "not allowed", "the Host header must be a loopback address")
        if scope["path"] in OPEN_PATHS or self._shows_token(headers.get(b"authorization", b"")):
            return None
        return problem(401, "not allowed", "needs a token: Authorization: Bearer ..", {"WWW-Authenticate": "Bearer"})

    def _shows_token(self, said: bytes) -> bool:
        scheme, _, shown = said.partition(b" ")
        fits = hmac.compare_digest(shown.strip(), self._token)  # in constant time, also for an empty one
        return scheme.lower() == b"bearer" and bool(self._token) and fits


def read_token(path: Path) -> str:
    """Return the token of a file that only its owner can read; makes it where there is none.

    Raises ControllerError where the file is another user's, or open to others.
    """
    try:
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        with os.fdopen(fd, "w") as new:
            new.write(secrets.token_urlsafe(TOKEN_BYTES) + "\n")
    except FileExistsError:
        pass
    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    with os.fdopen(fd) as file:
        found = os.fstat(fd)
        if found.st_uid != os.geteuid() or found.st_mode & 0o077:
            raise ControllerError(f"the token file {path} must belong to you, with mode 0600")
        token = file.read().strip()
    if not token:
        raise ControllerError(f"the token file {path} is empty; remove it, and a new one is made")
    return token


def _exact(scope: Scope) -> Scope:
    """Return the scope with the path as it was sent: a name with %2F in it stays one part of the path."""
    return {**scope, "path": scope["raw_path"].decode("latin-1")} if scope["type"] == "http" else scope


def _without_port(host: str) -> str:
    name, colon, port = host.rpartition(":")
    return name.lower() if colon and port.isdigit() else host.lower()


def _peer_uid(peer: socket.socket) -> int:
    raw: Any = peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    return int(_CREDENTIALS.unpack(raw)[1])
