from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from clearway.model.errors import InputError
from tests.api.live import until

if TYPE_CHECKING:
    from clearway.sdk.client import Client

pytestmark = pytest.mark.slow
PATIENCE_S = 30


def _get(client: Client, path: str, **query: object) -> Any:
    return client._transport.call("GET", path, query)


def _held(client: Client, name: str, gpus: float, **words: object) -> int:
    """Submit a job that holds devices until it is cancelled, and return its number once it runs."""
    [job] = client.submit([{"name": name, "run": ["sleep", "600"], "gpus": gpus, **words}])
    while client.job(f"id:{job['id']}")["inner_state"] != "running":
        pass
    return int(job["id"])


@pytest.fixture
def busy(client: Client) -> Any:
    """Both devices held, by one whole job and two shares, and one job that waits."""
    jobs = [_held(client, "whole", 1, queue="team", tenant="vision"), _held(client, "half", 0.5, user="ada")]
    [waiting] = client.submit([{"name": "waits", "run": ["true"], "gpus": 1}])
    yield [*jobs, waiting["id"]]
    for job in [*jobs, waiting["id"]]:
        client.cancel(f"id:{job}")
        client.wait(f"id:{job}", PATIENCE_S)


def test_the_overview_counts_what_is_so(client: Client, busy: list[int]) -> None:
    found = _get(client, "overview")
    assert found["health"] == {"state": "up", "text": ""}
    assert found["jobs"]["running"] == 2
    assert found["jobs"]["pending"] == 1
    assert found["gpus"] == {"total": 2, "held": 1.5, "free": 0.5, "counted_only": 2}
    [queue] = [queue for queue in found["queues"] if queue["name"] == "team"]
    assert (queue["pending"], queue["running"]) == (0, 1)
    assert found["nodes"] == {"ready": 1}
    [reason] = found["waiting"]
    assert reason["code"] == "no-capacity"
    assert (reason["jobs"], reason["gpus"], reason["longest"]["id"]) == (1, 1, busy[2])
    assert "1 GPU" in reason["text"]
    assert found["leader"]["home"]
    assert found["journal"]["records"] > 0


def test_the_overview_tells_what_failed_lately(client: Client) -> None:
    [row] = client.submit([{"name": "unlucky", "run": ["false"]}])
    client.wait(f"id:{row['id']}", PATIENCE_S)
    until(lambda: _get(client, "overview")["failed"]["jobs"] > 0, "it is counted")
    failed = _get(client, "overview")["failed"]
    assert failed["latest"][0]["id"] == row["id"]
    assert "exited with code 1" in failed["latest"][0]["text"]


def test_devices_say_who_holds_which_share(client: Client, busy: list[int]) -> None:
    [node] = _get(client, "devices")["nodes"]
    held = {job["job"]: (device["number"], job["share"]) for device in node["devices"] for job in device["held_by"]}
    assert {share for _, share in held.values()} == {1000, 500}
    assert held.keys() == set(busy[:2])
    assert len({number for number, _ in held.values()}) == 2
    assert all(device["used"] is None for device in node["devices"])
    why_not = _get(client, "devices")["measured"]
    assert why_not["devices"] is False
    assert "declared, not found" in why_not["why_not"]
    assert set(node["islands"]) == {"nvlink", "pcie", "numa"}


def _bars(answer: dict[str, Any]) -> list[dict[str, Any]]:
    tables, columns = answer["tables"], answer["bars"]
    assert len({len(column) for column in columns.values()}) == 1
    rows = [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
    texts = {
        "name": "names",
        "queue": "queues",
        "node": "nodes",
        "devices": "devices",
        "end": "ends",
        "cause": "causes",
    }
    for row in rows:
        row.update({word: None if row[word] < 0 else tables[table][row[word]] for word, table in texts.items()})
    return rows


def test_the_timeline_shows_what_ran_and_runs(client: Client, busy: list[int]) -> None:
    [failed] = client.submit([{"name": "fails", "run": ["false"]}])
    client.wait(f"id:{failed['id']}", PATIENCE_S)
    answer = _get(client, "timeline")
    rows = {row["job"]: row for row in _bars(answer)}
    whole, half, over = rows[busy[0]], rows[busy[1]], rows[failed["id"]]
    assert (whole["name"], whole["queue"], whole["share"], whole["to"]) == ("whole", "team", 1000, -1)
    assert (len(whole["devices"]), half["share"], over["devices"]) == (1, 500, [])
    assert (over["end"], over["cause"]) == ("failed", "exited")
    assert answer["from"] < over["from"] <= over["to"] <= answer["to"] <= answer["now"]
    assert answer["left_out"] == 0
    client.cancel(f"id:{busy[0]}")
    client.wait(f"id:{busy[0]}", PATIENCE_S)
    again = {row["job"]: row for row in _bars(_get(client, "timeline"))}
    assert again[busy[0]]["end"] == "cancelled"
    assert again[busy[0]]["from"] == whole["from"]


def test_the_timeline_knows_what_began_before_it(client: Client, busy: list[int]) -> None:
    [job] = client.submit([{"name": "early", "run": ["sleep", "600"]}])
    while client.job(f"id:{job['id']}")["inner_state"] != "running":
        pass
    start = datetime.now(UTC).isoformat()
    assert {row["job"] for row in _bars(_get(client, "timeline", **{"from": start}))} >= {*busy[:2], job["id"]}
    client.cancel(f"id:{job['id']}")
    client.wait(f"id:{job['id']}", PATIENCE_S)
    assert job["id"] in {row["job"] for row in _bars(_get(client, "timeline", **{"from": start}))}


def test_of_too_many_bars_the_shortest_are_left_out(client: Client, busy: list[int]) -> None:
    [short] = client.submit([{"name": "short", "run": ["true"]}])
    client.wait(f"id:{short['id']}", PATIENCE_S)
    answer = _get(client, "timeline", limit=2)
    assert {row["job"] for row in _bars(answer)} == set(busy[:2])
    assert answer["left_out"] >= 1


def test_promises_and_bookings_stand_in_the_timeline(client: Client, busy: list[int]) -> None:
    start = datetime.now(UTC) + timedelta(hours=2)
    client.book({"name": "kept", "gpus": 1, "from": start.isoformat(), "to": (start + timedelta(1)).isoformat()})
    [promised] = client.submit([{"name": "promised", "run": ["true"], "gpus": 1, "priority": 9}])
    answer = _get(client, "timeline")
    assert [booking["name"] for booking in answer["bookings"]] == ["kept"]
    assert {row["job"] for row in answer["reservations"]} <= {promised["id"], busy[2]}
    client.cancel_booking("kept")
    client.cancel(f"id:{promised['id']}")


@pytest.mark.parametrize("path", ["timeline", "waste"])
def test_a_time_that_is_none_is_refused(client: Client, path: str) -> None:
    for query in ({"from": "yesterday"}, {"from": "2026-01-02T00:00:00Z", "to": "2026-01-01T00:00:00Z"}):
        with pytest.raises(InputError):
            _get(client, path, **query)


def test_waste_tells_who_held_what_and_that_nothing_is_measured(client: Client, busy: list[int]) -> None:
    assert busy
    found = _get(client, "waste")
    held = {(row["tenant"], row["queue"]): row for row in found["held"]}
    assert held["vision", "team"]["gpu_hours"] > 0
    assert held["vision", "team"]["used_gpu_hours"] is None
    assert found["measured"] is False
    assert "declared, not found" in found["why_not"]
    assert found["now"] == {"free_gpus": 0.5, "fragmented_gpus": 0.5, "lacking_jobs": 1}


def test_the_policy_in_force_has_name_words_and_hash(client: Client) -> None:
    found = _get(client, "policy")
    assert found["name"] == "fair"
    assert found["words"]["order"]
    assert len(found["hash"]) == 16
    times = found["decisions"]
    assert 0 < times["median_ms"] <= times["p99_ms"]
    assert sum(minute["turns"] for minute in times["minutes"]) == times["turns"]


def test_a_list_comes_in_pages(client: Client) -> None:
    numbers = [row["id"] for row in client.submit([{"name": f"page-{i}", "run": ["true"]} for i in range(7)])]
    for number in numbers:
        client.wait(f"id:{number}", PATIENCE_S)
    found, cursor, pages = [], None, 0
    while pages == 0 or cursor:
        answer = _get(client, "jobs", name="page-*", everything=True, limit=3, cursor=cursor)
        found += [row["id"] for row in answer["jobs"]]
        cursor, pages = answer["next"], pages + 1
    assert (found, pages) == (numbers[::-1], 3)
    assert [row["id"] for row in client.jobs(name="page-*", everything=True, limit=5)] == numbers[:1:-1]
    with pytest.raises(InputError):
        _get(client, "jobs", cursor="x")


def test_a_list_is_narrowed_by_user_tenant_and_time(client: Client) -> None:
    words = {"name": "whose", "run": ["true"]}
    rows = client.submit([{**words, "user": "ada", "tenant": "vision"}, {**words, "user": "bob", "tenant": "speech"}])
    for row in rows:
        client.wait(f"id:{row['id']}", PATIENCE_S)
    ada, bob = (row["id"] for row in rows)
    assert [row["id"] for row in client.jobs(name="whose", user="ada", everything=True)] == [ada]
    assert [row["id"] for row in client.jobs(name="whose", tenant="speech", everything=True)] == [bob]
    since = client.job(f"id:{bob}")["submitted"]
    assert len(client.jobs(name="whose", since=since, everything=True)) == 2
    assert client.jobs(name="whose", since="2100-01-01T00:00:00Z", everything=True) == []


def test_what_a_job_really_uses_is_shown_while_it_runs_and_after(client: Client) -> None:
    burns = "import time; x = bytearray(48 * 2**20); end = time.time() + 600\nwhile time.time() < end: pass"
    [job] = client.submit([{"name": "burns", "run": ["python3", "-c", burns]}])
    ref = f"id:{job['id']}"
    until(lambda: ((client.job(ref)["use"] or {}).get("cpus") or 0) > 0, "its use is measured")
    use = client.job(ref)["use"]
    assert use["memory"] > 48 * 2**20
    assert (use["gpus"], use["gpu_memory"]) == (None, None)
    client.cancel(ref)
    client.wait(ref, PATIENCE_S)
    over = client.job(ref)
    assert over["use"] is None
    [attempt] = over["attempts"]
    assert attempt["used"]["peak_memory"] > 48 * 2**20
    assert 0 < attempt["used"]["cpus"] <= attempt["used"]["peak_cpus"]
