"""The secrets that a task is given, read for its own process alone. Standard library alone."""

from __future__ import annotations

import os
from pathlib import Path


def secrets_in(places: dict[str, list[str]]) -> dict[str, str]:
    """Return secrets by name, each from the first of its files that is there. Raises FileNotFoundError."""
    found = {}
    for name, paths in places.items():
        path = next((Path(one) for one in paths if Path(one).exists()), None)
        if path is None:
            raise FileNotFoundError(2, f"the secret {name} is not set; set it with: clearway secret set {name}")
        found[name] = os.fsdecode(path.read_bytes())
    return found
