"""The history of one job, from the journal: what it ran, its attempts and waits, and why things came as they did."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from clearway.api.asked import words_of
from clearway.api.measured import job_use
from clearway.api.moments import FACE, iso
from clearway.api.rows import full_reason, job_row, waits_for
from clearway.api.tries import tries_of
from clearway.model import events as ev
from clearway.model.flow_events import Reopened
from clearway.model.needs import as_asked, sized
from clearway.model.states import State
from clearway.observe.forecast_words import TEXTS, forecast_row, forecast_text
from clearway.observe.need_words import need_row
from clearway.observe.timeline import Timeline

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clearway.api.desk import Desk
    from clearway.control import JobRow
    from clearway.model.events import Record
    from clearway.model.ids import JobId
    from clearway.model.job import JobSpec
    from clearway.model.needs import Need
    from clearway.model.reasons import Reason


@dataclass(frozen=True)
class Story:
    """A job's records and their timeline entry."""

    records: Sequence[Record]
    entry: dict[str, Any]

    def shown(self, desk: Desk, row: JobRow) -> dict[str, Any]:
        """Return what is shown of a job beside its row: its `words`, its `use` now, when it is `expected` to start."""
        spec = self._spec()
        return {
            "command": self._command(),
            "words": None if spec is None else words_of(spec),
            "expected": self._expected(desk, row),
            "tries": tries_of(self.records, row, spec),
            "use": job_use(desk, row),
            "attempts": self.entry["attempts"],
            "waits": self.entry["waits"],
            "forecast": self._forecast(),
            "needs": [need_row(need) for need in self._needs()],
        }

    def why(self, desk: Desk, row: JobRow) -> dict[str, Any]:
        """Return why it is where it is, since when (`since`; `reasons_since`: for these), and what caused what."""
        reasons, since_us = self._now(desk, row)
        return {
            "id": row.id,
            "name": row.name,
            "state": job_row(desk, row)["state"],
            "inner_state": str(row.state),
            "since": iso(self._attempt_waits_since(row) if row.state is State.PENDING else since_us),
            "reasons_since": iso(since_us),
            "expected": self._expected(desk, row),
            "reasons": [full_reason(reason) for reason in reasons],
            "causes": [self._cause(r) for r in self.records if isinstance(r, _CAUSED) and r.job == row.id],
            "waits": self.entry["waits"],
        }

    def _now(self, desk: Desk, row: JobRow) -> tuple[tuple[Reason, ...], int]:
        if row.over:
            return (() if row.reason is None else (row.reason,)), row.ended_us or row.submitted_us
        last = next((r for r in reversed(self.records) if isinstance(r, ev.Started | ev.Stopping)), None)
        if waits := waits_for(desk, row):
            return waits, self._waiting_since(waits, row)
        if last is not None and row.attempt:
            return (last.cause,), last.at_us
        return (), row.submitted_us

    def _attempt_waits_since(self, row: JobRow) -> int:
        """Return when the job began to wait: its submit, or when it went back to wait."""
        back = [r.at_us for r in self.records if isinstance(r, ev.Requeued) and r.job == row.id]
        return back[-1] if back else row.submitted_us

    def _waiting_since(self, reasons: tuple[Reason, ...], row: JobRow) -> int:
        """Return when the job began to wait for these very reasons, whatever else it waited for before."""
        since_us = row.submitted_us
        for record in self.records:
            if isinstance(record, ev.Joined | ev.Requeued | ev.JobWaits):
                since_us = record.at_us
            elif isinstance(record, ev.ClassWaits) and record.cls == row.cls and record.reasons == reasons:
                since_us = max(since_us, record.at_us)
        return since_us

    def _expected(self, desk: Desk, row: JobRow) -> dict[str, Any] | None:
        """Return by when a waiting job starts, and on which nodes, as its reservation says; None: it has none."""
        if row.state is not State.PENDING:
            return None
        last = next((r for r in reversed(self.records) if isinstance(r, ev.Reserved | ev.Started | ev.Requeued)), None)
        if not isinstance(last, ev.Reserved) or not last.grants:
            return None
        return {"start": iso(last.start_us), "nodes": sorted({desk.node_name(grant.node) for grant in last.grants})}

    def _spec(self) -> JobSpec | None:
        """Return what the job asks for now: as it was entered, or as it was changed last."""
        found = [r.spec for r in self.records if isinstance(r, ev.Submitted | ev.Changed)]
        return sized(found[-1], as_asked(self._needs())) if found else None

    def _forecast(self) -> dict[str, Any] | None:
        """Return what was said of its run time at its submit; None: nobody said anything."""
        said = next((r.forecast for r in self.records if isinstance(r, ev.Forecasted)), None)
        if said is None:
            return None
        row = forecast_row(said)
        return {**row, "text": forecast_text(row)}

    def _needs(self) -> tuple[Need, ...]:
        """Return what was said last of what the job needs; one that is run again gets what it asks for."""
        last = next((r for r in reversed(self.records) if isinstance(r, ev.Sized | Reopened)), None)
        return last.needs if isinstance(last, ev.Sized) else ()

    def _command(self) -> dict[str, Any] | None:
        spec = self._spec()
        if spec is None:
            return None
        return {"run": spec.run[0] if spec.shell else list(spec.run), "workdir": spec.workdir}

    @staticmethod
    def _cause(record: ev.Started | ev.Stopping | ev.AttemptEnded | ev.Requeued) -> dict[str, Any]:
        return {
            "at": iso(record.at_us),
            "kind": _KIND[type(record)],
            "attempt": getattr(record, "attempt", None),
            **full_reason(record.cause),
        }


_CAUSED = ev.Started | ev.Stopping | ev.AttemptEnded | ev.Requeued
_KIND: dict[type, str] = {
    ev.Started: "started",
    ev.Stopping: "stopping",
    ev.AttemptEnded: "attempt_ended",
    ev.Requeued: "requeued",
}


def story_of(desk: Desk, job: JobId) -> Story:
    """Read a job's history; nothing is in it where its records have been dropped."""
    records = desk.records(job)
    return Story(records, _timeline(desk, records).entry(job) if records else {"attempts": [], "waits": []})


def events_of(desk: Desk, job: JobId) -> list[dict[str, Any]]:
    """Return what happened to a job, as events of docs/timeline.md with dates."""
    found: list[dict[str, Any]] = _timeline(desk, desk.records(job)).as_dict()["events"]
    return [{**event, "text": TEXTS[event["kind"]](event)} if event["kind"] in TEXTS else event for event in found]


def _timeline(desk: Desk, records: Sequence[Record]) -> Timeline:
    timeline = Timeline(FACE, node_name=desk.node_name)
    for record in records:
        timeline.apply(record)
    return timeline
