"""The folder of the bridge in the controller's home: what was ordered, how tasks ended, and what they wrote."""

from __future__ import annotations

import hmac
import json
import os
import secrets
import time
from pathlib import Path
from typing import Any

PRIVATE = 0o600
NOT_KEPT = ("env", "input", "argv")
"""Of an order: what only its start needs."""


class Files:
    """Ends are kept until they are in the journal; what tasks wrote lies where every engine has it.

    Orders are kept until their task is over: where its files lie here is no word that comes from a node.
    """

    def __init__(self, home: str) -> None:
        self._home = Path(home, "ray")
        self._ends, self._orders, self._key = self._home / "ends", self._home / "orders", self._home / "key"
        for folder in (self._ends, self._orders):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    def number(self) -> int:
        """Return a number for a bridge that begins: greater than that of any before it, whatever the clock does."""
        path = self._home / "bridges"
        last = int(path.read_text() or 0) if path.exists() else 0
        number = max(last + 1, time.time_ns())
        path.write_text(str(number))
        return number

    def note(self, order: dict[str, Any]) -> None:
        """Keep what was ordered of a task, for a bridge after this one."""
        kept = {word: said for word, said in order.items() if word not in NOT_KEPT}
        (self._orders / order["task"]).write_text(json.dumps(kept))

    def orders(self) -> list[dict[str, Any]]:
        """Return what was ordered of all tasks that are not over."""
        found = []
        for path in sorted(self._orders.iterdir()):
            try:
                found.append(json.loads(path.read_text()))
            except ValueError:  # half of it: the last moment of a machine
                path.unlink()
        return found

    def drop(self, key: str) -> None:
        """Forget what was ordered of a task that is over."""
        (self._orders / key).unlink(missing_ok=True)

    def ends(self) -> list[dict[str, Any]]:
        """Return all ends that are kept."""
        names = sorted(name for name in os.listdir(self._ends) if name[0] != ".")  # noqa: PTH208  names alone
        return [json.loads((self._ends / name).read_text()) for name in names]

    def end(self, key: str) -> dict[str, Any] | None:
        """Return how a task ended, None where nothing is kept of it."""
        try:
            found: dict[str, Any] = json.loads((self._ends / key).read_text())
        except FileNotFoundError:
            return None
        return found

    def keep(self, end: dict[str, Any]) -> None:
        """Keep how a task ended, for good."""
        new = self._ends / f".{end['task']}"
        with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, PRIVATE), "w") as file:
            json.dump(end, file)
            file.flush()
            os.fsync(file.fileno())
        new.rename(self._ends / end["task"])

    def token(self, attempt: str) -> str:
        """Return the token of the clusters that the tasks of an attempt start themselves, the same for all of them."""
        try:
            with os.fdopen(os.open(self._key, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE), "wb") as file:
                file.write(secrets.token_bytes(32))
        except FileExistsError:
            pass
        return hmac.new(self._key.read_bytes(), attempt.encode(), "sha256").hexdigest()

    def forget(self, keys: list[str]) -> None:
        """Drop ends."""
        for key in keys:
            (self._ends / key).unlink(missing_ok=True)


def written(path: str) -> int:
    """Return how much of a file is here."""
    try:
        return os.stat(path).st_size if path else 0  # noqa: PTH116
    except FileNotFoundError:
        return 0


def add(path: str, data: bytes) -> None:
    """Add to a file; nothing where there is no path for it."""
    if not path or not data:
        return
    Path(path).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, PRIVATE), "wb") as file:
        file.write(data)
