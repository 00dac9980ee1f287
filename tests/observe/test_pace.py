from __future__ import annotations

import pytest

from clearway.model import events as ev
from clearway.observe.pace import MINUTE_US, MINUTES, Pace
from clearway.ports.observer import Heard


def turn(at_us: int, decide_us: int) -> Heard:
    return Heard([ev.ControllerStarted(at_us)], 1, decide_us, 0)


def test_medians_and_percentiles_by_the_minute() -> None:
    pace = Pace()
    assert (pace.whole(), pace.minutes()) == (None, [])
    for n in range(98):
        pace.hear(turn(5 + n, 1000))
    pace.hear(turn(200, 64_000))
    pace.hear(turn(201, 64_000))
    pace.hear(turn(MINUTE_US + 1, 4000))
    pace.hear(Heard([], 1, 10**6, 0))
    first, second = pace.minutes()
    assert (first.at_us, first.turns, second.at_us, second.turns) == (0, 100, MINUTE_US, 1)
    assert first.median_ms == pytest.approx(1, rel=0.05)
    assert first.p99_ms == pytest.approx(64, rel=0.05)
    assert second.median_ms == pytest.approx(4, rel=0.05)
    whole = pace.whole()
    assert whole is not None
    assert whole.turns == 101
    assert whole.p99_ms == pytest.approx(64, rel=0.05)


def test_only_the_last_minutes_are_kept() -> None:
    pace = Pace()
    for minute in range(MINUTES + 30):
        pace.hear(turn(minute * MINUTE_US, 1))
    assert len(pace.minutes()) == MINUTES
