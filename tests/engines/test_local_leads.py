"""A runner obeys whoever leads: never a controller of an older term of the same journal."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from clearway.engines.local.engine import LocalEngine
from clearway.model.errors import EngineError
from tests.engines.places import until

if TYPE_CHECKING:
    from tests.engines.places import Place

pytestmark = pytest.mark.slow


def led(place: Place, journal: str, term: int) -> LocalEngine:
    return LocalEngine(place.home, place.engine()._node, lead=(journal, term))


def obeyed(engine: LocalEngine) -> bool:
    """Open an engine, and say whether the runner took it in."""
    try:
        engine.open()
    except EngineError:
        return False
    return not engine._link.displaced


def test_an_older_term_is_not_obeyed(place: Place) -> None:
    leader = led(place, "j", 2)
    assert obeyed(leader)
    old = led(place, "j", 1)
    assert not obeyed(old)
    old.close()
    leader.wait(0.1)
    leader.reports()
    assert not leader._link.displaced
    leader.close()


def test_a_newer_term_takes_over(place: Place) -> None:
    old, new = led(place, "j", 2), led(place, "j", 3)
    assert obeyed(old)
    assert obeyed(new)

    def displaced() -> bool:
        old.reports()
        return old._link.displaced

    until(displaced, "the old one hears of it")
    assert "another controller took over" in old.trouble
    old.close()
    new.close()


def test_a_runner_that_is_started_anew_still_knows_the_term(place: Place) -> None:
    leader = led(place, "j", 5)
    assert obeyed(leader)
    leader.close()
    place.kill_runner()
    again = led(place, "j", 5)
    assert obeyed(again)
    again.close()
    old = led(place, "j", 4)
    assert not obeyed(old)
    old.close()


def test_another_journal_begins_its_own_count(place: Place) -> None:
    for journal, term in (("j", 5), ("k", 1), ("", 0)):
        engine = led(place, journal, term)
        assert obeyed(engine)
        engine.close()
