"""What is so now, for readers: folded from records, one row replaced at a time, read from any thread without a lock."""

from __future__ import annotations

from collections import Counter, deque
from typing import TYPE_CHECKING

from msgspec.structs import replace

from clearway.control.board_kept import BoardKept
from clearway.control.books import Books
from clearway.control.progress import changed_progress
from clearway.control.rows import JobRow, NodeRow, Progress, QueueRow
from clearway.control.waiters import Waiters
from clearway.model import events as ev
from clearway.model import flow_events as fe
from clearway.model import policy_events as pe
from clearway.model.errors import NotFoundError
from clearway.model.reasons import Code, because
from clearway.model.states import State

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from concurrent.futures import Future

    from clearway.model.events import Grant
    from clearway.model.fleet import LimitSpec, PolicySpec
    from clearway.model.ids import ClassId, JobId
    from clearway.model.reasons import Reason

__all__ = ["Board", "JobRow", "NodeRow", "QueueRow"]

KEPT_FINISHED = 10_000
"""So many finished jobs stay on the board: a screenful for anyone, and about 10 MB. Older ones are in the journal."""

_OfJob = (
    fe.Reopened
    | ev.Joined
    | ev.JobWaits
    | ev.Started
    | ev.Stopping
    | ev.Resized
    | ev.Paused
    | ev.HoldAsked
    | ev.ReleaseAsked
    | ev.Changed
    | ev.AttemptEnded
    | ev.Requeued
    | ev.Ended
)


class Board:
    """Rows by their ids. One thread folds; any may read: take `list(board.jobs.values())`, then look at leisure.

    `class_reasons` hold for every waiting job whose `cls` it is; `reasons` puts both together.
    """

    def __init__(self, kept_finished: int = KEPT_FINISHED) -> None:
        self.jobs: dict[JobId, JobRow] = {}
        self.class_reasons: dict[ClassId, tuple[Reason, ...]] = {}
        self.limits: dict[str, LimitSpec] = {}
        self.bookings: dict[str, ev.Booked] = {}
        self.policy: PolicySpec | None = None
        self.books = Books()
        self.nodes, self.node_names, self.queues = self.books.nodes, self.books.node_names, self.books.queues
        self._newest: dict[str, JobId] = {}
        self._members: Counter[ClassId] = Counter()
        self._finished: deque[JobId] = deque()
        self._kept = kept_finished
        self._waiters = Waiters()
        self.on_attempt_over: Callable[[JobId, int], None] = _nothing
        """Called, in the thread that folds, with each attempt of a job that is over, and at the job's end again."""

    # --- for readers ---------------------------------------------------------------------------

    def named(self, name: str) -> JobId | None:
        """Return the newest job on the board with this name."""
        return self._newest.get(name)

    def reasons(self, row: JobRow) -> tuple[Reason, ...]:
        """Return why a job waits: its own reasons, or those of its class."""
        return row.reasons if row.cls is None else self.class_reasons.get(row.cls, ())

    def holders(self) -> list[tuple[JobId, tuple[Grant, ...]]]:
        """Return which job holds which grants now."""
        return self.books.holders()

    def when_over(self, job: JobId) -> Future[JobRow]:
        """Return a future of the job's row when it has ended. It fails with NotFoundError where no such job is here."""
        future = self._waiters.add(job)
        row = self.jobs.get(job)  # looked up after the future stands in the line: no end is missed between the two
        if row is None:
            self._waiters.fail(job, NotFoundError(f"there is no job {job} among those at hand"))
        elif row.over:
            self._waiters.resolve(job, row)
        return future

    @staticmethod
    def row_of(records: Iterable[ev.Record], job: JobId) -> JobRow:
        """Return the row of a job that is no longer on the board, from its records. NotFoundError: there are none."""
        board = Board()
        board.fold(records)
        if job not in board.jobs:
            raise NotFoundError(f"there is no job {job}")
        return board.jobs[job]

    # --- for the driver ------------------------------------------------------------------------

    def fold(self, records: Iterable[ev.Record]) -> None:
        """Take in what happened."""
        for record in records:
            self._fold(record)

    def taken(self) -> BoardKept:
        """Return all that it shows, for a snapshot."""
        return BoardKept(
            tuple(self.jobs.values()),
            tuple(self.class_reasons.items()),
            tuple(self.limits.values()),
            tuple(self.bookings.values()),
            self.policy,
            dict(self._newest),
            tuple(self._finished),
            self.books.taken(),
        )

    def put_back(self, kept: BoardKept) -> None:
        """Show what another one showed. To be called on an empty board, before anyone reads it."""
        self.class_reasons.update(kept.class_reasons)
        self.limits.update((limit.name, limit) for limit in kept.limits)
        self.bookings.update((booked.booking.name, booked) for booked in kept.bookings)
        self.policy = kept.policy
        self._newest.update(kept.newest)
        self._finished.extend(kept.finished)
        self._members.update(row.cls for row in kept.jobs if row.cls is not None)
        self.books.put_back(kept.books)
        self.jobs.update((row.id, row) for row in kept.jobs)
        self._forget_oldest()

    def _fold(self, record: ev.Record) -> None:
        match record:
            case ev.ClassWaits():
                self.class_reasons[record.cls] = record.reasons
            case ev.Submitted() | ev.Refused():
                self._enter(record)
            case ev.Booked():
                self.bookings[record.booking.name] = record
            case ev.BookingOver():
                self.bookings.pop(record.name, None)
            case ev.LimitChanged():
                self.limits[record.limit.name] = record.limit
            case ev.PolicyChanged() | pe.Promoted() | pe.RolledBack():
                self.policy = record.policy
            case ev.TaskStarted() | ev.TaskEnded() | ev.TaskIdle():
                self._fold_task(record)
            case (
                ev.NodeAdded() | ev.NodeRemoved() | ev.NodeQuiet() | ev.NodeHeard() | ev.NodeDrained() | ev.NodeLost()
                | ev.NodeNoticed() | ev.DevicesChanged() | ev.QueueChanged() | ev.ControllerStarted() | ev.Sized()
            ):  # fmt: skip
                self.books.fold(record)
                self._forget_idle(record)
            case ev.Reserved():
                self._promise(record)
            case (
                ev.CancelAsked() | ev.SuspendAsked() | ev.ResumeAsked() | ev.RequeueAsked() | ev.Planned()
                | fe.FlowBegan() | fe.FlowRerun() | fe.StepBegan() | fe.PartEntered() | fe.LoopEnded() | fe.StepEnded()
                | fe.StepAnswered() | fe.StepSkipped() | fe.FlowStopping() | fe.FlowEnded()
                | fe.ClockSet() | fe.ScheduleSet() | fe.ScheduleRemoved() | fe.SchedulePaused() | fe.Ticked()
                | fe.TicksMissed() | fe.RunFreed()
                | fe.SearchBegan() | fe.TrialEntered() | fe.TrialReported() | fe.SearchStopping() | fe.SearchEnded()
                | ev.Forecasted() | ev.Progressed()
                | ev.IdleWarned() | ev.BudgetChanged() | ev.BudgetNoticed() | ev.BudgetUsedUp() | ev.BudgetBegan()
                | pe.ShadowSet() | pe.ShadowEnded() | pe.GuardEnded()
                | ev.MachineTypeChanged() | ev.MachineOrdered() | ev.MachineIdle() | ev.MachineGone()
            ):  # fmt: skip
                pass  # wishes and plans: what comes of them follows as records of its own
            case _:
                if (row := self.jobs.get(record.job)) is not None:
                    self._fold_job(row, record)

    def _forget_idle(self, record: ev.Record) -> None:
        """Know of nobody any more that its devices do nothing, where whoever measures begins anew."""
        if isinstance(record, ev.ControllerStarted):
            for row in [row for row in self.jobs.values() if row.idle]:
                self._put(replace(row, idle=()))

    def _promise(self, record: ev.Reserved) -> None:
        row = self.jobs.get(record.job)
        if row is not None and not row.over:
            start_us = record.start_us if record.grants else None
            self._put(replace(row, promised_us=start_us, promised=record.grants))

    def _enter(self, record: ev.Submitted | ev.Refused) -> None:
        if isinstance(record, ev.Refused):
            row = JobRow(record.job, record.name, State.REFUSED, "", 0, "", 0, 0, record.at_us)
            self._put(replace(row, ended_us=record.at_us, reason=record.reason))
            return
        spec = record.spec
        tasks = sum(role.tasks for role in spec.roles)
        self.books.enter(record.job, spec)
        first = (record.job, spec.name, State.PENDING, spec.queue, spec.priority, spec.user)
        row = JobRow(*first, tasks, spec.milli_gpus, record.since_us if record.array else record.at_us)
        row = replace(row, tenant=spec.tenant)
        if record.array:
            row = replace(row, array=record.array, index=spec.index, reasons=(because(Code.ARRAY_TURN),))
        self._put(row if spec.array is None else replace(row, progress=Progress(spec.array)))

    def _fold_task(self, record: ev.TaskStarted | ev.TaskEnded | ev.TaskIdle) -> None:
        row = self.jobs.get(record.task.job)
        if row is None or row.attempt != record.task.attempt:
            return
        if isinstance(record, ev.TaskStarted):
            if self.books.all_up(record.task) and row.state is State.STARTING:
                self._put(replace(row, state=State.RUNNING))
            return
        if isinstance(record, ev.TaskIdle):
            task, others = record.task, [one for one in row.idle if one[:2] != (record.task.role, record.task.index)]
            since = [] if record.since_us is None else [(task.role, task.index, record.since_us)]
            self._put(replace(row, idle=tuple(sorted(others + since))))
            return
        self.books.free(record.task)
        if record.exit_code is not None and not row.exit_code:
            self._put(replace(row, exit_code=record.exit_code))

    def _fold_job(self, row: JobRow, record: _OfJob) -> None:  # noqa: PLR0912  one case a record
        match record:
            case ev.Joined():
                self._put(replace(row, cls=record.cls, reasons=()))
            case ev.JobWaits():
                self._put(replace(row, cls=None, reasons=record.reasons))
            case ev.Started():
                self.books.hold(record)
                started = replace(row, state=State.STARTING, started_us=record.at_us, attempt=record.attempt)
                started = replace(started, promised_us=None, promised=(), stopped_us=None, idle=())
                self._put(replace(started, grants=record.grants, cls=None, reasons=(), exit_code=None))
            case ev.Resized():
                self.books.more(record)
                kept = tuple(grant for grant in row.grants if grant not in record.less)
                self._put(replace(row, grants=kept + record.more))
            case ev.Stopping():
                self._put(replace(row, state=State.STOPPING))
            case ev.Paused():
                self._put(replace(row, state=State.SUSPENDED if record.paused else State.RUNNING))
            case ev.HoldAsked():
                self._put(replace(row, held_by=record.by))
            case ev.ReleaseAsked():
                self._put(replace(row, held_by=None))
            case ev.Changed():
                self.books.enter(record.job, record.spec)
                self._put(replace(row, queue=record.spec.queue, priority=record.spec.priority))
            case fe.Reopened():
                self.books.enter(record.job, record.spec)
                again = replace(row, state=State.PENDING, reason=None, ended_us=None)
                again = replace(again, stopped_us=row.stopped_us or row.ended_us)
                self._put(replace(again, queue=record.spec.queue, priority=record.spec.priority))
            case ev.AttemptEnded():
                self.books.free_all(record.job)
                self._put(replace(row, idle=()) if row.idle else row)
                self.on_attempt_over(record.job, record.attempt)
            case ev.Requeued():
                again = replace(row, state=State.PENDING, grants=(), ended_us=None, stopped_us=record.at_us)
                self._put(replace(again, cls=None, reasons=(record.cause,)))
            case ev.Ended():
                well = row.progress is not None and record.state is State.SUCCEEDED
                over = replace(row, state=record.state, reason=record.reason, ended_us=record.at_us, promised_us=None)
                over = replace(over, promised=(), exit_code=0 if well else row.exit_code)
                self.books.free_all(record.job)
                self._put(replace(over, cls=None, reasons=()))
                self.on_attempt_over(record.job, row.attempt)

    def _put(self, row: JobRow) -> None:
        old = self.jobs.get(row.id)
        self.jobs[row.id] = row
        self._move(None if old is None else old.cls, row.cls)
        self.books.count(old, row)
        if old is None:
            self._newest[row.name] = row.id
        if row.array is not None:
            self._count_in_array(row.array, old, row)
        if row.over and (old is None or not old.over):
            if row.id in self.jobs:
                self._finished.append(row.id)
            self._forget_oldest()
            self._waiters.resolve(row.id, row)

    def _count_in_array(self, array: JobId, old: JobRow | None, row: JobRow) -> None:
        """Say of an array what has become of one of its jobs. One that went well is told of no more."""
        whole = self.jobs.get(array)
        if whole is not None and whole.progress is not None:
            whole = replace(whole, progress=changed_progress(whole.progress, old, row))
            if row.state is State.STARTING and whole.state is State.PENDING:
                whole = replace(whole, state=State.RUNNING, started_us=row.started_us)
            if row.state is State.FAILED and whole.exit_code is None:
                whole = replace(whole, exit_code=row.exit_code)
            self.jobs[array] = whole
            if row.state is State.SUCCEEDED:
                self._forget(row)

    def _move(self, old: ClassId | None, new: ClassId | None) -> None:
        """Count a job in its class; the reasons of one that has no jobs any more are forgotten, as the line does."""
        if old == new:
            return
        if new is not None:
            self._members[new] += 1
        if old is not None:
            self._members[old] -= 1
            if not self._members[old]:
                del self._members[old]
                self.class_reasons.pop(old, None)

    def _forget_oldest(self) -> None:
        while len(self._finished) > self._kept:
            row = self.jobs.get(self._finished.popleft())
            if row is None or not row.over:
                continue  # run again since, or forgotten at an earlier end
            self._forget(row)

    def _forget(self, row: JobRow) -> None:
        del self.jobs[row.id]
        self.books.forget(row.id)
        if self._newest.get(row.name) == row.id:
            del self._newest[row.name]


def _nothing(_job: JobId, _attempt: int) -> None:
    """Tell nobody."""
