from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pytest

from clearway.config.engine_words import Slurm
from clearway.engines.local.handed import result_of
from clearway.engines.local.metrics import Metrics
from clearway.engines.local.orders import launch_order
from clearway.engines.local.paths import log_path
from clearway.engines.slurm import engine
from clearway.engines.slurm.engine import SlurmEngine
from clearway.testing.engines import EngineSuite

if TYPE_CHECKING:
    from pathlib import Path

    from clearway.model.events import TaskRef
    from tests.engines.slurm_cluster import Cluster


@pytest.mark.slow
class TestSlurmEngine(EngineSuite):
    @pytest.fixture(autouse=True)
    def _place(self, tmp_path: Path, cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("SLURM_CONF", cluster.environment["SLURM_CONF"])
        monkeypatch.setattr(engine, "ASK_S", 0.5)
        monkeypatch.setattr(engine, "UNSEEN_S", 1.0)
        self.cluster = cluster
        self.scratch = tmp_path / "scratch"
        self.scratch.mkdir()
        self.home = tmp_path / "home"

    def attach(self) -> SlurmEngine:
        order = partial(launch_order, home=self.home, workdir=self.scratch, devices=())
        return SlurmEngine(self.home, order, Metrics(self.home), Slurm("one"), partial(result_of, self.home))

    def lose_node(self) -> None:
        self.cluster.lose_node(self.node)

    def bring_back(self) -> None:
        self.cluster.bring_back(self.node)

    def change_node(self) -> None:
        self.cluster.tell("scontrol", "update", f"nodename={self.node}", "state=drain", "reason=test")

    def change_back(self) -> None:
        self.cluster.tell("scontrol", "update", f"nodename={self.node}", "state=resume")

    def join_node(self) -> str:
        self.cluster.tell("scontrol", "update", "partitionname=one", "nodes=n1,n2")
        return "n2"

    def leave_node(self) -> None:
        self.cluster.tell("scontrol", "update", "partitionname=one", "nodes=n1")

    def log(self, task: TaskRef, stream: str) -> bytes:
        return log_path(self.home, task, stream).read_bytes()
