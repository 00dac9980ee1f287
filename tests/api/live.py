"""A real controller process of the test's own, stopped with everything that it runs."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from typing import TYPE_CHECKING

from clearway.compose.launch import ensure_running, stop
from clearway.config.home import process_start, read_running
from clearway.sdk.client import Client

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from clearway.config.home import Running

PATIENCE_S = 60.0
LOOK_EVERY_S = 0.02


def until(holds: Callable[[], object], what: str) -> None:
    """Wait until something holds, and fail where it never does."""
    limit = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < limit, f"never: {what}"
        time.sleep(LOOK_EVERY_S)


@contextlib.contextmanager
def live(home: Path, **options: object) -> Iterator[Client]:
    """Run a controller for `home`; at the end cancel what is left, and stop it."""
    ensure_running(home, options)
    try:
        yield Client.connect(home)
    finally:
        end(home)


def end(home: Path) -> None:
    """Cancel all jobs of a home, starting a controller for that if it was killed, and stop it."""
    ensure_running(home)
    client = Client.connect(home)
    rows = client.jobs()
    for row in rows:
        client.cancel(f"id:{row['id']}")
    for row in rows:
        assert client.wait(f"id:{row['id']}", PATIENCE_S)["ended"], row
    stop(home)


def kill_controller(home: Path) -> Running:
    """Kill the controller of a home as a crash would, and return who it was."""
    running = read_running(home)
    assert running is not None
    os.kill(running.pid, signal.SIGKILL)
    until(lambda: process_start(running.pid) != running.started, "the killed controller is gone")
    return running
