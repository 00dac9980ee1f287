"""The process that answers one question about the past: `python -m clearway.api.past.child`.

On stdin comes the question, a line of JSON; stdin stays open for as long as somebody wants the answer. On stdout goes
a line of JSON with status, media type, size and what is to be said beside the answer; then the answer.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
from functools import partial
from pathlib import Path
from secrets import token_hex
from threading import Thread
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import msgspec

from clearway.api.body import check_room
from clearway.api.pace import PIECE_BYTES
from clearway.api.past.questions import audit, cycle, moment, report
from clearway.api.past.then import why_then
from clearway.api.problems import problem_of
from clearway.compose.bundle import make_bundle
from clearway.compose.database import backup, check
from clearway.compose.history import records
from clearway.compose.past import past_of
from clearway.model.errors import ClearwayError, StoreError
from clearway.sim.workloads.history import export

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import FrameType

    from clearway.compose.past import PastOf

NICE = 10
"""Whoever decides goes first."""
FOLDER = "sent-"
"""With this begin the names of folders in a home in which what is sent is made."""
WRITES = frozenset({"backup", "bundle", "history", "whatif"})
"""What is made in the home before it is sent or kept: at most as much as the journal."""
JSON, BYTES, LINES = "application/json", "application/octet-stream", "application/x-ndjson"


class Question(msgspec.Struct, frozen=True):
    """What is asked of which home; `store` as the controller has it."""

    what: str
    home: str
    store: str
    said: dict[str, Any] = {}


class Answer(NamedTuple):
    """A document, or a file; and what is to be said beside it."""

    media: str
    content: bytes | Path
    about: dict[str, Any] = {}  # noqa: RUF012  never changed


def main() -> int:
    """Answer one question."""
    asked = msgspec.json.decode(sys.stdin.buffer.readline(), type=Question)
    os.nice(NICE)
    folder = Path(asked.home, f"{FOLDER}{token_hex(8)}")
    signal.signal(signal.SIGTERM, partial(_leave, folder))
    Thread(target=_watch, daemon=True).start()
    try:
        if asked.what in WRITES:
            _check_room(Path(asked.home))
        folder.mkdir(mode=0o700)
        told = _answer(asked, folder)
    except ClearwayError as error:
        problem = problem_of(error)
        _send(problem.status_code, str(problem.media_type), bytes(problem.body), {})
    except OSError as error:
        problem = problem_of(StoreError(f"it cannot be made: {error.strerror}"))
        _send(problem.status_code, str(problem.media_type), bytes(problem.body), {})
    else:
        _send(200, *told)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return 0


def _check_room(home: Path) -> None:
    """Raise StoreError where a copy of the journal would take the room that the journal itself needs."""
    check_room(home, sum(file.stat().st_size for file in home.glob("journal.db*")))


def _leave(folder: Path, _number: int, _frame: FrameType | None) -> NoReturn:
    """End here and now, and leave nothing in the home. An exception might be lost, or come before there is a `with`."""
    shutil.rmtree(folder, ignore_errors=True)
    os._exit(1)


def _watch() -> None:
    """End when nobody waits any more, also where the controller was killed.

    Not by `sys.stdin`: a thread that reads there still, when the answer is out, has Python end with an abort.
    """
    while os.read(0, PIECE_BYTES):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


def _send(status: int, media: str, content: bytes | Path, about: dict[str, Any]) -> None:
    out = sys.stdout.buffer
    size = content.stat().st_size if isinstance(content, Path) else len(content)
    out.write(json.dumps({"status": status, "media": media, "size": size, "about": about}).encode() + b"\n")
    if isinstance(content, Path):
        with content.open("rb") as file:
            while piece := file.read(PIECE_BYTES):
                out.write(piece)
    else:
        out.write(content)
    out.flush()


def _answer(asked: Question, folder: Path) -> Answer:
    home, said, options = Path(asked.home), asked.said, {"store": asked.store}
    match asked.what:
        case "check":
            return Answer(JSON, msgspec.json.encode(check(home, options)._asdict()))
        case "backup":
            file = folder / "journal.db"
            return Answer(BYTES, file, {"last": backup(home, file, options)})
        case "bundle":
            file = folder / "bundle.tar.gz"
            return Answer(BYTES, file, make_bundle(home, file, said["status"], options)._asdict())
        case "whatif":
            from clearway.api.past.whatif_work import work_out  # noqa: PLC0415  it loads much, and others need none of it

            return Answer(JSON, msgspec.json.encode(work_out(home, options, said, folder)))
        case "history":
            return _history(home, options, folder / f"history.jsonl{'.gz' * bool(said['compressed'])}")
        case what:
            with past_of(home, options) as past:
                return Answer(JSON, msgspec.json.encode(_DOCUMENTS[what](past, said)))


def _history(home: Path, options: Mapping[str, object], file: Path) -> Answer:
    return Answer(LINES, file, export(partial(records, home, options), file))


def _quiet(_number: int) -> None:
    """Nobody sees how far it is."""


def _why(past: PastOf, said: dict[str, Any]) -> dict[str, Any]:
    return why_then(past, said["ref"], moment("at", said["at"]), brief=said["brief"])


def _load(past: PastOf, said: dict[str, Any]) -> dict[str, Any]:
    from clearway.api.past.load import load  # noqa: PLC0415  it loads what learns, and others need none of it

    return load(past, said["queue"], said["since"])


def _forecasts(past: PastOf, said: dict[str, Any]) -> dict[str, Any]:
    from clearway.api.past.forecasts import forecasts  # noqa: PLC0415  it loads what learns, and others need none of it

    return forecasts(past, said["since"], said["by"], starts=said["starts"])


_DOCUMENTS: dict[str, Callable[[PastOf, dict[str, Any]], dict[str, Any]]] = {
    "load": _load,
    "forecasts": _forecasts,
    "report": lambda past, said: report(past, said["since"], said["until"], said["by"]),
    "audit": lambda past, said: audit(past, _quiet, said["since"], said["until"], said["number"]),
    "cycle": lambda past, said: cycle(past, _quiet, said["number"], said["ref"]),
    "why": _why,
}


if __name__ == "__main__":
    sys.exit(main())
