"""The threads of a worker: it does not outlive one of them."""

from __future__ import annotations

import os
import threading
import traceback
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


def thread(work: Callable[[], None], name: str) -> threading.Thread:
    """Return a thread of a worker."""
    return threading.Thread(target=_or_end, args=(work,), name=name, daemon=True)


def _or_end(work: Callable[[], None]) -> None:
    """Do the work of a thread. A worker that loses one ends, so that its calls go back."""
    try:
        work()
    except BaseException:  # noqa: BLE001  whatever it is, it is told, and all ends
        traceback.print_exc()
        os._exit(1)
