"""Beyond loopback only with TLS, or behind a proxy that is named."""

from __future__ import annotations

import contextlib
import http.client
import resource
import socket
import ssl
from typing import TYPE_CHECKING, Any

import pytest

from clearway.config.home import read_running
from clearway.config.settings import load_settings
from clearway.model.errors import InputError
from tests.api.asking import PATIENCE_S, Port
from tests.api.live import live
from tests.certificate import make_certificate

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("options", "right"),
    [
        ({"listen": "127.0.0.1:0"}, True),
        ({"listen": "[::1]:0"}, True),
        ({"listen": "0.0.0.0:0"}, False),
        ({"listen": "192.0.2.1:80"}, False),
        ({"listen": "[2001:db8::1]:80"}, False),
        ({"listen": "0.0.0.0:0", "behind_proxy": ["10.0.0.0/8"]}, True),
        ({"listen": "0.0.0.0:0", "behind_proxy": []}, False),
        ({"listen": "0.0.0.0:0", "tls": {"cert": "/c", "key": "/k"}}, True),
        ({"listen": "0.0.0.0:0", "tls": {"cert": "/c"}}, False),
        ({"listen": "example.org:80"}, False),
        ({"behind_proxy": ["proxy.example"]}, False),
        ({"public_url": "http://example.org"}, False),
        ({"public_url": "https://example.org/clearway"}, True),
        ({"rate_limit": 0}, False),
    ],
)
def test_where_a_controller_listens(tmp_path: Path, *, options: dict[str, Any], right: bool) -> None:
    if right:
        load_settings(tmp_path, options)
    else:
        with pytest.raises(InputError):
            load_settings(tmp_path, options)


@pytest.mark.slow
def test_with_tls_the_port_speaks_it_and_the_socket_does_not(tmp_path: Path) -> None:
    make_certificate(tmp_path)
    home = tmp_path / "home"
    tls = {"cert": str(tmp_path / "cert.pem"), "key": str(tmp_path / "key.pem")}
    with live(home, devices=0, listen="127.0.0.1:0", tls=tls) as client:
        assert client.status()["gpus"]["total"] == 0
        running = read_running(home)
        assert running is not None
        assert running.listen.startswith("https://")
        known = ssl.create_default_context(cafile=str(tmp_path / "cert.pem"))
        connection = http.client.HTTPSConnection(running.listen.removeprefix("https://"), context=known)
        connection.request("GET", "/api/v1/health")
        assert connection.getresponse().read() == b'{"status":"up"}'
        connection.close()
        assert client.link()["url"].startswith(f"{running.listen}/enter?code=")
        host, _, number = running.listen.removeprefix("https://").rpartition(":")
        _see_that_slow_handshakes_hold_nobody(known, host, int(number), _room(running.pid))


def _room(pid: int) -> int:
    """Leave a controller few descriptors, and return how many."""
    many = 400
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (many, many))
    return many


def _see_that_slow_handshakes_hold_nobody(known: ssl.SSLContext, host: str, port: int, room: int) -> None:
    with contextlib.ExitStack() as held:
        for _ in range(room):  # as many as the process has descriptors, and none says a word
            held.callback(socket.create_connection((host, port), PATIENCE_S).close)
        connection = http.client.HTTPSConnection(host, port, context=known, timeout=PATIENCE_S)
        connection.request("GET", "/api/v1/health")
        assert connection.getresponse().status == 200
        connection.close()


@pytest.mark.slow
def test_a_certificate_that_is_none_is_told_before_a_controller_runs(tmp_path: Path) -> None:
    (tmp_path / "cert.pem").write_text("nonsense")
    with pytest.raises(Exception, match="tls"), live(tmp_path / "home", listen="127.0.0.1:0", tls={
        "cert": str(tmp_path / "cert.pem"), "key": str(tmp_path / "cert.pem")}):  # fmt: skip
        pass


@pytest.mark.slow
def test_only_the_named_proxy_is_answered_and_believed(tmp_path: Path) -> None:
    with live(
        tmp_path, devices=0, listen="127.0.0.1:0", behind_proxy=["127.0.0.1"], public_url="https://c.example"
    ) as client:
        token = client.make_token({"user": "ada", "role": "operator"})["token"]
        port = Port(tmp_path)
        told = {"X_Forwarded_For": "203.0.113.9, 198.51.100.7", "X_Forwarded_Proto": "https", "Host": "c.example"}
        assert port.ask("POST", "/api/v1/queues", token=token, body={"name": "q"}, **told).status == 200
        assert client.changes(who="ada")[0]["address"] == "198.51.100.7"
        assert client.link()["url"].startswith("https://c.example/enter?code=")
        entered = port.ask("GET", client.link()["url"].removeprefix("https://c.example"), **told)
        assert "Secure" in entered.headers["set-cookie"]
        browser = {
            "Cookie": entered.headers["set-cookie"].partition(";")[0],
            "Host": port.host,
        }  # as many proxies name it
        csrf = port.ask("GET", "/api/v1/session", **browser).body["csrf"]
        for origin, status in {"https://c.example": 200, "https://d.example": 403, "": 403}.items():
            change = {**browser, "Origin": origin, "X_CSRF_Token": csrf}
            assert port.ask("POST", "/api/v1/queues", body={"name": "r"}, **change).status == status, origin
    with live(tmp_path / "other", devices=0, listen="127.0.0.1:0", behind_proxy=["192.0.2.0/24"]):
        assert Port(tmp_path / "other").ask("GET", "/api/v1/health").status == 403
