"""A search for victims drafts what they give back; promises that are looked at meanwhile must not free it once more."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clearway.core.ledger import Ledger
from clearway.sim.run import simulate

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from clearway.model.events import Grant
    from clearway.model.job import Demand

STORY = """
title: Who may be stopped is also expected to end before a promise falls due
policy: {order: [priority, fifo], backfill: easy, preempt: [priority], calm: 0, min_runtime: 10}
fleet: {nodes: [{name: n, gpus: 2}]}
jobs:
  - {name: a, submit: 0, runtime: 50, time_estimate: 50, priority: 1, gpus: 1}
  - {name: b, submit: 1, runtime: 50, time_estimate: 50, priority: 0, gpus: 1}
  - {name: c, submit: 2, runtime: 20, time_estimate: 20, priority: 1, gpus: 2}
  - {name: d, submit: 3, runtime: 100, time_estimate: 100, priority: 1, gpus: 0.4}
  - {name: e, submit: 4, runtime: 100, time_estimate: 100, priority: 0, gpus: 0.4}
"""


def test_no_draft_gives_back_what_is_given_back_already(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    give = Ledger.give
    least: list[int] = []

    def watched(ledger: Ledger, grant: Grant, demand: Demand) -> None:
        give(ledger, grant, demand)
        least.append(min(ledger.held_share[grant.node]))

    monkeypatch.setattr(Ledger, "give", watched)
    story = tmp_path / "story.yaml"
    story.write_text(STORY)
    simulate(story)
    assert least
    assert min(least) == 0
