"""Notices on their way to real servers of this process: a web server and a mail server."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import socket
import ssl
import threading
import time
from email import message_from_string
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import pytest
from aiosmtpd.controller import Controller as MailServer

from clearway.config.notices import Mail, Webhook
from clearway.observe import outbox as box
from clearway.observe.mail import ToMail
from clearway.observe.noticing import Notice, OfJob
from clearway.observe.outbox import NotSentError, Outbox
from clearway.observe.webhook import ToWebhook
from tests.certificate import make_certificate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

SECRET = "a shared secret"
NOTICE = Notice(
    "s-7", "failed", "2026-11-30T02:00:00Z", "job a (1): failed", "exit code 3", OfJob(1, "a", "red", "ann")
)


def until(holds: Callable[[], object]) -> None:
    end = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.01)


class Hook(ThreadingHTTPServer):
    """Answers with the statuses that it is given, then with 204; keeps what it was sent."""

    def __init__(self, *statuses: int) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.statuses, self.got = list(statuses), list[tuple[dict[str, str], bytes]]()


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        hook: Hook = self.server  # type: ignore[assignment]
        hook.got.append((dict(self.headers), self.rfile.read(int(self.headers["Content-Length"]))))
        self.send_response(hook.statuses.pop(0) if hook.statuses else 204)
        self.send_header("Location", "http://127.0.0.1:1/elsewhere")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def hook() -> Iterator[Hook]:
    with Hook(500, 302) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def to(hook: Hook, path: Path, **words: Any) -> ToWebhook:
    return ToWebhook(Webhook(f"http://127.0.0.1:{hook.server_port}/x?y=1", path, allow_private=True, **words), SECRET)


def test_a_webhook_is_told_until_it_takes_it_each_time_signed(
    hook: Hook, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(box, "FIRST_S", 0.01)
    out = Outbox(tmp_path / "notices", [to(hook, tmp_path)])
    out.put(NOTICE)
    out.start()
    until(lambda: out.sent)
    out.close()
    assert out.failed == 2
    assert len(hook.got) == 3
    for headers, body in hook.got:
        moment, signature = (part.partition("=")[2] for part in headers["Clearway-Signature"].split(","))
        assert signature == hmac.new(SECRET.encode(), moment.encode() + b"." + body, hashlib.sha256).hexdigest()
        assert headers["Clearway-Notice"] == "s-7"
        assert json.loads(body)["job"] == {"id": 1, "name": "a", "queue": "red", "user": "ann"}
    assert list((tmp_path / "notices").glob("*.json")) == []


def test_what_was_not_sent_is_sent_by_the_next_one_and_what_is_told_twice_waits_once(
    hook: Hook, tmp_path: Path
) -> None:
    hook.statuses.clear()
    first = Outbox(tmp_path / "notices", [to(hook, tmp_path)])
    first.put(NOTICE)
    first.put(NOTICE)
    first.done(41)
    first.close()
    assert hook.got == []
    second = Outbox(tmp_path / "notices", [to(hook, tmp_path)])
    assert second.since() == 41
    second.start()
    until(lambda: second.sent)
    second.close()
    assert len(hook.got) == 1
    assert (tmp_path / "notices").stat().st_mode & 0o077 == 0


def test_a_place_that_fails_holds_up_no_other(hook: Hook, tmp_path: Path) -> None:
    hook.statuses.clear()
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))  # bound, and not listening
        dead = Mail(("127.0.0.1", nobody.getsockname()[1]), "c@x.org", ("a@x.org",), tls="none")
        out = Outbox(tmp_path / "notices", [ToMail(dead, ""), to(hook, tmp_path)])
        out.put(NOTICE)
        out.start()
        until(lambda: out.sent)
        until(lambda: out.failed)
        out.close()
    assert len(list((tmp_path / "notices").glob("*.json"))) == 1, "the mail waits"
    other = Outbox(tmp_path / "notices", [to(hook, tmp_path)])
    assert list((tmp_path / "notices").glob("*.json")) == [], "nobody is to have it any more"
    other.close()


@pytest.mark.parametrize(
    ("words", "wanted"),
    [({}, True), ({"on": ("started",)}, False), ({"queues": ("red",)}, True), ({"queues": ("blue",)}, False)],
)
def test_only_what_was_asked_for_is_wanted(hook: Hook, tmp_path: Path, words: Any, *, wanted: bool) -> None:
    assert to(hook, tmp_path, **words).wants(NOTICE) is wanted


def test_trouble_is_told_whatever_the_queues(hook: Hook, tmp_path: Path) -> None:
    assert to(hook, tmp_path, queues=("blue",)).wants(Notice("s-8", "trouble", "", "", ""))


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "169.254.169.254", "10.0.0.1", "[::1]", "192.168.1.1"])
def test_a_private_address_is_not_gone_to(tmp_path: Path, host: str) -> None:
    with pytest.raises(NotSentError, match="no public address"):
        ToWebhook(Webhook(f"http://{host}:9/", tmp_path), SECRET).send(NOTICE)


def nowhere_yet() -> tuple[str, int]:
    """Return an address of loopback that only this process uses, and a port that is free there."""
    number = os.getpid()
    host = f"127.{1 + number // 65_536 % 200}.{number // 256 % 256}.{1 + number % 250}"
    with socket.socket() as free:
        free.bind((host, 0))
        return host, int(free.getsockname()[1])


class _Kept:
    def __init__(self) -> None:
        self.got: list[Any] = []

    async def handle_DATA(  # noqa: N802  aiosmtpd calls it so
        self, _server: Any, _session: Any, envelope: Any
    ) -> str:
        self.got.append(envelope)
        return "250 taken"


def test_mail_is_taken_by_a_mail_server() -> None:
    kept = _Kept()
    where = nowhere_yet()
    server = MailServer(kept, hostname=where[0], port=where[1])
    server.start()
    try:
        said = Mail(where, "clearway@x.org", ("a@x.org", "b@x.org"), tls="none")
        ToMail(said, "").send(Notice("s-9", "failed", "now", "job a\nBcc: evil@x.org (1): failed", "exit code 3"))
    finally:
        server.stop()
    (mail,) = kept.got
    text = mail.content.decode()
    assert mail.rcpt_tos == ["a@x.org", "b@x.org"]
    assert "Subject: Clearway: job a Bcc: evil@x.org (1): failed" in text
    assert message_from_string(text)["Bcc"] is None
    assert "exit code 3" in text
    assert "Message-ID: <s-9@clearway.invalid>" in text


def test_a_server_without_starttls_gets_no_mail_in_clear() -> None:
    kept = _Kept()
    where = nowhere_yet()
    server = MailServer(kept, hostname=where[0], port=where[1])
    server.start()
    try:
        with pytest.raises(NotSentError, match="STARTTLS"):
            ToMail(Mail(where, "c@x.org", ("a@x.org",)), "").send(NOTICE)
    finally:
        server.stop()
    assert kept.got == []


def test_a_server_whose_certificate_nobody_vouches_for_gets_neither_password_nor_mail(tmp_path: Path) -> None:
    make_certificate(tmp_path)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(tmp_path / "cert.pem", tmp_path / "key.pem")
    where = nowhere_yet()
    server = MailServer(_Kept(), hostname=where[0], port=where[1], ssl_context=context)
    server.start()
    try:
        said = Mail(where, "c@x.org", ("a@x.org",), tls="tls", user="c", password_file=tmp_path / "password")
        with pytest.raises(NotSentError, match="certificate"):
            ToMail(said, "a-password").send(NOTICE)
    finally:
        server.stop()
