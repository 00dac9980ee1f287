from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pytest

from clearway.config.engine_words import Slurm
from clearway.engines.local.orders import launch_order
from clearway.engines.local.paths import log_path
from clearway.engines.slurm.engine import SlurmEngine
from clearway.testing.engines import EngineSuite
from tests.engines.slurm_cluster import Cluster

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from clearway.model.events import TaskRef


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    found = Cluster(tmp_path_factory.mktemp("slurm"))
    try:
        found.begin()
        yield found
    finally:
        found.end()


@pytest.mark.slow
class TestSlurmEngine(EngineSuite):
    @pytest.fixture(autouse=True)
    def _place(self, tmp_path: Path, cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("SLURM_CONF", cluster.environment["SLURM_CONF"])
        self.scratch = tmp_path / "scratch"
        self.scratch.mkdir()
        self.home = tmp_path / "home"

    def attach(self) -> SlurmEngine:
        order = partial(launch_order, home=self.home, workdir=self.scratch, devices=())
        return SlurmEngine(self.home, order, Slurm("one"))

    def log(self, task: TaskRef, stream: str) -> bytes:
        return log_path(self.home, task, stream).read_bytes()
