"""Hosts and their steps as they are on a node, without a cluster around them."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil
import pytest

from clearway.engines.ray import host, left

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

pytest.importorskip("ray", reason="the extra `ray` is not installed")
from clearway.engines.ray.cluster import _texts

KEY, TERM, PATIENCE_S = "1.1.0.0", (1, 1), 60.0


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Node:
    """A folder as on a node, and hosts in this process."""

    def __init__(self, namespace: str, scratch: Path) -> None:
        self.namespace, self.scratch = namespace, scratch
        self.folder = left.own_folder(namespace)
        self.hosts: list[host.Host] = []
        self.read = dict.fromkeys(host.STREAMS, 0) | {"up": False}

    def new(self) -> host.Host:
        self.hosts.append(host.Host(self.namespace, _texts(), 600.0, ""))
        return self.hosts[-1]

    async def settle(self) -> None:
        """Wait until its hosts have nothing more to do: only then their pipes are closed."""

        async def idle() -> bool:
            return not any(one._doing for one in self.hosts)

        await self.until(idle)

    def order(self, line: str, **more: Any) -> dict[str, Any]:
        env = {
            "PATH": os.environ["PATH"],
            "CLEARWAY_PROGRESS": "",
            "CLEARWAY_CHECKPOINT_DIR": str(self.scratch / "kept"),
        }
        return {
            "task": KEY, "argv": [line], "shell": True, "cwd": str(self.scratch), "env": env, "input": "",
            "output_size": 0, **more,
        }  # fmt: skip

    async def start(self, one: host.Host, line: str, **more: Any) -> None:
        await one.start(TERM, self.order(line, **more), b"", b"", {})

    async def end(self, one: host.Host) -> dict[str, Any]:
        async def over() -> dict[str, Any] | None:
            heard = await one.listen(TERM, KEY, self.read)
            for stream, data in heard["said"].items():
                self.read[stream] += len(data)
            self.read["up"] = heard["up"]
            return dict(heard["end"]) if heard["end"] else None

        found = await self.until(over)
        return {"code": found["code"], "error": found["error"]}

    async def until(self, holds: Callable[[], Awaitable[Any]]) -> Any:
        deadline = time.monotonic() + PATIENCE_S
        while not (found := await holds()):
            assert time.monotonic() < deadline
            await asyncio.sleep(0.01)
        return found

    async def there(self, name: str) -> str:
        async def text() -> str:
            path = self.scratch / name
            return path.read_text().strip() if path.exists() else ""

        return str(await self.until(text))

    def step(self) -> psutil.Process:
        place = str(self.folder / KEY)
        (found,) = (one for one in psutil.process_iter(["cmdline"]) if place in (one.info["cmdline"] or ()))
        return found


def _runs(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE  # nobody may have collected it yet
    except psutil.NoSuchProcess:
        return False


def _names(folder: str | Path) -> list[str]:
    return [path.name for path in Path(folder).iterdir()]


@pytest.fixture
async def node(tmp_path: Path, anyio_backend: str) -> AsyncIterator[Node]:
    assert anyio_backend == "asyncio"
    found = Node(f"host-{os.getpid()}-{time.time_ns()}", tmp_path)
    yield found
    await found.settle()
    shutil.rmtree(found.folder)


@pytest.mark.anyio
async def test_an_order_to_stop_waits_for_the_order_to_start(node: Node) -> None:
    one = node.new()
    await node.start(one, "exec sleep 600", input="x" * (1 << 20))  # more than a pipe holds at once
    await one.tell(TERM, KEY, {"do": "halt", "signal": signal.SIGTERM, "grace_us": 60_000_000})
    assert await node.end(one) == {"code": -signal.SIGTERM, "error": ""}


@pytest.mark.anyio
async def test_what_a_task_puts_in_the_place_of_its_files_holds_nobody_up(node: Node) -> None:
    one = node.new()
    await node.start(one, 'cd "${CLEARWAY_PROGRESS%/*}"; mkfifo metrics; ln -s /dev/zero result; exit 3')
    assert await node.end(one) == {"code": 3, "error": ""}
    assert (await one.listen(TERM, KEY, node.read))["result"] == b""


@pytest.mark.anyio
async def test_nothing_of_a_task_goes_on_whose_step_was_killed(node: Node) -> None:
    one = node.new()
    await node.start(one, "setsid sh -c 'echo $$ > left; exec sleep 600' & exec sleep 600")
    pid = int(await node.there("left"))
    node.step().kill()
    assert await node.end(one) == {"code": None, "error": ""}
    assert not _runs(pid)


@pytest.mark.anyio
async def test_a_task_that_another_host_has_is_waited_for_and_not_started_again(node: Node) -> None:
    first, second = node.new(), node.new()
    await node.start(first, "echo once >> starts; while [ ! -e go ]; do sleep 0.01; done; exit 5")
    await node.there("starts")
    await node.start(second, "echo twice >> starts")
    (node.scratch / "go").touch()
    assert await node.end(second) == {"code": 5, "error": ""}
    assert (node.scratch / "starts").read_text() == "once\n"
    assert not (node.folder / KEY).exists()


@pytest.mark.anyio
async def test_the_end_is_known_though_the_disk_is_full(node: Node) -> None:
    one = node.new()
    await node.start(
        one, 'mkdir "${CLEARWAY_PROGRESS%/*}/.end"; exit 4'
    )  # as little as on a full disk it can be written
    assert await node.end(one) == {"code": 4, "error": ""}


@pytest.mark.anyio
async def test_who_leads_no_more_is_obeyed_by_no_host_of_the_node(node: Node) -> None:
    one = node.new()
    await one.holding((2, 1))
    await node.new().holding((2, 1))
    for late in (one, node.new()):
        for what in (late.holding(TERM), late.start(TERM, node.order("true"), b"", b"", {}), late.forget(TERM, KEY)):
            with pytest.raises(PermissionError):
                await what
    await node.new().holding((2, 1))


@pytest.mark.anyio
async def test_checkpoints_lie_on_the_node_where_the_home_cannot(node: Node) -> None:
    one = node.new()
    (node.scratch / "kept").touch()
    await node.start(one, 'echo "$CLEARWAY_CHECKPOINT_DIR" > told; touch "$CLEARWAY_CHECKPOINT_DIR/here"')
    assert await node.end(one) == {"code": 0, "error": ""}
    assert Path(await node.there("told")) == node.folder / "checkpoints" / "1"
    assert (node.folder / "checkpoints" / "1" / "here").exists()


@pytest.mark.anyio
async def test_what_a_task_left_is_removed_with_its_own_cluster(node: Node) -> None:
    one = node.new()
    await node.start(one, 'echo "$RAY_TMPDIR" > own')
    await node.end(one)
    own = await node.there("own")
    assert _names(own) == []
    end = left.sweep(node.namespace, [KEY], PATIENCE_S)[KEY]
    assert end is not None
    assert end["code"] == 0
    assert KEY not in _names(node.folder)
    assert Path(own).name not in _names(left.TMP)


@pytest.mark.parametrize("kind", ["link", "file", "another user's"])
def test_a_folder_that_somebody_else_made_is_not_used(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(left, "TMP", str(tmp_path))
    path = tmp_path / f"clearway-ray-{os.getuid()}"
    if kind == "link":
        (tmp_path / "theirs").mkdir()
        path.symlink_to(tmp_path / "theirs")
    elif kind == "file":
        path.touch()
    else:
        path.mkdir()
        real = os.getuid()
        monkeypatch.setattr(os, "getuid", lambda: real + 1)
        path.rename(tmp_path / f"clearway-ray-{real + 1}")
    with pytest.raises(PermissionError):
        left.own_folder("space")
    one = host.Host("space", {}, 600.0, "")
    asyncio.run(one.start(TERM, {"task": KEY}, b"", b"", {}))
    heard = asyncio.run(one.listen(TERM, KEY, dict.fromkeys(host.STREAMS, 0) | {"up": False}))
    assert "the user of this Ray node" in heard["end"]["error"]


def test_the_folder_is_for_its_user_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(left, "TMP", str(tmp_path))
    (tmp_path / f"clearway-ray-{os.getuid()}").mkdir(mode=0o755)
    folder = left.own_folder("space")
    assert [oct(one.stat().st_mode & 0o777) for one in (folder, folder.parent)] == ["0o700", "0o700"]
