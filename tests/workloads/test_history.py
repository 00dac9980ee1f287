"""A journal exported as a workload tells what happened, and replays to the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from clearway.compose.history import records
from clearway.model.errors import NotFoundError
from clearway.model.fleet import PolicySpec
from clearway.sim.results.replay import Plan, replay
from clearway.sim.run import simulate
from clearway.sim.workloads import open_workload
from clearway.sim.workloads.fleets import fleet_for
from clearway.sim.workloads.history import History
from clearway.sim.workloads.survey import Survey
from clearway.sim.workloads.writer import written
from clearway.store import SqliteJournal

if TYPE_CHECKING:
    from pathlib import Path

SCENARIO = """
policy: {order: [fifo], backfill: none}
fleet: {nodes: [{name: n, gpus: 4}]}
queues: [{name: q, limit: {gpus: 4}}]
jobs:
  - {name: a, submit: 10, runtime: 100, gpus: 3, queue: q}
  - {name: b, submit: 20, runtime: [5, 50], exit_code: [3, 0], gpus: 2, max_retries: 1, retry_backoff: 2s}
  - {name: c, submit: 30, runtime: 40, gpus: 4, cancel_after: 5}
  - {name: d, submit: 40, runtime: 500, gpus: 1, time_limit: 60}
  - {name: open, submit: 45, gpus: 1}
until: 400
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with the journal of a scenario."""
    file = tmp_path / "s.yaml"
    file.write_text(SCENARIO)
    journal = SqliteJournal(tmp_path / "journal.db")
    journal.append(simulate(file).records)
    journal.close()
    return tmp_path


def test_history_tells_what_really_happened(home: Path) -> None:
    history = History(lambda: records(home))
    found = {a.spec.name: a for a in history.arrivals()}
    assert list(found) == ["a", "b", "c", "d"]
    assert history.unfinished == 1
    assert [a.at_us // 10**6 for a in found.values()] == [0, 10, 20, 30]
    assert found["a"].truth.runtimes_us == (100_000_000,)
    assert (found["b"].truth.runtimes_us, found["b"].truth.exit_codes) == ((5_000_000, 50_000_000), (3, 0))
    assert found["c"].truth.cancel_after_us == 5_000_000
    assert found["d"].truth.runtimes_us == ()


def test_an_export_replays_to_the_same_ends(home: Path, tmp_path: Path) -> None:
    history, file = History(lambda: records(home)), tmp_path / "past.jsonl.gz"
    with written(file, history.header) as write:
        for arrival in history.arrivals():
            write(arrival)
    trace = open_workload(file)
    assert [node.gpus for node in trace.nodes] == [4]
    fleet = fleet_for(trace, Survey.of(trace))
    outcome = replay(Plan(file, fleet, "again", PolicySpec(order=("fifo",), backfill="none")))
    assert trace.damage.count == 0
    assert (outcome.figures["jobs"], outcome.figures["unfinished"]) == (4, 0)
    ends = {a.spec.name: a for a in History(lambda: records(home)).arrivals()}
    assert outcome.figures["succeeded"] == sum(bool(a.truth.runtimes_us) for a in ends.values())


def test_a_home_without_journal_is_told(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError):
        next(records(tmp_path / "nowhere"))
