"""A notice to a web address: JSON, signed, to the very address that was looked at."""

from __future__ import annotations

import hashlib
import hmac
import http.client
import ipaddress
import socket
import ssl
import time
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import msgspec

from clearway import __version__
from clearway.observe.outbox import NotSentError

if TYPE_CHECKING:
    from clearway.config.notices import Webhook
    from clearway.observe.noticing import Notice

SEND_S = 10.0
"""So long connecting, sending and the answer may each take."""


class ToWebhook:
    """Posts notices. It follows no redirect, and goes to no private address unless that is allowed."""

    def __init__(self, said: Webhook, secret: str) -> None:
        """`secret` signs what is sent."""
        self._said, self._secret = said, secret.encode()
        self._parts = urlsplit(said.url)

    @property
    def name(self) -> str:
        """Return its host: what stands behind it may be a secret."""
        mark = hashlib.sha256(self._said.url.encode()).hexdigest()[:6]
        return f"the webhook at {self._parts.hostname} ({mark})"

    def wants(self, notice: Notice) -> bool:
        """Return whether it was asked for."""
        said = self._said
        return notice.kind in said.on and (not said.queues or notice.job is None or notice.job.queue in said.queues)

    def send(self, notice: Notice) -> None:
        """Post one. NotSentError: there is no answer, or another than 2xx."""
        body, moment = msgspec.json.encode(notice), str(int(time.time()))
        signed = hmac.new(self._secret, f"{moment}.".encode() + body, hashlib.sha256).hexdigest()
        headers = {
            "Content-Type": "application/json", "User-Agent": f"clearway/{__version__}", "Clearway-Notice": notice.id,
            "Clearway-Signature": f"t={moment},v1={signed}",
        }  # fmt: skip
        target = (self._parts.path or "/") + (f"?{self._parts.query}" if self._parts.query else "")
        try:
            connection = self._connection()
            try:
                connection.request("POST", target, body, headers)
                status = connection.getresponse().status
            finally:
                connection.close()
        except (OSError, http.client.HTTPException) as error:
            raise NotSentError(str(error) or type(error).__name__) from error
        if not 200 <= status < 300:  # noqa: PLR2004  HTTP's own line
            raise NotSentError(f"it answered with status {status}")

    def _connection(self) -> http.client.HTTPConnection:
        host = self._parts.hostname or ""
        secure = self._parts.scheme == "https"
        port = self._parts.port or (443 if secure else 80)
        address = self._looked_up(host, port)
        connection = http.client.HTTPConnection(host, port, timeout=SEND_S)
        plain = socket.create_connection(address, SEND_S)
        connection.sock = ssl.create_default_context().wrap_socket(plain, server_hostname=host) if secure else plain
        return connection

    def _looked_up(self, host: str, port: int) -> tuple[str, int]:
        """Return the address of a host that may be connected to: it is not asked for a second time."""
        found = [str(info[4][0]) for info in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]
        allowed = [one for one in found if self._said.allow_private or ipaddress.ip_address(one).is_global]
        if not allowed:
            raise NotSentError(f"{host} is no public address; allow_private allows it")
        return allowed[0], port
