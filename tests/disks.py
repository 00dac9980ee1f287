"""A disk that is soon full."""

from __future__ import annotations

import subprocess
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@contextmanager
def small_disk(folder: Path) -> Iterator[Path]:
    """Give a file system of 2 MB of its own; the test is skipped where nobody may mount one."""
    mount = folder / "small"
    mount.mkdir()
    command = ["/bin/mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(mount)]
    done = subprocess.run(command, capture_output=True, check=False)
    if done.returncode:
        pytest.skip(f"no right to mount a file system: {done.stderr.decode().strip()}")
    try:
        yield mount
    finally:
        subprocess.run(["/bin/umount", "--lazy", str(mount)], check=True)
