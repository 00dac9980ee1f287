from __future__ import annotations

import weakref
from typing import Any

import msgspec
import pytest

from clearway.calls.wire import CallSpec, ChainSpec, Enter, Entered, GroupSpec, MapSpec, Part, Recipe, encode
from clearway.model.errors import ControllerError, InputError
from clearway.sdk.tasks import session as room
from clearway.sdk.tasks.handle import Handle
from clearway.sdk.tasks.parts import in_parts
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
    session._way.line = None
    monkeypatch.setattr(room, "reach", _Ways(5))
    assert session.raw("calls/1") == b"answer"


class _Forgetful:
    """A controller that has dropped all functions, and takes what comes with them."""

    def __init__(self) -> None:
        self.entered: list[Enter] = []

    def line(self) -> Any:
        return self

    def call(self, _method: str, _path: str, body: bytes) -> bytes:
        said = msgspec.msgpack.decode(body, type=Enter)
        if said.recipes[0].function not in said.functions:
            raise InputError("function", "f", "a function that was sent to this controller before")
        self.entered.append(said)
        return encode(Entered(7))


def test_a_function_that_the_controller_has_dropped_is_sent_again(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    controller = _Forgetful()
    monkeypatch.setattr(room, "reach", lambda: controller)
    session.function("f", b"code")
    for _ in range(2):
        handle = Handle(session, "f")
        session._send([room._Unsent(CallSpec(0, b""), [Recipe("f", "f")], handle)])
        assert handle.id == 7
        assert session._known == {"f"}
    assert [said.functions for said in controller.entered] == [{"f": b"code"}] * 2


def test_a_large_map_is_sent_in_parts_and_a_small_one_whole() -> None:
    sent: list[Part] = []
    small, large = MapSpec(0, [b"x"] * 9), MapSpec(0, [b"x" * 9000] * 1200)
    found = in_parts(ChainSpec([small, GroupSpec([large, CallSpec(0, b"")])]), sent.append)
    assert found == ChainSpec([small, GroupSpec([MapSpec(0, [], sent[0].key, 1200), CallSpec(0, b"")])])
    assert [(part.number, len(part.items)) for part in sent] == [(0, 466), (1, 466), (2, 268)]
    assert {part.key for part in sent} == {sent[0].key}


def test_what_is_waited_for_is_asked_for_first_and_all_of_it_in_turn(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(room, "MOST_POLLED", 2)
    handles = [Handle(session, "f") for _ in range(5)]
    for number, handle in enumerate(handles, 1):
        handle._entered(number, None)
        session._pending[number] = weakref.ref(handle)
    session._wanted[handles[4]] = 1
    assert session._next_polled()[0] == [1, 5]
    session._wanted.update(handles)
    asked = [session._next_polled()[0] for _ in range(5)]
    assert set().union(*asked) == {1, 2, 3, 4, 5}
    assert {len(numbers) for numbers in asked} == {2}
