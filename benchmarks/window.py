"""What readers cost the loop that decides: the time of an ask without and with them, in turns.

A controller of a large invented place, a process of its own, is asked to take a small job again and again, through its
socket. What is timed is inside it: from when the ask is laid before the deciding loop until it is decided, in the
journal, and answered. Segments without and with readers follow one another, so that what else the machine does falls on
both.
"""

from __future__ import annotations

import signal
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clearway.config.home import read_running
from clearway.engines.local.paths import log_path
from clearway.model.events import TaskRef
from clearway.model.ids import JobId
from clearway.sdk.client import Client

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterator

TITLE = "what slow readers, 500 open streams and a 100 MB log cost the loop that decides"
PAIRS, ASKS, PAUSE_S = 16, 20, 0.02
SIZE = ("--nodes", "200", "--waiting", "2000", "--past", "5000")
LOG_BYTES = 100 * 10**6
KINDS = ONLY = ("slow", "streams", "log")

KEYS = {
    "alone_ms": "ms, median time of an ask with no reader, over all segments",
    **{f"{kind}_ms": f"ms, the same with readers: {kind}" for kind in KINDS},
    **{f"{kind}_ratio": f"median over {PAIRS} pairs of segments of with ÷ without: {kind}" for kind in KINDS},
}


class Served:
    """A controller, and what it wrote down of its asks."""

    def __init__(self, home: Path) -> None:
        """Know where it is."""
        running = read_running(home)
        if running is None:
            raise SystemExit(f"no controller runs for {home}")
        self.home, self.socket, self.client = home, running.socket, Client.connect(home)
        self._times = home / "asks.txt"
        self.job = str(self.client.jobs(state="running", limit=1)[0]["id"])
        path = log_path(home, TaskRef(JobId(int(self.job)), 1, 0, 0), "stdout")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(
            b"a line of a log, as long as lines of logs are, and then the next one\n" * (LOG_BYTES // 69 + 1)
        )

    def segment(self) -> float:
        """Ask some times; return the median of what each took, in ms."""
        before = len(self._times.read_bytes().splitlines())
        for _ in range(ASKS):
            [row] = self.client.submit([{"name": "asked", "run": ["true"], "gpus": 8}])
            self.client.cancel(f"id:{row['id']}")
            time.sleep(PAUSE_S)
        return statistics.median(int(line) / 1000 for line in self._times.read_bytes().splitlines()[before:])


@contextmanager
def served() -> Iterator[Served]:
    """Run a controller."""
    with tempfile.TemporaryDirectory() as place:
        home = Path(place) / "home"
        home.mkdir(mode=0o700)
        child = subprocess.Popen([sys.executable, "-m", "benchmarks.window_served", str(home), *SIZE])
        try:
            while read_running(home) is None:
                if child.poll() is not None:
                    raise SystemExit("the controller did not start")
                time.sleep(0.1)
            yield Served(home)
        finally:
            child.send_signal(signal.SIGTERM)
            child.wait()


@contextmanager
def read_by(kind: str, place: Served) -> Iterator[None]:
    """Have readers of a kind read within."""
    command = [sys.executable, "-m", "benchmarks.window_load", kind, place.socket, place.job]
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        if child.stdout is None or child.stdout.readline() != b"ready\n":
            raise SystemExit(f"no readers of kind {kind}")
        yield
    finally:
        child.communicate()


def run(args: Namespace) -> dict[str, Any]:
    """Measure each kind of reader."""
    found: dict[str, Any] = {}
    alone_ms: list[float] = []
    with served() as place:
        place.segment()
        for kind in args.only or KINDS:
            pairs = []
            for _ in range(PAIRS):
                without_ms = place.segment()
                with read_by(kind, place):
                    pairs.append((without_ms, place.segment()))
            alone_ms += [without for without, _ in pairs]
            found[f"{kind}_ms"] = statistics.median(loaded for _, loaded in pairs)
            found[f"{kind}_ratio"] = statistics.median(loaded / without for without, loaded in pairs)
    return {"alone_ms": statistics.median(alone_ms), **found}
