"""A controller in a process of its own, to be killed: takes names on stdin and submits a job for each.

Prints `up`, then `accepted NAME` for each name once its job is accepted; after `end` on stdin it waits until all jobs
are over, prints `over` and leaves. Usage: python -m tests.control.child HOME
"""

from __future__ import annotations

import sys
from pathlib import Path

from clearway.control.clock import Anchor, SystemClock, last_moment_us
from clearway.control.controller import Controller
from clearway.engines.local.engine import LocalEngine
from clearway.loop.world import World
from clearway.model.asks import Submit
from clearway.model.fleet import NodeSpec
from clearway.model.job import Demand, JobSpec, Role
from clearway.store.sqlite import SqliteJournal

WAIT_S = 60


def say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def spec(home: Path, name: str) -> JobSpec:
    script = f"echo {name} >> {home}/ran; sleep 0.0{len(name)}"
    return JobSpec(name=name, roles=(Role(demand=Demand(1)),), run=("/bin/sh", "-c", script))


def main(home: Path) -> None:
    journal = SqliteJournal(home / "journal.db", synchronous="normal")
    kept = journal.recall("clock")
    clock = SystemClock(Anchor.read(kept) if kept else None, last_moment_us(journal))
    journal.remember("clock", clock.anchor.text())
    engine = LocalEngine(home, NodeSpec("n1", gpus=4, counted_only=True), workdir=home)
    controller = Controller(World(), clock, engine, journal)
    controller.start()
    say("up")
    for line in sys.stdin:
        name = line.strip()
        if name == "end":
            break
        controller.ask(Submit((spec(home, name),))).result(WAIT_S)
        say(f"accepted {name}")
    for job in list(controller.board.jobs):
        controller.board.when_over(job).result(WAIT_S)
    say("over")
    controller.stop()
    controller.wait()
    engine.close()
    journal.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
