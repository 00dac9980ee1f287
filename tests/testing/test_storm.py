"""Whole controllers in storms: killed at each act, and by chance, on both stores; and the judge notices what is wrong.

The seeds rotate with the day. A failing one names the command that shows it again.
"""

from __future__ import annotations

import logging
import os
import time
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from clearway.model import events as ev
from clearway.model.ids import JobId
from clearway.model.job import JobSpec
from clearway.store import MemoryJournal
from clearway.testing.storm import Fate, Storm
from clearway.testing.storm.__main__ import MANY, fate_of, main, one, opener_of, points
from clearway.testing.storm.checks import BrokenError, records
from clearway.testing.storm.weather import NEEDED

if TYPE_CHECKING:
    from collections.abc import Iterator

    from clearway.model.actions import Action
    from tests.servers import Server

DAY_S = 24 * 3600
SEEDS = int(os.environ.get("CLEARWAY_STORMS", "500"))
FIRST = int(os.environ.get("CLEARWAY_STORM_SEED", str(int(time.time() // DAY_S) * SEEDS)))
PARTS = 10
SMALL = 5
"""Jobs of the storms that are killed at each act."""


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


HAPPENED: list[Counter[str]] = []
"""What came over the storms of each part that has run."""


@pytest.mark.parametrize("part", range(PARTS))
def test_rotating_seeds(part: int) -> None:
    came = Counter[str]()
    for seed in range(FIRST + part, FIRST + SEEDS, PARTS):
        lived = one(seed, fate_of(seed), lambda _: MemoryJournal(), 12)
        said = f"{lived.broken}; again: python -m clearway.testing.storm seeds --first {seed} --count 1"
        assert not lived.broken, said
        came += lived.happened
    HAPPENED.append(came)


def test_all_kinds_of_mishaps_came_in_these_seeds() -> None:
    if len(HAPPENED) < PARTS or SEEDS < MANY:
        pytest.skip("not all parts ran, or few seeds were asked for")
    came = sum(HAPPENED, Counter[str]())
    assert [kind for kind in NEEDED if not came[kind]] == []


@pytest.mark.parametrize(("store", "seed"), [("memory", 1), ("memory", 2), ("memory", 3), ("sqlite", 4), ("sqlite", 5)])
def test_killed_at_every_act(store: str, seed: int) -> None:
    with opener_of(store) as opener:
        many, broken = points(seed, opener, SMALL)
    assert broken == []
    assert many > 30


@pytest.mark.slow
@pytest.mark.real_engine
def test_killed_at_acts_on_a_server(postgres: Server) -> None:
    with opener_of(postgres.make("storm")) as opener:
        many, broken = points(4, opener, SMALL - 2)  # each act is several turns of the server
    assert broken == []
    assert many > 100


def test_a_seed_does_the_same_again() -> None:
    journals = [MemoryJournal(), MemoryJournal()]
    for journal in journals:
        Storm(7, journal, fate_of(7)).live()
    first, second = ([entry.record for entry in journal.read()] for journal in journals)
    assert first == second


def test_the_command_says_what_it_did(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["seeds", "--count", "3"]) == 0
    assert "3 storms" in capsys.readouterr().out
    assert main(["points", "--count", "1", "--jobs", "2", "--first", "9"]) == 0
    assert "kill points, 0 broken" in capsys.readouterr().out


# --- the judge -----------------------------------------------------------------------------------


def test_a_job_entered_twice_is_noticed() -> None:
    spec = JobSpec("a", idempotency_key="k")
    twice: list[ev.Record] = [ev.Submitted(1, JobId(1), spec), ev.Submitted(2, JobId(2), spec)]
    storm = Storm(1, MemoryJournal(), Fate())
    with pytest.raises(BrokenError, match="entered twice"):
        records(twice, storm.weather.policy, 1)


def test_a_task_started_twice_is_noticed() -> None:
    storm = Storm(5, MemoryJournal(), Fate())
    launch = storm.room._launch

    def twice(action: Action) -> None:
        launch(action)  # type: ignore[arg-type]
        storm.room.launched.append(action)  # type: ignore[arg-type]

    storm.room._launch = twice  # type: ignore[assignment,method-assign]
    with pytest.raises(BrokenError):
        storm.live()
