from __future__ import annotations

import asyncio
import json
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from typing import TYPE_CHECKING, Any

import pytest

jwt = pytest.importorskip("jwt", reason="needs the extra oidc")
ec = pytest.importorskip("cryptography.hazmat.primitives.asymmetric.ec", reason="needs the extra oidc")
rsa = pytest.importorskip("cryptography.hazmat.primitives.asymmetric.rsa", reason="needs the extra oidc")

from clearway.api.oidc import LEEWAY_S, Issuer  # noqa: E402  behind the extra
from clearway.api.sessions import Sessions  # noqa: E402
from clearway.api.who import Role, Who  # noqa: E402
from clearway.config.access_words import read_oidc  # noqa: E402
from clearway.model.errors import ControllerError, InputError  # noqa: E402
from clearway.model.values import SECOND_US  # noqa: E402
from tests.api.asking import Port  # noqa: E402
from tests.api.live import live  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LATER_S = 3600


class Provider:
    """A real issuer on loopback with a key of its own, which it can change."""

    def __init__(self) -> None:
        self.fetched, self.moved, self.answers = 0, False, Event()
        self.answers.set()
        self.renew("first")
        provider = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                provider.answers.wait()
                provider.fetched += self.path.endswith("/keys")
                body = provider.about() if self.path.startswith("/.well-known") else provider.keys()
                away = provider.moved and self.path == "/keys"
                self.send_response(302 if away else 200)
                if away:
                    self.send_header("Location", "/elsewhere")
                self.end_headers()
                self.wfile.write(json.dumps(body).encode())

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"

    def renew(self, kid: str) -> None:
        self.kid, self._secret = kid, rsa.generate_private_key(65537, 2048)

    def keys(self) -> dict[str, Any]:
        public = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(self._secret.public_key()))
        return {"keys": [{**public, "kid": self.kid, "use": "sig", "alg": "RS256"}]}

    def about(self) -> dict[str, Any]:
        return {"issuer": self.url, "jwks_uri": f"{self.url}/keys"}

    def token(self, algorithm: str = "RS256", key: Any = None, **claims: object) -> str:
        now = int(time.time())
        whole = {"iss": self.url, "aud": "clearway", "sub": "u1", "email": "ada", "iat": now, "exp": now + LATER_S}
        told: str = jwt.encode(
            {**whole, **claims}, key if key is not None else self._secret, algorithm, headers={"kid": self.kid}
        )
        return told


@contextmanager
def provided() -> Iterator[Provider]:
    provider = Provider()
    thread = Thread(target=provider.server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield provider
    finally:
        provider.answers.set()
        provider.server.shutdown()
        provider.server.server_close()
        thread.join()


@pytest.fixture
def provider() -> Iterator[Provider]:
    with provided() as found:
        yield found


def _words(provider: Provider) -> dict[str, Any]:
    return {
        "issuer": provider.url, "audience": "clearway", "user": "email", "role": "groups", "tenant": "team",
        "roles": {"ml": "submitter", "heads": "admin"},
    }  # fmt: skip


@pytest.fixture
def issuer(provider: Provider) -> Issuer:
    return Issuer(read_oidc("oidc", _words(provider)))


def _who(issuer: Issuer, token: str, address: str) -> Who | None:
    return asyncio.run(issuer.who(token, address))


def test_claims_say_who_it_is(provider: Provider, issuer: Issuer) -> None:
    who = _who(issuer, provider.token(groups=["ml", "others"], team="vision"), "192.0.2.1")
    assert who is not None
    assert (who.name, who.role, who.tenant, who.via, who.address) == (
        "ada",
        Role.submitter,
        "vision",
        "oidc",
        "192.0.2.1",
    )
    highest = _who(issuer, provider.token(groups=["ml", "heads"]), "")
    assert highest is not None
    assert highest.role is Role.admin
    assert _who(issuer, provider.token(groups="ml"), "") is not None, "a text counts as a list of one"
    assert provider.fetched == 1, "keys are kept"


def test_a_session_that_an_identity_began_ends_with_its_token(provider: Provider, issuer: Issuer) -> None:
    now_s, sessions = int(time.time()), Sessions()
    who = _who(issuer, provider.token(groups="ml", exp=now_s + LATER_S), "")
    assert who is not None
    assert who.root == who.key
    end_us = (now_s + LATER_S + LEEWAY_S) * SECOND_US
    cookie = sessions.enter(sessions.link(who, now_s * SECOND_US), now_s * SECOND_US)
    assert cookie is not None
    assert sessions.find(cookie, end_us - 1) is not None
    assert sessions.find(cookie, end_us) is None


def test_a_token_that_is_not_good_opens_nothing(provider: Provider, issuer: Issuer) -> None:
    now, stranger = int(time.time()), rsa.generate_private_key(65537, 2048)
    good: dict[str, Any] = {"groups": ["ml"]}
    assert _who(issuer, provider.token(**good), "") is not None
    for bad in (
        provider.token(**good, exp=now - LATER_S),
        provider.token(**good, nbf=now + LATER_S),
        provider.token(**good, aud="another"),
        provider.token(**good, iss="https://evil.example"),
        provider.token(key=stranger, **good),
        provider.token("HS256", "x" * 64, **good),
        provider.token("none", "", **good),
        provider.token(groups=["strangers"]),
        provider.token(groups=[7]),
        provider.token(**good, email=None),
        provider.token(**good)[:-4] + "AAAA",
        "a.b.c",
        provider.token("ES256", ec.generate_private_key(ec.SECP256R1()), **good),
        provider.token(groups=None),
        provider.token(groups=7),
        provider.token(groups={"ml": 1}),
    ):
        assert _who(issuer, bad, "") is None, bad


def test_a_new_key_is_fetched_but_not_for_every_unknown_one(provider: Provider, issuer: Issuer) -> None:
    assert _who(issuer, provider.token(groups=["ml"]), "")
    provider.renew("second")
    token = provider.token(groups=["ml"])
    assert _who(issuer, token, "") is None
    assert provider.fetched == 1
    issuer.renew()
    assert _who(issuer, token, "")
    assert provider.fetched == 2


def test_keys_are_not_fetched_from_where_a_redirect_leads(provider: Provider, issuer: Issuer) -> None:
    provider.moved = True
    with pytest.raises(ControllerError, match="302"):
        _who(issuer, provider.token(groups=["ml"]), "")


def test_an_issuer_that_cannot_be_reached_is_told(provider: Provider) -> None:
    words = _words(provider)
    gone = Issuer(read_oidc("oidc", {**words, "issuer": "http://127.0.0.1:9"}))
    with pytest.raises(ControllerError, match="cannot be had"):
        _who(gone, provider.token(groups=["ml"]), "")


def test_a_slow_issuer_holds_nobody_whose_key_is_known(
    provider: Provider, issuer: Issuer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("clearway.api.oidc.MOST_WAITING", 3)
    known = provider.token(groups=["ml"])
    assert _who(issuer, known, "")
    provider.renew("second")
    unknown = provider.token(groups=["ml"])
    provider.answers.clear()
    issuer.renew()

    async def ask() -> None:
        waiting = [asyncio.ensure_future(issuer.who(unknown, "")) for _ in range(3)]
        await asyncio.sleep(0)
        assert await issuer.who(known, ""), "the keys that are there are good meanwhile"
        with pytest.raises(ControllerError, match="3 requests wait"):
            await issuer.who(unknown, "")
        monkeypatch.setattr("clearway.api.oidc.WAIT_S", 0.01)
        provider.answers.set()
        assert all(await asyncio.gather(*waiting)), "one fetch for all"

    asyncio.run(ask())
    assert provider.fetched == 2


def test_nobody_waits_for_long(provider: Provider, issuer: Issuer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clearway.api.oidc.WAIT_S", 0.01)
    provider.answers.clear()
    with pytest.raises(ControllerError, match="has not answered"):
        _who(issuer, provider.token(groups=["ml"]), "")


@pytest.mark.parametrize(
    "change",
    [{"issuer": "http://id.example.org"}, {"issuer": None}, {"audience": ""}, {"roles": {"ml": "king"}}, {"roles": []},
     {"roles": {}}, {"what": 1}],
)  # fmt: skip
def test_bad_words_are_refused(provider: Provider, change: dict[str, Any]) -> None:
    words = {word: value for word, value in {**_words(provider), **change}.items() if value is not None}
    with pytest.raises(InputError):
        read_oidc("oidc", words)


@pytest.mark.slow
def test_a_controller_lets_in_whom_its_issuer_vouches_for(provider: Provider, tmp_path: Path) -> None:
    with live(tmp_path, devices=0, listen="127.0.0.1:0", oidc=_words(provider)):
        port, token = Port(tmp_path), provider.token(groups=["ml"], team="vision")
        told = port.ask("GET", "/api/v1/session", token=token).body
        assert (told["name"], told["role"], told["tenant"], told["via"]) == ("ada", "submitter", "vision", "oidc")
        assert port.ask("POST", "/api/v1/queues", token=token, body={"name": "q"}).status == 403
        assert port.ask("GET", "/api/v1/session", token=token + "x").status == 401
