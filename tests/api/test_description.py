"""schemathesis asks what the description of the API allows, and more: nothing breaks, nothing is undocumented.

The seed is fixed. What is left out is named, with the reason.
"""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest
import schemathesis
from hypothesis import HealthCheck, given, seed, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from clearway.api.roles import NEEDED, OPEN
from tests.api.asking import Port
from tests.api.live import PATIENCE_S, live, until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from schemathesis import BaseSchema, Case

pytestmark = pytest.mark.slow
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]
EXAMPLES = 12
LEFT_OUT = {
    "POST /api/v1/shutdown": "it ends the controller that the others ask; each role asks it in test_matrix",
    "GET /api/v1/events": "its answer does not end; test_events reads it",
    "GET /": "a page for people, which the description leaves out; test_page asks it",
    "GET /static/{path:path}": "parts of that page",
}
SLOW = ("/report", "/load", "/forecasts", "/cycles/", "/cycle", "/then", "/audit", "/history", "/journal/")
"""A process of its own answers: the words are few, and so are the examples."""
FEW = 3
BODY_LIMIT = 64 * 1024


@schemathesis.serializer("application/msgpack")
def _packed(_context: object, value: object) -> bytes:
    return value if isinstance(value, bytes) else repr(value).encode()


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Port, str]]:
    home = tmp_path_factory.mktemp("described")
    options: dict[str, Any] = {"devices": 2, "listen": "127.0.0.1:0", "rate_limit": 100_000, "body_limit": BODY_LIMIT}
    with live(home, **options) as client:
        client.submit([{"name": "there", "run": ["sleep", "600"]}])
        yield Port(home), (home / "token").read_text().strip()


@pytest.fixture(scope="module")
def described(port: tuple[Port, str]) -> BaseSchema:
    where, token = port
    told = where.ask("GET", "/api/v1/openapi.json", token=token)
    assert told.status == 200
    assert told.body["openapi"].startswith("3.1")
    schema = schemathesis.openapi.from_dict(told.body)
    schema.config.update(base_url=where.url, request_timeout=PATIENCE_S)
    return schema


def _keys() -> list[str]:
    """Return each route but those that are left out, for the reasons there."""
    assert {*LEFT_OUT} < {*NEEDED, *OPEN}
    return sorted({*NEEDED, *OPEN} - {*LEFT_OUT})


@pytest.mark.parametrize("key", _keys())
def test_nothing_breaks_and_nothing_is_undocumented(described: BaseSchema, port: tuple[Port, str], key: str) -> None:
    method, path = key.split(" ")
    many = FEW if any(part in path for part in SLOW) else EXAMPLES

    @seed(7)
    @settings(
        max_examples=many,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(case=described[path][method].as_strategy())
    def ask(case: Case[Any]) -> None:
        answer = case.call(headers={"Authorization": f"Bearer {port[1]}"})
        case.validate_response(answer, checks=CHECKS)

    ask()


THERE = {
    "ref": ("id:1", "id:2", "there", "none[3]"), "whatif": ("1", "2"), "queue": ("default",), "flow": ("1",),
    "schedule": ("never",), "search": ("found",), "cycle": ("1", "999999"), "call": ("1",),
}  # fmt: skip
"""What each word of a path may be besides what is made up: things that are there, and in all their states."""
NEEDED_WORDS = {"then": {"at": "2026-01-01T00:00:00Z"}, "wait": {"timeout": "0"}}


def test_what_is_there_is_answered_as_described(described: BaseSchema, port: tuple[Port, str]) -> None:
    home, token = port
    ask = partial(home.ask, token=token)
    ask("POST", "/api/v1/jobs", body={"jobs": [{"name": "soon over", "run": ["true"]}]})
    ask("POST", "/api/v1/flows", body={"name": "w", "steps": [{"name": "a", "run": "true"}]})
    ask("POST", "/api/v1/whatifs", body={"limits": ["nothing=1"]})
    until(lambda: ask("GET", "/api/v1/whatifs/1").body["state"] == "failed", "it has failed")
    ask("POST", "/api/v1/whatifs", body={"policy": "sjf"})
    asked = 0
    for key in (key for key in _keys() if key.startswith("GET ") and "{" in key):
        path = key.removeprefix("GET ")
        (word,) = re.findall(r"{(\w+)}", path)
        for value in THERE.get(word, ())[: 1 if any(part in path for part in SLOW) else None]:
            needed = NEEDED_WORDS.get(path.rpartition("/")[2], {})
            case = described[path]["GET"].Case(path_parameters={word: quote(value, safe=":")}, query=needed)
            answer = case.call(headers={"Authorization": f"Bearer {token}"})
            case.validate_response(answer, checks=CHECKS)
            asked += 1
    assert asked > 20
