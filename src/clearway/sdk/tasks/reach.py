"""Which controller calls go to: the one that CLEARWAY_URL names, or this user's own, started where none runs."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from clearway.config.home import check_owner, home_dir, read_running
from clearway.model.errors import ControllerError

if TYPE_CHECKING:
    from clearway.sdk.transport import Transport

URL, TOKEN_FILE = "CLEARWAY_URL", "CLEARWAY_TOKEN_FILE"
POOL = "CLEARWAY_POOL"


def inside_a_job() -> bool:
    """Whether this process is a task of a job: such a one starts no controller, which would end with the job."""
    return "CLEARWAY_JOB" in os.environ


def where() -> str:
    """Return what tells this controller from others."""
    return os.environ.get(URL) or str(home_dir())


def reach(*, start: bool = True) -> Transport:
    """Return the way to the controller. ControllerError: there is none, and none can be started."""
    from clearway.sdk.transport import port, unix

    if url := os.environ.get(URL):
        return port(url, Path(os.environ.get(TOKEN_FILE) or home_dir() / "token"))
    home = home_dir()
    if start and not inside_a_job():
        from clearway.compose.launch import ensure_running

        return unix(ensure_running(home).socket)
    running = read_running(home)
    if running is None:
        raise ControllerError(f"no controller runs for {home}")
    check_owner(home)
    return unix(running.socket)
