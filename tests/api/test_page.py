"""The dashboard's files over HTTP: each with its type and tag, nothing else of the disk, and a strict policy."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient

from clearway.api import page, problems
from clearway.api.server import HEADERS
from clearway.api.who import WHO, Role, Who

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send


@pytest.fixture(scope="module")
def client() -> TestClient:
    app = FastAPI()
    problems.install(app)
    app.router.routes.extend(page.router.routes)

    async def within(scope: Scope, receive: Receive, send: Send) -> None:
        WHO.set(Who("ada", Role.viewer))
        await app(scope, receive, send)

    return TestClient(within, raise_server_exceptions=False)


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/", "text/html; charset=utf-8"),
        ("/static/js/app.js", "text/javascript; charset=utf-8"),
        ("/static/css/base.css", "text/css; charset=utf-8"),
        ("/static/font/inter-latin.woff2", "font/woff2"),
        ("/static/icon.svg", "image/svg+xml"),
    ],
)
def test_each_file_has_its_type_and_comes_once(client: TestClient, path: str, kind: str) -> None:
    first = client.get(path)
    assert (first.status_code, first.headers["content-type"]) == (200, kind)
    again = client.get(path, headers={"If-None-Match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")


def test_nothing_but_the_page_itself_may_be_loaded_by_it() -> None:
    policy = dict(part.split(" ", 1) for part in HEADERS["Content-Security-Policy"].split("; "))
    assert policy["default-src"] == "'none'"
    assert set(policy.values()) <= {"'none'", "'self'"}
    assert policy["frame-ancestors"] == policy["base-uri"] == "'none'"
    assert HEADERS["X-Content-Type-Options"] == "nosniff"


@pytest.mark.parametrize(
    "path",
    [
        "/static/", "/static/none.js", "/static/../app.py", "/static/%2e%2e/app.py", "/static//etc/passwd",
        "/static/js", "/static/font/LICENSE", "/static/js/app.js/", "/static/js\\app.js", "/static/js%2fapp.js%00",
    ],
)  # fmt: skip
def test_what_is_no_part_of_it_is_not_there(client: TestClient, path: str) -> None:
    assert client.get(path).status_code == 404


def test_every_part_that_the_page_names_is_there(client: TestClient) -> None:
    html = client.get("/").text
    named = [part.split('"')[0] for part in html.split('="/static/')[1:]]
    assert len(named) > 10
    assert [name for name in named if client.get(f"/static/{name}").status_code != 200] == []
