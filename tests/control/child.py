"""A controller in a process of its own, to be killed: takes names on stdin and submits a job for each.

Prints `up`, then `accepted NAME` for each name once its job is accepted; after `end` on stdin it waits until all jobs
are over, prints `over` and leaves. A name's beginning says what its job is: `again` fails once, `after` waits for the
last one before it, `many` is an array of three. With a third argument it kills itself with SIGKILL at that act: before
or after a write to the journal or a call of the engine.

Usage: python -m tests.control.child HOME [sqlite|ADDRESS] [ACT]
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from clearway.control.clock import Anchor, SystemClock, last_moment_us
from clearway.control.controller import Controller
from clearway.control.upkeep import Upkeep
from clearway.engines.local.engine import LocalEngine
from clearway.loop.world import World
from clearway.model.array import read_array
from clearway.model.asks import Submit
from clearway.model.fleet import NodeSpec
from clearway.model.job import Demand, JobSpec, Role
from clearway.store.postgres import PostgresJournal
from clearway.store.sqlite import SqliteJournal
from clearway.testing.storm.mortal import Fate, MortalEngine, MortalJournal

if TYPE_CHECKING:
    from clearway.store.sql import SqlJournal

WAIT_S = 60
SNAPSHOT_EVERY = 60


class Suicide(Fate):
    """Kills this very process."""

    def act(self) -> None:
        self.acts += 1
        if self.acts == self._at:
            os.kill(os.getpid(), signal.SIGKILL)


def say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def spec(home: Path, name: str, before: str) -> JobSpec:
    kind = name.partition("-")[0]
    last = " [ $CLEARWAY_ATTEMPT -gt 1 ]" if kind == "again" else ""
    line = f"{name}.$CLEARWAY_INDEX.$CLEARWAY_ATTEMPT"
    return JobSpec(
        name=name, roles=(Role(demand=Demand(1)),),
        run=("/bin/sh", "-c", f"echo {line} >> {home}/ran; sleep 0.0{len(name) % 10};{last}"),
        max_retries=1 if kind == "again" else 0, retry_backoff_us=1000,
        after=(before,) if kind == "after" and before else (),
        array=read_array("array", 3) if kind == "many" else None, idempotency_key=name,
    )  # fmt: skip


def opened(home: Path, store: str) -> SqlJournal:
    if store == "sqlite":
        return SqliteJournal(home / "journal.db", synchronous="normal")
    return PostgresJournal(store)


def main(home: Path, store: str = "sqlite", act: str = "0") -> None:
    journal = opened(home, store)
    kept = journal.recall("clock")
    clock = SystemClock(Anchor.read(kept) if kept else None, last_moment_us(journal))
    journal.remember("clock", clock.anchor.text())
    fate = Suicide(at=int(act))
    mortal = MortalJournal(journal, fate)
    engine = LocalEngine(home, NodeSpec("n1", gpus=4, counted_only=True), workdir=home)
    upkeep = Upkeep(mortal, every=SNAPSHOT_EVERY)
    controller = Controller(World(), clock, MortalEngine(engine, fate), mortal, upkeep=upkeep)
    controller.start()
    say("up")
    before = ""
    for line in sys.stdin:
        name = line.strip()
        if name == "end":
            break
        controller.ask(Submit((spec(home, name, before),))).result(WAIT_S)
        before = name
        say(f"accepted {name}")
    for row in list(controller.board.jobs.values()):
        if row.array is None:  # of an array one that went well is forgotten
            controller.board.when_over(row.id).result(WAIT_S)
    say("over")
    controller.stop()
    controller.wait()
    engine.close()
    journal.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
