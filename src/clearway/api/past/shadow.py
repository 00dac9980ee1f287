"""The process in which a candidate policy decides beside the controller: `python -m clearway.api.past.shadow`.

On stdin come lines of JSON: first of which home and which record (`Beginning`), then, each time that somebody wants to
know, the moment by the controller's clock. On stdout goes a line of JSON for each. It ends when stdin does.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
from contextlib import closing
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from typing import TYPE_CHECKING, Any

import msgspec

from clearway.api.moments import iso
from clearway.api.past.child import NICE
from clearway.compose.stores import open_reader
from clearway.config.home import home_dir
from clearway.config.settings import load_settings
from clearway.forecast import RunTimes
from clearway.model.errors import ClearwayError
from clearway.model.values import SECOND_US
from clearway.whatif.shadow.beside import Beside
from clearway.whatif.shadow.pairs import LIVE, SHADOW, Sums, of_kind, worst

if TYPE_CHECKING:
    from collections.abc import Iterator

PIECE_BYTES = 2**16
MOST_BYTES = 4 * 2**30
"""So much memory it may have: it gives up before the machine's runs out."""
MILLI = 1000
AT_ONCE, ANSWER_S = 500, 2.0
"""It follows so many records at a time, and answers at the latest behind those after so long."""


class Beginning(msgspec.Struct, frozen=True):
    """Of which home, and by which record the candidate was set; `store` as the controller has it."""

    home: str
    store: str
    record: int


def main() -> int:
    """Answer until nobody asks any more."""
    os.nice(NICE)
    resource.setrlimit(resource.RLIMIT_DATA, (MOST_BYTES, MOST_BYTES))
    lines = _lines()
    asked = msgspec.json.decode(next(lines), type=Beginning)
    try:
        with closing(open_reader(load_settings(home_dir(Path(asked.home)), {"store": asked.store}))) as journal:
            beside = Beside(journal, asked.record, RunTimes())
            for line in lines:
                _say(told(beside, more=_followed(beside, json.loads(line)["now_us"])))
    except MemoryError:
        _say({"failed": f"it needs more than {MOST_BYTES // 2**30} GiB of memory"})
    except (ClearwayError, ValueError, OSError) as error:
        _say({"failed": str(error)})
    return 0


def _followed(beside: Beside, now_us: int) -> bool:
    """Follow the journal for a while; return whether there is more."""
    until_s = time.monotonic() + ANSWER_S
    while more := beside.follow(now_us, AT_ONCE):
        if time.monotonic() > until_s:
            break
    return more


def _lines() -> Iterator[bytes]:
    """Yield lines of stdin as they come. The process ends at once when it does, whatever is worked on."""
    found: SimpleQueue[bytes] = SimpleQueue()

    def read() -> None:
        held = b""
        while piece := os.read(0, PIECE_BYTES):
            *lines, held = (held + piece).split(b"\n")
            for line in lines:
                found.put(line)
        os._exit(0)

    Thread(target=read, daemon=True).start()
    while True:
        yield found.get()


def _say(row: dict[str, Any]) -> None:
    sys.stdout.buffer.write(msgspec.json.encode(row) + b"\n")
    sys.stdout.buffer.flush()


def told(beside: Beside, *, more: bool) -> dict[str, Any]:
    """Return what came of both policies so far. `more`: there are records that it has not come to."""
    groups, bars = beside.pairs.now(beside.now_us)
    standing = beside.live.state.policies
    found = None
    if standing.guard is not None and not more and not beside.over:
        found = worst(((name, sums) for (kind, name), sums in groups.items() if kind == "tenant"), standing.guard)
    return {
        "record": beside.begun.candidate.record,
        "promoted": standing.promoted,
        "over": beside.over,
        "worse": found,
        "comparison": {
            "at": iso(beside.now_us),
            "since": iso(beside.begun.since_us),
            "late": beside.begun.late,
            "behind": more,
            "whole": group_row("", groups.get(("", ""), Sums())),
            "tenants": [group_row(name, sums) for name, sums in of_kind(groups, "tenant")],
            "queues": [group_row(name, sums) for name, sums in of_kind(groups, "queue")],
            "over_time": [
                {"at": iso(at_us), "jobs": one.jobs, "wait_s": _mean(one, LIVE), "would_s": _mean(one, SHADOW)}
                for at_us, one in sorted(bars.items())
            ],
            "step_s": beside.pairs.bar_us / SECOND_US,
        },
    }  # fmt: skip


def group_row(name: str, sums: Sums) -> dict[str, Any]:
    """Return what came of a group: mean waits in seconds, mean bounded slowdowns, and who started sooner."""
    return {
        "name": name,
        "jobs": sums.jobs,
        "wait_s": _mean(sums, LIVE),
        "would_s": _mean(sums, SHADOW),
        "slowdown": _slowdown(sums, LIVE),
        "would_slowdown": _slowdown(sums, SHADOW),
        "same": sums.same,
        "earlier": sums.earlier,
        "later": sums.later,
    }


def _mean(sums: Sums, side: int) -> float | None:
    return round(sums.wait_us[side] / sums.jobs / SECOND_US, 3) if sums.jobs else None


def _slowdown(sums: Sums, side: int) -> float | None:
    return round(sums.slow[side] / sums.slow_jobs / MILLI, 3) if sums.slow_jobs else None


if __name__ == "__main__":
    sys.exit(main())
