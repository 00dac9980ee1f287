"""A disk that is soon full."""

from __future__ import annotations

import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def small_disk() -> Iterator[Path]:
    """Give a file system of 2 MB of its own; the test is skipped where nobody may mount one."""
    # Not in pytest's folder: if this process is killed, what stays mounted is in nobody's way.
    mount = Path(tempfile.mkdtemp(prefix="clearway-small-disk-"))
    command = ["/bin/mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(mount)]
    done = subprocess.run(command, capture_output=True, check=False)
    if done.returncode:
        mount.rmdir()
        pytest.skip(f"no right to mount a file system: {done.stderr.decode().strip()}")
    try:
        yield mount
    finally:
        subprocess.run(["/bin/umount", "--lazy", str(mount)], check=True)
        mount.rmdir()
