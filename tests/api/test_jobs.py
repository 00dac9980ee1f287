from __future__ import annotations

import json
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest

from clearway.config.home import read_running
from clearway.engines.parts.cuts import Cuts
from clearway.model.errors import ConflictError, InputError, NotFoundError
from clearway.policies.registry import BUNDLES
from tests.api.live import PATIENCE_S, live
from tests.api.serving import raw_answer

if TYPE_CHECKING:
    import http.client
    from collections.abc import Iterator
    from pathlib import Path

    from clearway.sdk.client import Client

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def _nothing_is_left(client: Client) -> Iterator[None]:
    yield
    for row in client.jobs():
        client.cancel(f"id:{row['id']}")
        client.wait(f"id:{row['id']}", PATIENCE_S)


def submit(client: Client, run: str | list[str], **words: object) -> str:
    (entered,) = client.submit([{"name": "job", "workdir": "/", "run": run, **words}])
    return f"id:{entered['id']}"


def ran(client: Client, run: str | list[str], **words: object) -> dict[str, Any]:
    row = client.wait(submit(client, run, **words), PATIENCE_S)
    assert row["ended"], row
    return row


def get(home: Path, path: str, *headers: str) -> http.client.HTTPResponse:
    running = read_running(home)
    assert running is not None
    lines = (f"GET /api/v1/{path} HTTP/1.1", "Host: x", "Connection: close", *headers, "", "")
    return raw_answer(running.socket, "\r\n".join(lines).encode())


def body(answer: http.client.HTTPResponse) -> bytes:
    found: bytes = answer.body  # type: ignore[attr-defined]
    return found


def until(client: Client, ref: str, inner_state: str) -> dict[str, Any]:
    end = time.monotonic() + PATIENCE_S
    while (row := client.job(ref))["inner_state"] != inner_state:
        assert time.monotonic() < end, row
    return row


def test_a_job_runs_and_its_row_says_so(client: Client) -> None:
    row = ran(client, ["true"], name="fine", priority=3, gpus=1)
    assert (row["state"], row["exit_code"], row["reason"], row["attempt"]) == ("succeeded", 0, None, 1)
    assert (row["name"], row["priority"], row["queue"], row["gpus"], row["tasks"]) == ("fine", 3, "default", 1, 1)
    assert row["submitted"] <= row["started"] <= row["ended"]
    assert row["submitted"].endswith("Z")
    (node,) = row["nodes"]
    assert len(row["devices"][node]) == 1
    assert row["user"]


def test_a_failure_has_its_exit_code_and_a_reason_in_words(client: Client) -> None:
    row = ran(client, "exit 7")
    assert (row["state"], row["exit_code"]) == ("failed", 7)
    assert "7" in row["reason"]["text"]
    shown = client.job(f"id:{row['id']}")
    assert shown["attempts"][0]["cause"] == "exited with code 7"
    assert shown["command"] == {"run": "exit 7", "workdir": "/"}


def test_a_command_that_does_not_exist_is_told(client: Client) -> None:
    row = ran(client, ["/no/such/program"])
    assert row["state"] == "failed"
    why = client.why(f"id:{row['id']}")
    assert any("/no/such/program" in cause["text"] for cause in why["causes"]), why


NAMES = [
    "a/b",
    "..",
    "a%2Fb",
    "quo\"te's",
    "new\nline",
    "tab\there",
    "?x=1#y",
    "é ü 漢字 \U0001f680",
    " ",
    "x" * 1000,
    "id:x",
    "ö" * 1000,
]


@pytest.mark.parametrize("name", NAMES)
def test_any_name_leads_to_its_job(client: Client, name: str) -> None:
    row = ran(client, ["true"], name=name)
    for found in (client.job(name), client.wait(name), client.cancel(name), client.job(f"name:{name}")):
        assert (found["id"], found["name"]) == (row["id"], name)
    assert list(client.logs(name)) == []
    assert [r["id"] for r in client.jobs(name=name, everything=True)] == [row["id"]]


def test_a_name_that_looks_like_a_number_is_found_as_a_name(client: Client) -> None:
    row = ran(client, ["true"], name="1")
    assert client.job("name:1")["id"] == row["id"]
    assert client.job("1")["id"] == 1
    assert client.job("name:id:1") if row["id"] == 0 else True


def test_the_newest_job_has_the_name(client: Client) -> None:
    ran(client, ["true"], name="twice")
    second = ran(client, ["true"], name="twice")
    assert client.job("twice")["id"] == second["id"]


def test_bytes_come_back_as_they_were_written(client: Client, home: Path) -> None:
    row = ran(client, r"printf '\262\nline\n\0\033[31m\300'; printf '\342' >&2; sleep 0.2; printf '\202\254' >&2")
    ref = f"id:{row['id']}"
    assert b"".join(client.logs(ref)) == b"\xb2\nline\n\0\x1b[31m\xc0"
    assert b"".join(client.logs(ref, stream="stderr")).decode() == "€"
    listed = json.loads(body(get(home, f"jobs/{row['id']}/logs?format=json")))
    assert listed["text"] == "\\xb2\nline\n\0\x1b[31m\\xc0"
    assert (listed["offset"], listed["next"], listed["size"]) == (0, 14, 14)


@pytest.mark.parametrize(
    ("header", "status", "found", "content_range"),
    [
        ("bytes=0-1", 206, b"01", "bytes 0-1/10"),
        ("bytes=8-", 206, b"89", "bytes 8-9/10"),
        ("bytes=-3", 206, b"789", "bytes 7-9/10"),
        ("bytes=5-999", 206, b"56789", "bytes 5-9/10"),
        ("bytes=10-", 416, None, "bytes */10"),
        ("bytes=5-2", 416, None, "bytes */10"),
        ("bytes=0-1,3-4", 200, b"0123456789", None),
        ("lines=1", 200, b"0123456789", None),
    ],
)
def test_a_range_of_a_log(
    client: Client, home: Path, header: str, status: int, found: bytes | None, content_range: str | None
) -> None:
    if not client.jobs(name="digits", everything=True):
        ran(client, "printf 0123456789", name="digits")
    answer = get(home, "jobs/digits/logs", f"Range: {header}")
    assert (answer.status, answer.getheader("Content-Range")) == (status, content_range)
    assert found is None or body(answer) == found


def test_a_log_from_an_offset(client: Client, home: Path) -> None:
    row = ran(client, "printf 0123456789")
    for offset, rest in ((0, b"0123456789"), (4, b"456789"), (10, b""), (99, b"")):
        assert body(get(home, f"jobs/{row['id']}/logs?offset={offset}")) == rest


def test_a_listing_does_not_cut_a_character(client: Client, home: Path) -> None:
    row = ran(client, "head -c 1048575 /dev/zero | tr '\\0' x; printf '€€'")
    first = json.loads(body(get(home, f"jobs/{row['id']}/logs?format=json")))
    second = json.loads(body(get(home, f"jobs/{row['id']}/logs?format=json&offset={first['next']}")))
    assert first["text"] + second["text"] == "x" * 1048575 + "€€"
    assert second["next"] == second["size"]


def test_a_log_is_followed_until_the_job_is_over(client: Client) -> None:
    ref = submit(client, "for i in 1 2 3; do echo $i; sleep 0.2; done")
    seen: list[tuple[float, bytes]] = [(time.monotonic(), piece) for piece in client.logs(ref, follow=True)]
    assert b"".join(piece for _, piece in seen) == b"1\n2\n3\n"
    assert len(seen) == 3, "each line comes when it was written"
    assert client.job(ref)["state"] == "succeeded"


def test_a_log_is_followed_through_retries(client: Client) -> None:
    ref = submit(client, 'echo "try $CLEARWAY_ATTEMPT"; exit 1', max_retries=1, retry_backoff=0.2)
    assert b"".join(client.logs(ref, follow=True)) == b"try 1\ntry 2\n"
    assert b"".join(client.logs(ref, attempt=1)) == b"try 1\n"
    assert b"".join(client.logs(ref, attempt=1, follow=True)) == b"try 1\n"
    with pytest.raises(NotFoundError, match="attempt 3"):
        list(client.logs(ref, attempt=3))


def test_a_big_log_comes_whole(client: Client) -> None:
    row = ran(client, "head -c 20000000 /dev/zero")
    assert sum(map(len, client.logs(f"id:{row['id']}"))) == 20_000_000


def test_each_task_has_its_logs(client: Client) -> None:
    row = ran(client, "echo task $RANK", tasks=2)
    assert [b"".join(client.logs(f"id:{row['id']}", task=n)) for n in (0, 1)] == [b"task 0\n", b"task 1\n"]
    with pytest.raises(NotFoundError, match="tasks 0 to 1"):
        list(client.logs(f"id:{row['id']}", task=2))


def test_bad_queries_of_logs_and_waits_are_refused(client: Client, home: Path) -> None:
    row = ran(client, ["true"])
    for query, word in (("logs?stream=stdin", "stream"), ("logs?task=-1", "task"), ("wait?timeout=nan", "timeout")):
        answer = get(home, f"jobs/{row['id']}/{query}")
        assert (answer.status, json.loads(body(answer))["field"]) == (422, word)


def test_why_a_job_waits(client: Client) -> None:
    holder = submit(client, ["sleep", "60"], gpus=2)
    waiter = submit(client, ["true"], gpus=1, name="waiter")
    why = client.why(waiter)
    assert why["state"] == "pending"
    assert why["reasons"][0]["code"] == "no-capacity"
    assert "1 GPU" in why["reasons"][0]["text"]
    assert why["reasons"][0]["needs"] == {"gpus": 1}
    row = client.job(waiter)
    assert row["submitted"] <= why["since"]
    assert row["reason"]["code"] == "no-capacity"
    assert row["reason"]["text"].startswith(why["reasons"][0]["text"])
    assert row["waits"][-1]["to"] is None
    client.cancel(holder)
    assert client.wait(waiter, PATIENCE_S)["state"] == "succeeded"
    over = client.why(waiter)
    assert [cause["kind"] for cause in over["causes"]] == ["started", "attempt_ended"]
    assert client.why(holder)["reasons"][0]["code"] == "cancelled"


def test_a_job_that_no_node_can_ever_run_is_told_so_at_once(client: Client) -> None:
    (entered,) = client.submit([{"name": "huge", "run": ["true"], "gpus": 64}])
    assert "no node can ever run it" in entered["warnings"][0]
    client.cancel(f"id:{entered['id']}")
    (entered,) = client.submit([{"name": "small", "run": ["true"], "gpus": 1}])
    assert entered["warnings"] == []


def test_the_nearest_queue_decides_a_default(client: Client) -> None:
    row = ran(client, 'echo "$FROM"; exit 1', queue="team", retry_backoff=0.01)
    assert (row["priority"], row["attempt"]) == (7, 3)
    assert b"".join(client.logs(f"id:{row['id']}")) == b"queue\n"
    assert ran(client, ["true"], queue="team", priority=1)["priority"] == 1


def test_a_batch_has_its_numbers_in_order(client: Client) -> None:
    entered = client.submit([{"name": f"batch-{i}", "run": ["true"]} for i in range(50)])
    assert [e["name"] for e in entered] == [f"batch-{i}" for i in range(50)]
    numbers = [e["id"] for e in entered]
    assert numbers == list(range(numbers[0], numbers[0] + 50))
    for number in numbers:
        client.wait(f"id:{number}", PATIENCE_S)
    assert len(client.jobs(name="batch-*", everything=True)) == 50
    assert [r["id"] for r in client.jobs(name="batch-*", everything=True, limit=2)] == numbers[:-3:-1]


def test_one_key_makes_one_job(client: Client) -> None:
    first = submit(client, ["true"], idempotency_key="same")
    answers: list[str] = []
    threads = [
        threading.Thread(target=lambda: answers.append(submit(client, ["true"], idempotency_key="same")))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [first] * 8
    with pytest.raises(ConflictError, match="same"):
        submit(client, ["false"], idempotency_key="same")


def test_lists_show_what_is_asked_for(client: Client) -> None:
    over = ran(client, ["true"], name="lists-over")
    holder = submit(client, ["sleep", "60"], gpus=2, name="lists-holder")
    waiter = submit(client, ["true"], gpus=2, name="lists-waiter")
    until(client, holder, "running")
    assert {r["name"] for r in client.jobs(name="lists-*")} == {"lists-holder", "lists-waiter"}
    assert {r["name"] for r in client.jobs(name="lists-*", state="pending")} == {"lists-waiter"}
    assert {r["name"] for r in client.jobs(name="lists-*", state="succeeded")} == {"lists-over"}
    assert client.jobs(queue="team", name="lists-*") == []
    assert client.jobs(name="lists-over", everything=True)[0]["id"] == over["id"]
    client.cancel(waiter)
    client.cancel(holder)
    assert client.wait(holder, PATIENCE_S)["state"] == "cancelled"


def test_suspend_and_resume(client: Client) -> None:
    ref = submit(client, ["sleep", "60"])
    until(client, ref, "running")
    assert client.suspend(ref)["inner_state"] == "suspended"
    assert client.job(ref)["state"] == "running"
    with pytest.raises(ConflictError):
        client.suspend(ref)
    assert client.resume(ref)["inner_state"] == "running"
    client.cancel(ref)
    assert client.wait(ref, PATIENCE_S)["state"] == "cancelled"
    assert client.cancel(ref)["state"] == "cancelled"


def test_a_wait_ends_at_its_timeout(client: Client) -> None:
    ref = submit(client, ["sleep", "60"])
    began = time.monotonic()
    assert client.wait(ref, 0.2)["state"] == "running"
    assert 0.2 <= time.monotonic() - began < PATIENCE_S
    client.cancel(ref)


def test_nodes_and_queues_show_what_is_held(client: Client) -> None:
    ref = submit(client, ["sleep", "60"], gpus=0.5, queue="team", cpus=0.5)
    until(client, ref, "running")
    (node,) = client.nodes()
    assert (node["gpus"], node["counted_only"], node["free_gpus"], node["use"]["cpus"]) == (2, True, 1.5, 0.5)
    assert sorted(d["held"] for d in node["devices"]) == [0, 0.5]
    queues = {q["name"]: q for q in client.queues()}
    assert (queues["team"]["running"], queues["team"]["use"]["gpus"], queues["team"]["limit"]) == (1, 0.5, {"gpus": 1})
    assert queues["team"]["defaults"] == {"priority": 7}, "but its env, which may hold secrets"
    client.cancel(ref)
    client.wait(ref, PATIENCE_S)
    assert client.status()["gpus"] == {"total": 2, "held": 0, "free": 2, "counted_only": 2}


def test_a_drained_node_takes_nothing_new(client: Client) -> None:
    (node,) = client.nodes()
    assert client.drain(node["name"])["state"] == "drained"
    ref = submit(client, ["true"])
    assert client.wait(ref, 0.2)["state"] == "pending"
    assert "drained" in client.why(ref)["reasons"][0]["text"]
    assert client.drain(node["name"], drained=False)["state"] == "ready"
    assert client.wait(ref, PATIENCE_S)["state"] == "succeeded"


def test_a_queue_is_made_and_changed(client: Client) -> None:
    assert client.set_queue({"name": "new", "limit": {"gpus": 0.5}})["limit"] == {"gpus": 0.5}
    assert client.set_queue({"name": "new", "weight": 3})["weight"] == 3


def test_events_tell_a_life(client: Client) -> None:
    row = ran(client, ["true"])
    assert [e["kind"] for e in client.events(f"id:{row['id']}")] == ["submitted", "forecast", "started", "ended"]


def test_old_jobs_are_found_by_their_number_in_the_journal(tmp_path: Path) -> None:
    with live(tmp_path, kept_finished=1) as client:
        first, second = (ran(client, f"echo {n}", name=n) for n in ("first", "second"))
        assert [r["name"] for r in client.jobs(everything=True)] == ["second"]
        ref = f"id:{first['id']}"
        assert client.job(ref)["state"] == client.wait(ref)["state"] == client.cancel(ref)["state"] == "succeeded"
        assert b"".join(client.logs(ref)) == b"".join(client.logs(ref, follow=True)) == b"first\n"
        assert client.why(ref)["causes"]
        with pytest.raises(NotFoundError):
            client.job("first")
        assert client.job("second")["id"] == second["id"]


def test_status_says_who_serves(client: Client, home: Path) -> None:
    status = client.status()
    running = read_running(home)
    assert running is not None
    assert status["controller"]["pid"] == running.pid
    assert status["controller"]["state"] == "up"
    assert (status["policy"]["order"], status["policy"]["lease"]) == (list(BUNDLES["fair"].order), 30)
    assert status["engine"]["name"] == "local"
    assert "counted" in status["engine"]["enforced"]["gpus"]


def test_the_reference_is_there(home: Path) -> None:
    found = json.loads(body(get(home, "openapi.json")))
    assert found["openapi"].startswith("3.1")
    assert "/api/v1/jobs/{ref}/why" in found["paths"]


def test_a_job_that_runs_no_more_cannot_be_suspended(client: Client) -> None:
    row = ran(client, ["true"])
    with pytest.raises(ConflictError, match="succeeded"):
        client.suspend(f"id:{row['id']}")
    with pytest.raises(InputError):
        client.submit([])


def test_a_log_that_was_cut_reads_the_same_every_way(client: Client, home: Path) -> None:
    row = ran(client, "seq 1 100000")
    ref, path = f"id:{row['id']}", home / "logs" / str(row["id"]) / "1-0-0.stdout"
    size = path.stat().st_size
    Cuts().look([str(path)], 128 * 1024)
    whole = b"".join(client.logs(ref))
    assert len(whole) < size
    assert whole.startswith(b"1\n2\n")
    assert whole.endswith(b"\n100000\n")
    assert b"bytes are cut here" in whole
    assert b"\0" not in whole
    assert b"".join(client.logs(ref, follow=True)) == whole
    pieces, at = "", 0
    while at < size:
        listed = json.loads(body(get(home, f"jobs/{row['id']}/logs?format=json&offset={at}")))
        pieces, at = pieces + listed["text"], listed["next"]
    assert pieces.encode() == whole
    part = get(home, f"jobs/{row['id']}/logs", "Range: bytes=-10")
    assert (part.status, body(part)) == (206, whole[-10:])
    assert len(body(get(home, f"jobs/{row['id']}/logs", f"Range: bytes=0-{size - 1}"))) == size


def test_how_far_a_running_job_says_it_is(client: Client) -> None:
    told = """echo '{"step": 3, "total": 4}' >> "$CLEARWAY_PROGRESS"; sleep 600"""
    ref, end = submit(client, told), time.monotonic() + PATIENCE_S
    while ((row := client.job(ref))["left"] or {}).get("step") is None and time.monotonic() < end:
        time.sleep(0.1)
    assert (row["left"]["step"], row["left"]["total"]) == (3, 4)
    assert row["left"]["told"] >= row["started"]
