from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="session")
def data(shared: Path) -> Path:
    """The public traces, beside the checkout."""
    return shared / "workloads"
