"""Clearway from Python.

    from clearway import sdk

    job = sdk.submit(name="train", run="python train.py", gpus=1)
    job.wait()
    print(job.state, b"".join(job.logs()).decode())

Importing this package is cheap: it needs the standard library alone.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from clearway.sdk.client import Client
from clearway.sdk.job import Job

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["Client", "Job", "connect", "submit"]


def connect(home: Path | None = None, *, start: bool = True) -> Client:
    """Return a client of the controller of `home` (default: the user's own).

    Where none runs, one is started; with `start=False` that raises ControllerError instead. With CLEARWAY_URL in the
    environment it is the controller at that address, which is never started.
    """
    if not start or (home is None and os.environ.get("CLEARWAY_URL")):
        return Client.usual(home)
    from clearway.sdk.launch import ensure_controller

    return ensure_controller(home)


def submit(home: Path | None = None, **words: object) -> Job:
    """Submit one job, given by the words of a job file: `submit(name="train", run=["python", "train.py"], gpus=1)`.

    Without `workdir` it runs in the present directory. Starts a controller where none runs. Raises InputError for
    a value that is refused, with field, value and rule; nothing is stored then.
    """
    return Job.submit(connect(home), words)
