"""A client of a controller that is started where none runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clearway.compose.launch import ensure_running
from clearway.config.home import home_dir
from clearway.sdk.client import Client

if TYPE_CHECKING:
    from pathlib import Path


def ensure_controller(home: Path | None = None) -> Client:
    """Return a client of the controller of `home`; starts a detached one where none runs.

    However many processes do so at once, one controller results. Raises ControllerError, with the last lines of
    its log, where it cannot be started.
    """
    where = home_dir(home)
    ensure_running(where)
    return Client.connect(where)
