"""Run a controller of a large invented place: `python -m benchmarks.busy HOME [--nodes N --waiting N --past N]`.

It is the real controller process, with an engine whose nodes are invented. The place is made where the home is empty.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from benchmarks.busy.engine import InventedEngine
from benchmarks.busy.place import BACKFILL, KEPT_PAST, ORDER, PREEMPT, Place, build
from benchmarks.busy.shapes import BUDGETS, Size
from clearway.api import process
from clearway.compose import assemble
from clearway.config.home import make_home
from clearway.store import SqliteJournal

if TYPE_CHECKING:
    from clearway.ports.engine import Engine

PLACE = "invented.json"


def main() -> int:
    """Make the place, and serve it until told to stop."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.busy", description=__doc__)
    parser.add_argument("home", type=Path)
    parser.add_argument("--listen", default="127.0.0.1:0", help="address:port [%(default)s]")
    for word, usual in Size()._asdict().items():
        parser.add_argument(f"--{word}", type=int, default=usual, help="[%(default)s]")
    given = parser.parse_args()
    make_home(given.home)
    place = _place(given.home, Size(given.nodes, given.waiting, given.past))
    engine: Engine = InventedEngine(place.nodes, place.running, place.unhealthy)
    vars(assemble)["engine_of"] = lambda *_: engine  # the one part that is not as in a real controller
    policy = {"order": ORDER, "backfill": BACKFILL, "preempt": PREEMPT, "idle": {"warn": "30m", "release": "1d"}}
    options = {"listen": given.listen, "policy": policy, "kept_finished": KEPT_PAST, "budgets": BUDGETS}
    return process.main(["--home", str(given.home), "--options", msgspec.json.encode(options).decode()])


def _place(home: Path, size: Size) -> Place:
    kept = home / PLACE
    if kept.exists():
        return msgspec.json.decode(kept.read_bytes(), type=Place)
    journal = SqliteJournal(home / "journal.db", synchronous="normal")
    try:
        place = build(journal, size, time.time_ns() // 1000)
    finally:
        journal.close()
    kept.write_bytes(msgspec.json.encode(place))
    return place


if __name__ == "__main__":
    sys.exit(main())
