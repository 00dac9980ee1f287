from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from clearway.engines.local.engine import LocalEngine
from clearway.engines.local.paths import log_path
from clearway.model.fleet import NodeSpec
from clearway.testing.engines import EngineSuite

if TYPE_CHECKING:
    from pathlib import Path

    from clearway.model.events import TaskRef


@pytest.mark.slow
class TestLocalEngine(EngineSuite):
    cannot = {  # noqa: RUF012  read, never changed
        "lose_node": "its only node is the machine on which its controller runs: both go together",
        "join_node": "it has the machine on which its controller runs, and no other",
        "change_node": "devices of a machine without GPUs are declared: these have no health (test_local_health.py)",
    }

    @pytest.fixture(autouse=True)
    def _place(self, tmp_path: Path) -> None:
        self.scratch = tmp_path / "scratch"
        self.scratch.mkdir()
        self.home = tmp_path / "home"

    def attach(self) -> LocalEngine:
        return LocalEngine(self.home, NodeSpec(self.node, gpus=4, counted_only=True), workdir=self.scratch)

    def log(self, task: TaskRef, stream: str) -> bytes:
        return log_path(self.home, task, stream).read_bytes()
