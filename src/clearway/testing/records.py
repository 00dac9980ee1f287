"""One record of every kind, with every field in use: what a journal must give back as it got it."""

from __future__ import annotations

from clearway.model import events as ev
from clearway.model import flow_events as fe
from clearway.model import policy_events as pe
from clearway.model.budgets import BudgetSpec
from clearway.model.fleet import BookingSpec, LimitSpec, MachineType, NodeSpec, PolicySpec, QueueSpec
from clearway.model.flow import Arg, Dimension, FlowSpec, PartOf, ScheduleSpec, SearchSpec, StepSpec, StopSpec
from clearway.model.forecast import Forecast
from clearway.model.ids import ClassId, FlowId, JobId, NodeId
from clearway.model.job import Checkpoint, Demand, JobSpec, Pin, Role
from clearway.model.needs import Need
from clearway.model.policies import Guard, Named, Worse
from clearway.model.reasons import Code, because
from clearway.model.states import End, State, StepState
from clearway.model.use import Used

JOB, OTHER, NODE, CLASS = JobId(7), JobId(8), NodeId(3), ClassId(2)
TASK = ev.TaskRef(JOB, 2, 1, 4)
GRANT = ev.Grant(1, 4, NODE, (0, 3), 1000, 2**36)


def full_job() -> JobSpec:
    """Return a job that says every word."""
    amounts = (2, 0, 2**35, 8000, 2**36, 2**37, 10_000)
    demand = Demand(*amounts, (("npu", 1),), ("A100", "H100"), (("zone", "z1"),), ("t",), "avoid")
    return JobSpec(  # noqa: S604  it is not run
        name="train \u2603 \U0001f680", roles=(Role("lead", 1, 0), Role("worker", 5, 3, demand, one_per_node=True)),
        queue="research", priority=-5, run=("python", "train.py", "--x=1"), shell=True,
        workdir="/home/a b", env=(("A", "1"), ("\u00c4", "line\nbreak")), uses=("database",), after=("prepare",),
        time_limit_us=1, time_estimate_us=2, start_deadline_us=3, deadline_us=4, on_deadline="stop", preemptible=False,
        checkpoint=Checkpoint(5, "SIGUSR1", 6, on_stop=True, write_time_us=7), max_retries=3, retry_backoff_us=8,
        retry_backoff_max_us=9, retry_jitter="full", retry_window_us=10, max_losses=11, idempotency_key="k1", user="u",
        tenant="t", labels=(("l", "v"),), pin=Pin("n1", (0, 1)),
    )  # fmt: skip


def full_node() -> NodeSpec:
    """Return a node that says every word."""
    return NodeSpec(
        "n1", 64_000, 2**39, 2**41, 25_000, 8, "A100", 80 * 2**30, (("npu", 8),), ((0, 1, 2, 3), (4, 5, 6, 7)),
        ((0, 1),), ((0, 1, 2, 3),), "r1", "z1", (("team", "vision"),), ("maintenance",), 12_500_000, spot=True,
        holds=("imagenet",), counted_only=True,
    )  # fmt: skip


def full_type() -> MachineType:
    """Return a type of machines that says every word."""
    return MachineType(full_node(), 1, 2, 3, 4, 5)


def full_policy() -> PolicySpec:
    """Return a policy that says every word otherwise than the default."""
    return PolicySpec(
        ("fair", "fifo"), "none", "forecast", ("priority", "reclaim"), priority_inheritance=True, score=(("cost", 2),),
        fairness_measure="dominant", half_life_us=1, min_runtime_us=2, calm_us=3, time_slice_us=4,
        reservation_timeout_us=5, fallback="priority", lease_us=6, share_memory="proportional",
    )  # fmt: skip


def full_queue() -> QueueSpec:
    """Return a queue that says every word."""
    eight = (("gpus", 8000),)
    return QueueSpec(
        "research", "org", eight, eight, 2, borrow=False, lend=False, order=("fifo",), limit_per_user=eight,
        defaults=b'{"priority":1}',
    )  # fmt: skip


def full_booking() -> BookingSpec:
    """Return a booking that says every word."""
    return BookingSpec("demo", 5, 9, ("n1",), 2, ("research", "ann"))


def every_record() -> list[ev.Record]:
    """Return one record of every kind, a microsecond apart."""
    reasons = (because(Code.NO_CAPACITY, gpus=4000, models="A100, H100"), because(Code.BEHIND, first="caf\u00e9"))
    cause = because(Code.EXITED, exit_code=137)
    made: list[ev.Record] = [
        ev.Submitted(1, JOB, full_job(), (OTHER,)),
        ev.Refused(2, JOB, "bad", because(Code.BAD_VALUE, field="gpus", value="1.5", rule="whole")),
        ev.CancelAsked(3, JOB, "ada"),
        ev.SuspendAsked(4, JOB),
        ev.ResumeAsked(5, JOB),
        ev.QueueChanged(6, full_queue()),
        ev.LimitChanged(7, LimitSpec("database", 4)),
        ev.PolicyChanged(8, full_policy()),
        ev.NodeAdded(9, NODE, full_node()),
        ev.NodeRemoved(10, NODE),
        ev.NodeQuiet(11, NODE, 5),
        ev.NodeHeard(12, NODE, (TASK,)),
        ev.NodeDrained(13, NODE, drained=False),
        ev.DevicesChanged(14, NODE, (6, 7)),
        ev.TaskStarted(15, TASK),
        ev.TaskEnded(16, TASK, None, "no such file"),
        ev.ControllerStarted(17),
        ev.NodeLost(18, NODE),
        ev.Joined(19, JOB, CLASS),
        ev.ClassWaits(20, CLASS, reasons),
        ev.JobWaits(21, JOB, reasons),
        ev.Reserved(22, JOB, 99, (GRANT,)),
        ev.Started(23, JOB, 2, (GRANT, ev.Grant(0, 0, NODE)), because(Code.PLACED, nodes="n1")),
        ev.Resized(23, JOB, 2, because(Code.GROWN, tasks=1), (ev.Grant(1, 5, NODE, (1,), 1000),), (GRANT,)),
        ev.Stopping(24, JOB, 2, End.TIMED_OUT, because(Code.TIME_LIMIT, limit_us=1)),
        ev.Paused(25, JOB, 2, paused=True),
        ev.AttemptEnded(26, JOB, 2, End.PREEMPTED, cause),
        ev.Requeued(27, JOB, 30, cause),
        ev.Ended(28, JOB, State.FAILED, cause),
        # kinds that came later stand at the end: the lines of old journals keep their places
        ev.HoldAsked(30, JOB, "ada"),
        ev.ReleaseAsked(31, JOB, "bob"),
        ev.RequeueAsked(32, JOB, "ada"),
        ev.Changed(33, JOB, full_job(), "ada"),
        ev.Booked(34, full_booking(), ((NODE, -1), (NodeId(4), 2))),
        ev.BookingOver(35, "demo", "ada"),
        *_flow_records(),
        ev.MachineTypeChanged(45, full_type()),
        ev.MachineOrdered(46, NodeId(5), "n1-1", "n1", 99, because(Code.NEEDED, first="train")),
        ev.MachineIdle(47, NodeId(5), idle=False),
        ev.MachineGone(48, NodeId(5), because(Code.IDLE, idle_us=60_000_000)),
        ev.Planned(49, 3, 44, "0123456789abcdef", 7, 2),
        *_schedule_records(),
        ev.NodeNoticed(70, NODE, 99),
        fe.FlowBegan(71, FlowId(3), FlowSpec("asks", (StepSpec("ask", pause="Go on?"),))),
        fe.StepAnswered(72, FlowId(3), "ask", "3", "her"),
        fe.ScheduleSet(73, ScheduleSpec("T", "0 1 * * *", "UTC", full_job(), exclude=(("2026-12-24", "2026-12-26"),))),
        *_later_flow_records(),
        *_measured_records(),
    ]
    return made


def _measured_records() -> list[ev.Record]:
    return [
        ev.TaskEnded(79, TASK, 0, used=Used(1500, 2500, 2**33, 640, 2**35)),
        ev.TaskIdle(80, TASK, 70),
        ev.IdleWarned(81, JOB, 2, 70),
        ev.BudgetChanged(82, BudgetSpec("b", "t", "q", 1500, 2_000_000, "week", 500, "stop")),
        ev.BudgetNoticed(83, "b"),
        ev.BudgetUsedUp(84, "b"),
        ev.BudgetBegan(85, "b"),
        ev.Forecasted(86, JOB, Forecast(tuple(range(1, 14)), 7, "queue", 3, "hash")),
        *_policy_records(),
        *_needs_records(),
    ]


def _policy_records() -> list[ev.Record]:
    before, worse = Named("fair", full_policy()), Worse("lab", 30, 900, 300)
    return [
        pe.ShadowSet(87, "mine", full_policy(), "ada"),
        pe.ShadowEnded(88, "mine", "ada"),
        pe.Promoted(89, "mine", full_policy(), before, Guard(99, 30, 5, 7), "ada"),
        pe.RolledBack(90, "fair", full_policy(), "", worse),
        pe.GuardEnded(91, "mine"),
    ]


def _needs_records() -> list[ev.Record]:
    needs = (Need("worker", "memory", 2**35, 2**33, 2**32, 64, "runs", 2, own=True, applied=True),)
    return [
        ev.Sized(92, JOB, needs),
        ev.TaskEnded(93, TASK, 0, used=Used(1500, 2500, 2**33, 640, 2**35, 3)),
        ev.Progressed(94, JOB, 2, 5, 9, Forecast(tuple(range(1, 14)), 7, "how far it is", 3), 1, 60),
    ]


def early_search() -> SearchSpec:
    """Return a search that stops trials."""
    space = (Dimension("x", ("1", "2")),)
    return SearchSpec("E", 3, full_job(), space, metric="loss", stop=StopSpec("hyperband", 2, 3, 4, 27))


def _later_flow_records() -> list[ev.Record]:
    return [
        fe.StepSkipped(74, FlowId(3), "ask", "her"),
        fe.FlowBegan(75, FlowId(4), inner_flow()),
        fe.FlowBegan(75, FlowId(5), FlowSpec("in", (StepSpec("x", full_job()),)), PartOf(FlowId(4), "in", 2, 3)),
        fe.FlowRerun(76, FlowId(5), 2, inner_flow(), PartOf(FlowId(4), "in"), ("x",), ("in",), "her"),
        fe.ScheduleSet(77, ScheduleSpec("J", "@daily", job=full_job(), jitter_us=5)),
        fe.TrialReported(78, "X", 1, 3, "0.25"),
        fe.SearchBegan(78, early_search()),
    ]


def inner_flow() -> FlowSpec:
    """Return a workflow with one inside, and something to be taken back."""
    inner = FlowSpec("in", (StepSpec("x", full_job(), undo=full_job()),), input="3")
    return FlowSpec("out", (StepSpec("in", flow=inner),), words='{"name":"out"}')


def full_flow() -> FlowSpec:
    """Return a workflow that says every word."""
    first = StepSpec("gen", full_job())
    args = (Arg("x", path="gen.x"), Arg("n", value="3"))
    every = StepSpec(
        "map", full_job(), ("gen",), "none_failed", "gen.go", "[1,2]", "gen", "pass >= 2", 5, ("all",), "gen.next", args
    )
    last = StepSpec("all", None, ("map",), gather=("map",), alias=True, shown=False)
    return FlowSpec("W", (first, every, last), 7, StepSpec("tell", full_job()))


def _flow_records() -> list[ev.Record]:
    flow, cause = FlowId(2), because(Code.STEP_FAILED, steps="map", many=1)
    return [
        fe.FlowBegan(36, flow, full_flow()),
        fe.FlowRerun(37, flow, 2, full_flow()),
        fe.StepBegan(38, flow, "map", "[1,2]", 2),
        fe.PartEntered(39, flow, "map", 1, 2, JOB, "2"),
        fe.LoopEnded(40, flow, "map", 1, StepState.FAILED, cause),
        fe.StepEnded(41, flow, "map", StepState.SUCCEEDED, cause, ("all",)),
        fe.FlowStopping(42, flow, State.CANCELLED, cause),
        fe.FlowEnded(43, flow, State.FAILED, cause),
        fe.Reopened(44, JOB, full_job()),
    ]


def _schedule_records() -> list[ev.Record]:
    schedule = ScheduleSpec(
        "S", "0 1 * * *", "Europe/Berlin", full_job(), full_flow(), 1, 2, "latest", "queue", after_previous=True,
        skipped="skip", repeated="both",
    )  # fmt: skip
    space = (Dimension("x", ("1", "2")), Dimension("y", (), "1", "9"), Dimension("z", (), "0.5", "1.5", real=True))
    overlap = because(Code.OVERLAP, run="S@1", state="waiting")
    return [
        fe.ClockSet(50, 10**6),
        fe.ScheduleSet(51, schedule),
        fe.ScheduleRemoved(52, "S"),
        fe.SchedulePaused(53, "S", paused=True),
        fe.Ticked(54, "S", 7, "S@7", JOB, FlowId(2), "S@1", overlap),
        fe.TicksMissed(55, "S", 9),
        fe.RunFreed(56, "S", "S@7"),
        fe.SearchBegan(57, SearchSpec("X", 10, full_job(), space, 3, "grid", 7, 4)),
        fe.TrialEntered(58, "X", 1, '{"x":1}', 3, JOB),
        fe.SearchStopping(59, "X", overlap),
        fe.SearchEnded(60, "X", State.SUCCEEDED, overlap),
    ]
