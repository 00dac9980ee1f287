from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.api.live import live

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from clearway.sdk.client import Client


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty directory for the tests of one file."""
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def client(home: Path, request: pytest.FixtureRequest) -> Iterator[Client]:
    """A controller for the tests of one file, as its `SETTINGS` want it, that programs meet without naming it."""
    settings: dict[str, object] = getattr(request.module, "SETTINGS", {})
    with pytest.MonkeyPatch.context() as patch, live(home, **settings) as found:
        patch.setenv("CLEARWAY_HOME", str(home))
        yield found
