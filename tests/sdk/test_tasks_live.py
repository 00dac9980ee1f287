"""Calls of tasks, by a real controller and real workers."""

from __future__ import annotations

import asyncio
import os
import time
from datetime import datetime, timedelta
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

from clearway.model.errors import CallCancelledError, CallError, CallTimedOutError, InputError, UnknownWordError
from tests.api.live import kill_controller, until
from tests.sdk import tasks_used as used

if TYPE_CHECKING:
    from pathlib import Path

    from clearway.sdk.client import Client

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("client")]
SETTINGS = {"devices": 2}
PATIENCE_S = 60


def test_a_task_called_plainly_is_its_function() -> None:
    assert used.add(1, b=2) == 3


def test_a_call_gives_its_result_and_its_output() -> None:
    handle = used.talk.remote("hello")
    assert handle.get(PATIENCE_S) is None
    assert (handle.status, handle.logs(), handle.logs("stderr")) == ("succeeded", b"hello\n", b"HELLO\n")


def test_an_exception_comes_back_as_itself_with_its_traceback() -> None:
    with pytest.raises(KeyError, match="here") as caught:
        used.raises.remote("here").get(PATIENCE_S)
    assert "tasks_used.py" in str(caught.value.__cause__)


@pytest.mark.parametrize("kind", ["no text", "no unicode", "no end"])
def test_an_exception_that_cannot_be_told_is_told_of(kind: str) -> None:
    handle = used.raises_what_cannot_be_told.remote(kind)
    with pytest.raises((CallError, ValueError, used.WordlessError)):
        handle.get(PATIENCE_S)
    assert handle.row["losses"] == 0


@pytest.mark.parametrize("stream", ["descriptor", "file", "name"])
def test_a_call_that_shuts_its_output_takes_no_other_with_it(stream: str) -> None:
    handle = used.shuts.remote(stream)
    assert handle.get(PATIENCE_S) is None
    after = used.talk.remote("still")
    assert after.get(PATIENCE_S) is None
    assert (handle.row["losses"], after.logs()) == (0, b"still\n")


def test_results_that_are_too_much_for_one_report_come_in_several() -> None:
    handles = [used.much.remote(250_000) for _ in range(200)]
    assert {len(handle.get(PATIENCE_S)) for handle in handles} == {250_000}


def test_calls_and_maps_keep_their_order() -> None:
    handles = [used.add.delay(n) for n in range(300)]
    assert [handle.get(PATIENCE_S) for handle in handles] == list(range(1, 301))
    assert used.add.map(range(1200)).get(PATIENCE_S) == list(range(1, 1201))
    assert used.add.map([1, 2], b=5).get(PATIENCE_S) == [6, 7]
    assert used.add.starmap([(1, 1), (2, 2)]).get(PATIENCE_S) == [2, 4]


def test_handles_are_awaited_and_async_functions_run() -> None:
    async def all_of_them() -> list[int]:
        return await asyncio.gather(*[used.later.remote(n) for n in range(20)])

    assert asyncio.run(all_of_them()) == list(range(20))


def test_a_failure_is_tried_again(tmp_path: Path) -> None:
    assert used.third_time.remote(str(tmp_path / "tries")).get(PATIENCE_S) == 3


def test_a_worker_that_dies_gives_its_calls_back(tmp_path: Path) -> None:
    others = used.add.map(range(100))
    handle = used.dies_once.remote(str(tmp_path / "died"))
    assert handle.get(PATIENCE_S) == "alive"
    assert handle.row["losses"] == 1
    assert others.get(PATIENCE_S) == list(range(1, 101))


def test_a_call_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    with pytest.raises(CallTimedOutError, match="time limit of 0.3 s"):
        used.waits_for.options(time_limit=0.3).remote(str(tmp_path / "never")).get(PATIENCE_S)


def test_a_call_that_runs_is_cancelled(tmp_path: Path) -> None:
    handle = used.waits_for.remote(str(tmp_path / "never"))
    until(lambda: handle.status == "running", "it runs")
    handle.cancel()
    with pytest.raises(CallCancelledError):
        handle.get(PATIENCE_S)
    assert used.add.remote(1).get(PATIENCE_S) == 2


def test_a_map_may_be_larger_than_a_request() -> None:
    items = [b"x" * 40_000] * 1001  # 40 MB, where a request has 32 MiB at most
    assert sum(used.length.map(items).get(PATIENCE_S)) == 40_040_000


def test_large_values_go_through_files(home: Path) -> None:
    assert used.length.remote(b"x" * 3_000_000).get(PATIENCE_S) == 3_000_000
    assert any(path.stat().st_size > 3_000_000 for path in (home / "values").iterdir())


def test_a_word_that_no_task_has_is_refused_with_the_nearest() -> None:
    with pytest.raises(UnknownWordError, match="gpus"):
        used.add.options(gpu=1).remote(1).get(PATIENCE_S)


def test_a_call_says_why_it_waits() -> None:
    handle = used.add.options(gpus=64).remote(1)
    until(lambda: handle.why()["waits_for_job"], "its worker waits for a place")
    said = handle.why()
    assert said["state"] == "pending"
    assert "GPU" in said["text"]
    handle.cancel()


def test_a_secret_that_is_not_set_is_refused_at_once() -> None:
    with pytest.raises(InputError, match="clearway secret set NOT_THERE"):
        used.add.options(secrets=["NOT_THERE"]).remote(1).get(PATIENCE_S)


def test_calls_outlive_the_controller(home: Path, tmp_path: Path) -> None:
    handle = used.waits_for.remote(str(tmp_path / "seen"))
    until(lambda: handle.status == "running", "it runs")
    kill_controller(home)
    (tmp_path / "seen").touch()
    more = used.add.map(range(50))
    assert handle.get(PATIENCE_S) == "seen"
    assert more.get(PATIENCE_S) == list(range(1, 51))
    assert handle.row["attempt"] == 1


def test_the_rate_of_a_queue_holds_over_workers_and_a_restart(client: Client, home: Path) -> None:
    client.set_queue({"name": "rated", "call_rate": "5/s"})
    handles = [used.add.options(queue="rated", env={"OF": str(n % 2)}).remote(n) for n in range(10)]
    assert handles[0].get(PATIENCE_S) == 1
    kill_controller(home)
    assert [handle.get(PATIENCE_S) for handle in handles] == list(range(1, 11))
    started = sorted(datetime.fromisoformat(handle.row["started"]) for handle in handles)
    assert min(later - before for before, later in pairwise(started)) >= timedelta(seconds=0.2)


def test_why_tells_of_a_rate_and_another_one_holds_at_once(client: Client) -> None:
    client.set_queue({"name": "rare", "call_rate": "1/h"})
    first, second = (used.add.options(queue="rare").remote(n) for n in range(2))
    assert first.get(PATIENCE_S) == 1
    assert "queue 'rare' hands over 1/h at most, the next at" in second.why()["text"]
    client.set_queue({"name": "rare"})
    assert second.get(PATIENCE_S) == 2


def test_a_function_of_the_program_itself_goes_along() -> None:
    from clearway import task  # noqa: PLC0415

    secret = time.monotonic()

    @task
    def inner() -> tuple[float, int]:
        return secret, os.getpid()

    found, pid = inner.remote().get(PATIENCE_S)
    assert found == secret
    assert pid != os.getpid()


def test_workers_have_ended_with_their_signal(client: Client) -> None:
    names = [row for row in client.jobs() if row["name"].startswith("worker-")]
    for row in names:
        client.cancel(f"id:{row['id']}")
    for row in names:
        assert client.wait(f"id:{row['id']}", PATIENCE_S)["state"] in {"cancelled", "succeeded", "failed"}
    assert used.add.remote(5).get(PATIENCE_S) == 6
