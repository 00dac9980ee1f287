"""The processes of a home, as /proc shows them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


def commands() -> Iterator[tuple[int, list[str]]]:
    """Yield number and command line of every process."""
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            yield int(path.parent.name), path.read_bytes().decode(errors="surrogateescape").split("\0")
        except OSError:
            continue


def runner_of(home: Path) -> int:
    """Return the process that starts the tasks of a home."""
    found = [
        pid for pid, line in commands() if "clearway.engines.local.runner" in line and str(home / "runner") in line
    ]
    assert found, "no runner"
    return found[0]


def environment_of(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/environ").read_bytes().decode(errors="surrogateescape").split("\0")
