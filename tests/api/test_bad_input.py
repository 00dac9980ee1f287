from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from clearway import sdk
from clearway.config.home import read_running
from clearway.model.errors import InputError, NotFoundError, UnknownWordError
from tests.api.bad_values import BAD, FIELD
from tests.api.conftest import BODY_LIMIT
from tests.api.serving import raw_answer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from clearway.sdk.client import Client

pytestmark = pytest.mark.slow
GOOD = {"name": "good", "run": ["true"]}
HUGE = 10**30


@pytest.fixture(autouse=True)
def _nothing_is_stored(client: Client) -> Iterator[None]:
    before = client.status()["journal"]["records"]
    yield
    assert client.status()["journal"]["records"] == before


def _refused(word: str, rule: str, error: InputError) -> None:
    assert error.field in FIELD.get(word, (word,))
    assert rule in error.rule
    assert error.value
    assert "jobs[0]" in error.place or word in ("queue", "uses", "after"), error.place
    assert str(error).startswith(error.field)


@pytest.mark.parametrize(("word", "value", "rule"), BAD)
def test_http_refuses_with_field_value_and_rule(client: Client, word: str, value: object, rule: str) -> None:
    with pytest.raises(InputError) as told:
        client.submit([{**GOOD, word: value}])
    _refused(word, rule, told.value)


@pytest.mark.parametrize(("word", "value", "rule"), BAD)
def test_python_refuses_the_same(home: Path, word: str, value: object, rule: str) -> None:
    with pytest.raises(InputError) as told:
        sdk.submit(home, **{**GOOD, word: value})
    _refused(word, rule, told.value)


def test_python_refuses_values_that_no_file_could_hold(home: Path) -> None:
    with pytest.raises(InputError, match="env: .*plain|env: .*text") as told:
        sdk.submit(home, **GOOD, env={"A": object()})
    assert told.value.field == "env"
    with pytest.raises(InputError) as told:
        sdk.submit(home, **{**GOOD, "run": b"bytes"})
    assert told.value.field == "run"


def test_an_unknown_word_names_key_place_and_nearest(client: Client) -> None:
    with pytest.raises(UnknownWordError, match=r"gpu: .*did you mean 'gpus'.*jobs\[1\]"):
        client.submit([GOOD, {**GOOD, "gpu": 1}])


def test_a_word_of_scenarios_is_none_of_a_real_job(client: Client) -> None:
    for word, value in (("pin", "n1"), ("runtime", 5)):
        with pytest.raises(UnknownWordError):
            client.submit([{**GOOD, word: value}])


def test_a_batch_is_entered_whole_or_not_at_all(client: Client) -> None:
    with pytest.raises(InputError, match=r"jobs\[2\]"):
        client.submit([GOOD, GOOD, {**GOOD, "gpus": -1}, GOOD])


def test_a_job_without_a_command_or_a_name_is_refused(client: Client) -> None:
    with pytest.raises(InputError, match="run: "):
        client.submit([{"name": "x"}])
    with pytest.raises(InputError, match="name: "):
        client.submit([{"run": "true"}])


def test_what_does_not_exist_is_not_found(client: Client) -> None:
    for call in (client.job, client.why, client.cancel, client.suspend, client.resume, client.wait, client.events):
        for ref in ("no-such-job", "id:99999", "99999", "name:7", "a/b%2F\n\"'?#", "é" * 300):
            with pytest.raises(NotFoundError):
                call(ref)
    with pytest.raises(NotFoundError):
        list(client.logs("no-such-job"))
    with pytest.raises(NotFoundError):
        client.drain("no-such-node")


def test_bad_queues_are_refused(client: Client) -> None:
    with pytest.raises(UnknownWordError, match="did you mean 'weight'"):
        client.set_queue({"name": "q", "wieght": 1})
    with pytest.raises(InputError, match="weight"):
        client.set_queue({"name": "q", "weight": -1})
    with pytest.raises(InputError, match="parent"):
        client.set_queue({"name": "q", "parent": "no-such-queue"})


def _post(
    home: Path, body: bytes, kind: str = "application/json", path: str = "jobs", extra: str = ""
) -> tuple[int, Any]:
    running = read_running(home)
    assert running is not None
    head = f"POST /api/v1/{path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: {kind}\r\n{extra}"
    answer = raw_answer(running.socket, f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
    assert answer.getheader("Content-Type") == "application/problem+json"
    return answer.status, json.loads(answer.body)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("body", "status", "says"),
    [
        (b"", 400, "no JSON"),
        (b"{", 400, "no JSON"),
        (b"\xff\xfe", 400, "no JSON"),
        (b"[" * 60_000, 400, "no JSON"),
        (b'{"jobs": [{"priority": ' + b"9" * 5000 + b"}]}", 400, "no JSON"),
        (b"7", 422, "jobs"),
        (b"{}", 422, "jobs"),
        (b'{"jobs": []}', 422, "jobs"),
        (b'{"jobs": {}}', 422, "jobs"),
        (b'{"jobs": [7]}', 422, "map of words"),
        (b'{"jobz": []}', 422, "did you mean 'jobs'"),
        (b'{"jobs": [{"name": "a", "name": "b", "run": "x"}]}', 422, "stands once"),
        (b'{"jobs": [{"name": "a", "run": "x", "gpus": NaN}]}', 422, "gpus: nan"),
        (b'{"jobs": [{"name": "a", "run": "x", "gpus": -Infinity}]}', 422, "gpus: -inf"),
        (b'{"jobs": [{"name": "a", "run": "x", "time_limit": 1e400}]}', 422, "time_limit: inf"),
        (b'{"jobs": [{"name": "\\ud800", "run": "x"}]}', 422, "name"),
        (b'{"jobs": [{"name": "a", "run": "x", "\\udcff": 1}]}', 422, "no such word"),
    ],
)
def test_a_body_that_is_no_submit_is_told(home: Path, body: bytes, status: int, says: str) -> None:
    found, problem = _post(home, body)
    assert found == status
    assert says in problem["detail"]
    assert {"type", "title", "status", "detail"} <= set(problem)


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/x-www-form-urlencoded", "application/json; charset=latin-1", ""]
)
def test_another_content_type_is_refused(home: Path, kind: str) -> None:
    assert _post(home, b'{"jobs": [{"name": "a", "run": "x"}]}', kind)[0] == 415


def test_a_compressed_body_is_refused(home: Path) -> None:
    assert _post(home, b"", extra="Content-Encoding: gzip\r\n")[0] == 415


def test_a_huge_body_is_refused_before_it_is_read(home: Path) -> None:
    running = read_running(home)
    assert running is not None
    head = b"POST /api/v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
    answer = raw_answer(running.socket, head + b"Content-Length: 999999999999\r\n\r\n")
    assert answer.status == 413
    assert str(BODY_LIMIT).encode() in answer.body  # type: ignore[attr-defined]


def test_a_huge_body_without_a_length_is_refused_on_the_way(home: Path) -> None:
    running = read_running(home)
    assert running is not None
    head = (
        b"POST /api/v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
    )
    piece = b"%x\r\n%s\r\n" % (BODY_LIMIT // 2, b" " * (BODY_LIMIT // 2))
    assert raw_answer(running.socket, head + piece * 3).status == 413


def test_python_is_told_of_the_limit(client: Client) -> None:
    with pytest.raises(InputError, match=f"at most {BODY_LIMIT} bytes"):
        client.submit([{**GOOD, "env": {"A": "x" * 4 * BODY_LIMIT}}])


@pytest.mark.parametrize(
    ("path", "status", "says"),
    [
        ("jobs?limit=0", 422, "limit"),
        ("jobs?limit=many", 422, "limit"),
        ("jobs?state=asleep", 422, "state"),
        ("jobs?stat=pending", 422, "did you mean 'state'"),
        ("jobs/x/logs?taks=1", 422, "did you mean 'task'"),
        ("nothing", 404, "GET /api/v1/nothing"),
        ("jobs/%ff%fe", 404, "no job"),
        (f"calls/{2**63}", 422, "call"),
        (f"calls/{10**30}/why", 422, "call"),
        (f"calls/{2**63 - 1}/members?first={2**63}", 422, "first"),
        ("../../etc/passwd", 404, "not found"),
        ("jobs/x" + "%5B1%5D" * 600, 404, "no job"),
        (f"calls/{HUGE}", 422, "call"),
        (f"calls/{HUGE}/why", 422, "call"),
        (f"calls/{HUGE}/logs", 422, "call"),
        (f"calls/{HUGE}/failure", 422, "call"),
        (f"calls/{HUGE}/members", 422, "call"),
        (f"calls/1/members?first={HUGE}", 422, "first"),
        (f"calls/1/members?most={HUGE}", 422, "most"),
    ],
)
def test_a_bad_query_or_path_is_told(home: Path, path: str, status: int, says: str) -> None:
    running = read_running(home)
    assert running is not None
    answer = raw_answer(running.socket, f"GET /api/v1/{path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
    assert answer.status == status
    assert says.lower() in json.loads(answer.body)["detail"].lower()  # type: ignore[attr-defined]


def test_a_wrong_method_is_told(home: Path) -> None:
    assert _post(home, b"", path="status")[0] == 405


@pytest.mark.parametrize("way", ["step", "undo", "inner step", "scheduled job", "scheduled step", "trial"])
@pytest.mark.parametrize(
    ("word", "value", "rule"),
    [
        ("run", "", "command"),
        ("workdir", "relative/path", "whole path"),
        ("code", "copied", "sent before"),
        ("code", "sha256:" + "0" * 64, "sent to this controller before"),
        ("secrets", ["NO_SUCH"], "set"),
        ("deadline", 3600, "offset"),
        ("pin", "n1", "no such word"),
        ("queue", "no-such-queue", "a queue that exists"),
        ("gpus", 1.5, "whole number"),
    ],
)
def test_jobs_of_workflows_schedules_and_searches_are_read_as_any_other(
    client: Client, way: str, word: str, value: object, rule: str
) -> None:
    job = {"run": "true", word: value}
    steps = [{"name": "a", **job}]
    inner = [{"name": "a", "workflow": {"steps": steps}}]
    undo = [{"name": "a", "run": "true", "undo": job}]
    daily = {"name": "S", "cron": "@daily"}
    asked: dict[str, tuple[str, dict[str, Any]]] = {
        "step": ("flows", {"name": "W", "steps": steps}),
        "undo": ("flows", {"name": "W", "steps": undo}),
        "inner step": ("flows", {"name": "W", "steps": inner}),
        "scheduled job": ("schedules", {**daily, "job": job}),
        "scheduled step": ("schedules", {**daily, "workflow": {"name": "W", "steps": steps}}),
        "trial": ("searches", {"name": "X", "trials": 1, "space": {"x": [1]}, "job": job}),
    }
    with pytest.raises(InputError, match=rule) as told:
        client._send(*asked[way])  # the client itself would send code first
    assert told.value.field in (word, f"{word}[0]")
    assert told.value.place
