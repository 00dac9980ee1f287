"""The state of the world, and the one way in which it changes: applying records.

Replaying a journal through `apply` gives the same state as living through it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from clearway.core.ledger import Held
from clearway.core.line import Waiting
from clearway.core.protocols import Candidate
from clearway.core.view import Reservation, View, waits_again
from clearway.loop import (
    arrays,
    budget_state,
    changes,
    flow_changes,
    forecast_state,
    idle_changes,
    machine_changes,
    notice_changes,
    policies,
    silence,
    sizing,
    yielding,
)  # fmt: skip
from clearway.loop.entry import OWN_FAILURES, JobEntry
from clearway.loop.flow_state import Flows
from clearway.loop.inherit import inherit, lend_anew, outranked
from clearway.loop.lenders import Lenders
from clearway.loop.machine_changes import Machines
from clearway.loop.past import Gone, Past, key_of
from clearway.loop.planned import apply_planned
from clearway.loop.timers import OF_JOBS, Due, Timer, Timers
from clearway.model import events as ev
from clearway.model.errors import LedgerError
from clearway.model.ids import JobId
from clearway.model.reasons import Code
from clearway.model.states import MOVES, TERMINAL, End, State
from clearway.policies.registry import orders_of, rules_for

if TYPE_CHECKING:
    from collections.abc import Callable

    from clearway.loop.past import Keys
    from clearway.model.events import Record, TaskRef
    from clearway.model.fleet import PolicySpec
    from clearway.model.ids import NodeId


class WorldState:
    """Jobs, nodes, timers and the view that decisions are made on."""

    def __init__(self, policy: PolicySpec, seed: int) -> None:
        """Begin with an empty world."""
        self.policy, self.seed = policy, seed
        self.view = View(rules_for(policy))
        self.lenders = Lenders(self.view.queues)
        self.jobs: dict[JobId, JobEntry] = {}
        self.over = Past()
        self.names: dict[str, JobId] = {}
        self.keys: Keys = {}
        self.gone = Gone()
        self.dependents: dict[JobId, list[JobId]] = {}
        self.arrays: dict[JobId, arrays.Track] = {}
        self.nodes: dict[str, NodeId] = {}
        self.quiet: dict[NodeId, int] = {}
        self.notices: dict[NodeId, tuple[int, ...]] = {}  # when their provider takes them away
        self.lost: dict[NodeId, int] = {}
        self.strays: dict[NodeId, set[TaskRef]] = {}
        self.unhealthy: dict[NodeId, tuple[int, ...]] = {}
        self.timers = Timers()
        self.flows = Flows()
        self.machines = Machines()
        self.budgets = budget_state.Budgets()
        self.runs = forecast_state.Runs()
        self.policies = policies.begun(policy)
        self.next_job = 1
        self.revision = self.cycle = 0
        """How many records have been applied, and how many cycles have decided."""
        self.controller_up_us = 0
        self.ready: dict[JobId, None] = {}
        """Pending jobs that may start now and are not in the line yet, in the order in which they came."""

    # --- reading -------------------------------------------------------------------------------

    def node_name(self, node: NodeId) -> str:
        """Return the name of a node."""
        return self.view.ledger.specs[node].name

    def lease_end_us(self, node: NodeId) -> int:
        """Return when a quiet node is lost: a full lease after it fell silent, and after this controller took over."""
        return max(self.quiet[node], self.controller_up_us) + self.policy.lease_us

    def live(self, task: TaskRef) -> JobEntry | None:
        """Return the job whose current attempt holds a grant for this task, None for anything older or over."""
        entry = self.jobs.get(task.job)
        if entry is None or entry.attempt != task.attempt or (task.role, task.index) not in entry.held:
            return None
        return entry

    def waiting_for(self, job: JobId) -> list[JobEntry]:
        """Return the jobs that wait for a job to succeed, in the order in which they entered."""
        return [self.jobs[other] for other in self.dependents.get(job, ()) if other in self.jobs]

    def priority(self, entry: JobEntry) -> int:
        """Return the priority by which a job is treated: its own, or a larger one that it inherits."""
        return entry.heir[0] if self.policy.priority_inheritance else entry.spec.priority

    def candidate(self, entry: JobEntry) -> Candidate:
        """Return what orders may look at of a job."""
        heir_of = entry.heir[1] if self.policy.priority_inheritance and entry.heir[0] > entry.spec.priority else ""
        mean_us = self.view.forecasts.mean_us(entry.id, entry.spec)
        return Candidate(
            entry.id, entry.spec, entry.submitted_us, mean_us, self.priority(entry), entry.attained, entry.kept_us,
            heir_of, entry.served_us, entry.yielded_to, entry.waiting_since_us,
        )  # fmt: skip

    def waiting(self, entry: JobEntry) -> Waiting:
        """Return a job as the line knows it."""
        bound_us = self.view.forecasts.bound_us(entry.id, entry.spec)
        return Waiting(self.candidate(entry), entry.attempt, bound_us)

    def _may_be_due(self, timer: Timer) -> bool:
        """Return whether a timer may still mean something: it is for no job, or for one that is not over."""
        return timer.due not in OF_JOBS or JobId(timer.number) in self.jobs

    # --- changing ------------------------------------------------------------------------------

    def apply(self, record: Record) -> None:
        """Change the state by one record."""
        self.revision += 1
        self.view.reach(record.at_us)
        self._APPLY[type(record)](self, record)

    def move(self, entry: JobEntry, state: State) -> None:
        """Have a job be in another state; LedgerError where it cannot come to that one."""
        if state not in MOVES[entry.state]:
            raise LedgerError(f"job {entry.id} ({entry.spec.name}) cannot go from {entry.state} to {state}")
        entry.state = state

    def _submitted(self, record: ev.Submitted) -> None:
        entry = JobEntry(record.job, record.spec, record.at_us, ())
        self.jobs[record.job] = entry
        self.next_job = max(self.next_job, record.job + 1)
        arrays.submitted(self, entry, record)
        if key := key_of(record.spec):
            self.keys[key] = (record.job, record.spec)
        for job in record.after:
            if self.over.get(job) != State.SUCCEEDED:
                entry.after.add(job)
            if job not in self.over:
                self.dependents.setdefault(job, []).append(record.job)
        inherit(self, record.job, record.at_us)  # those of its batch that wait for it may have come first
        for upstream in outranked(self, entry):
            inherit(self, upstream, record.at_us)
        self._submit_timers(entry)
        if not entry.after:
            self.ready[record.job] = None

    def _submit_timers(self, entry: JobEntry) -> None:
        spec = entry.spec
        if spec.start_deadline_us is not None:
            self.timers.add(Timer(entry.submitted_us + spec.start_deadline_us, Due.START_DEADLINE, entry.id))
        if spec.deadline_us is not None and spec.on_deadline == "stop":
            self.timers.add(Timer(spec.deadline_us, Due.DEADLINE, entry.id))

    def _refused(self, record: ev.Refused) -> None:
        self.next_job = record.job + 1

    def _queue_changed(self, record: ev.QueueChanged) -> None:
        self.view.set_queue(record.queue, orders_of(record.queue.order, self.policy))
        self.view.changed_limits.update(self.view.queues.specs)
        self.join_anew()

    def join_anew(self) -> None:
        """Have the waiting jobs that belong to another class from now on leave the line, to join it again."""
        for job in self.view.misplaced():
            self.leave_line(self.jobs[job])
            self.ready[job] = None

    def leave_line(self, entry: JobEntry) -> None:
        """Have a job no longer stand in the line, if it does."""
        self.view.leave(entry.id)
        self.lenders.leave(entry)
        entry.cls = None

    def _limit_changed(self, record: ev.LimitChanged) -> None:
        self.view.queues.set_limit(record.limit)
        self.view.changed_limits.add(record.limit.name)
        for job in sorted(self.lenders.holders((record.limit.name,))):
            inherit(self, job, record.at_us)

    def time_leases(self) -> None:
        """Look at every quiet node when its lease is over."""
        for node in self.quiet:
            self.timers.add(Timer(self.lease_end_us(node), Due.LEASE, node))

    def _count_service(self, entry: JobEntry, record: ev.AttemptEnded) -> None:
        """Count the run time and device time that an attempt had, and the work that its checkpoints have kept."""
        ran, point = entry.run_us(record.at_us), entry.spec.checkpoint
        entry.served_us += ran
        entry.waiting_since_us = waits_again(
            entry.waiting_since_us, entry.started_us, record.at_us, self.policy.ageing_us
        )
        entry.attained += ran * (sum(entry.spec.roles[g.role].demand.milli_gpus for g in entry.grants) or 1)
        if point.on_stop or point.every_us:
            entry.kept_us += ran if point.on_stop else ran - ran % point.every_us

    # --- nodes ---------------------------------------------------------------------------------

    def _node_added(self, record: ev.NodeAdded) -> None:
        machine_changes.arrived(self, record.node)
        self.view.ledger.add_node(record.node, record.spec)
        self.nodes[record.spec.name] = record.node
        self.open_if_clean(record.node)

    def open_if_clean(self, node: NodeId) -> None:
        """Let a node take part, or not: while it is lost, quiet, unclean or about to be given back."""
        away = any(node in those for those in (self.lost, self.quiet, self.machines.retired, self.notices))
        is_open = not away and not self.strays.get(node)
        if bool(self.view.ledger.open[node]) != is_open:
            self.view.ledger.set_open(node, is_open=is_open)

    def _node_removed(self, record: ev.NodeRemoved) -> None:
        self._free_all_on(record.node, record.at_us)
        self.machines.forget(record.node)
        machine_changes.clear_slot(self, record.node)

    def _node_quiet(self, record: ev.NodeQuiet) -> None:
        self.quiet[record.node] = record.since_us
        self.timers.add(Timer(self.lease_end_us(record.node), Due.LEASE, record.node))
        self.open_if_clean(record.node)

    def _node_heard(self, record: ev.NodeHeard) -> None:
        silence.ends(self, record)
        self.quiet.pop(record.node, None)
        self.lost.pop(record.node, None)
        self.strays[record.node] = {task for task in record.running if self.live(task) is None}
        notice_changes.past(self, record.node, record.at_us)
        self.open_if_clean(record.node)

    def _node_lost(self, record: ev.NodeLost) -> None:
        self.lost[record.node] = record.at_us
        self.quiet.pop(record.node, None)
        notice_changes.past(self, record.node, record.at_us)
        self._free_all_on(record.node, record.at_us)
        self.open_if_clean(record.node)

    def _free_all_on(self, node: NodeId, now_us: int) -> None:
        for job in sorted(self.view.ledger.on_node[node]):
            entry = self.jobs[job]
            entry.lost_on = self.node_name(node)
            for key, grant in list(entry.held.items()):
                if grant.node == node:
                    self._free(entry, key, now_us)
                    if key in entry.leaving:
                        self._left(entry, key)

    def _left(self, entry: JobEntry, key: tuple[int, int]) -> None:
        """Forget a task that was told to go and is gone: the attempt goes on without it."""
        entry.leaving.discard(key)
        entry.grants = tuple(grant for grant in entry.grants if (grant.role, grant.index) != key)

    def _free(self, entry: JobEntry, key: tuple[int, int], now_us: int) -> None:
        del entry.held[key]
        held = self.view.free_task(entry.id, entry.spec, *key)
        if entry.spec.uses and not entry.held:
            lend_anew(self, entry, now_us)
            self.lenders.release(entry)
            inherit(self, entry.id, now_us)
        if held is not None:
            self.view.ledger.reads(held, (entry.id, *key), now_us, goes=True)
        budget_state.count(self, entry, now_us)

    def _controller_started(self, record: ev.ControllerStarted) -> None:
        self.controller_up_us = record.at_us
        idle_changes.forget(self)
        self.flows.schedules.clock_set(record.at_us, self.flows.schedules.offset_us)
        self.time_leases()

    # --- tasks ---------------------------------------------------------------------------------

    def _task_started(self, record: ev.TaskStarted) -> None:
        entry = self.live(record.task)
        if entry is None:
            return
        key = (record.task.role, record.task.index)
        entry.up.add(key)
        if key in entry.held:
            held = Held(entry.held[key], entry.spec.roles[key[0]].demand)
            self.view.ledger.reads(held, (entry.id, *key), record.at_us)
        if entry.state == State.STARTING and len(entry.up) == len(entry.grants):
            self.move(entry, State.RUNNING)

    def _task_ended(self, record: ev.TaskEnded) -> None:
        entry = self.live(record.task)
        if entry is None:
            for node, strays in self.strays.items():
                if record.task in strays:
                    strays.discard(record.task)
                    self.open_if_clean(node)
            return
        key = (record.task.role, record.task.index)
        if key in entry.leaving:
            # it was told to go: how it went says nothing about the attempt
            self._free(entry, key, record.at_us)
            self._left(entry, key)
            return
        entry.exit_codes[key] = record.exit_code
        entry.oom = entry.oom or record.oom
        sizing.count_took(entry, record)
        if record.result and (not entry.result or key == (0, 0)):
            entry.result = record.result
        if entry.id in self.view.running:
            self.view.running[entry.id].ended_task = True
        if record.error:
            entry.errors.append(record.error)
        self._free(entry, key, record.at_us)

    # --- decisions -----------------------------------------------------------------------------

    def _joined(self, record: ev.Joined) -> None:
        entry = self.jobs[record.job]
        number = self.view.join(self.waiting(entry), record.at_us)
        if number != record.cls:
            raise LedgerError(f"job {entry.id} belongs to class {number}, the record says {record.cls}")
        entry.cls, entry.reasons = number, ()
        self.ready.pop(record.job, None)
        if entry.spec.uses:
            self.lenders.join(entry)
            lend_anew(self, entry, record.at_us)

    def _class_waits(self, record: ev.ClassWaits) -> None:
        cls = self.view.line.classes[record.cls]
        cls.reasons = record.reasons
        self.view.line.new.discard(record.cls)

    def _job_waits(self, record: ev.JobWaits) -> None:
        self.jobs[record.job].reasons = record.reasons

    def _reserved(self, record: ev.Reserved) -> None:
        if record.grants:
            self.view.reservations[record.job] = Reservation(record.job, record.start_us, record.grants, record.held)
            if self.policy.reservation_timeout_us is not None:
                due = record.start_us + self.policy.reservation_timeout_us
                self.timers.add(Timer(due, Due.PROMISE, record.job))
        else:
            self.view.reservations.pop(record.job, None)
        self.view.promises_changed = True

    def _started(self, record: ev.Started) -> None:
        entry = self.jobs[record.job]
        if record.attempt != entry.attempt + 1:
            raise LedgerError(f"job {entry.id}: attempt {record.attempt} follows {entry.attempt}")
        self.leave_line(entry)
        arrays.started(self, entry)
        self.move(entry, State.STARTING)
        entry.begin(record.attempt, record.grants, record.at_us)
        entry.reasons = ()
        if entry.first_started_us is None:
            entry.first_started_us = record.at_us
        held = [Held(grant, entry.spec.roles[grant.role].demand) for grant in record.grants]
        self.view.start(entry.id, entry.spec, held, record.at_us)
        self.view.run(yielding.begins(self, entry, record))
        if entry.spec.uses:
            self.lenders.hold(entry)
            lend_anew(self, entry, record.at_us)
        if entry.spec.time_limit_us is not None:
            self.timers.add(Timer(record.at_us + entry.spec.time_limit_us, Due.TIME_LIMIT, entry.id, entry.attempt))
        budget_state.count(self, entry, record.at_us)

    def _stopping(self, record: ev.Stopping) -> None:
        entry = self.jobs[record.job]
        if entry.state not in (State.STOPPING, State.PENDING):  # an array may be stopped before anything of it runs
            self.move(entry, State.STOPPING)
        entry.intent = record
        if record.end == End.PREEMPTED:
            yielding.stopped(self, entry, record)
        running = self.view.running.get(record.job)
        if running is not None:
            running.stopping = True
            self.view.ends.expect(record.job, record.at_us)
            self.view.promises_changed = True  # its place comes back sooner than it was thought

    def _resized(self, record: ev.Resized) -> None:
        entry = self.jobs[record.job]
        if record.more:
            held = [Held(grant, entry.spec.roles[grant.role].demand) for grant in record.more]
            self.view.more(entry.id, entry.spec, held)
            self.view.running[record.job].use(record.more)
            entry.grants += record.more
            entry.held.update({(grant.role, grant.index): grant for grant in record.more})
            budget_state.count(self, entry, record.at_us)
        less = {(grant.role, grant.index) for grant in record.less}
        yielding.gave_back(self, entry, record)
        entry.leaving |= less
        self.view.running[record.job].leaving |= less
        self.view.victims_changed = True

    def _attempt_ended(self, record: ev.AttemptEnded) -> None:
        entry = self.jobs[record.job]
        forecast_state.count_run(self, entry, record)
        self.view.forecasts.progressed.pop(record.job, None)
        for key in list(entry.held):
            self._free(entry, key, record.at_us)
        self._count_service(entry, record)
        if record.end == End.SUCCEEDED and entry.spec.outputs:
            self.view.ledger.leaves([grant.node for grant in entry.grants], entry.spec.outputs, record.at_us)
        if record.end in OWN_FAILURES:
            entry.retries += 0 if sizing.ran_short(entry, record.end, record.cause) else 1
        elif record.end == End.PREEMPTED:
            entry.preempted_us = record.at_us
        elif record.end in (End.LOST, End.EVICTED) and record.cause.code != Code.REQUEUED:
            entry.losses += 1
        entry.intent = None

    def _requeued(self, record: ev.Requeued) -> None:
        entry = self.jobs[record.job]
        self.move(entry, State.PENDING)
        entry.not_before_us = record.not_before_us
        if record.not_before_us <= record.at_us:
            self.ready[record.job] = None
        else:
            self.timers.add(Timer(record.not_before_us, Due.READY, entry.id, entry.attempt))
        if entry.spec.retry_window_us is not None and entry.first_started_us is not None:
            due = entry.first_started_us + entry.spec.retry_window_us
            self.timers.add(Timer(due, Due.RETRY_WINDOW, entry.id, entry.attempt))

    def _ended(self, record: ev.Ended) -> None:
        entry = self.jobs.pop(record.job)
        self.move(entry, record.state)
        if record.state not in TERMINAL:
            raise LedgerError(f"{record.state} is no end")
        entry.ended_us, entry.reason = record.at_us, record.reason
        self.leave_line(entry)
        self.view.forecasts.said.pop(record.job, None)
        lend_anew(self, entry, record.at_us)
        if self.view.reservations.pop(record.job, None) is not None:
            self.view.promises_changed = True
        self.over[record.job] = record.state
        self.flows.job_ended(entry)
        arrays.ended(self, entry)
        if entry.array is None:
            self.gone.add(entry, self.names, self.keys)
        self.timers.prune(len(self.jobs), self._may_be_due)
        self.ready.pop(record.job, None)
        for upstream in sorted(entry.after):
            if upstream in self.jobs and self.jobs[upstream].heir[0] <= entry.heir[0]:
                inherit(self, upstream, record.at_us)
        for job in self.dependents.pop(record.job, []):
            other = self.jobs.get(job)
            if other is not None and record.state == State.SUCCEEDED:
                other.after.discard(record.job)
                if not other.after:
                    self.ready[job] = None

    _APPLY: ClassVar[dict[type[Record], Callable[[Any, Any], None]]] = {
        ev.Submitted: _submitted,
        ev.Refused: _refused,
        ev.QueueChanged: _queue_changed,
        ev.LimitChanged: _limit_changed,
        ev.NodeAdded: _node_added,
        ev.NodeRemoved: _node_removed,
        ev.NodeQuiet: _node_quiet,
        ev.NodeHeard: _node_heard,
        ev.NodeLost: _node_lost,
        ev.ControllerStarted: _controller_started,
        ev.TaskStarted: _task_started,
        ev.TaskEnded: _task_ended,
        ev.Joined: _joined,
        ev.ClassWaits: _class_waits,
        ev.JobWaits: _job_waits,
        ev.Planned: apply_planned,
        ev.Reserved: _reserved,
        ev.Started: _started,
        ev.Stopping: _stopping,
        ev.Resized: _resized,
        ev.AttemptEnded: _attempt_ended,
        ev.Requeued: _requeued,
        ev.Ended: _ended,
        **changes.APPLY,
        **flow_changes.APPLY,
        **machine_changes.APPLY,
        **notice_changes.APPLY,
        **idle_changes.APPLY,
        **budget_state.APPLY,
        **forecast_state.APPLY,
        **sizing.APPLY,
    }
