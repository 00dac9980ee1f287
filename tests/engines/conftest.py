from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.engines.places import Place

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    found = Place(tmp_path)
    found.open()
    yield found
    found.clear()
