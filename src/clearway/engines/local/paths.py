"""Where the local engine keeps its files."""

from __future__ import annotations

import os

TYPE_CHECKING = False  # not from typing: the runner imports this file and pays for every module
if TYPE_CHECKING:
    from pathlib import Path

    from clearway.model.events import TaskRef

RUNNER = "runner"
SOCKET = "socket"
RECORDS = "records"
LOCK = "lock"
TALK = "runner.log"


def checkpoint_path(home: Path, task: TaskRef) -> Path:
    """Return the folder in which a job keeps its checkpoints: one for all its tasks and attempts."""
    return home / "checkpoints" / str(task.job)


def code_path(home: Path, code: str) -> Path:
    """Return the tar of the files that a job takes along, by their digest."""
    return home / "code" / f"{code.removeprefix('sha256:')}.tar"


def work_path(home: Path, task: TaskRef) -> Path:
    """Return the folder into which a task unpacks the files that its job takes along: one for each task and attempt."""
    return home / "work" / str(task.job) / f"{task.attempt}-{task.role}-{task.index}"


def log_path(home: Path, task: TaskRef, stream: str) -> Path:
    """Return the file that holds what a task wrote to `stream` (stdout or stderr), byte for byte."""
    return home / "logs" / str(task.job) / f"{task.attempt}-{task.role}-{task.index}.{stream}"


def short_socket_path(folder_fd: int) -> str:
    """Return a path of the socket that is always short: a socket's path may have only 107 bytes, a home more."""
    return os.path.join(f"/proc/self/fd/{folder_fd}", SOCKET)  # noqa: PTH118  pathlib costs the runner 2 MB
