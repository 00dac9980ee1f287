"""Whether code that this process has imported has changed since: a warm worker never runs yesterday's."""

from __future__ import annotations

import os
import sys
import time

LOOK_S = 0.5


class Stale:
    """Looks at the files of modules that are not installed."""

    def __init__(self) -> None:
        self._seen: dict[str, float] = {}
        self._looked = 0.0
        self._own = (sys.prefix, sys.base_prefix, os.path.dirname(os.__file__))  # noqa: PTH120  texts

    def found(self) -> bool:
        """Whether one is another one than when it was first seen here."""
        now = time.monotonic()
        if now - self._looked < LOOK_S:
            return False
        self._looked = now
        for module in list(sys.modules.values()):
            path = _file_of(module)
            if not path or path.startswith(self._own) or "/clearway/" in path:
                continue
            try:
                changed = os.stat(path).st_mtime  # noqa: PTH116
            except (OSError, ValueError):
                continue
            if self._seen.setdefault(path, changed) != changed:
                return True
        return False


def _file_of(module: object) -> str:
    """Return the file of a module. Anything may stand among modules, also what fails when it is asked."""
    try:
        path = getattr(module, "__file__", None)
    except Exception:  # noqa: BLE001  a module that is imported when it is first asked, and cannot be: it is not there
        return ""
    return path if isinstance(path, str) else ""
