from __future__ import annotations

import select
from typing import TYPE_CHECKING

import pytest

from tests.api.watching import PATIENCE_S, Watch

if TYPE_CHECKING:
    import socket
    from pathlib import Path

    from clearway.sdk.client import Client

pytestmark = pytest.mark.slow
ROUNDS = 200  # of 65 kB each; ten are enough


def _done(client: Client, name: str, **words: object) -> int:
    [job] = client.submit([{"name": name, "run": ["true"], **words}])
    assert client.wait(f"id:{job['id']}", PATIENCE_S)["ended"]
    return int(job["id"])


def test_what_happens_comes_as_it_happens_with_numbers_that_grow(client: Client, home: Path) -> None:
    with Watch(home) as watch:
        assert "200 OK" in watch.head
        assert "text/event-stream" in watch.head
        job = _done(client, "seen", queue="team")
        found = watch.until("ended", job)
    mine = [event for _, event in found if event.get("job") == job]
    kinds = [event["kind"] for event in mine if event["kind"] != "waits"]
    assert kinds[:4] == ["submitted", "forecast", "started", "running"]
    assert kinds[-1] == "ended"
    assert {event["name"] for event in mine} == {"seen"}
    assert {event["queue"] for event in mine} == {"team"}
    assert mine[-1]["state"] == "succeeded"
    numbers = [number for number, _ in found]
    assert numbers == sorted(set(numbers))


@pytest.mark.parametrize("how", ["header", "query"])
def test_a_reader_goes_on_where_it_was_and_misses_nothing(client: Client, home: Path, how: str) -> None:
    with Watch(home) as first:
        job = _done(client, f"resumed-{how}")
        seen = first.until("started", job)
    last = seen[-1][0]
    _done(client, "meanwhile")
    again = ("", f"Last-Event-ID: {last}\r\n") if how == "header" else (f"?after={last}",)
    with Watch(home, *again) as second, Watch(home, f"?after={seen[0][0]}") as all_of_it:
        found, whole = second.until("ended", job), all_of_it.until("ended", job)
    assert found[0][1]["kind"] == "hello"
    assert all(number > last for number, _ in found[1:])
    assert [*seen[1:], *found[1:]] == whole[1:], "both parts together are the whole"


def test_only_what_is_wished_for_comes(client: Client, home: Path) -> None:
    with Watch(home, "?kind=ended,started&queue=team&name=wish*") as watch:
        other, job = _done(client, "other", queue="team"), _done(client, "wished", queue="team")
        found = [event for _, event in watch.until("ended", job)][1:]
    assert [(event["kind"], event["job"]) for event in found] == [("started", job), ("ended", job)]
    assert other < job


def test_old_events_can_be_read_from_the_beginning(client: Client, home: Path) -> None:
    job = _done(client, "from the beginning")
    with Watch(home, "?after=0") as watch:
        kinds = {event["kind"] for _, event in watch.until("ended", job)}
    assert {"controller_started", "policy_changed", "queue_changed", "node_ready", "submitted"} <= kinds


def test_a_reader_from_the_future_begins_now(client: Client, home: Path) -> None:
    with Watch(home, "?after=999999999") as watch:
        assert watch.until("ended", _done(client, "not so far"))


@pytest.mark.parametrize("query", ["?kind=nonsense", "?after=-1", "?job=x", "?what=1"])
def test_a_bad_wish_is_refused(client: Client, home: Path, query: str) -> None:
    assert client.status()
    with Watch(home, query) as watch:
        assert "422" in watch.head.splitlines()[0]


def test_a_bad_last_event_id_is_refused(home: Path) -> None:
    with Watch(home, "", "Last-Event-ID: abc\r\n") as watch:
        assert "422" in watch.head.splitlines()[0]


def test_a_reader_that_takes_nothing_is_cut_off_and_others_go_on(client: Client, home: Path) -> None:
    name = "n" * 1000
    with Watch(home, "?after=0") as slow, Watch(home, "?kind=submitted") as good:
        for _ in range(ROUNDS):
            jobs = client.submit([{"name": name, "run": ["true"], "gpus": 8}] * 50)
            good.until("submitted", jobs[-1]["id"])
            if _cut_off(slow.peer):
                break
        assert _cut_off(slow.peer)
        for row in client.jobs(name=name, limit=100_000):
            client.cancel(f"id:{row['id']}")
        assert good.until("submitted", _done(client, "after the cut"))


def _cut_off(peer: socket.socket) -> bool:
    """Whether the other side has broken the connection off; seen without reading what it sent."""
    poll = select.poll()
    poll.register(peer, select.POLLHUP)
    return any(event & (select.POLLHUP | select.POLLERR) for _, event in poll.poll(0))
