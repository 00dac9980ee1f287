"""What holds for every test: nothing of the user's own is read or changed, and chance is the same each time."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.servers import Server

settings.register_profile(
    "house",
    deadline=None,  # a busy machine is not a defect
    derandomize=True,  # the same examples each time; `--hypothesis-profile search` looks for new ones
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("search", deadline=None, max_examples=5000)
settings.load_profile("house")

pytest_plugins = ("tests.formed",)

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def root() -> Path:
    """The checkout."""
    return ROOT


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder beside the checkout that holds the scenarios and the independent judge."""
    folder = ROOT.parent / "shared"
    assert folder.is_dir(), f"{folder} is missing: the scenarios and their judge lie there"
    return folder


@pytest.fixture(scope="session", autouse=True)
def _own_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Give the tests a home of their own, so that a running controller of the user is never met."""
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(home))
        for name in [n for n in os.environ if n.startswith(("XDG_", "CLEARWAY_"))]:
            patch.delenv(name)
        yield


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    """A PostgreSQL server for all tests that leave it as it was; each makes a database of its own there."""
    from tests import servers  # noqa: PLC0415  few tests need one

    made = servers.start()
    yield made
    servers.stop(made)
