"""What calls of generators yield, read while they run: by a real controller and real workers."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from clearway import group
from clearway.model.errors import CallCancelledError
from tests.api.live import kill_controller, until
from tests.sdk import tasks_used as used

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("client")]
SETTINGS = {"fleet": {"nodes": [{"name": "n", "cpus": 2}]}}
PATIENCE_S = 60


def test_items_come_while_the_call_runs_and_outlive_the_controller(home: Path, tmp_path: Path) -> None:
    handle = used.steps.remote(str(tmp_path), 4)
    items = iter(handle)
    for number in range(4):
        (tmp_path / str(number)).touch()
        assert next(items) == f"step {number}"
        if number == 1:
            kill_controller(home)
    assert list(items) == []
    assert handle.get(PATIENCE_S) == list(handle) == [f"step {number}" for number in range(4)]


def test_each_item_is_there_once_after_its_worker_has_died(tmp_path: Path) -> None:
    handle = used.breaks_once.remote(str(tmp_path / "broke"), 5000)
    assert list(handle) == list(range(5000))
    assert handle.get(PATIENCE_S) == list(range(5000))
    assert handle.row["losses"] == 1


def test_async_generators_and_large_items_are_read_in_async_code() -> None:
    async def lengths() -> list[int]:
        return [len(item) async for item in used.steps_async.remote(5)]

    assert asyncio.run(lengths()) == [300_000] * 5


def test_what_was_yielded_before_a_failure_or_a_cancellation_is_read(tmp_path: Path) -> None:
    items = iter(used.yields_then_raises.remote(3))
    assert [next(items) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(KeyError, match="at its end"):
        next(items)
    (tmp_path / "0").touch()
    handle = used.steps.remote(str(tmp_path), 2)
    items = iter(handle)
    assert next(items) == "step 0"
    handle.cancel()
    with pytest.raises(CallCancelledError):
        next(items)


def test_what_yields_nothing_says_so_and_a_whole_gives_its_results() -> None:
    assert list(used.yields.remote(0)) == []
    with pytest.raises(TypeError, match="no generator"):
        list(used.add.remote(1))
    assert list(used.add.map(range(3))) == [1, 2, 3]


def test_items_are_a_result_like_any_other() -> None:
    assert (used.yields.s(4) | used.total).remote().get(PATIENCE_S) == 6
    assert group(used.yields.s(2), used.yields.s(1)).remote().get(PATIENCE_S) == [[0, 1], [0]]
    assert used.yields.map([2, 1]).get(PATIENCE_S) == [[0, 1], [0]]
    assert used.reads.remote(5).get(PATIENCE_S) == 10
    counter = used.Counter.remote()
    assert list(counter.count_to.remote(3)) == [1, 2, 3]
    counter.end()


def test_many_items_are_read_in_pages() -> None:
    handle = used.yields.remote(20_000)
    assert sum(1 for _ in handle) == 20_000
    until(handle.done, "it is over")
    assert len(handle.get(PATIENCE_S)) == 20_000
