from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.api.live import live

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from clearway.sdk.client import Client

BODY_LIMIT = 64 * 1024


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty directory for the tests of one file."""
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def client(place: Path) -> Iterator[Client]:
    """A client of a controller with two counted devices and a queue with defaults."""
    (place / "clearway.yaml").write_text(
        """
        queues:
          - {name: above, defaults: {max_retries: 2, priority: 5}}
          - {name: team, parent: above, limit: {gpus: 1}, defaults: {priority: 7, env: {FROM: queue}}}
        limits: [{name: database, slots: 1}]
        """
    )
    with live(place, devices=2, body_limit=BODY_LIMIT) as found:
        yield found


@pytest.fixture(scope="module")
def home(place: Path, client: Client) -> Path:
    """The home of the controller that the tests of one file share; it runs."""
    assert client.status()["controller"]["home"] == str(place)
    return place
