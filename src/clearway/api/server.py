"""The sockets of a controller, and uvicorn on them."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import uvicorn

from clearway.api.access import OwnerProtocol
from clearway.config.home import fits_socket
from clearway.model.errors import ControllerError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from starlette.types import ASGIApp

GRACE_S = 2  # answers under way when a controller stops have so long to end
KEEP_ALIVE_S = 15
BACKLOG = 1024


class Server(uvicorn.Server):
    """uvicorn that leaves signals to the process, and says when it takes connections."""

    def __init__(self, app: ASGIApp, on_ready: Callable[[], None]) -> None:
        """Serve `app`; `on_ready` is called once, when the sockets are open."""
        self._on_ready = on_ready
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
                headers=[("X-Content-Type-Options", "nosniff")],
                timeout_keep_alive=KEEP_ALIVE_S,
                timeout_graceful_shutdown=GRACE_S,
            )
        )

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Open the sockets, then tell."""
        await super().startup(sockets)
        self._on_ready()

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


def loopback_socket(where: tuple[str, int]) -> socket.socket:
    """Bind a loopback address and port. Raises ControllerError where the port is taken."""
    family = socket.AF_INET6 if ":" in where[0] else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(("127.0.0.1" if where[0] == "localhost" else where[0], where[1]))
    except OSError as error:
        listener.close()
        raise ControllerError(f"{where[0]}:{where[1]} cannot be listened on: {error.strerror}") from error
    return listener
