"""A real controller tells a web server of this process, at least once, also what a killed one had not told."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

import pytest

from clearway.compose.launch import ensure_running
from clearway.sdk.client import Client
from tests.api.live import kill_controller, live, until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SECRET = "planted-notice-secret"


class Hook(ThreadingHTTPServer):
    """Refuses all while `closed`, else keeps the ids and titles of what it is sent."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.closed, self.got, self.refused = False, dict[str, str](), set[str]()


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        hook: Hook = self.server  # type: ignore[assignment]
        said = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if hook.closed:
            hook.refused.add(said["id"])
        else:
            hook.got[said["id"]] = said["title"]
        self.send_response(503 if hook.closed else 200)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def hook() -> Iterator[Hook]:
    with Hook() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.mark.slow
def test_what_a_killed_controller_had_not_told_is_told(tmp_path: Path, hook: Hook) -> None:
    home = tmp_path / "home"
    (tmp_path / "secret").write_text(SECRET)
    said = {
        "webhook": f"http://127.0.0.1:{hook.server_port}/x", "secret_file": str(tmp_path / "secret"),
        "allow_private": True, "on": ["failed"],
    }  # fmt: skip
    with live(home, notices=[said]) as client:
        (one,) = client.submit([{"name": "one", "run": "exit 3"}])
        until(lambda: f"job one ({one['id']}): failed" in hook.got.values(), "the first failure was told")
        hook.closed = True
        (two,) = client.submit([{"name": "two", "run": "exit 4"}])
        assert client.wait(f"id:{two['id']}", 60)["state"] == "failed"
        until(lambda: hook.refused, "the second was refused")
        kill_controller(home)
        hook.closed = False
        ensure_running(home, {"notices": [said]})
        assert Client.connect(home).status()["controller"]["state"] == "up"
        until(lambda: f"job two ({two['id']}): failed" in hook.got.values(), "the second failure was told")
        assert hook.refused <= set(hook.got), "by the same id"
        assert SECRET not in (home / "controller.log").read_text()
