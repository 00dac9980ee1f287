"""What a step of a workflow or a trial is handed, gives back and reports, how far any job is: files beside its logs."""

from __future__ import annotations

import errno
import os
import stat
from typing import TYPE_CHECKING

import msgspec

from clearway.model.errors import EngineError

if TYPE_CHECKING:
    from pathlib import Path
    from typing import BinaryIO

    from clearway.model.actions import Launch
    from clearway.model.events import TaskRef

MOST_BYTES = 4_000_001
"""So much of a result is read: more than any that may be given back, which has a million characters at most."""


def path_of(home: Path, task: TaskRef, kind: str) -> Path:
    """Return the file of a task for its `input`, its `result`, its `metrics` or its `progress`."""
    return home / "logs" / str(task.job) / f"{task.attempt}-{task.role}-{task.index}.{kind}"


def hand_over(launch: Launch, home: Path) -> dict[str, str]:
    """Write the input of a task, if it is handed one, and return the variables by which it finds its files."""
    told = {"CLEARWAY_PROGRESS": str(path_of(home, launch.task, "progress"))}
    if not launch.spec.input:
        return told
    given, result, metrics = (path_of(home, launch.task, kind) for kind in ("input", "result", "metrics"))
    files = {**told, "CLEARWAY_INPUT": str(given), "CLEARWAY_RESULT": str(result)}
    try:
        given.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        given.write_text(launch.spec.input)
        if launch.spec.reports:
            metrics.touch(mode=0o600)
            files["CLEARWAY_METRICS"] = str(metrics)
    except OSError as error:  # a full disk: told again, it is tried again
        raise EngineError(f"what a step is handed cannot be written to {given}: {error.strerror}") from error
    return files


def opened(path: Path) -> BinaryIO:
    """Open a file that a task wrote. OSError for what is none any more: it may have put a pipe or a link there."""
    file = os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC), "rb")
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OSError(errno.EINVAL, "it is no plain file", str(path))
    return file


def result_of(home: Path, task: TaskRef) -> str:
    """Return the JSON text that a task gave back, empty where it gave none; what is no JSON counts as a text.

    One that is too long, or nested too deep, comes as it is: whoever takes it sees that, and refuses it.
    """
    try:
        with opened(path_of(home, task, "result")) as file:
            data = file.read(MOST_BYTES)
    except OSError:
        return ""
    text = data.decode(errors="replace").strip()
    if not text or len(data) == MOST_BYTES:
        return text
    try:
        value = msgspec.json.decode(text)
    except msgspec.DecodeError:
        value = text
    except RecursionError:
        return text
    return msgspec.json.encode(value, order="deterministic").decode()
