"""Answering who waits, once, unless he has gone."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from concurrent.futures import Future

T = TypeVar("T")


def tell(waits: Future[T], said: T) -> bool:
    """Answer with `said`. False: whoever asked has gone, or has been answered."""
    if waits.done() or not waits.set_running_or_notify_cancel():
        return False
    waits.set_result(said)
    return True
