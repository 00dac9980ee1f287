"""Controllers to look at: a real one of this machine, and one of a thousand invented nodes, each as a process."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING, NamedTuple

from clearway.config.home import read_running
from clearway.sdk.client import Client
from tests.api.live import LOOK_EVERY_S, live

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MADE_WITHIN_S = 300.0


class Place(NamedTuple):
    """A controller that listens on loopback."""

    url: str
    home: Path
    client: Client


def of_home(home: Path) -> Place:
    """Return the controller that runs in a home."""
    running = read_running(home)
    assert running is not None
    return Place(running.listen, home, Client.connect(home))


@contextlib.contextmanager
def real(home: Path, **options: object) -> Iterator[Place]:
    """Run a real controller with devices that are only counted."""
    with live(home, listen="127.0.0.1:0", **options):
        yield of_home(home)


@contextlib.contextmanager
def invented(home: Path, **size: int) -> Iterator[Place]:
    """Run a controller of a large place that is made first."""
    words = [word for name, many in size.items() for word in (f"--{name}", str(many))]
    command = [sys.executable, "-m", "benchmarks.busy", str(home), *words]
    with (home.parent / f"{home.name}.log").open("wb") as log:
        child = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        end = time.monotonic() + MADE_WITHIN_S
        while read_running(home) is None:
            assert child.poll() is None, (home.parent / f"{home.name}.log").read_text()
            assert time.monotonic() < end, "it is never there"
            time.sleep(LOOK_EVERY_S)
        yield of_home(home)
    finally:
        child.send_signal(signal.SIGTERM)
        child.wait()
