"""A controller of which nothing grows while work comes and goes; and the judge notices what does."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import pytest

from clearway.loop import flow_state, forecast_state, past
from clearway.store import SqliteJournal
from clearway.testing.storm.checks import BrokenError
from clearway.testing.storm.life import HOUR_US, Days, judge
from clearway.testing.storm.sizes import sizes

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

HOURS = 2
"""A day of a test: what is kept for a day is kept for half of it here."""


@pytest.fixture
def days(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Days]:
    monkeypatch.setattr(past, "NAMES_KEPT_US", HOUR_US)
    monkeypatch.setattr(flow_state, "KEPT", 20)
    monkeypatch.setattr(forecast_state, "MOST_RUNS", 200)
    logging.disable(logging.CRITICAL)
    journal = SqliteJournal(tmp_path / "journal.db", synchronous="normal")
    yield Days(journal, retention_us=HOUR_US // 2, varied=4)
    journal.close()
    logging.disable(logging.NOTSET)


def test_nothing_grows_and_what_does_is_noticed(days: Days) -> None:
    first, second = days.live(HOURS), days.live(HOURS)
    judge(first, second)
    left = days.controller.world.state.dependents
    left.update({-n: [] for n in range(10_000)})  # type: ignore[misc]
    with pytest.raises(BrokenError, match=r"it grows: world\.state\.dependents"):
        judge(first, days.live(1))


def test_what_a_thing_holds_is_counted_by_the_attributes_that_lead_there() -> None:
    assert sizes({"root": {"a": [1, 2], "b": [3]}}) == {"root": 2, "root[]": 3}
