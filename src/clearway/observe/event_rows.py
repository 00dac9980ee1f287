"""Records as the events that people and programs watch: their kinds are those of docs/timeline.md."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clearway.model import events as ev
from clearway.model import flow_events as fe
from clearway.model import policy_events as pe
from clearway.observe.forecast_words import forecast_row, progress_row
from clearway.observe.need_words import need_row
from clearway.observe.words import sentence

if TYPE_CHECKING:
    from collections.abc import Callable

    from clearway.model.events import Record
    from clearway.model.ids import NodeId
    from clearway.model.reasons import Reason
    from clearway.observe.timeline import Face

KINDS = (
    "submitted", "refused", "forecast", "waits", "reserved", "started", "running", "stopping", "resized",
    "suspended", "resumed", "idle", "held", "released", "changed", "attempt_ended", "requeued", "ended", "rerun",
    "budget", "sized",
    "node_ready", "node_lost", "node_gone", "node_quiet", "drained", "device_unhealthy",
    "booked", "booking_over", "queue_changed", "limit_changed", "policy_changed", "controller_started",
    "flow_began", "flow_step", "flow_ended", "search_began", "search_ended", "schedule_changed", "tick",
)  # fmt: skip
"""Every kind of event that can come."""


_OF_BUDGET: dict[type, str] = {
    ev.BudgetChanged: "changed",
    ev.BudgetNoticed: "noticed",
    ev.BudgetUsedUp: "used_up",
    ev.BudgetBegan: "began",
}


class EventRows:
    """Words records. `face` says how moments are shown, `node_name` what a node is called."""

    def __init__(self, face: Face, node_name: Callable[[NodeId], str]) -> None:
        """Keep what is needed to word them."""
        self._face, self._node = face, node_name

    def row(self, record: Record) -> dict[str, Any] | None:
        """Return a record as an event: `kind`, `at`, and whom it is about. None: it is none of people's business."""
        told = self._of_job(record) or self._of_machine(record) or self._of_rest(record) or self._of_flow(record)
        return told and {"kind": told.pop("kind"), "at": self._face.at(record.at_us), **told}

    def _of_job(self, r: Record) -> dict[str, Any] | None:
        match r:
            case ev.Submitted():
                return {"kind": "submitted", "job": r.job}
            case ev.Refused():
                return {"kind": "refused", "job": r.job, "cause": self._text(r.reason)}
            case ev.JobWaits():
                return {"kind": "waits", "job": r.job, "cause": "; ".join(map(self._text, r.reasons))}
            case ev.Reserved():
                start = self._face.at(r.start_us) if r.grants else None
                return {"kind": "reserved", "job": r.job, "start": start, "nodes": self._nodes(r.grants)}
            case ev.Started():
                told = {"attempt": r.attempt, "nodes": self._nodes(r.grants), "cause": self._text(r.cause)}
                return {"kind": "started", "job": r.job, **told}
            case ev.TaskStarted():
                return {"kind": "running", "job": r.task.job, "attempt": r.task.attempt, "task": r.task.index}
            case ev.Resized():
                told = {"attempt": r.attempt, "more": len(r.more), "less": len(r.less)}
                return {"kind": "resized", "job": r.job, **told, "cause": self._text(r.cause)}
            case _:
                return self._of_end(r) or self._of_person(r)

    def _of_end(self, r: Record) -> dict[str, Any] | None:
        match r:
            case ev.Stopping() | ev.AttemptEnded():
                kind = "stopping" if isinstance(r, ev.Stopping) else "attempt_ended"
                told = {"attempt": r.attempt, "end": str(r.end), "cause": self._text(r.cause)}
                return {"kind": kind, "job": r.job, **told}
            case ev.Requeued():
                return {"kind": "requeued", "job": r.job, "cause": self._text(r.cause)}
            case ev.Ended():
                cause = None if r.reason is None else self._text(r.reason)
                return {"kind": "ended", "job": r.job, "state": str(r.state), "cause": cause}
            case fe.Reopened():
                return {"kind": "rerun", "job": r.job}
            case _:
                return None

    @staticmethod
    def _of_person(r: Record) -> dict[str, Any] | None:
        match r:
            case ev.Paused():
                return {"kind": "suspended" if r.paused else "resumed", "job": r.job, "attempt": r.attempt}
            case ev.HoldAsked():
                return {"kind": "held", "job": r.job, "by": r.by}
            case ev.ReleaseAsked():
                return {"kind": "released", "job": r.job, "by": r.by}
            case ev.Changed():
                return {"kind": "changed", "job": r.job, "by": r.by}
            case _:
                return None

    def _of_machine(self, r: Record) -> dict[str, Any] | None:
        match r:
            case ev.NodeAdded():
                return {"kind": "node_ready", "node": r.spec.name}
            case ev.NodeHeard():
                return {"kind": "node_ready", "node": self._node(r.node)}
            case ev.NodeQuiet():
                return {"kind": "node_quiet", "node": self._node(r.node)}
            case ev.NodeLost():
                return {"kind": "node_lost", "node": self._node(r.node)}
            case ev.NodeRemoved():
                return {"kind": "node_gone", "node": self._node(r.node)}
            case ev.NodeDrained():
                return {"kind": "drained" if r.drained else "node_ready", "node": self._node(r.node)}
            case ev.NodeNoticed():
                return {"kind": "drained", "node": self._node(r.node), "gone": self._face.at(r.gone_us)}
            case _:
                return self._of_devices(r)

    def _of_devices(self, r: Record) -> dict[str, Any] | None:
        if isinstance(r, ev.DevicesChanged):
            return {"kind": "device_unhealthy", "node": self._node(r.node), "devices": list(r.unhealthy)}
        if isinstance(r, ev.Forecasted):
            return {"kind": "forecast", "job": r.job, **forecast_row(r.forecast)}
        if isinstance(r, ev.Sized):
            return {"kind": "sized", "job": r.job, "needs": [need_row(need) for need in r.needs]}
        if isinstance(r, ev.Progressed):
            return {"kind": "progress", "job": r.job, "attempt": r.attempt, **progress_row(r)}
        if isinstance(r, ev.IdleWarned):
            return {"kind": "idle", "job": r.job, "attempt": r.attempt, "since": self._face.at(r.since_us)}
        if isinstance(r, ev.BudgetChanged | ev.BudgetNoticed | ev.BudgetUsedUp | ev.BudgetBegan):
            name = r.budget.name if isinstance(r, ev.BudgetChanged) else r.name
            return {"kind": "budget", "budget": name, "what": _OF_BUDGET[type(r)]}
        return None

    @staticmethod
    def _of_rest(r: Record) -> dict[str, Any] | None:
        match r:
            case ev.ClassWaits():
                return {"kind": "waits"}
            case ev.Booked():
                return {"kind": "booked", "booking": r.booking.name}
            case ev.BookingOver():
                return {"kind": "booking_over", "booking": r.name, "by": r.by}
            case ev.QueueChanged():
                return {"kind": "queue_changed", "queue": r.queue.name}
            case ev.LimitChanged():
                return {"kind": "limit_changed", "limit": r.limit.name}
            case (
                ev.PolicyChanged()
                | pe.ShadowSet()
                | pe.ShadowEnded()
                | pe.Promoted()
                | pe.RolledBack()
                | pe.GuardEnded()
            ):
                return {"kind": "policy_changed"}
            case ev.ControllerStarted():
                return {"kind": "controller_started"}
            case _:
                return None

    @staticmethod
    def _of_flow(r: Record) -> dict[str, Any] | None:
        match r:
            case fe.FlowBegan() | fe.FlowRerun():
                return {"kind": "flow_began", "flow": r.flow}
            case fe.StepBegan() | fe.StepEnded() | fe.PartEntered():
                state = str(r.state) if isinstance(r, fe.StepEnded) else "running"
                return {"kind": "flow_step", "flow": r.flow, "step": r.step, "state": state}
            case fe.FlowEnded():
                return {"kind": "flow_ended", "flow": r.flow, "state": str(r.state)}
            case fe.SearchBegan():
                return {"kind": "search_began", "search": r.spec.name}
            case fe.SearchEnded():
                return {"kind": "search_ended", "search": r.search, "state": str(r.state)}
            case fe.ScheduleSet() | fe.ScheduleRemoved() | fe.SchedulePaused():
                return {
                    "kind": "schedule_changed",
                    "schedule": r.spec.name if isinstance(r, fe.ScheduleSet) else r.name,
                }
            case fe.Ticked():
                return {"kind": "tick", "schedule": r.schedule, "run": r.run or None}
            case _:
                return None

    def _nodes(self, grants: tuple[ev.Grant, ...]) -> list[str]:
        return sorted({self._node(grant.node) for grant in grants})

    def _text(self, reason: Reason) -> str:
        return sentence(reason, self._face.moment)
