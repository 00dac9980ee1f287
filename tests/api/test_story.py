"""The history of a job, from its records; where they have been dropped: nothing, and no error."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from clearway.api.story import Story, events_of, story_of
from clearway.model import events as ev
from clearway.model.flow_events import Reopened
from clearway.model.ids import JobId
from clearway.model.job import Demand, JobSpec, Role
from clearway.model.needs import Need, as_asked, sized
from clearway.model.states import State


def test_a_job_without_records_has_an_empty_history() -> None:
    desk: Any = SimpleNamespace(
        records=lambda _: [], node_name=str, controller=SimpleNamespace(measured=SimpleNamespace(tasks={}))
    )
    row: Any = SimpleNamespace(id=1, state=State.CANCELLED, grants=())
    shown = story_of(desk, JobId(3)).shown(desk, row)
    assert (shown["attempts"], shown["waits"], shown["words"], shown["expected"]) == ([], [], None, None)
    assert events_of(desk, JobId(3)) == []


def test_what_a_job_needs_is_what_was_said_last_and_nothing_after_it_is_run_again() -> None:
    need = Need("task", "memory", 2**30, 2**28, 2**27, 5, "runs", own=True, applied=True)
    given = JobSpec("j", (Role(demand=Demand(memory=2**28)),))
    asked = sized(given, as_asked([need]))
    records: list[ev.Record] = [ev.Submitted(1, JobId(3), asked), ev.Sized(2, JobId(3), (need,))]
    changed = Story([*records, ev.Changed(3, JobId(3), given)], {})
    assert changed._needs() == (need,)
    assert changed._spec() == asked, "its words are what it asks for"
    assert Story([*records, Reopened(4, JobId(3), asked)], {})._needs() == ()
