"""Plain HTTP to a controller's port, as anybody of the machine could send it."""

from __future__ import annotations

import http.client
import json
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from clearway.config.home import read_running
from tests.formed import check_answer

if TYPE_CHECKING:
    from pathlib import Path

PATIENCE_S = 30


class Answer(NamedTuple):
    """What came back."""

    status: int
    headers: dict[str, str]
    body: Any


class Port:
    """The port of a home's controller."""

    def __init__(self, home: Path) -> None:
        running = read_running(home)
        assert running is not None
        self.url = running.listen
        self.host = urlsplit(running.listen).netloc

    def ask(self, method: str, path: str, *, token: str = "", body: object = None, **headers: str) -> Answer:
        """Send one request; of a stream only the head is read."""
        connection = http.client.HTTPConnection(self.host, timeout=PATIENCE_S)
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        if token:
            sent["Authorization"] = f"Bearer {token}"
        if body is not None:
            sent["Content-Type"] = "application/json"
        try:
            connection.request(method, path, None if body is None else json.dumps(body), sent)
            answer = connection.getresponse()
            kind = answer.headers.get_content_type()
            raw = b"" if kind == "text/event-stream" else answer.read()
            told = json.loads(raw) if kind.endswith("json") else raw
            check_answer(answer.status, method, path, told)
            return Answer(answer.status, {name.lower(): value for name, value in answer.getheaders()}, told)
        finally:
            connection.close()
