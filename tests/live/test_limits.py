"""Limits, retries and nodes that come and go, with real processes: each end by its own cause and its own count."""

from __future__ import annotations

import fcntl
import os
import signal
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from clearway.engines.local.groups import MEMORY, Groups
from clearway.sdk.client import Client
from tests.api.live import live, until
from tests.cli.live import Product
from tests.live.processes import runner_of
from tests.live.trees import LOOKS, python

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.slow

SETTINGS = """
policy: {order: [priority, fifo], preempt: [priority], lease: 2s}
queues:
  - {name: team, defaults: {max_retries: 2, time_limit: 1h, retry_backoff: 0}}
  - {name: short, defaults: {max_retries: 2, time_limit: 1s, retry_backoff: 0, retry_on: timed_out}}
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    home = tmp_path_factory.mktemp("limits") / "home"
    home.mkdir(mode=0o700)
    (home / "clearway.yaml").write_text(SETTINGS)
    with live(home, devices=1):
        yield home


@pytest.fixture
def client(home: Path) -> Client:
    return Client.connect(home)


def _submit(client: Client, name: str, run: str | list[str], **words: Any) -> str:
    (row,) = client.submit([{"name": name, "run": run, "workdir": "/", **words}])
    return f"id:{row['id']}"


def _over(client: Client, job: str) -> dict[str, Any]:
    client.wait(job, 60)
    return client.job(job)


def test_a_queues_line_gives_three_tries_and_a_time_limit(client: Client) -> None:
    fails = _submit(client, "fails", "exit 7", queue="team")
    hangs = _submit(client, "hangs", "sleep 600", queue="short", checkpoint={"grace": 0.5})
    own = _submit(client, "own words", "exit 7", queue="team", max_retries=0)
    for job, end, tries in ((fails, "failed", 3), (hangs, "timed_out", 3), (own, "failed", 1)):
        row = _over(client, job)
        assert row["state"] == "failed"
        assert [attempt["end"] for attempt in row["attempts"]] == [end] * tries
        assert row["tries"]["ended"] == {end: tries}
        assert row["words"]["time_limit"] == (1 if end == "timed_out" else 3600)


def test_a_start_deadline(client: Client) -> None:
    holder = _submit(client, "holds", "sleep 600", gpus=1)
    late = _submit(client, "late", "true", gpus=1, start_deadline=1)
    row = _over(client, late)
    assert (row["state"], row["reason"]["code"], row["attempts"]) == ("failed", "start-deadline", [])
    client.cancel(holder)


def test_a_deadline_stops_who_says_so_and_is_only_told_to_others(client: Client) -> None:
    soon = (datetime.now(UTC) + timedelta(seconds=4)).isoformat()
    words = {"deadline": soon, "checkpoint": {"grace": 0.5}}
    stops = _submit(client, "stops", "sleep 600", on_deadline="stop", **words)
    goes_on = _submit(client, "goes on", "sleep 600", **words)
    waits = _submit(client, "waits", "true", on_deadline="stop", gpus=1, after=["goes on"], **words)
    for job in (stops, waits):
        row = _over(client, job)
        assert (row["state"], row["reason"]["code"]) == ("failed", "deadline")
    assert client.job(goes_on)["state"] == "running"
    client.cancel(goes_on)


def test_the_next_try_is_told_and_a_cancel_does_not_wait_for_it(client: Client, home: Path) -> None:
    job = _submit(client, "again later", "exit 1", max_retries=3, retry_backoff="1h", retry_backoff_max="2h")
    until(lambda: client.job(job)["state"] == "pending" and client.job(job)["attempt"] == 1, "it pauses")
    row = client.job(job)
    pause = datetime.fromisoformat(row["tries"]["next_try_at"]) - datetime.fromisoformat(row["attempts"][0]["to"])
    assert abs(pause - timedelta(hours=1)) < timedelta(minutes=1)
    product = Product(home)
    shown = product("show", job).out
    assert "next try at" in shown
    assert "1 failed; 1 of 3 retries used" in shown
    for command in ("ps", "why"):
        assert "retry 1 of 3 may start at" in product(*((command,) if command == "ps" else (command, job))).out
    client.cancel(job)
    row = _over(client, job)
    assert (row["state"], row["tries"]["next_try_at"]) == ("cancelled", None)


STORY = """
case $CLEARWAY_ATTEMPT in
1) exit 3;;
2) echo $$ > {marks}/eats; exec python3 -c 'x = bytearray(400 << 20); print(len(x))';;
3) exec sleep 600;;
*) echo $$ > {marks}/$CLEARWAY_ATTEMPT; exec sleep 600;;
esac
"""


def test_each_cause_has_its_count(client: Client, home: Path, tmp_path: Path) -> None:
    groups = Groups(f"probe{os.getpid()}")
    groups.leave()
    if not groups.has(MEMORY):
        pytest.skip(groups.refused or "no control group for memory")
    words = {"retry_on": ["failed", "oom", "timed_out"], "retry_backoff": 0, "max_retries": 3, "gpus": 1}
    job = _submit(
        client,
        "all of it",
        STORY.format(marks=tmp_path),
        memory="100MiB",
        time_limit=5,
        checkpoint={"grace": 0.5},
        **words,
    )
    until(lambda: client.job(job)["attempt"] == 3, "it failed, and ran out of memory")
    client.hold(job)
    client.set(job, {"time_limit": 1})
    until(lambda: client.job(job)["tries"]["ended"].get("timed_out"), "it reached its time limit")
    client.set(job, {"time_limit": "none"})
    client.release(job)
    until((tmp_path / "4").exists, "attempt 4 runs")
    urgent = _submit(client, "urgent", "true", gpus=1, priority=9)
    assert _over(client, urgent)["state"] == "succeeded"
    until((tmp_path / "5").exists, "attempt 5 runs")
    client.requeue(job)
    until((tmp_path / "6").exists, "attempt 6 runs")
    _lose(home, int((tmp_path / "6").read_text()))
    until((tmp_path / "7").exists, "attempt 7 runs")
    client.cancel(job)
    row = _over(client, job)
    assert row["state"] == "cancelled"
    assert row["tries"] == {
        "ended": {
            "failed": 1, "oom": 1, "timed_out": 1, "preempted": 1, "requeued": 1, "lost": 1, "cancelled": 1,
        },
        "retries": 3, "max_retries": 3, "losses": 1, "max_losses": 10, "next_try_at": None,
    }  # fmt: skip
    shown = Product(home)("show", job).out
    assert "1 failed, 1 oom, 1 timed out, 1 preempted, 1 requeued, 1 lost, 1 cancelled" in shown
    assert "3 of 3 retries used; 1 of 10 losses" in shown


def _lose(home: Path, task: int) -> None:
    """End the runner and a task so that nobody sees how the task ended."""
    with _no_runner(home):
        os.kill(task, signal.SIGKILL)


@contextmanager
def _no_runner(home: Path) -> Iterator[None]:
    """Kill the runner, and let no other begin meanwhile: the node is not heard of."""
    lock = os.open(home / "runner/lock", os.O_RDWR | os.O_CLOEXEC)

    def taken() -> bool:
        with suppress(AssertionError, ProcessLookupError):
            os.kill(runner_of(home), signal.SIGKILL)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    try:
        until(taken, "no runner is there")
        yield
    finally:
        os.close(lock)


def test_a_node_that_flaps_runs_nothing_twice_at_a_time(client: Client, home: Path, tmp_path: Path) -> None:
    """Each loss is a new attempt, which begins when nothing is left of the one before."""
    mark = "open('pids', 'a').write(f'{os.getpid()}\\n'); open(os.environ['CLEARWAY_ATTEMPT'], 'w')"
    (tmp_path / "pids").touch()
    run = python(f"{LOOKS}\n{mark}\ntime.sleep(600)")
    job = _submit(client, "flaps", run, gpus=1, checkpoint={"grace": 0.5}, workdir=str(tmp_path))
    for attempt in (1, 2):
        until((tmp_path / str(attempt)).exists, f"attempt {attempt} runs")
        with _no_runner(home):
            until(lambda: client.nodes()[0]["state"] == "lost", "the node is lost")
            assert client.job(job)["attempt"] == attempt
        until(lambda: client.nodes()[0]["state"] == "ready", "the node is back")
    until((tmp_path / "3").exists, "attempt 3 runs")
    row = client.job(job)
    assert [attempt["end"] for attempt in row["attempts"]] == ["lost", "lost", None]
    assert row["tries"]["losses"] == 2
    client.cancel(job)
    assert _over(client, job)["state"] == "cancelled"


def test_a_short_silence_is_no_loss(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with live(home) as client:
        wait = f"touch {tmp_path}/began; while [ ! -e {tmp_path}/end ]; do sleep 0.05; done"
        job = _submit(client, "goes on", wait)
        until((tmp_path / "began").exists, "it runs")
        for _ in range(3):
            os.kill(runner_of(home), signal.SIGKILL)
            assert _over(client, _submit(client, "probe", "true"))["state"] == "succeeded", "another runner goes on"
        row = client.job(job)
        assert (row["state"], row["attempt"], client.nodes()[0]["state"]) == ("running", 1, "ready")
        (tmp_path / "end").touch()
        assert _over(client, job)["state"] == "succeeded"


def test_a_drained_node_lets_what_runs_end_and_takes_nothing_new(client: Client, home: Path, tmp_path: Path) -> None:
    product, node = Product(home), client.nodes()[0]["name"]
    runs = _submit(client, "runs", f"touch {tmp_path}/began; while [ ! -e {tmp_path}/end ]; do sleep 0.05; done")
    until((tmp_path / "began").exists, "it runs")
    assert product("drain", node).code == 0
    waits = _submit(client, "waits", "true")
    assert "drained" in client.job(waits)["reason"]["text"]
    (tmp_path / "end").touch()
    assert _over(client, runs)["state"] == "succeeded"
    assert client.job(waits)["attempt"] == 0
    assert product("undrain", node).code == 0
    assert _over(client, waits)["state"] == "succeeded"
