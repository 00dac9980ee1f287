"""Runs of calls in which workers, runner and controller are killed: `python -m tests.calls.kills --runs 1000`.

Each run enters a mix of single calls, a map, a chord and a chain, and kills one to three processes at moments by chance
meanwhile. Then every result must be there, once and right; at the end no process is left over.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import signal
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import psutil
from sqlalchemy import func, select

from clearway import chord, group
from clearway.calls import schema
from clearway.compose.launch import ensure_running, stop
from clearway.config.home import read_running
from clearway.sdk.client import Client
from clearway.store.beside import SqliteBeside
from tests.sdk.tasks_used import add, double, pause, total

if TYPE_CHECKING:
    from collections.abc import Iterator

    from clearway.sdk.tasks.handle import Handle

PATIENCE_S = 180
RUNNER, WORKER = "clearway.engines.local.runner", "clearway.sdk.worker"
VICTIMS = ("worker", "worker", "controller", "runner")


class Mix(NamedTuple):
    """What a run enters, and what it must give."""

    handles: list[Handle]
    results: list[object]


def enter(chance: random.Random) -> Mix:
    """Enter the calls of a run."""
    singles, items = chance.randint(1, 30), chance.randint(1, 200)
    handles = [add.remote(n) for n in range(singles)]
    results: list[object] = [n + 1 for n in range(singles)]
    handles += [
        pause.map([chance.choice((0, 1, 5))] * items),
        chord([double.s(n) for n in range(40)], total.s()).remote(),
        (add.s(1) | group(double.s(), pause.s()) | total.s()).remote(),
    ]
    results += [[None] * items, sum(2 * n for n in range(40)), "raised"]
    return Mix(handles, results)


def processes(home: Path, module: str) -> list[psutil.Process]:
    """Return the processes of a home that run a module."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            line = process.cmdline()
            if module in line and (str(home) in " ".join(line) or process.environ().get("CLEARWAY_HOME") == str(home)):
                found.append(process)
    return found


def kill(home: Path, what: str, chance: random.Random) -> bool:
    """Kill one process of a kind, if there is one."""
    if what == "controller":
        running = read_running(home)
        pids = [] if running is None else [running.pid]
    else:
        pids = [process.pid for process in processes(home, RUNNER if what == "runner" else WORKER)]
    if not pids:
        return False
    with contextlib.suppress(ProcessLookupError):
        os.kill(chance.choice(pids), signal.SIGKILL)
    return True


def run(home: Path, seed: int) -> int:
    """Do one run; return how many processes were killed. AssertionError: a result is wrong, or missing."""
    chance = random.Random(seed)
    mix = enter(chance)
    killed = 0
    for _ in range(chance.randint(1, 3)):
        time.sleep(chance.random() * 0.4)
        killed += kill(home, chance.choice(VICTIMS), chance)
    for handle, result in zip(mix.handles, mix.results, strict=True):
        assert _outcome(handle) == result, (seed, handle, result)
    return killed


def _outcome(handle: Handle) -> object:
    """Return a result. The last part of the chain adds a number and nothing: it raises, once."""
    try:
        return handle.get(PATIENCE_S)
    except TypeError:
        return "raised"


def check(home: Path) -> int:
    """All that was entered is over, by the tables; return how many calls that is."""
    tables = SqliteBeside(home / "calls.db")
    try:
        with tables.reading() as connection:
            count = connection.scalar(select(func.count()).select_from(schema.call)) or 0
            open_ = connection.scalar(select(func.count()).select_from(schema.call).where(schema.call.c.state < 3))
            assert open_ == 0, f"{open_} nodes are not over"
            assert connection.scalar(select(func.count()).select_from(schema.page)) == 0
            return count
    finally:
        tables.close()


def leave(home: Path) -> None:
    """End all workers as a person would, and see that nothing is left over."""
    ensure_running(home)
    client = Client.connect(home)
    for row in client.jobs():
        client.cancel(f"id:{row['id']}")
        assert client.wait(f"id:{row['id']}", PATIENCE_S)["ended"]
    stop(home)
    end = time.monotonic() + PATIENCE_S
    while left := processes(home, WORKER):
        assert time.monotonic() < end, f"left over: {left}"
        time.sleep(0.1)


@contextlib.contextmanager
def in_home() -> Iterator[Path]:
    """Yield a home of its own that tasks use meanwhile."""
    with tempfile.TemporaryDirectory(prefix="kills-") as folder:
        before, home = os.environ.get("CLEARWAY_HOME"), Path(folder) / "home"
        os.environ["CLEARWAY_HOME"] = str(home)
        try:
            yield home
        finally:
            os.environ.pop("CLEARWAY_HOME")
            if before is not None:
                os.environ["CLEARWAY_HOME"] = before


def runs(count: int, seed: int) -> tuple[int, int]:
    """Do so many runs; return how many processes were killed and how many nodes came to their end."""
    with in_home() as home:
        killed = sum(run(home, seed + number) for number in range(count))
        nodes = check(home)
        leave(home)
        return killed, nodes


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    began = time.monotonic()
    dead, ended = runs(given.runs, given.seed)
    told = f"{given.runs} runs, {dead} processes killed, {ended} calls and joins, each over once"
    print(f"{told}, {time.monotonic() - began:.0f} s")  # noqa: T201  it talks to a person
