"""What the dashboard asks beside what commands ask: some nodes, the first of a line, the effect of a queue's words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from clearway.model.errors import InputError
from clearway.sdk.transport import unix
from tests.api.live import live

if TYPE_CHECKING:
    from collections.abc import Iterator

    from clearway.sdk.client import Client
    from clearway.sdk.transport import Transport

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    home = tmp_path_factory.mktemp("page-routes")
    (home / "clearway.yaml").write_text("queues: [{name: a, limit: {gpus: 1}}, {name: b}]")
    with live(home, devices=2) as found:
        yield found


@pytest.fixture(scope="module")
def numbers(client: Client) -> list[int]:
    """Two that run, then two of a queue at its limit, then two that lack devices."""
    words = {"run": "sleep 600", "gpus": 1}
    queues = ("a", "b", "a", "a", "b", "b")
    return [row["id"] for row in client.submit([{"name": f"j{n}", "queue": q, **words} for n, q in enumerate(queues)])]


def asked(client: Client, path: str, **query: Any) -> Any:
    transport: Transport = unix(client.status()["controller"]["socket"])
    return transport.call("GET", path, query)


def test_the_first_of_the_line_and_those_behind(client: Client, numbers: list[int]) -> None:
    first = asked(client, "jobs", state="pending", oldest="true", limit=2)
    assert [row["id"] for row in first["jobs"]] == numbers[2:4]
    rest = asked(client, "jobs", state="pending", oldest="true", limit=2, cursor=first["next"])
    assert [row["id"] for row in rest["jobs"]] == numbers[4:]
    assert rest["next"] is None


def test_those_that_wait_for_one_thing_before_all(client: Client, numbers: list[int]) -> None:
    held = asked(client, "jobs", reason="queue-limit")
    assert [row["id"] for row in held["jobs"]] == [numbers[3], numbers[2]]
    assert asked(client, "jobs", reason="no-such-reason")["jobs"] == []


def test_some_nodes_by_name(client: Client, numbers: list[int]) -> None:
    (whole,) = asked(client, "devices")["nodes"]
    assert [one["held_by"][0]["job"] for one in whole["devices"]] == numbers[:2]
    assert asked(client, "devices", node=whole["name"])["nodes"] == [whole]
    assert asked(client, "devices", node="another")["nodes"] == []


def test_the_effect_of_words_is_told_and_nothing_changes(client: Client, numbers: list[int]) -> None:
    transport = unix(client.status()["controller"]["socket"])
    before = client.queues()
    told = transport.call("POST", "queues/b/preview", body=b'{"guarantee": {"gpus": 2}}')
    assert (told["stopping"], [row["job"] for row in told["stops"]]) == (1, numbers[:1])
    assert {row["name"] for row in told["queues"]} >= {"a", "b"}
    assert client.queues() == before
    with pytest.raises(InputError, match="guarantee"):
        transport.call("POST", "queues/b/preview", body=b'{"guarantee": 1}')
