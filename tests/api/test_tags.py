from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest

from tests.api.asking import Port
from tests.api.live import live

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.slow


class Asker:
    """Asks with the owner's token."""

    def __init__(self, port: Port, token: str) -> None:
        self.port, self.token = port, token

    def __call__(self, method: str, path: str, body: object = None, **headers: str) -> tuple[int, dict[str, str], Any]:
        return self.port.ask(method, f"/api/v1/{path}", token=self.token, body=body, **headers)


@pytest.fixture(scope="module")
def ask(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asker]:
    home = tmp_path_factory.mktemp("tags")
    (home / "clearway.yaml").write_text("queues: [{name: team, limit: {gpus: 1}}]")
    with live(home, devices=1, listen="127.0.0.1:0", rate_limit=10_000):
        yield Asker(Port(home), (home / "token").read_text().strip())


@pytest.mark.parametrize("noun", ["queues", "nodes", "schedules", "devices"])
def test_a_list_that_has_not_changed_is_not_sent_again(ask: Asker, noun: str) -> None:
    status, headers, body = ask("GET", noun)
    assert (status, bool(body)) == (200, True)
    again = ask("GET", noun, If_None_Match=headers["etag"])
    assert (again[0], again[2]) == (304, b"")
    assert ask("GET", noun, If_None_Match='"another"')[0] == 200


def test_nobody_overwrites_a_queue_that_they_have_not_seen(ask: Asker) -> None:
    tag = ask("GET", "queues/team")[1]["etag"]
    assert ask("POST", "queues/team", {"weight": 2}, If_Match=tag)[0] == 200
    late = ask("POST", "queues/team", {"weight": 3}, If_Match=tag)
    assert late[0] == 412
    assert ask("POST", "queues", {"name": "team", "weight": 4}, If_Match=tag)[0] == 412
    assert ask("GET", "queues/team")[2]["weight"] == 2
    assert ask("POST", "queues/team", {"weight": 3}, If_Match=late[1]["etag"])[0] == 200
    assert ask("POST", "queues/nobody", {"weight": 3}, If_Match="*")[0] == 412, "there is none"


def test_the_tag_is_of_what_people_change_and_not_of_what_lives(ask: Asker) -> None:
    tag = ask("GET", "queues/team")[1]["etag"]
    job = ask("POST", "jobs", {"jobs": [{"name": "one", "run": ["sleep", "600"], "queue": "team"}]})[2]["jobs"][0]
    assert ask("GET", "queues/team")[2]["pending"] + ask("GET", "queues/team")[2]["running"] == 1
    assert ask("GET", "queues/team")[1]["etag"] == tag
    ask("POST", f"jobs/id:{job['id']}/cancel")


def test_of_many_who_edit_what_they_read_at_once_one_does(ask: Asker) -> None:
    tag = ask("GET", "queues/team")[1]["etag"]
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda n: ask("POST", "queues/team", {"weight": 10 + n}, If_Match=tag)[0], range(8)))
    assert sorted(found) == [200] + [412] * 7


def test_nodes_and_schedules_too(ask: Asker) -> None:
    [node] = ask("GET", "nodes")[2]["nodes"]
    tag = ask("GET", f"nodes/{node['name']}")[1]["etag"]
    assert ask("POST", f"nodes/{node['name']}/drain", If_Match=tag)[0] == 200
    assert ask("POST", f"nodes/{node['name']}/drain?drained=false", If_Match=tag)[0] == 412
    assert ask("POST", f"nodes/{node['name']}/drain?drained=false")[0] == 200
    words = {"name": "s", "cron": "0 0 1 1 *", "job": {"run": ["true"]}}
    assert ask("POST", "schedules", words)[0] == 200
    tag = ask("GET", "schedules/s")[1]["etag"]
    assert ask("POST", "schedules", {**words, "cron": "0 0 2 1 *"}, If_Match=tag)[0] == 200
    assert ask("POST", "schedules", words, If_Match=tag)[0] == 412


def test_a_request_sent_again_with_its_key_enters_nothing(ask: Asker) -> None:
    words = {"jobs": [{"name": "a", "run": ["true"]}, {"name": "b", "run": ["true"]}]}
    first = ask("POST", "jobs", words, Idempotency_Key="k1")[2]["jobs"]
    assert [row["id"] for row in ask("POST", "jobs", words, Idempotency_Key="k1")[2]["jobs"]] == [
        r["id"] for r in first
    ]
    assert ask("POST", "jobs", words, Idempotency_Key="k2")[2]["jobs"][0]["id"] != first[0]["id"]
