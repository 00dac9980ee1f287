"""How long a person waits for a first result, and what a controller with nothing to do takes.

`clearway run --wait -- true` in a home that is new each time (it starts a controller, which starts a runner), and with
a controller that is up. Wall time, from the start of the command to its end. For scale: a spawn of `true` and a start
of Python on the same machine at the same time.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil

from clearway.sdk import Client

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterator, Sequence

TITLE = "seconds to a first result, and the memory of an idle controller"
FRESH = 5
REPEATED = 15
IDLE_S = 3.0
MB = 1_000_000
COMMAND = str(Path(sys.executable).parent / "clearway")

KEYS = {
    "fresh_s": f"s, `clearway run --wait -- true` with nothing running yet, median of {FRESH}",
    "up_s": f"s, the same with a controller up, median of {REPEATED}",
    "spawn_s": f"s, a spawn of `true`, median of {REPEATED}",
    "python_s": f"s, a start of Python that does nothing, median of {REPEATED}",
    "fresh_to_python": "fresh_s / python_s",
    "up_to_python": "up_s / python_s",
    "up_to_spawn": "up_s / spawn_s",
    "idle_pss_mb": "MB, controller and runner with nothing to do; what they share with others counts in parts (PSS)",
    "idle_rss_mb": "MB, their resident sets added up (RSS)",
    "controller_pss_mb": "MB of it, the controller",
    "runner_pss_mb": "MB of it, the runner",
}


def run(args: Namespace) -> dict[str, Any]:
    """Measure all; there are no parts."""
    del args
    found: dict[str, Any] = {"fresh_s": statistics.median(_fresh() for _ in range(FRESH))}
    with _home() as home:
        _first(home)
        found["up_s"] = _median([COMMAND, "--home", str(home), "run", "--wait", "--", "true"])
        time.sleep(IDLE_S)
        found.update(_memory(home))
    found["spawn_s"] = _median(["true"])
    found["python_s"] = _median([sys.executable, "-c", "pass"])
    found["fresh_to_python"] = found["fresh_s"] / found["python_s"]
    found["up_to_python"] = found["up_s"] / found["python_s"]
    found["up_to_spawn"] = found["up_s"] / found["spawn_s"]
    return {key: found[key] for key in KEYS}


@contextmanager
def _home() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="clearway-") as folder:
        home = Path(folder) / "home"
        try:
            yield home
        finally:
            _call([COMMAND, "--home", str(home), "down"])


def _fresh() -> float:
    with _home() as home:
        return _first(home)


def _first(home: Path) -> float:
    return _call([COMMAND, "--home", str(home), "run", "--wait", "--", "true"])


def _median(command: Sequence[str]) -> float:
    return statistics.median(_call(command) for _ in range(REPEATED))


def _call(command: Sequence[str]) -> float:
    """Return the seconds of a command. Raises CalledProcessError where it fails."""
    begun = time.perf_counter()
    null = subprocess.DEVNULL
    subprocess.run(command, check=True, stdin=null, stdout=null, stderr=null)
    return time.perf_counter() - begun


def _memory(home: Path) -> dict[str, float]:
    """Return the memory of the processes of a home: the controller, and the runner that it has started."""
    controller = int(Client.connect(home).status()["controller"]["pid"])
    found = {"idle_pss_mb": 0.0, "idle_rss_mb": 0.0, "controller_pss_mb": 0.0, "runner_pss_mb": 0.0}
    for process in _processes_of(home):
        memory = process.memory_full_info()
        found["idle_pss_mb"] += memory.pss / MB
        found["idle_rss_mb"] += memory.rss / MB
        found["controller_pss_mb" if process.pid == controller else "runner_pss_mb"] += memory.pss / MB
    return found


def _processes_of(home: Path) -> list[psutil.Process]:
    """Return the processes of this user that name the home in their command line."""
    found = []
    for process in psutil.process_iter(["uids", "cmdline"]):
        words = process.info["cmdline"] or ()
        if process.info["uids"].real == os.getuid() and any(str(home) in word for word in words):
            found.append(process)
    return found
