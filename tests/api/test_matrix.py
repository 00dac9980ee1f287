"""Every route, asked by everybody: nothing answers without a token but health, and each role gets as far as the table
says.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from clearway.api.roles import NEEDED, OPEN
from clearway.api.who import Role
from clearway.config.home import process_start, read_running
from tests.api.asking import Port
from tests.api.live import live, until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from clearway.sdk.client import Client

pytestmark = pytest.mark.slow
ENDS = "POST /api/v1/shutdown"
SAMPLE = {
    "{ref}": "id:1", "{node}": "nowhere", "{queue}": "nobody", "{flow}": "none", "{schedule}": "never",
    "{search}": "found", "{whatif}": "9", "{booking}": "free", "{token}": "gone", "{cycle}": "1", "{call}": "7",
    "{name}": "f", "{secret}": "KEY", "{digest}": f"sha256:{'0' * 64}",
}  # fmt: skip


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    with live(tmp_path_factory.mktemp("matrix"), devices=1, listen="127.0.0.1:0", rate_limit=100_000) as found:
        yield found


@pytest.fixture(scope="module")
def home(client: Client) -> Path:
    from pathlib import Path  # noqa: PLC0415

    return Path(client.status()["controller"]["home"])


@pytest.fixture(scope="module")
def tokens(client: Client) -> dict[str, str]:
    return {role: client.make_token({"user": f"a-{role}", "role": role})["token"] for role in Role.__members__}


def _sent(key: str) -> tuple[str, str]:
    method, path = key.split(" ")
    for word, value in SAMPLE.items():
        path = path.replace(word, value)
    return method, path


@pytest.mark.parametrize("key", sorted({*NEEDED, *OPEN}))
def test_no_route_but_health_answers_without_a_token(home: Path, key: str) -> None:
    port = Port(home)
    method, path = _sent(key)
    for headers in (
        {},
        {"Authorization": "Bearer cw_nonsense"},
        {"Authorization": "Basic eDp5"},
        {"Cookie": "clearway=x"},
    ):
        answer = port.ask(method, path, **headers)
        assert answer.status == (200 if key.endswith("/health") else 401), (key, headers)
        if answer.status == 401:
            assert set(answer.body) == {"type", "title", "status", "detail"}, "nothing is told"


@pytest.mark.parametrize(
    "path", ["/", "/index.html", "/api/v1", "/api/v1/nothing", "/docs", "/openapi.json", "/metrics/x"]
)
def test_what_is_no_route_tells_nothing_either(home: Path, path: str) -> None:
    assert Port(home).ask("GET", path).status == 401


@pytest.mark.parametrize("role", list(Role))
def test_each_role_gets_as_far_as_the_table_says(home: Path, tokens: dict[str, str], role: Role) -> None:
    port = Port(home)
    for key, needed in sorted(NEEDED.items()):
        if key == ENDS and role >= needed:
            continue  # asked last of all, below
        method, path = _sent(key)
        answer = port.ask(method, path, token=tokens[role.name], body={} if method != "GET" else None)
        assert (answer.status == 403) == (role < needed), (key, role, answer)
        assert answer.status != 401
        assert answer.status < 500, (key, answer)


def test_health_needs_nobody_and_tells_one_word(home: Path) -> None:
    assert Port(home).ask("GET", "/api/v1/health").body == {"status": "up"}


def test_a_token_with_scopes_reaches_these_nouns_only(client: Client, home: Path) -> None:
    token = client.make_token({"user": "prometheus", "role": "viewer", "scopes": ["metrics"]})["token"]
    port = Port(home)
    assert port.ask("GET", "/metrics", token=token).status == 200
    assert port.ask("GET", "/api/v1/jobs", token=token).status == 403


def test_last_of_all_an_admin_may_end_the_controller(home: Path, tokens: dict[str, str]) -> None:
    running = read_running(home)
    assert running is not None
    assert Port(home).ask("POST", "/api/v1/shutdown", token=tokens["admin"]).status == 202
    until(lambda: process_start(running.pid) != running.started, "the controller is gone")
