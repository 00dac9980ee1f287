"""HTTP to a controller: through its Unix socket, or to a port with a token. Imported at the first call."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import time
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode, urlsplit

from clearway.model.errors import ControllerError, FullError, InputError
from clearway.sdk.problems import error_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from datetime import datetime
    from pathlib import Path

ANSWER_S = 120.0  # a controller that has not answered by then hangs; its slowest answer is a wait of 30 s
PIECE_BYTES = 64 * 1024
PREFIX = "/api/v1/"
LOOPBACK = ("127.0.0.1", "localhost", "::1")
ABOUT = "Clearway-About"
"""The header in which an answer that is a file says, as JSON, what is in it."""
NOW = "Clearway-Now"
"""The header in which each answer says what the controller's clock says: nobody sets that one."""


TOO_MANY = 429
"""The status of an answer to whoever asks too often: nothing was done, and `Retry-After` says when to ask again."""
PATIENT_S = 60.0
"""So long a request is asked again in all where that is the answer."""


class _LaterError(ControllerError):
    """The controller did nothing, and can be asked again after `after_s` seconds."""

    def __init__(self, message: str, after_s: float) -> None:
        super().__init__(message)
        self.after_s = after_s


class _UnixConnection(HTTPConnection):
    """HTTP over a Unix socket."""

    def __init__(self, path: str, timeout: float | None) -> None:
        super().__init__("localhost", timeout=timeout)
        self._path = path

    def connect(self) -> None:
        """Connect to the socket's path in place of a host."""
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        try:
            self.sock.connect(self._path)
        except OSError:
            self.sock.close()
            raise


class Transport:
    """Sends requests, each on a connection of its own, and turns problem answers into errors."""

    def __init__(
        self, where: str, connect: Callable[[float | None], HTTPConnection], headers: Mapping[str, str]
    ) -> None:
        self._where, self._connect = where, connect
        self._headers = {**headers, "Connection": "close"}
        self.hear: Callable[[datetime], None] | None = None

    def call(self, method: str, path: str, query: Mapping[str, object] | None = None, body: bytes | None = None) -> Any:  # noqa: ANN401
        """Return the answer, read as JSON; None where it is empty. Whoever asked too often waits and asks again."""
        until = time.monotonic() + PATIENT_S
        while True:
            try:
                return self._call(method, path, query, body)
            except _LaterError as error:
                if time.monotonic() + error.after_s > until:
                    raise
                time.sleep(error.after_s)

    def _call(self, method: str, path: str, query: Mapping[str, object] | None, body: bytes | None) -> Any:  # noqa: ANN401
        connection = self._connect(ANSWER_S)
        try:
            content = self._open(connection, method, path, query, body).read()
        except (OSError, HTTPException) as error:
            raise self._no_answer(error) from error
        finally:
            connection.close()
        return json.loads(content) if content else None

    def line(self) -> Line:
        """Return a connection that stays open, for bytes that are not JSON."""
        return Line(self._where, self._connect, {k: v for k, v in self._headers.items() if k != "Connection"})

    def stream(self, path: str, query: Mapping[str, object], about: dict[str, Any] | None = None) -> Iterator[bytes]:
        """Yield the answer in pieces as they come, however long that takes; add what is said beside it to `about`."""
        connection = self._connect(None)
        try:
            answer = self._open(connection, "GET", path, query, None)
            if about is not None:
                about.update(json.loads(answer.getheader(ABOUT, "{}")))
            while piece := answer.read1(PIECE_BYTES):
                yield piece
        except (OSError, HTTPException) as error:
            raise self._no_answer(error) from error
        finally:
            connection.close()

    def _open(
        self, connection: HTTPConnection, method: str, path: str, query: Mapping[str, object] | None, body: bytes | None
    ) -> HTTPResponse:
        said = {key: _said(value) for key, value in (query or {}).items() if value is not None}
        target = PREFIX + path + ("?" + urlencode(said, errors="surrogateescape") if said else "")
        kind = {"Content-Type": "application/json"} if body is not None else {}
        if traceparent := os.environ.get("TRACEPARENT", ""):
            kind["traceparent"] = traceparent.encode("ascii", "replace").decode()
        try:
            connection.request(method, target, body=body, headers={**self._headers, **kind})
        except (BrokenPipeError, ConnectionResetError):
            if body is None or connection.sock is None:
                raise
            # It was refused before it was read whole: the answer says why.
        answer = connection.getresponse()
        if self.hear is not None and (told := answer.getheader(NOW)):
            from datetime import datetime

            self.hear(datetime.fromisoformat(told))
        if answer.status >= 400:  # noqa: PLR2004  HTTP's own line between answers and errors
            error = error_of(answer.status, answer.read())
            after_s = answer.getheader("Retry-After", "")
            if answer.status == TOO_MANY and after_s.isdigit() and not isinstance(error, FullError):
                raise _LaterError(str(error), float(after_s))
            raise error
        return answer

    def _no_answer(self, error: Exception) -> ControllerError:
        return ControllerError(f"the controller at {self._where} does not answer: {str(error) or type(error).__name__}")


class Line:
    """One connection for request after request. One thread uses it; `cut` may be called from any."""

    def __init__(
        self, where: str, connect: Callable[[float | None], HTTPConnection], headers: Mapping[str, str]
    ) -> None:
        self._where = where
        self._connection = connect(ANSWER_S)
        self._headers = {**headers, "Content-Type": "application/msgpack"}

    def call(self, method: str, path: str, body: bytes | None = None) -> bytes:
        """Return the body of the answer. Raises ControllerError where there is none; the line is of no use then."""
        try:
            self._connection.request(method, PREFIX + path, body=body, headers=self._headers)
            answer = self._connection.getresponse()
            content = answer.read()
        except (OSError, HTTPException) as error:
            self._connection.close()
            said = str(error) or type(error).__name__
            raise ControllerError(f"the controller at {self._where} does not answer: {said}") from error
        if answer.status >= 400:  # noqa: PLR2004  HTTP's own line between answers and errors
            raise error_of(answer.status, content)
        return content

    def cut(self) -> None:
        """Have the request that is under way fail."""
        sock = self._connection.sock
        if sock is not None:
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Close it."""
        self._connection.close()


def unix(path: str) -> Transport:
    """Return the transport through a Unix socket."""
    return Transport(path, lambda timeout: _UnixConnection(path, timeout), {})


def port(url: str, token_file: Path) -> Transport:
    """Return the transport to `https://HOST` (or http, on loopback), showing the token of `token_file`."""
    parts = urlsplit(url)
    if not parts.hostname or not (parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in LOOPBACK)):
        raise InputError("url", url, "https://HOST:PORT, or http://127.0.0.1:PORT")
    host, number, kind = parts.hostname, parts.port, HTTPSConnection if parts.scheme == "https" else HTTPConnection
    try:
        token = token_file.read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError("token_file", str(token_file), f"a file that can be read ({error})") from error
    return Transport(url, lambda timeout: kind(host, number, timeout=timeout), {"Authorization": f"Bearer {token}"})


def _said(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
