"""Calls of a function that does nothing, by two workers, through a controller of their own.

Each call is on disk before it is handed over, and its result before it is told (SQLite, every commit synced). Calls are
made one by one (`remote`) and waited for one by one; on the way they travel in batches, as always. Processor time is
that of all processes together: the program, the controller, the runner and the workers.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil

from clearway import task
from clearway.compose.launch import ensure_running
from clearway.sdk import Client

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterator

TITLE = "calls of functions: how many a second, what each costs, and what is taken with nothing to do"
CALLS, MAPPED = 20_000, 100_000
WORKERS = 2
IDLE_S = 3.0
MB = 1_000_000
FIRST = """
import time
began = time.perf_counter()
import clearway
@clearway.task
def nothing(): return 1
assert nothing.remote().get(60) == 1
print(time.perf_counter() - began)
"""

KEYS = {
    "calls_per_s": f"durable calls a second: {CALLS:,} one by one, {WORKERS} workers, first `remote` to last `get`",
    "cpu_ms_per_call": "ms of processor time for each of them, all processes together",
    "batched": "whether calls travel in batches: yes, of those that were made while the batch before was on its way",
    "latency_ms": "ms, one call alone with a warm worker, median of 50",
    "map_per_s": f"calls a second of one map of {MAPPED:,} items",
    "controller_peak_mb": "MB, the most that the controller had of it (RSS)",
    "first_result_s": "s, `import clearway` to a first result with nothing running, median of 3",
    "idle_pss_mb": f"MB, controller, runner and {WORKERS} workers with nothing to do (PSS)",
    "idle_rss_mb": "MB, their resident sets added up",
}


@task
def nothing(value: int) -> int:
    """Return what it is given."""
    return value


def run(args: Namespace) -> dict[str, Any]:
    """Measure all; there are no parts."""
    del args
    found: dict[str, Any] = {"batched": True}
    with _home() as home:
        _warm()
        found["latency_ms"] = sorted(_timed(lambda: nothing.remote(1).get(60)) for _ in range(50))[25] * 1000
        _calls(home, found)
        time.sleep(IDLE_S)
        found.update(_memory(home))
        found["map_per_s"] = MAPPED / _timed(lambda: _check(nothing.map(range(MAPPED)).get(600), MAPPED))
        found["controller_peak_mb"] = _peak_mb(home)
    found["first_result_s"] = sorted(_first() for _ in range(3))[1]
    return {key: found[key] for key in KEYS}


def only_calls() -> dict[str, Any]:
    """Measure the calls that are made one by one, and nothing else."""
    found: dict[str, Any] = {}
    with _home() as home:
        _warm()
        _calls(home, found)
    return found


def _warm() -> None:
    """Have both workers up: calls of 50 ms each keep them busy at once."""
    pause.map([0.05] * 40).get(60)


@task
def pause(seconds: float) -> None:
    """Sleep."""
    time.sleep(seconds)


def _calls(home: Path, found: dict[str, Any]) -> None:
    before = _cpu_s(home)
    took_s = _timed(lambda: _check([handle.get(600) for handle in [nothing.remote(n) for n in range(CALLS)]], CALLS))
    found["calls_per_s"] = CALLS / took_s
    found["cpu_ms_per_call"] = (_cpu_s(home) - before) * 1000 / CALLS


def _check(results: list[int], count: int) -> None:
    if results != list(range(count)):
        raise AssertionError("a result is wrong")


def _timed(what: Any) -> float:  # noqa: ANN401  any call
    began = time.perf_counter()
    what()
    return time.perf_counter() - began


@contextmanager
def _home() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="clearway-") as folder:
        before, home = os.environ.get("CLEARWAY_HOME"), Path(folder) / "home"
        os.environ["CLEARWAY_HOME"] = str(home)
        try:
            ensure_running(home)
            yield home
        finally:
            _end(home)
            os.environ.pop("CLEARWAY_HOME")
            if before is not None:
                os.environ["CLEARWAY_HOME"] = before


def _end(home: Path) -> None:
    client = Client.connect(home)
    for row in client.jobs():
        client.cancel(f"id:{row['id']}")
        client.wait(f"id:{row['id']}", 30)
    command = str(Path(sys.executable).parent / "clearway")
    subprocess.run([command, "--home", str(home), "down"], check=True, capture_output=True)


def _first() -> float:
    with tempfile.TemporaryDirectory(prefix="clearway-") as folder:
        home = Path(folder) / "home"
        env = {**os.environ, "CLEARWAY_HOME": str(home)}
        script = Path(folder) / "first.py"
        script.write_text(FIRST)
        try:
            told = subprocess.run([sys.executable, str(script)], check=True, capture_output=True, text=True, env=env)
            return float(told.stdout)
        finally:
            _end(home)


def _processes(home: Path) -> list[psutil.Process]:
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get("CLEARWAY_HOME") == str(home) and process.pid != os.getpid():
                found.append(process)
        except psutil.Error:
            continue
    return found


def _cpu_s(home: Path) -> float:
    own = psutil.Process().cpu_times()
    times = [own, *(process.cpu_times() for process in _processes(home))]
    return sum(one.user + one.system for one in times)


def _memory(home: Path) -> dict[str, float]:
    found = {"idle_pss_mb": 0.0, "idle_rss_mb": 0.0}
    for process in _processes(home):
        memory = process.memory_full_info()
        found["idle_pss_mb"] += memory.pss / MB
        found["idle_rss_mb"] += memory.rss / MB
    return found


def _peak_mb(home: Path) -> float:
    pid = int(Client.connect(home).status()["controller"]["pid"])
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) * 1024 / MB
