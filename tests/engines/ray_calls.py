"""Functions that are called on a Ray cluster: workers import them on their nodes."""

from __future__ import annotations

import os
import time
from pathlib import Path

from clearway import task


def _place() -> tuple[str, str]:
    """Return the address of the node, and the devices that are shown."""
    assert os.environ["CLEARWAY_URL"].startswith("http"), "it reaches its controller by its port"
    assert not Path(os.environ["CLEARWAY_TOKEN_FILE"]).is_relative_to(os.environ["CLEARWAY_HOME"]), "with its own token"
    return os.environ["MASTER_ADDR"], os.environ["CUDA_VISIBLE_DEVICES"]


@task(queue="gpu-work", gpus=0.5, cpus=0.1)
def on_devices(_number: int) -> tuple[str, str]:
    return _place()


@task(queue="cpu-work", cpus=0.1)
def on_cpus(_number: int) -> tuple[str, str]:
    return _place()


@task(queue="gpu-work", gpus=0.5, cpus=0.1)
def slowly(number: int) -> int:
    time.sleep(0.05)
    return 10 * number


class _Counter:
    def __init__(self, first: int) -> None:
        self.value = first

    def more(self) -> tuple[int, str]:
        self.value += 1
        return self.value, os.environ["CUDA_VISIBLE_DEVICES"]


Counter = task(queue="gpu-work", gpus=1, cpus=0.1)(_Counter)  # as the decorator does; mypy does not look at classes
