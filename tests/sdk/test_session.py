from __future__ import annotations

from typing import Any

import pytest

from clearway.model.errors import ControllerError
from clearway.sdk.tasks import session as room
from clearway.sdk.tasks.session import Session


class _Ways:
    """Ways to a controller that is not there the first times."""

    def __init__(self, failures: int) -> None:
        self.failures = failures

    def __call__(self) -> Any:
        if self.failures:
            self.failures -= 1
            raise ControllerError("no controller runs")
        return self

    def line(self) -> Any:
        return self

    def call(self, *_: object) -> bytes:
        return b"answer"


@pytest.fixture
def session(monkeypatch: pytest.MonkeyPatch) -> Session:
    monkeypatch.setattr(room, "AGAIN_S", (0.0,))
    return Session()


def test_inside_a_job_a_controller_that_is_not_there_is_waited_for(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLEARWAY_JOB", "1")
    monkeypatch.setattr(room, "reach", _Ways(5))
    assert session.raw("calls/1") == b"answer"


def test_elsewhere_one_that_cannot_be_started_is_told_at_once(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(room, "reach", _Ways(5))
    with pytest.raises(ControllerError):
        session.raw("calls/1")


def test_one_that_was_there_is_waited_for_a_while(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "reach", _Ways(0))
    session.raw("calls/1")
    session._line = None
    monkeypatch.setattr(room, "reach", _Ways(5))
    assert session.raw("calls/1") == b"answer"
