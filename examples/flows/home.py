"""A controller for as long as an example runs."""

from __future__ import annotations

import os
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from clearway import sdk
from clearway.compose.launch import stop

if TYPE_CHECKING:
    from collections.abc import Iterator

    from clearway.sdk.client import Client


@contextmanager
def controller() -> Iterator[Client]:
    """Start a controller in a new directory, have this program use it, and stop it at the end."""
    with tempfile.TemporaryDirectory(prefix="clearway-flows-") as folder:
        home, before = Path(folder) / "home", os.environ.get("CLEARWAY_HOME")
        os.environ["CLEARWAY_HOME"] = str(home)
        try:
            yield sdk.connect()
        finally:
            stop(home)
            if before is None:
                del os.environ["CLEARWAY_HOME"]
            else:
                os.environ["CLEARWAY_HOME"] = before
