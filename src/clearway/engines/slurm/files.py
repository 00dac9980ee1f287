"""The files by which the engine and its steps on other nodes know of one another, in a folder that all nodes see."""

from __future__ import annotations

import json
import os
import secrets
from pathlib import Path
from typing import Any

from clearway.model.errors import EngineError

KINDS = ("orders", "halts", "claims", "ups", "ends", "over")
"""What is to run, what to do with it, who has it, what runs, how it ended; and ends that are in the journal."""

KEPT_S = 30 * 86_400
"""So long an end is kept that is in the journal."""


class Files:
    """The folder. Raises EngineError where it cannot be written."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def make(self) -> None:
        """Make what is not there."""
        try:
            for kind in KINDS:
                (self.folder / kind).mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise EngineError(f"the folder {str(self.folder)!r} cannot be made: {error.strerror}") from error

    def keys(self, kind: str) -> set[str]:
        """Return the tasks of which there is such a file."""
        try:
            return {name for name in os.listdir(self.folder / kind) if name[0] != "."}  # noqa: PTH208  names alone
        except OSError as error:
            raise _unreadable(self.folder / kind, error.strerror) from error

    def has(self, kind: str, key: str) -> bool:
        """Say whether a task has such a file."""
        return (self.folder / kind / key).exists()

    def read(self, kind: str, key: str) -> dict[str, Any]:
        """Return what stands in a file, {} where there is none."""
        path = self.folder / kind / key
        try:
            found: dict[str, Any] = json.loads(path.read_text())
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise _unreadable(path, error.strerror) from error
        except ValueError as error:
            raise _unreadable(path, f"it is damaged ({error})") from error
        return found

    def write(self, kind: str, key: str, content: dict[str, Any]) -> None:
        """Write a file, whole and for good or not at all. It may hold what is nobody else's business."""
        path, new = self.folder / kind / key, self.folder / kind / f".{key}.new"
        try:
            with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
                json.dump(content, file)
                file.flush()
                os.fsync(file.fileno())
            new.rename(path)
        except OSError as error:
            raise EngineError(f"{path} cannot be written: {error.strerror}") from error

    def claim(self, key: str) -> bool:
        """Have a task, so that no step begins it. False: somebody had it before."""
        path = self.folder / "claims" / key
        try:
            os.close(os.open(path, os.O_CREAT | os.O_EXCL, 0o600))
        except FileExistsError:
            return False
        except OSError as error:
            raise EngineError(f"{path} cannot be written: {error.strerror}") from error
        return True

    def take_over(self, place: str, term: int) -> None:
        """Lead by a term of a journal. Raises EngineError where a later one leads."""
        found = self.read("", "lead")
        if found.get("place") == place and found["term"] > term:
            raise EngineError(f"a controller of term {found['term']} leads here; this one has term {term}")
        self.write("", "lead", {"place": place, "term": term})

    def leads(self, place: str, term: int) -> bool:
        """Say whether nobody took over since."""
        return self.read("", "lead") == {"place": place, "term": term}

    def over(self, key: str) -> None:
        """Keep of a task only how it ended: its end is in the journal."""
        try:
            (self.folder / "ends" / key).rename(self.folder / "over" / key)
            for kind in ("orders", "halts", "claims", "ups"):
                (self.folder / kind / key).unlink(missing_ok=True)
        except OSError as error:
            raise EngineError(f"the files of the task {key} cannot be moved: {error.strerror}") from error

    def name(self) -> str:
        """Return what this folder and no other one is called, also one that will have its place."""
        name: str = self.read("", "name").get("name", "")
        if not name:
            name = secrets.token_hex(4)
            self.write("", "name", {"name": name})
        return name

    def forget_old(self) -> None:
        """Forget ends of long ago, by the clock of the file system: nobody asks for them any more."""
        now = (self.folder / "lead").stat().st_mtime
        for entry in list(os.scandir(self.folder / "over")):
            if now - entry.stat().st_mtime > KEPT_S:
                Path(entry).unlink(missing_ok=True)


def _unreadable(path: Path, why: str | None) -> EngineError:
    return EngineError(f"{path} cannot be read: {why}")
