"""The history of a job of which the records have been dropped: nothing, and no error."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from clearway.api.story import events_of, story_of
from clearway.model.ids import JobId
from clearway.model.states import State


def test_a_job_without_records_has_an_empty_history() -> None:
    desk: Any = SimpleNamespace(
        records=lambda _: [], node_name=str, controller=SimpleNamespace(measured=SimpleNamespace(tasks={}))
    )
    row: Any = SimpleNamespace(id=1, state=State.CANCELLED, grants=())
    shown = story_of(desk, JobId(3)).shown(desk, row)
    assert (shown["attempts"], shown["waits"], shown["words"], shown["expected"]) == ([], [], None, None)
    assert events_of(desk, JobId(3)) == []
