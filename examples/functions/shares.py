"""Shares of a GPU by decorator: which device each call was given, and what share of it.

python -m examples.functions.shares      (a home of its own, with 2 devices that are only counted)
"""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path

from clearway import group, task
from clearway.compose.launch import ensure_running, stop


@task(gpus=0.5, cpus=0.1)
def half(number: int) -> tuple[int, str, int]:
    """Say where it runs: two of these share a device."""
    time.sleep(0.2)
    return number, os.environ["CUDA_VISIBLE_DEVICES"], os.getpid()


@task(gpus=2, cpus=0.1, priority=10)
def both() -> str:
    """Say where it runs: it needs both devices, and goes first."""
    return os.environ["CUDA_VISIBLE_DEVICES"]


def main() -> list[tuple[int, str, int]]:
    """Run calls of both kinds on two devices that are only counted."""
    with tempfile.TemporaryDirectory(prefix="clearway-") as folder:
        home = Path(folder) / "home"
        os.environ["CLEARWAY_HOME"] = str(home)
        ensure_running(home, {"devices": 2})
        try:
            found: list[tuple[int, str, int]] = group(half.s(number) for number in range(12)).remote().get()
            for number, devices, process in found:
                print(f"half {number:2} ran on device {devices} in process {process}")
            print(f"both ran on devices {both.remote().get()}")
            return found
        finally:
            stop(home)


if __name__ == "__main__":
    main()
