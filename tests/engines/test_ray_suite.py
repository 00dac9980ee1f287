from __future__ import annotations

import os
import shutil
from functools import partial
from typing import TYPE_CHECKING

import pytest

from clearway.engines.local.handed import result_of
from clearway.engines.local.metrics import Metrics
from clearway.engines.local.orders import launch_order
from clearway.engines.local.paths import log_path
from clearway.engines.ray.engine import RayEngine
from clearway.engines.ray.link import Link
from clearway.ports.engine import TaskIsGone
from clearway.testing.engines import EngineSuite, Talk, how
from tests.engines.ray_cluster import PATIENCE_S, Cluster, Stranger

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from clearway.model.events import TaskRef

pytest.importorskip("ray", reason="the extra `ray` is not installed")

NAMESPACE = f"suite-{os.getpid()}"


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    found = Cluster()
    try:
        found.add(cpus=0, gpus=0)
        found.add()
        found.ready()
        yield found
    finally:
        found.end()
        shutil.rmtree(f"/tmp/clearway-ray-{os.getuid()}/{NAMESPACE}", ignore_errors=True)  # noqa: S108  the engine's


@pytest.fixture(scope="module")
def link(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Link]:
    """Keep one process that is Ray's driver; each engine has it forget all that it knew before."""
    found = Link(tmp_path_factory.mktemp("bridge"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_AUTH_MODE", cluster.environment["RAY_AUTH_MODE"])
        found.start()
    yield found
    found.close()


@pytest.mark.slow
class TestRayEngine(EngineSuite):
    node = "n2"

    @pytest.fixture(autouse=True)
    def _place(self, tmp_path: Path, cluster: Cluster, link: Link) -> None:
        self.scratch = tmp_path / "scratch"
        self.scratch.mkdir()
        self.home = tmp_path / "home"
        self.cluster, self.link = cluster, link
        self.output_size = 0

    def attach(self) -> RayEngine:
        order = partial(launch_order, home=self.home, workdir=self.scratch, devices=(), output_size=self.output_size)
        return RayEngine(
            self.home, order, Metrics(self.home), address=self.cluster.address,
            result_of=partial(result_of, self.home), namespace=NAMESPACE, link=self.link,
        )  # fmt: skip

    def lose_node(self) -> None:
        self.cluster.raylet(self.node).kill()

    def bring_back(self) -> None:
        self.cluster.nodes[self.node].wait(PATIENCE_S)
        self.cluster.add(again=2)
        self.cluster.ready()

    def change_node(self) -> None:
        self.stranger = Stranger(self.cluster, self.node)

    def change_back(self) -> None:
        self.stranger.leave()

    def join_node(self) -> str:
        name = self.cluster.add()
        self.cluster.ready()
        return name

    def leave_node(self) -> None:
        self.cluster.leave("n3")

    def log(self, task: TaskRef, stream: str) -> bytes:
        return log_path(self.home, task, stream).read_bytes()

    def test_a_log_is_cut_where_it_grows_too_long(self, talk: Talk) -> None:
        self.output_size = 1 << 20
        talk = self.again()  # with a limit
        order = self.launch(self.python("import time; print('x' * (4 << 20), flush=True); time.sleep(2); print('end')"))
        talk.tell(order)
        assert talk.gone(order.task).exit_code == 0
        path = log_path(self.home, order.task, "stdout")
        assert path.stat().st_blocks * 512 < 2 << 20
        assert b"bytes are cut here" in path.read_bytes()
        assert path.read_bytes().endswith(b"end\n")

    def test_no_task_of_a_gang_starts_where_one_gets_no_place(self, talk: Talk) -> None:
        self.change_node()
        try:
            theirs = self.stranger.devices()  # two of four
            mine = set(range(4)) - theirs
            gang = [
                self.launch(self.runs_on(), devices=(min(devices),), index=index, of=2)
                for index, devices in enumerate((mine, theirs))
            ]
            talk.tell(*gang)
            for order in gang:
                assert how(talk.gone(order.task)) == TaskIsGone(order.task)
                assert self.starts(order.task) == 0
        finally:
            self.change_back()

    def test_a_place_that_is_handed_on_is_still_held_after_a_restart(self, talk: Talk) -> None:
        first, second = self.launch(self.exits(0), 1, devices=(1, 2)), self.launch(self.runs_on(), 2, devices=(1, 2))
        talk.tell(first)
        talk.gone(first.task)
        talk.tell(second)  # mostly soon enough to get what the first one left
        talk.up(second.task)
        talk = self.again()
        assert talk.inventory.nodes[0].running == (second.task,)
        _, held = self.cluster.ledger(NAMESPACE)
        assert len(held) == 1

    def test_hosts_are_ready_before_a_task_comes(self, talk: Talk) -> None:
        devices = talk.inventory.nodes[0].spec.gpus
        assert devices == 4
        hosts, _ = self.cluster.ledger(NAMESPACE, devices)
        assert hosts >= devices
