"""The sockets of a controller, and uvicorn on them."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import socket
import ssl
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import uvicorn

from clearway.api.access import OwnerProtocol
from clearway.api.gate import Gate, Handshakes
from clearway.config.home import fits_socket
from clearway.model.errors import ControllerError, InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from starlette.types import ASGIApp

GRACE_S = 2  # answers under way when a controller stops have so long to end
KEEP_ALIVE_S = 15
BACKLOG = 1024
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; "
        "connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    ),
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",  # with `no-referrer` a form of the page would say no Origin either
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
"""With every answer: a page loads nothing from elsewhere, runs nothing that stands in it, and is framed by nobody."""


class Server(uvicorn.Server):
    """uvicorn that leaves signals to the process, and says when it takes connections."""

    def __init__(self, app: ASGIApp, on_ready: Callable[[], None], tls: ssl.SSLContext | None = None) -> None:
        """Serve `app`; `on_ready` is called once, when the sockets are open. `tls` is for all but the first one."""
        self._on_ready, self._tls, self._handshakes = on_ready, tls, Handshakes()
        super().__init__(
            uvicorn.Config(
                app,
                http=OwnerProtocol,
                loop="asyncio",
                ws="none",
                lifespan="off",
                access_log=False,
                log_config=None,
                backlog=BACKLOG,
                server_header=False,
                proxy_headers=False,  # the door reads them, from a proxy that the settings name
                headers=list(HEADERS.items()),
                timeout_keep_alive=KEEP_ALIVE_S,
                timeout_graceful_shutdown=GRACE_S,
            )
        )

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Open the sockets, then tell."""
        given = list(sockets or ())
        await super().startup(given[:1])
        for other in given[1:]:
            await self.open(other)
        self._on_ready()

    async def open(self, listener: socket.socket) -> None:
        """Take connections at a port, too."""
        config, state = self.config, self.server_state

        def spoken() -> OwnerProtocol:
            return OwnerProtocol(config=config, server_state=state, app_state=self.lifespan.state)

        tls, handshakes = self._tls, self._handshakes
        made = spoken if tls is None else lambda: Gate(tls, handshakes, spoken)
        opened = await asyncio.get_running_loop().create_server(made, sock=listener, backlog=config.backlog)
        self.servers.append(opened)

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals alone."""
        yield


@contextlib.contextmanager
def unix_socket(home: Path) -> Iterator[socket.socket]:
    """Bind HOME/socket for its owner alone; where that path is too long, one in a private temporary directory."""
    path, private = home / "socket", None
    if not fits_socket(path):
        private = Path(tempfile.mkdtemp(prefix="clearway-"))  # made with mode 0700
        path = private / "socket"
    path.unlink(missing_ok=True)  # of a controller that died; the lock says that none lives
    listener = socket.socket(socket.AF_UNIX)
    try:
        _bind_private(listener, path)
        yield listener
    finally:
        listener.close()
        path.unlink(missing_ok=True)
        if private:
            shutil.rmtree(private, ignore_errors=True)


def _bind_private(listener: socket.socket, path: Path) -> None:
    before = os.umask(0o177)  # there is no moment at which others could connect
    try:
        listener.bind(str(path))
    except OSError as error:
        raise ControllerError(f"the socket {path} cannot be made: {error.strerror}") from error
    finally:
        os.umask(before)


class Window:
    """Where browsers come in: a port that is opened when it is first needed, where none is open yet."""

    def __init__(self, url: str) -> None:
        """`url` is where they come in already, empty where they do not."""
        self._url, self._one_at_a_time = url, asyncio.Lock()
        self.server: Server | None = None

    async def __call__(self) -> str:
        """Return its address."""
        async with self._one_at_a_time:
            if not self._url and self.server is not None:
                listener = port_socket(("127.0.0.1", 0))
                await self.server.open(listener)
                self._url = f"http://127.0.0.1:{listener.getsockname()[1]}"
            return self._url


def tls_context(cert: Path, key: Path) -> ssl.SSLContext:
    """Return what speaks TLS with a certificate. Raises InputError where its files cannot be used."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        context.load_cert_chain(cert, key)
    except (OSError, ssl.SSLError) as error:
        raise InputError("tls", f"{cert}, {key}", f"a certificate and its key in PEM ({error})") from error
    return context


def port_socket(where: tuple[str, int]) -> socket.socket:
    """Bind an address and port. Raises ControllerError where the port is taken."""
    family = socket.AF_INET6 if ":" in where[0] else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(("127.0.0.1" if where[0] == "localhost" else where[0], where[1]))
    except OSError as error:
        listener.close()
        raise ControllerError(f"{where[0]}:{where[1]} cannot be listened on: {error.strerror}") from error
    return listener
