from __future__ import annotations

import asyncio
import errno
import logging
from typing import TYPE_CHECKING, Any

from clearway.api.scarce import Scarce

if TYPE_CHECKING:
    import pytest


def test_a_shortage_is_said_once_and_other_errors_each_time(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    loop, scarce = asyncio.new_event_loop(), Scarce()
    loop.set_exception_handler(scarce)
    others: list[dict[str, Any]] = []
    monkeypatch.setattr(loop, "default_exception_handler", others.append)
    with caplog.at_level(logging.ERROR):
        for number in (errno.EMFILE, errno.ENFILE, errno.EMFILE, errno.EPIPE):
            loop.call_exception_handler({"message": "accept", "exception": OSError(number, "Too many open files")})
        loop.call_exception_handler({"message": "something else"})
    loop.close()
    assert [record.message for record in caplog.records] == [
        "no connection can be taken: Too many open files; it is tried again until it can"
    ]
    assert len(others) == 2
