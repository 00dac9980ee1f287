"""What it takes to keep the truth: durable jobs a second, large submits, a long line in memory, and starts.

The controller's own turns, one after the other, on a journal in SQLite in a fresh folder, and on one in a PostgreSQL
server of its own, on this machine and reached through a socket, which syncs each commit. The engine only pretends:
each job ends as soon as it starts. A job is at least three changes of state, each of them in the journal before the
engine or whoever asked hears of it; a turn commits once for all that came.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil

from clearway.control.clock import last_moment_us
from clearway.control.controller import Controller
from clearway.control.upkeep import Upkeep
from clearway.engines.fake import FakeEngine, Life, ManualClock, Room
from clearway.loop.world import World
from clearway.model.asks import Submit
from clearway.model.fleet import NodeSpec
from clearway.model.job import Demand, JobSpec, Role
from clearway.store import SqliteJournal
from clearway.store.postgres import PostgresJournal
from tests import servers

if TYPE_CHECKING:
    from argparse import Namespace

    from clearway.store.sql import SqlJournal

TITLE = "durable jobs a second, 10,000 jobs in one call, 100,000 waiting, and starts from a journal"
JOBS, BATCH, LARGE, WAITING, PAST = 5_000, 100, 10_000, 100_000, 20_000
MB = 1_000_000

KEYS = {
    "full_jobs_s": f"jobs a second from submit to end, {BATCH} submitted a turn, each commit synced to the disk",
    "normal_jobs_s": "the same with `synchronous: normal`",
    "records_a_job": "records in the journal for each of these jobs",
    "large_submit_s": f"s, {LARGE} jobs in one call, until all are in the journal (synced) and the call is answered",
    "postgres_jobs_s": "jobs a second as in full_jobs_s, on PostgreSQL",
    "postgres_submit_s": "s, as large_submit_s, on PostgreSQL",
    "postgres_waiting_rss_mb": "MB, as waiting_rss_mb, on PostgreSQL",
    "postgres_start_replay_s": "s, as start_replay_s, on PostgreSQL",
    "postgres_start_snapshot_s": "s, as start_snapshot_s, on PostgreSQL",
    "waiting_rss_mb": f"MB, resident set of a process with a controller in which {WAITING} jobs wait",
    "bare_rss_mb": "MB of it that a controller without jobs has",
    "past_records": f"records of {PAST} jobs that are over",
    "start_replay_s": "s, to take over by reading all of them",
    "start_snapshot_s": "s, to take over from a snapshot",
}


def spec(name: str, gpus: int = 0) -> JobSpec:
    """Return a small job."""
    return JobSpec(name, (Role(demand=Demand(gpus, cpus=0 if gpus else 1)),), run=("true",), user="ada")


class Rig:
    """A controller that is turned by hand."""

    def __init__(self, place: str, synchronous: str, *, snapshots: bool = False) -> None:
        """Take over in a folder, or in the database whose address the place is."""
        self.journal: SqlJournal
        if place.startswith("postgresql://"):
            self.journal = PostgresJournal(place)
        else:
            self.journal = SqliteJournal(Path(place) / "journal.db", synchronous=synchronous)
        self.clock = ManualClock(last_moment_us(self.journal) + 1)
        self.room = Room([NodeSpec("n", gpus=1)], self.clock, lambda _: Life(0))
        self.engine = FakeEngine(self.room)
        self.upkeep = Upkeep(self.journal, every=10**9)
        self.controller = Controller(World(), self.clock, self.engine, self.journal, upkeep=self.upkeep)
        began = time.perf_counter()
        self.controller.take_over()
        self.start_s = time.perf_counter() - began
        self._snapshots = snapshots

    def run(self, jobs: int, batch: int) -> float:
        """Have jobs enter and end; return the seconds that it took."""
        began, entered = time.perf_counter(), 0
        while entered < jobs or self.controller.world.jobs:
            self.clock.move_to(self.clock.now_us() + 1)
            some = tuple(spec(f"j{i}") for i in range(entered, min(entered + batch, jobs)))
            entered += len(some)
            self.controller.turn([*self.engine.reports(), *([Submit(some)] if some else [])])
        return time.perf_counter() - began

    def close(self) -> None:
        """Leave, with a snapshot or without."""
        if self._snapshots:
            self.upkeep.end(self.controller.world, self.controller.board)
        self.journal.close()


def run(args: Namespace) -> dict[str, Any]:
    """Measure each."""
    del args
    found: dict[str, Any] = {}
    for synchronous in ("full", "normal"):
        with tempfile.TemporaryDirectory() as place, closing(Rig(place, synchronous)) as rig:
            found[f"{synchronous}_jobs_s"] = JOBS / rig.run(JOBS, BATCH)
            found["records_a_job"] = rig.journal.last() / JOBS
    with tempfile.TemporaryDirectory() as place:
        found["large_submit_s"] = _submit_s(place)
    with tempfile.TemporaryDirectory() as place:
        found["waiting_rss_mb"] = _rss_mb(WAITING, place)
    with tempfile.TemporaryDirectory() as place:
        found["bare_rss_mb"] = _rss_mb(0, place)
    with tempfile.TemporaryDirectory() as place:
        found |= _starts(place)
    return found | _on_a_server()


def _on_a_server() -> dict[str, Any]:
    server = servers.start(syncs=True)
    try:
        with closing(Rig(server.make("jobs"), "")) as rig:
            found = {"jobs_s": JOBS / rig.run(JOBS, BATCH)}
        found["submit_s"] = _submit_s(server.make("submit"))
        found["waiting_rss_mb"] = _rss_mb(WAITING, server.make("waiting"))
        found |= _starts(server.make("starts"))
    finally:
        servers.stop(server)
    return {f"postgres_{key}": value for key, value in found.items() if key != "past_records"}


def _submit_s(place: str) -> float:
    with closing(Rig(place, "full")) as rig:
        jobs = tuple(spec(f"j{i}", gpus=2) for i in range(LARGE))
        began = time.perf_counter()
        rig.controller.turn([Submit(jobs)])
        return time.perf_counter() - began


def _starts(place: str) -> dict[str, Any]:
    with closing(Rig(place, "normal")) as rig:
        rig.run(PAST, BATCH)
        records = rig.journal.last()
    with closing(Rig(place, "normal", snapshots=True)) as again:
        replay_s = again.start_s
    with closing(Rig(place, "normal")) as third:
        return {"past_records": records, "start_replay_s": replay_s, "start_snapshot_s": third.start_s}


def _rss_mb(waiting: int, place: str) -> float:
    """Return the resident set of a process of its own with so many waiting jobs."""
    command = [sys.executable, "-m", "benchmarks.store", str(waiting), place]
    return float(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)


def _wait(waiting: int, place: str) -> None:
    with closing(Rig(place, "normal")) as rig:
        for first in range(0, waiting, LARGE):
            rig.clock.move_to(rig.clock.now_us() + 1)
            rig.controller.turn([Submit(tuple(spec(f"j{first + i}", gpus=1 + i % 8) for i in range(LARGE)))])
        print(psutil.Process().memory_info().rss / MB)


if __name__ == "__main__":
    _wait(int(sys.argv[1]), sys.argv[2])
