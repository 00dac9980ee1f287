from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from benchmarks.busy.lively import SETTINGS, enter
from tests.page.places import Place, real
from tests.page.visitor import ARGS, CHROMIUM

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser


@pytest.fixture(scope="module")  # its loop runs as long as it is open, and other rooms have loops of their own
def browser() -> Iterator[Browser]:
    """One browser for the tests of one file."""
    if not Path(CHROMIUM).exists():
        pytest.skip(f"there is no {CHROMIUM}")
    from playwright.sync_api import sync_playwright  # noqa: PLC0415  only where there is a browser

    with sync_playwright() as player:
        found = player.chromium.launch(executable_path=CHROMIUM, args=list(ARGS))
        yield found
        found.close()


@pytest.fixture(scope="session")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """A controller of this machine, with devices that are only counted; modules may have another one."""
    home = tmp_path_factory.mktemp("lively")
    (home / "clearway.yaml").write_text(json.dumps(SETTINGS))  # JSON is YAML
    with real(home) as found:
        yield found


@pytest.fixture(scope="session")
def jobs(place: Place) -> dict[str, int]:
    """Real jobs of every kind there, by name."""
    return enter(place.client)
