"""Records folded into the timeline of docs/timeline.md: jobs with attempts and waits, events, a summary.

    timeline = Timeline()
    for record in records:
        timeline.apply(record)
    timeline.as_dict()

Times are seconds since `start_us` unless another face is asked for. Nothing is decided here: what a job waits for,
and why it started or ended, is what the records say.
"""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING, Any

from clearway.model import events as ev
from clearway.model import policy_events as pe
from clearway.model.flow_events import PartEntered, Reopened, Ticked, TrialEntered
from clearway.model.job import WHOLE
from clearway.model.reasons import Code, because
from clearway.model.states import State, shown
from clearway.model.use import together
from clearway.model.values import SECOND_US
from clearway.observe import amounts
from clearway.observe.flow_lines import FlowLines
from clearway.observe.forecast_words import forecast_row, progress_row
from clearway.observe.need_words import need_row
from clearway.observe.summary import Summary
from clearway.observe.tracks import AttemptTrack, ClassHistory, JobTrack, MachineTrack, TaskTrack, stretches
from clearway.observe.words import needs, sentence

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from clearway.model.events import Record
    from clearway.model.ids import ClassId, JobId, NodeId
    from clearway.model.reasons import Reason
    from clearway.model.use import Used
    from clearway.ports.journal import Entry, Journal


class Face:
    """How moments of the driver's clock are shown: as a value (`at`) and inside a sentence (`moment`)."""

    def __init__(self, start_us: int = 0) -> None:
        """Count seconds from `start_us`."""
        self.start_us = start_us

    def at(self, us: int) -> float | str:
        """Return the value of a moment."""
        return (us - self.start_us) / SECOND_US

    def moment(self, us: int) -> str:
        """Return a moment in words."""
        return amounts.seconds(us - self.start_us)


class Timeline:
    """A fold over records. `busy` names in thousandths how much of its devices a job really uses, if not all."""

    def __init__(
        self,
        face: Face | None = None,
        busy: Mapping[str, int] | None = None,
        node_name: Callable[[NodeId], str] | None = None,
    ) -> None:
        """Start with nothing; `node_name` names nodes whose joining is not among the records."""
        self._face = face or Face()
        self._summary = Summary(busy)
        self._node_name = node_name
        self._nodes: dict[NodeId, str] = {}
        self._lost: set[NodeId] = set()
        self._machines: dict[NodeId, MachineTrack] = {}
        self._jobs: dict[JobId, JobTrack] = {}
        self._live: dict[JobId, JobTrack] = {}
        self._classes: dict[ClassId, ClassHistory] = {}
        self._events: list[dict[str, Any]] = []
        self._flows = FlowLines(self._face.at, self._reason, lambda job: str(shown(self._jobs[job].state)))
        self._worded: dict[Reason, dict[str, Any]] = {}
        self._on: dict[type, Callable[[Any], None]] = {
            ev.Submitted: self._submitted, ev.Refused: self._refused, ev.Joined: self._joined,
            ev.ClassWaits: self._class_waits, ev.JobWaits: self._job_waits, ev.Started: self._started,
            ev.Stopping: self._stopping, ev.Resized: self._resized,
            ev.TaskEnded: self._task_ended, ev.AttemptEnded: self._attempt_ended,
            ev.Ended: self._ended, ev.Requeued: self._requeued, ev.Paused: self._paused, ev.Reserved: self._reserved,
            ev.NodeAdded: self._node_added, ev.NodeLost: self._node_lost, ev.NodeHeard: self._node_heard,
            ev.NodeDrained: self._node_drained, ev.NodeNoticed: self._node_noticed,
            ev.DevicesChanged: self._devices_changed,
            ev.QueueChanged: self._queue_changed, ev.PolicyChanged: self._policy_changed,
            pe.Promoted: self._policy_changed, pe.RolledBack: self._policy_changed,
            ev.HoldAsked: self._hold_asked, ev.ReleaseAsked: self._release_asked, ev.Changed: self._changed,
            Reopened: self._reopened, ev.Booked: self._booked, ev.BookingOver: self._booking_over,
            ev.MachineOrdered: self._machine_ordered, ev.MachineGone: self._machine_gone,
            ev.NodeRemoved: self._node_removed, ev.IdleWarned: self._idle_warned,
            ev.Forecasted: self._forecasted, ev.Sized: self._sized,
            ev.Progressed: self._progressed,
        }  # fmt: skip

    def apply(self, record: Record) -> None:
        """Take the next record."""
        self._summary.apply(record)
        self._flows.apply(record)
        handler = self._on.get(type(record))
        if handler:
            handler(record)

    def as_dict(self) -> dict[str, Any]:
        """Return the timeline of all records so far."""
        jobs: dict[str, Any] = {}
        for track in self._jobs.values():
            # Names may repeat in a live product; the later ones then carry their number.
            jobs[track.name if track.name not in jobs else f"{track.name} ({track.job})"] = self.entry(track.job)
        larger = {
            "workflows": self._flows.as_dict(),
            "schedules": self._flows.schedules(),
            "searches": self._flows.searches(),
            "machines": {track.name: self._machine(track) for track in self._machines.values()},
        }
        return {
            "jobs": jobs,
            **{part: entries for part, entries in larger.items() if entries},
            "events": self._events,
            "summary": self._summary.as_dict(),
        }

    def entry(self, job: JobId) -> dict[str, Any]:
        """Return the entry of one job."""
        track = self._jobs[job]
        return {
            "state": str(shown(track.state)),
            "submitted": self._face.at(track.submitted_us),
            "ended": self._at(track.ended_us),
            "reason": track.reason and self._reason(track.reason),
            "attempts": [self._attempt(track, a) for a in track.attempts],
            "waits": [
                {"from": self._face.at(a), "to": self._at(b), "reasons": [self._reason(r) for r in reasons]}
                for a, b, reasons in stretches(track, self._classes)
            ],
        }

    # --- what is shown ---

    def _at(self, us: int | None) -> float | str | None:
        return None if us is None else self._face.at(us)

    def _reason(self, reason: Reason) -> dict[str, Any]:
        known = self._worded.get(reason)
        if known is None:
            known = {"code": str(reason.code), "text": self._text(reason)}
            asked = needs(reason)
            if asked:
                known["needs"] = asked
            self._worded[reason] = known
        return known

    def _text(self, reason: Reason) -> str:
        return sentence(reason, self._face.moment)

    def _attempt(self, track: JobTrack, attempt: AttemptTrack) -> dict[str, Any]:
        return {
            "number": attempt.number,
            "from": self._face.at(attempt.from_us),
            "to": self._at(attempt.to_us),
            "end": None if attempt.end is None else str(attempt.end),
            "cause": None if attempt.cause is None else self._text(attempt.cause),
            "tasks": [self._task(track, task) for task in attempt.tasks],
            **({"used": used_row(attempt.used)} if attempt.used else {}),
        }

    def _task(self, track: JobTrack, task: TaskTrack) -> dict[str, Any]:
        grant = task.grant
        return {
            "role": track.spec.roles[grant.role].name if track.spec else str(grant.role),
            "index": grant.index,
            "node": self._node(grant.node),
            "devices": list(grant.devices),
            "share": grant.share,
            **({"gpu_memory": grant.gpu_memory} if grant.gpu_memory else {}),
            "from": self._face.at(task.from_us),
            "to": self._at(task.to_us),
        }

    def _machine(self, track: MachineTrack) -> dict[str, Any]:
        return {
            "type": track.kind,
            "ordered": self._face.at(track.ordered_us),
            "ready": self._at(track.ready_us),
            "gone": self._at(track.gone_us),
            "cause": self._text(track.cause),
            "reason": track.reason and self._reason(track.reason),
        }

    def _node(self, node: NodeId) -> str:
        known = self._nodes.get(node)
        if known is None:
            return self._node_name(node) if self._node_name else str(node)
        return known

    def _event(self, at_us: int, kind: str, **more: object) -> None:
        self._events.append({"at": self._face.at(at_us), "kind": kind, **more})

    # --- one method per kind of record ---

    def _submitted(self, r: ev.Submitted) -> None:
        since_us = r.since_us if r.array else r.at_us
        track = self._jobs[r.job] = JobTrack(r.job, r.spec.name, r.spec, since_us, array=r.array or None)
        track.wait(since_us, (because(Code.ARRAY_TURN),) if r.array else ())
        self._event(since_us, "submitted", job=track.name)

    def _refused(self, r: ev.Refused) -> None:
        self._jobs[r.job] = JobTrack(r.job, r.name, None, r.at_us, State.REFUSED, r.at_us, r.reason)
        self._event(r.at_us, "refused", job=r.name, cause=self._text(r.reason))

    def _joined(self, r: ev.Joined) -> None:
        self._jobs[r.job].wait(r.at_us, r.cls)

    def _class_waits(self, r: ev.ClassWaits) -> None:
        self._classes.setdefault(r.cls, ClassHistory()).add(r.at_us, r.reasons)

    def _job_waits(self, r: ev.JobWaits) -> None:
        self._jobs[r.job].wait(r.at_us, r.reasons)

    def _started(self, r: ev.Started) -> None:
        track = self._jobs[r.job]
        track.go_on(r.at_us)
        track.state = State.RUNNING
        if track.array is not None and track.array in self._jobs:
            self._jobs[track.array].state = State.RUNNING
        self._live[r.job] = track
        track.attempts.append(AttemptTrack(r.attempt, r.at_us, [TaskTrack(g, r.at_us) for g in r.grants]))
        self._event(r.at_us, "started", job=track.name, attempt=r.attempt, cause=self._text(r.cause))

    def _stopping(self, r: ev.Stopping) -> None:
        track = self._jobs[r.job]
        self._event(r.at_us, "stopping", job=track.name, attempt=r.attempt, end=str(r.end), cause=self._text(r.cause))

    def _forecasted(self, r: ev.Forecasted) -> None:
        self._event(r.at_us, "forecast", job=self._jobs[r.job].name, **forecast_row(r.forecast))

    def _sized(self, r: ev.Sized) -> None:
        self._event(r.at_us, "sized", job=self._jobs[r.job].name, needs=[need_row(need) for need in r.needs])

    def _progressed(self, r: ev.Progressed) -> None:
        self._event(r.at_us, "progress", job=self._jobs[r.job].name, attempt=r.attempt, **progress_row(r))

    def _idle_warned(self, r: ev.IdleWarned) -> None:
        since = self._face.at(r.since_us)
        self._event(r.at_us, "idle", job=self._jobs[r.job].name, attempt=r.attempt, since=since)

    def _resized(self, r: ev.Resized) -> None:
        track = self._jobs[r.job]
        attempt = track.attempts[-1]
        attempt.tasks.extend(TaskTrack(g, r.at_us) for g in r.more)
        more, less = len(r.more), len(r.less)
        self._event(
            r.at_us, "resized", job=track.name, attempt=r.attempt, more=more, less=less, cause=self._text(r.cause)
        )

    def _task_ended(self, r: ev.TaskEnded) -> None:
        track = self._jobs.get(r.task.job)
        for attempt in track.attempts[-1:] if track else ():
            for task in attempt.tasks if attempt.number == r.task.attempt else ():
                same = (task.grant.role, task.grant.index) == (r.task.role, r.task.index)
                if same and task.to_us is None:
                    task.to_us = r.at_us
                    attempt.used += [] if r.used is None else [r.used]

    def _attempt_ended(self, r: ev.AttemptEnded) -> None:
        track = self._jobs[r.job]
        attempt = track.attempts[-1]
        attempt.to_us, attempt.end = r.at_us, r.end
        attempt.cause = None if r.end == "succeeded" else r.cause
        attempt.close(r.at_us)
        self._live.pop(r.job, None)
        track.state = State.PENDING
        track.wait(r.at_us, ())

    def _requeued(self, r: ev.Requeued) -> None:
        # An attempt may be given up while nothing of the job waits yet; the wait opened at its end goes on.
        self._jobs[r.job].state = State.PENDING

    def _ended(self, r: ev.Ended) -> None:
        track = self._jobs[r.job]
        track.go_on(r.at_us)
        track.state, track.ended_us, track.reason = r.state, r.at_us, r.reason
        cause = {"cause": self._text(r.reason)} if r.reason else {}
        self._event(r.at_us, "ended", job=track.name, state=str(r.state), **cause)

    def _reopened(self, r: Reopened) -> None:
        track = self._jobs[r.job]
        track.spec, track.state, track.ended_us, track.reason = r.spec, State.PENDING, None, None
        track.wait(r.at_us, ())
        self._event(r.at_us, "rerun", job=track.name)

    def _paused(self, r: ev.Paused) -> None:
        kind = "suspended" if r.paused else "resumed"
        self._event(r.at_us, kind, job=self._jobs[r.job].name, attempt=r.attempt)

    def _hold_asked(self, r: ev.HoldAsked) -> None:
        self._event(r.at_us, "held", job=self._jobs[r.job].name)

    def _release_asked(self, r: ev.ReleaseAsked) -> None:
        self._event(r.at_us, "released", job=self._jobs[r.job].name)

    def _changed(self, r: ev.Changed) -> None:
        track = self._jobs[r.job]
        track.spec = r.spec
        self._event(r.at_us, "changed", job=track.name)

    def _booked(self, r: ev.Booked) -> None:
        nodes = [self._node(node) for node, _ in r.places]
        start, end = self._face.at(r.booking.from_us), self._face.at(r.booking.to_us)
        self._event(r.at_us, "booked", booking=r.booking.name, nodes=nodes, start=start, end=end)

    def _booking_over(self, r: ev.BookingOver) -> None:
        self._event(r.at_us, "booking_over", booking=r.name)

    def _reserved(self, r: ev.Reserved) -> None:
        track = self._jobs[r.job]
        if not r.grants:
            track.promises.append((r.at_us, None))
            return
        nodes = sorted({self._node(g.node) for g in r.grants})
        track.promises.append((r.at_us, because(Code.RESERVATION, start_us=r.start_us, node=", ".join(nodes))))
        self._event(r.at_us, "reserved", job=track.name, start=self._face.at(r.start_us), nodes=nodes)

    def _node_added(self, r: ev.NodeAdded) -> None:
        known = r.node in self._nodes and r.node not in self._lost
        self._nodes[r.node] = r.spec.name
        if r.node in self._machines and self._machines[r.node].ready_us is None:
            self._machines[r.node].ready_us = r.at_us
        self._lost.discard(r.node)
        if not known and r.at_us > self._face.start_us:
            self._event(r.at_us, "node_ready", node=r.spec.name)

    def _machine_ordered(self, r: ev.MachineOrdered) -> None:
        self._nodes[r.node] = r.name
        self._lost.add(r.node)  # it is not there before it has joined
        self._machines[r.node] = MachineTrack(r.name, r.kind, r.at_us, r.cause)

    def _machine_gone(self, r: ev.MachineGone) -> None:
        track = self._machines[r.node]
        track.gone_us, track.reason = r.at_us, r.cause

    def _node_removed(self, r: ev.NodeRemoved) -> None:
        track = self._machines.get(r.node)
        if track is not None and track.gone_us is None:
            track.gone_us, track.reason = r.at_us, because(Code.NODE_LOST, node=track.name)
        self._free_all_on(r.node, r.at_us)

    def _node_lost(self, r: ev.NodeLost) -> None:
        self._lost.add(r.node)
        self._event(r.at_us, "node_lost", node=self._node(r.node))
        self._free_all_on(r.node, r.at_us)

    def _free_all_on(self, node: NodeId, now_us: int) -> None:
        for track in self._live.values():
            for task in track.attempts[-1].tasks:
                if task.grant.node == node and task.to_us is None:
                    task.to_us = now_us

    def _node_heard(self, r: ev.NodeHeard) -> None:
        if r.node in self._lost:
            self._lost.discard(r.node)
            self._event(r.at_us, "node_ready", node=self._node(r.node))

    def _node_drained(self, r: ev.NodeDrained) -> None:
        self._event(r.at_us, "drained" if r.drained else "node_ready", node=self._node(r.node))

    def _node_noticed(self, r: ev.NodeNoticed) -> None:
        self._event(r.at_us, "drained", node=self._node(r.node), gone=self._face.at(r.gone_us))

    def _devices_changed(self, r: ev.DevicesChanged) -> None:
        self._event(r.at_us, "device_unhealthy", node=self._node(r.node), devices=list(r.unhealthy))

    def _queue_changed(self, r: ev.QueueChanged) -> None:
        if r.at_us > self._face.start_us:
            self._event(r.at_us, "queue_changed", queue=r.queue.name)

    def _policy_changed(self, r: ev.PolicyChanged | pe.Promoted | pe.RolledBack) -> None:
        if r.at_us > self._face.start_us:
            self._event(r.at_us, "policy_changed")


def used_row(every: list[Used]) -> dict[str, Any]:
    """Return what the tasks of an attempt used together: CPUs, bytes, and of their devices the part that worked."""
    all_of = together(every)
    return {
        "cpus": _plain(all_of.cpus),
        "peak_cpus": _plain(all_of.peak_cpus),
        "peak_memory": all_of.peak_memory,
        "gpus": _plain(all_of.busy),
        "peak_gpu_memory": all_of.peak_gpu_memory,
        "worked": all_of.worked,
    }


def _plain(thousandths: int | None) -> float | None:
    return None if thousandths is None else thousandths / WHOLE


_OF_WHOLES = (PartEntered, TrialEntered, Ticked)


def job_entry(
    records: Iterable[Record],
    job: JobId,
    node_name: Callable[[NodeId], str],
    face: Face | None = None,
) -> dict[str, Any]:
    """Return the timeline entry of one job from its records and those of its classes (`records_of`)."""
    timeline = Timeline(face, node_name=node_name)
    for record in records:
        timeline.apply(record)
    return timeline.entry(job)


def records_of(journal: Journal, job: JobId) -> list[Record]:
    """Return what a journal says of one job, and why its classes waited, in order.

    That it is a part of a workflow, a trial or the run of a tick is left out: it is told of those, which are not here.
    """
    mine = list(journal.of_job(job))
    classes = {e.record.cls for e in mine if isinstance(e.record, ev.Joined)}
    both: Iterable[Entry] = heapq.merge(mine, *(journal.of_class(c) for c in sorted(classes)), key=_number)
    return [entry.record for entry in both if not isinstance(entry.record, _OF_WHOLES)]


def _number(entry: Entry) -> int:
    return entry.number
