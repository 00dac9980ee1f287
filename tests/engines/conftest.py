from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.engines.places import Place
from tests.engines.slurm_cluster import Cluster

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    found = Place(tmp_path)
    found.open()
    yield found
    found.clear()


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    found = Cluster(tmp_path_factory.mktemp("slurm"))
    try:
        found.begin()
        yield found
    finally:
        found.end()
