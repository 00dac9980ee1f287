"""The door: who comes in, as whom, how often, and what is written down about it.

- Through the Unix socket: the owner, and nobody else of this machine. The directory (0700) and the socket (0600) keep
  others out, and the kernel's word on who the peer is (SO_PEERCRED) is checked besides. Root is somebody else, too,
  unless the controller is root's.
- Through a port anybody can connect, so everything but `health` needs a token, or a session that a link has begun.
  On loopback the Host header must be a loopback name, so that no web page can reach us by rebinding a name of its own
  to 127.0.0.1. No CORS header is ever sent.
- What a session changes needs the session's second secret in a header, and no other Origin than the page's own.
"""

from __future__ import annotations

import asyncio
import hmac
import logging
import math
import os
import secrets
import socket
import struct
import time
from http.cookies import CookieError, SimpleCookie
from typing import TYPE_CHECKING, Any

from uvicorn.protocols.http.h11_impl import H11Protocol

from clearway.api.events import TRANSPORT
from clearway.api.limits import MOST_OPEN, most_at_ports
from clearway.api.problems import HttpFault, problem, problem_of
from clearway.api.refusal import refusal
from clearway.api.roles import OPEN
from clearway.api.scarce import SAY_AGAIN_S
from clearway.api.who import NOTES, WHO, Role, Who
from clearway.model.errors import ClearwayError, ControllerError

if TYPE_CHECKING:
    from pathlib import Path

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from clearway.api.doors import Doors

LOG = logging.getLogger(__name__)
OWNER = "owner"
OWNERS = ("socket", "token file")
"""The ways in that are the owner's alone."""
HOSTS = frozenset({"127.0.0.1", "localhost", "[::1]"})
COOKIE = "clearway"
CSRF = b"x-csrf-token"
READS = frozenset({"GET", "HEAD", "OPTIONS"})
TOKEN_BYTES = 32
HEAD_S = 10.0
"""Whoever has begun a request and not sent its head by then is cut off; so is a connection that sends none at all.

A head is a few hundred bytes, which a phone at the end of the world sends in a second or two: it has the time of a
handshake of TLS. Until then a connection holds one of the places that there are at the ports.
"""
STALL_S = 30.0
MOST_BEHIND, LEAST_TAKEN = 256 * 1024, 16 * 1024
"""Of whom more than MOST_BEHIND bytes of an answer lie here, he takes LEAST_TAKEN in STALL_S at a port, or is cut off.

An answer is whole in memory while somebody reads it. One that is sent piece by piece lies here with two pieces, and
its reader may take his time.
"""
_CREDENTIALS = struct.Struct("3i")  # struct ucred: pid, uid, gid


class OwnerProtocol(H11Protocol):
    """HTTP for one connection, which marks its requests as the owner's where the kernel says so."""

    _late: asyncio.TimerHandle | None = None
    _slow: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Let the owner in, turn another user of the machine away before reading a byte."""
        super().connection_made(transport)
        self.app_state = {**self.app_state, TRANSPORT: transport}
        peer: socket.socket = transport.get_extra_info("socket")
        if peer.family == socket.AF_UNIX:
            uid = _peer_uid(peer)
            if uid != os.geteuid():
                LOG.warning("user %d was turned away from the socket", uid)
                transport.abort()
                return
            self.app_state = {**self.app_state, OWNER: True}
        elif len(self.connections) > most_at_ports():
            _say_full()
            transport.abort()
            return
        self._expect_head()

    def data_received(self, data: bytes) -> None:
        """Take bytes: what begins a next request without ending its head has its time, too."""
        super().data_received(data)
        self._expect_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._stop_waiting()
        self._stop_watching()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """Write no more for now, and see whether what there is is taken."""
        super().pause_writing()
        if OWNER not in self.app_state and self._slow is None:
            self._watch()

    def resume_writing(self) -> None:
        """Write again."""
        self._stop_watching()
        super().resume_writing()

    def _watch(self, before: int | None = None) -> None:
        behind = self.transport.get_write_buffer_size()
        if before is not None and behind > max(MOST_BEHIND, before - LEAST_TAKEN):
            self.transport.abort()
        else:
            self._slow = asyncio.get_running_loop().call_later(STALL_S, self._watch, behind)

    def _stop_watching(self) -> None:
        if self._slow is not None:
            self._slow.cancel()
            self._slow = None

    def _expect_head(self) -> None:
        if self.cycle is not None and not self.cycle.response_complete:  # a request is being answered
            self._stop_waiting()
        elif self._late is None and not self.transport.is_closing():
            self._late = asyncio.get_running_loop().call_later(HEAD_S, self.transport.abort)

    def _stop_waiting(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None


class Access:
    """The door of the app: lets through who may come in, and says who it is."""

    def __init__(self, app: ASGIApp, doors: Doors) -> None:
        """Guard `app`; `doors` know whom to let in."""
        self._app, self._doors = app, doors

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer it with the reason why not."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            await problem(400, "http", "only HTTP is spoken here")(scope, receive, send)
            return
        exact = {**scope, "path": scope["raw_path"].decode("latin-1")}
        try:
            who = await self._known(exact)
        except HttpFault as fault:
            await refusal(exact, fault)(scope, receive, send)
            return
        except ClearwayError as error:
            await problem_of(error)(scope, receive, send)
            return
        if who is None or who.role >= Role.operator:  # many workers of calls may wait by one token
            await self._pass_on(who, exact, receive, send)
            return
        if not self._doors.limits.begin(who.key):
            told = f"{MOST_OPEN} requests of {who.name!r} are under way: end some"
            await problem(429, "too many", told, {"Retry-After": "1"})(scope, receive, send)
            return
        try:
            await self._pass_on(who, exact, receive, send)
        finally:
            self._doors.limits.end(who.key)

    async def _pass_on(self, who: Who | None, scope: Scope, receive: Receive, send: Send) -> None:
        notes: dict[str, Any] = {}
        if who is not None:
            WHO.set(who)
        NOTES.set(notes)

        async def tell(message: Message) -> None:
            if message["type"] == "http.response.start" and who is not None and scope["method"] not in READS:
                self._doors.write(who, scope, message["status"], notes)
            await send(message)

        if who is None or not who.key:
            await self._app(scope, receive, tell)
            return
        with self._doors.under_way.of(who.key, scope["state"][TRANSPORT], self._doors.left_s(who)):
            await self._app(scope, receive, tell)

    async def _known(self, scope: Scope) -> Who | None:
        """Return who asks; None where that does not matter. Raises HttpFault for who may not come in."""
        headers = dict(scope["headers"])
        if b"content-length" in headers and b"transfer-encoding" in headers:  # two readers would see two requests
            told = {"Connection": "close"}
            raise HttpFault(400, "http", "a body has either a Content-Length or a Transfer-Encoding", told)
        if scope.get("state", {}).get(OWNER) is True:
            return self._doors.owner(OWNERS[0], "")
        doors, address = self._doors, self._doors.address(scope, headers)
        if doors.only_loopback and _without_port(headers.get(b"host", b"").decode("latin-1")) not in HOSTS:
            raise HttpFault(421, "not allowed", "the Host header must be a loopback address")
        if f"{scope['method']} {scope['path']}" in OPEN:
            return None
        who = await self._by_token(headers, address) or self._by_session(scope, headers, address)
        if who is None:
            needs = "needs a token: Authorization: Bearer ..; a browser comes in by: clearway dashboard"
            raise HttpFault(401, "not allowed", needs, {"WWW-Authenticate": "Bearer"})
        if wait_s := doors.limits.wait_s(who.key):
            told = {"Retry-After": str(math.ceil(wait_s))}
            raise HttpFault(429, "too many", f"{who.name!r} asks too often: once more in {wait_s:.2f} s", told)
        return who

    async def _by_token(self, headers: dict[bytes, bytes], address: str) -> Who | None:
        scheme, _, shown = headers.get(b"authorization", b"").partition(b" ")
        shown = shown.strip()
        if scheme.lower() != b"bearer" or not shown:
            return None
        owner = self._doors.token.encode()
        if hmac.compare_digest(shown, owner) and owner:  # in constant time, also for an empty one
            return self._doors.owner(OWNERS[1], address)
        return await self._doors.by_token(shown.decode("latin-1"), address)

    def _by_session(self, scope: Scope, headers: dict[bytes, bytes], address: str) -> Who | None:
        session = self._doors.session(_cookie(headers.get(b"cookie", b"")))
        if session is None:
            return None
        if scope["method"] not in READS:
            if not self._doors.is_own_page(scope, headers):
                raise HttpFault(403, "forbidden", "a change comes from the page itself: the Origin is another one")
            if not hmac.compare_digest(headers.get(CSRF, b""), session.csrf.encode()):
                raise HttpFault(403, "forbidden", "a change of a session shows X-CSRF-Token, which /session tells")
        return session.who._replace(address=address, key=session.csrf)  # each browser is counted by itself


_said_full_s = float("-inf")


def _say_full() -> None:
    global _said_full_s  # noqa: PLW0603  of the process, as its descriptors are
    if time.monotonic() - _said_full_s > SAY_AGAIN_S:
        _said_full_s = time.monotonic()
        LOG.warning("%d are connected: whoever comes by a port is turned away until there are fewer", most_at_ports())


def _cookie(header: bytes) -> str:
    try:
        found = SimpleCookie(header.decode("latin-1")).get(COOKIE)
    except CookieError:
        return ""
    return "" if found is None else found.value


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


def _without_port(host: str) -> str:
    name, colon, port = host.rpartition(":")
    return name.lower() if colon and port.isdigit() else host.lower()


def _peer_uid(peer: socket.socket) -> int:
    raw: Any = peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    return int(_CREDENTIALS.unpack(raw)[1])
