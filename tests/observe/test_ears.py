from __future__ import annotations

import threading

import pytest

from clearway.observe import ears
from clearway.observe.ears import Ears
from clearway.ports.observer import Heard


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a busy machine take its time at the end."""
    monkeypatch.setattr(ears, "END_S", 60.0)


def turn(last: int) -> Heard:
    return Heard((), last, 1, 1)


class Watcher:
    def __init__(self, *, fails: bool = False, holds: threading.Event | None = None) -> None:
        self.heard: list[int] = []
        self.began = False
        self._fails, self._holds = fails, holds

    def begin(self) -> None:
        self.began = True

    def hear(self, turn: Heard) -> None:
        if self._holds is not None:
            assert self._holds.wait(30)
        self.heard.append(turn.last)
        if self._fails:
            raise RuntimeError("on purpose")


def test_all_that_was_heard_is_passed_on_before_the_end(caplog: pytest.LogCaptureFixture) -> None:
    bad, good = Watcher(fails=True), Watcher()
    both = Ears([bad, good])
    both.begin()
    for number in range(50):
        both.hear(turn(number))
    both.close()
    assert good.began
    assert bad.heard == good.heard == list(range(50))
    assert "the turn up to record 7 was lost to Watcher" in caplog.text


def test_a_watcher_that_hangs_holds_nobody_up_and_loses_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ears, "MOST_TURNS", 10)
    gate = threading.Event()
    slow = Watcher(holds=gate)
    line = Ears([slow])
    line.begin()
    for number in range(100):
        line.hear(turn(number))
    assert line.lost in {89, 90}, "one more is in the watcher's hands, or is not yet"
    assert line.waiting <= 10
    gate.set()
    line.close()
    assert slow.heard == list(range(len(slow.heard)))
    assert len(slow.heard) + line.lost == 100


def test_one_that_never_began_can_be_closed() -> None:
    Ears([]).close()
