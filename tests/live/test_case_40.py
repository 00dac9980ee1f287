"""A device is free only when the whole process tree is gone, however the job ends."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.api.live import live, until
from tests.live.trees import Tree

if TYPE_CHECKING:
    from collections.abc import Iterator

    from clearway.sdk.client import Client

pytestmark = pytest.mark.slow

POLICY = {"order": ["priority", "fifo"], "preempt": ["priority"]}
SOON = {"grace": "1s"}
FREEZER = Path("/sys/fs/cgroup/freezer")


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    with live(tmp_path_factory.mktemp("home"), devices=1, policy=POLICY) as found:
        yield found


@pytest.fixture
def tree(client: Client, tmp_path: Path) -> Iterator[Tree]:
    made = Tree(client, tmp_path / "tree")
    yield made
    for row in client.jobs():
        client.cancel(f"id:{row['id']}")
        client.wait(f"id:{row['id']}", 60)


@pytest.mark.parametrize("how", [(), ("deaf",)], ids=["", "a child is deaf to SIGTERM"])
def test_after_a_crash(tree: Tree, how: tuple[str, ...]) -> None:
    first, second = tree.begin(*how)
    tree.crash()
    tree.watch(second)
    _ended(tree, first, "failed", exit_code=-signal.SIGSEGV)
    _ran_once(tree, second)


@pytest.mark.parametrize("end", ["SIGKILL", "SIGTERM", "exit"])
def test_after_other_ends(tree: Tree, end: str) -> None:
    """Also a main process that ends well leaves nothing behind."""
    first, second = tree.begin()
    tree.crash(end)
    tree.watch(second)
    if end == "exit":
        _ended(tree, first, "succeeded", exit_code=0)
    else:
        _ended(tree, first, "failed", exit_code=-signal.Signals[end])
    _ran_once(tree, second)


@pytest.mark.parametrize("how", [(), ("deaf",)], ids=["", "a child is deaf to SIGTERM"])
def test_after_a_cancel(tree: Tree, how: tuple[str, ...]) -> None:
    first, second = tree.begin(*how, checkpoint=SOON)
    tree.client.cancel(first)
    tree.watch(second)
    _ended(tree, first, "cancelled")
    _ran_once(tree, second)


@pytest.mark.parametrize("how", [(), ("deaf",)], ids=["", "a child is deaf to SIGTERM"])
def test_after_a_time_limit(tree: Tree, how: tuple[str, ...]) -> None:
    first, second = tree.begin(*how, checkpoint=SOON)
    tree.client.set(first, {"time_limit": 1})
    tree.watch(second)
    row = _ended(tree, first, "failed")
    assert row["attempts"][0]["end"] == "timed_out"
    _ran_once(tree, second)


@pytest.mark.parametrize("how", [(), ("deaf",)], ids=["", "a child is deaf to SIGTERM"])
def test_after_a_preemption(tree: Tree, how: tuple[str, ...]) -> None:
    first, second = tree.begin(*how, checkpoint=SOON)
    tree.client.set(second, {"priority": 10})
    tree.watch(second)
    row = tree.client.job(first)
    assert row["attempts"][0]["end"] == "preempted"
    assert row["state"] in ("pending", "running")
    _ran_once(tree, second)


def test_what_cannot_be_killed_takes_its_device_out_of_use_and_whoever_waits_is_told(tree: Tree) -> None:
    """A process in a frozen group of version 1 stays, whatever is sent to it, until the group is thawed."""
    group = FREEZER / f"clearway-test-{os.getpid()}"
    if not (FREEZER / "cgroup.procs").exists():
        pytest.skip("this machine has no freezer")
    first, second = tree.begin(checkpoint=SOON)
    group.mkdir()
    try:
        (group / "cgroup.procs").write_text(str(tree.pids[0]))
        (group / "freezer.state").write_text("FROZEN")
        tree.client.cancel(first)
        until(lambda: _unhealthy(tree), "the device is out of use")
        text = tree.client.status()["controller"]["text"]
        assert "cannot be ended though killed" in text
        assert str(tree.living()[0]) in text
        lacks = tree.client.outlook(second)
        assert "healthy" in json.dumps(lacks), lacks
        assert tree.client.job(second)["state"] == "pending"
        assert tree.device_held()
    finally:
        (group / "freezer.state").write_text("THAWED")
        until(lambda: not tree.living(), "all are gone")
        group.rmdir()
    tree.watch(second)
    _ended(tree, first, "cancelled")
    _ran_once(tree, second)
    until(lambda: not tree.client.status()["controller"]["text"], "all is well again")


def _unhealthy(tree: Tree) -> bool:
    (node,) = tree.client.nodes()
    return bool(node["unhealthy"] == [0])


def _ended(tree: Tree, job: str, state: str, exit_code: int | None = None) -> dict[str, Any]:
    tree.client.wait(job, 60)
    row = tree.client.job(job)
    assert row["state"] == state
    assert exit_code is None or row["exit_code"] == exit_code
    return row


def _ran_once(tree: Tree, job: str) -> None:
    row = _ended(tree, job, "succeeded", exit_code=0)
    assert len(row["attempts"]) == 1
