"""What a program inside a job uses to go on where it was stopped. A program that knows nothing of it needs nothing.

import clearway

saved = clearway.checkpoint()
step = int(saved.load() or b"0")
while step < 1000:
    step += 1
    if saved.wanted or saved.due(600):
        saved.save(str(step).encode())
    if saved.wanted:
        raise SystemExit(0)
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import FrameType

FOLDER = "CLEARWAY_CHECKPOINT_DIR"
"""Variable that names the folder of a job's checkpoints: the same in each attempt, of all its tasks."""

SIGNAL = "CLEARWAY_CHECKPOINT_SIGNAL"
"""Variable that names the signal by which the job is asked to save its work and stop."""

OUTSIDE = "checkpoints"  # where there is no Clearway, a folder of this name in the working directory


class Checkpoint:
    """The saved work of this job, and whether it is asked to stop."""

    def __init__(self, folder: Path, number: signal.Signals | None) -> None:
        """Listen for the signal, where this is the main thread of a job."""
        self.folder = folder
        self.wanted = False
        """Whether the job is asked to save its work and stop. It becomes true at any moment and stays so."""
        self._saved_s = time.monotonic()
        if number is not None and threading.current_thread() is threading.main_thread():
            before = signal.getsignal(number)

            def heard(which: int, frame: FrameType | None) -> None:
                self.wanted = True
                if callable(before):
                    before(which, frame)

            signal.signal(number, heard)

    def due(self, every_s: float) -> bool:
        """Whether so many seconds have passed since the work was saved last, or since the beginning."""
        return time.monotonic() - self._saved_s >= every_s

    def save(self, data: bytes, name: str = "state") -> Path:
        """Put data in the place of what was saved under a name. A kill at any instant leaves the old or the new whole.

        Each task of a gang uses names of its own. Raises OSError where it cannot be written; the old stays then.
        """
        path = self._path(name)
        self.folder.mkdir(parents=True, exist_ok=True)
        fresh = path.with_name(f".{path.name}.{os.getpid()}")
        try:
            with fresh.open("wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            fresh.replace(path)
        except OSError:
            with contextlib.suppress(OSError):
                fresh.unlink()
            raise
        folder = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
        self._saved_s = time.monotonic()
        return path

    def load(self, name: str = "state") -> bytes | None:
        """Return what was saved last under a name, in this attempt or an earlier one; None where nothing was."""
        try:
            return self._path(name).read_bytes()
        except FileNotFoundError:
            return None

    def _path(self, name: str) -> Path:
        if not name or name != Path(name).name or name.startswith("."):
            raise ValueError(f"name {name!r}: a file name without / that does not begin with a dot")
        return self.folder / name


_here: list[Checkpoint] = []


def checkpoint() -> Checkpoint:
    """Return the checkpoint of this process, one and the same each time.

    In a job it lies in the job's own folder and hears the job's checkpoint signal. Outside one it lies in
    `./checkpoints`, and nobody asks it to stop.
    """
    if not _here:
        name = os.environ.get(SIGNAL)
        number = signal.Signals[name] if name else None
        _here.append(Checkpoint(Path(os.environ.get(FOLDER) or OUTSIDE), number))
    return _here[0]
