"""A job's life as spans: job, waits, attempts, starts, tasks, stops; and the cycles that decided it.

    job ──┬── wait                 submit or requeue -> start
          └── attempt ──┬── start  decided -> its process runs, a task: controller, engine and runner
                        ├── task   a process; the number of this span is in its environment (TRACEPARENT)
                        └── stop   meant -> nothing of it is left

An attempt and a stop link to the span of the cycle that decided them, and carry its number and the revision that it
read: `clearway explain --cycle N` shows it whole. A span is passed on when it ends. What began before this controller
did is read from the journal when it ends.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from clearway.model import events as ev
from clearway.model.flow_events import Reopened
from clearway.model.states import End, State
from clearway.model.tracing import Trace, trace_of
from clearway.observe.moments import said

if TYPE_CHECKING:
    from collections.abc import Callable

    from clearway.model.events import Grant
    from clearway.model.ids import JobId, NodeId
    from clearway.model.job import JobSpec
    from clearway.ports.journal import Journal
    from clearway.ports.observer import Heard

LOOK_BACK = 2000  # so many records before a start its cycle is looked for, where it was before this controller
Attribute = str | int | bool | tuple[str, ...] | tuple[int, ...]


class Span(NamedTuple):
    """A span that has ended. `fault`: what went wrong, "" for nothing; `link`: trace and span of a cycle."""

    name: str
    trace: Trace
    number: str
    parent: str
    from_us: int
    to_us: int
    attributes: dict[str, Attribute]
    fault: str = ""
    link: tuple[str, str] | None = None


class _Attempt:
    def __init__(self, number: int, from_us: int, cycle: ev.Planned | None) -> None:
        self.number, self.from_us, self.cycle = number, from_us, cycle
        self.grants: dict[tuple[int, int], Grant] = {}
        self.up_us: dict[tuple[int, int], int] = {}
        self.because = ""
        self.stop: tuple[ev.Stopping, ev.Planned | None] | None = None


class _Life:
    """What is known of a job that is not over."""

    def __init__(self, spec: JobSpec, trace: Trace, from_us: int) -> None:
        self.spec, self.trace, self.from_us = spec, trace, from_us
        self.waits_us: int | None = from_us
        self.attempt: _Attempt | None = None


class Spans:
    """Turns records into spans. A watcher (`ports.Observer`) for the thread of `Ears`."""

    def __init__(
        self, seed: str, journal: Journal, node_name: Callable[[NodeId], str], export: Callable[[Span], None]
    ) -> None:
        """`seed`: what the engine that hands numbers to processes has been told, too. `export` takes what has ended."""
        self._seed, self._journal, self._node_name, self._to = seed, journal, node_name, export
        self._jobs: dict[JobId, _Life] = {}
        self._cycle: ev.Planned | None = None
        self._left = 0
        self._silent = False
        self._first = 0
        self._on: dict[type, Callable[[Any], None]] = {
            ev.Started: self._started, ev.Resized: self._resized, ev.TaskStarted: self._task_started,
            ev.TaskEnded: self._task_ended, ev.Stopping: self._stopping, ev.AttemptEnded: self._attempt_ended,
            ev.Requeued: self._requeued, ev.Ended: self._ended, ev.Changed: self._changed,
        }  # fmt: skip

    def begin(self) -> None:
        """Nothing is known yet: what is there is read when it is spoken of."""

    def hear(self, turn: Heard) -> None:
        """Pass on the spans that end in this turn."""
        self._first = turn.last - len(turn.records) + 1
        for record in turn.records:
            if isinstance(record, ev.Planned):
                self._cycle, self._left = record, record.records
                self._tell_cycle(record, turn.decide_us)
            else:
                self._take(record)

    def _take(self, record: ev.Record) -> None:
        if isinstance(record, ev.Submitted | Reopened):
            self._enter(record)
        elif (known := self._on.get(type(record))) is not None:
            known(record)
        self._left = max(self._left - 1, 0)

    # --- one method per kind of record ---

    def _enter(self, r: ev.Submitted | Reopened) -> None:
        if r.spec.array is None:
            since_us = r.since_us if isinstance(r, ev.Submitted) and r.array else r.at_us
            self._jobs[r.job] = _Life(r.spec, trace_of(self._seed, r.job, r.spec.traceparent), since_us)

    def _changed(self, r: ev.Changed) -> None:
        if (life := self._life(r.job)) is not None:
            life.spec = r.spec

    def _started(self, r: ev.Started) -> None:
        life = self._life(r.job)
        if life is None:
            return
        if life.waits_us is not None:
            wait = life.trace.span("wait", r.job, r.attempt)
            self._pass_on("wait", life, wait, self._job_span(life, r.job), life.waits_us, r.at_us, self._words(r))
        life.waits_us = None
        life.attempt = _Attempt(r.attempt, r.at_us, self._deciding())
        life.attempt.because = said(r.cause)
        life.attempt.grants = {(grant.role, grant.index): grant for grant in r.grants}

    def _resized(self, r: ev.Resized) -> None:
        life = self._life(r.job)
        if life is not None and life.attempt is not None:
            life.attempt.grants.update({(grant.role, grant.index): grant for grant in r.more})

    def _task_started(self, r: ev.TaskStarted) -> None:
        life, attempt, key = self._of_task(r.task)
        if life is not None and attempt is not None and key in attempt.grants:
            attempt.up_us[key] = r.at_us
            start = life.trace.span("start", *_numbers(r.task))
            above, words = self._attempt_span(life, r.task.job, attempt), self._task_words(life, attempt, r.task)
            self._pass_on("start", life, start, above, attempt.from_us, r.at_us, words)

    def _task_ended(self, r: ev.TaskEnded) -> None:
        life, attempt, key = self._of_task(r.task)
        if life is None or attempt is None or key not in attempt.grants:
            return
        words = self._task_words(life, attempt, r.task)
        if r.exit_code is not None:
            words["process.exit.code"] = r.exit_code
        if r.oom:
            words["clearway.out_of_memory"] = True
        fault = r.error or (f"exit code {r.exit_code}" if r.exit_code else "")
        number, above = life.trace.span("task", *_numbers(r.task)), self._attempt_span(life, r.task.job, attempt)
        from_us = attempt.up_us.pop(key, attempt.from_us)
        self._pass_on("task", life, number, above, from_us, r.at_us, words, fault=fault)
        del attempt.grants[key]

    def _stopping(self, r: ev.Stopping) -> None:
        life = self._life(r.job)
        if life is not None and life.attempt is not None:
            life.attempt.stop = (r, self._deciding())

    def _attempt_ended(self, r: ev.AttemptEnded) -> None:
        life = self._life(r.job)
        attempt = None if life is None else life.attempt
        if life is None or attempt is None:
            return
        above = self._attempt_span(life, r.job, attempt)
        if attempt.stop is not None:
            meant, cycle = attempt.stop
            words = {"clearway.end": meant.end.value, "clearway.cause": said(meant.cause), **_of_cycle(cycle)}
            number = life.trace.span("stop", r.job, attempt.number)
            self._pass_on("stop", life, number, above, meant.at_us, r.at_us, words, link=self._link(cycle))
        words = {
            **_of_job(r.job, life.spec), "clearway.attempt": attempt.number, "clearway.end": r.end.value,
            "clearway.started_because": attempt.because, **_of_cycle(attempt.cycle),
        }  # fmt: skip
        fault = "" if r.end in (End.SUCCEEDED, End.CANCELLED) else said(r.cause)
        root, link = self._job_span(life, r.job), self._link(attempt.cycle)
        self._pass_on("attempt", life, above, root, attempt.from_us, r.at_us, words, fault=fault, link=link)
        life.attempt = None

    def _requeued(self, r: ev.Requeued) -> None:
        if (life := self._life(r.job)) is not None:
            life.waits_us = r.at_us

    def _ended(self, r: ev.Ended) -> None:
        life = self._life(r.job)
        if life is None:
            return
        del self._jobs[r.job]
        fault = "" if r.state in (State.SUCCEEDED, State.CANCELLED, State.SKIPPED) else str(r.state)
        if r.reason is not None and fault:
            fault = said(r.reason)
        words = {**_of_job(r.job, life.spec), "clearway.state": State(r.state).value}
        number = self._job_span(life, r.job)
        self._pass_on("job", life, number, life.trace.parent, life.from_us, r.at_us, words, fault=fault)

    # --- what is known ---

    def _life(self, job: JobId) -> _Life | None:
        """Return a job's life, read from the journal where it began before this controller; None: an array."""
        if job not in self._jobs and not self._silent:
            self._silent, held = True, (self._cycle, self._left)
            try:
                self._read(job)
            finally:
                self._silent, (self._cycle, self._left) = False, held
        return self._jobs.get(job)

    def _read(self, job: JobId) -> None:
        for entry in self._journal.of_job(job):
            if entry.number >= self._first:
                return
            if isinstance(entry.record, ev.Started):
                self._cycle, self._left = self._cycle_before(entry.number), 1
            self._take(entry.record)

    def _cycle_before(self, number: int) -> ev.Planned | None:
        found = None
        for entry in self._journal.read(max(number - LOOK_BACK, self._journal.floor())):
            if entry.number > number:
                break
            if isinstance(entry.record, ev.Planned) and entry.number + entry.record.records >= number:
                found = entry.record
        return found

    def _of_task(self, task: ev.TaskRef) -> tuple[_Life | None, _Attempt | None, tuple[int, int]]:
        life, key = self._life(task.job), (task.role, task.index)
        attempt = None if life is None else life.attempt
        return life, attempt if attempt is not None and attempt.number == task.attempt else None, key

    def _deciding(self) -> ev.Planned | None:
        return self._cycle if self._left else None

    # --- what is passed on ---

    def _job_span(self, life: _Life, job: JobId) -> str:
        return life.trace.span("job", job)

    def _attempt_span(self, life: _Life, job: JobId, attempt: _Attempt) -> str:
        return life.trace.span("attempt", job, attempt.number)

    def _words(self, r: ev.Started) -> dict[str, Attribute]:
        return {"clearway.job": r.job, "clearway.attempt": r.attempt, **_of_cycle(self._deciding())}

    def _task_words(self, life: _Life, attempt: _Attempt, task: ev.TaskRef) -> dict[str, Attribute]:
        grant = attempt.grants[task.role, task.index]
        return {
            "clearway.job": task.job, "clearway.attempt": task.attempt, "clearway.index": task.index,
            "clearway.role": life.spec.roles[task.role].name, "clearway.node": self._node_name(grant.node),
            "clearway.devices": grant.devices,
        }  # fmt: skip

    def _tell_cycle(self, planned: ev.Planned, took_us: int) -> None:
        trace = trace_of(f"{self._seed} cycle", planned.cycle, "")
        words = {**_of_cycle(planned), "clearway.policy": planned.policy, "clearway.records": planned.records}
        self._to(Span("cycle", trace, trace.span("cycle"), "", planned.at_us, planned.at_us + took_us, words))

    def _link(self, planned: ev.Planned | None) -> tuple[str, str] | None:
        if planned is None:
            return None
        trace = trace_of(f"{self._seed} cycle", planned.cycle, "")
        return trace.number, trace.span("cycle")

    def _pass_on(  # noqa: PLR0913  a span has that many parts
        self, name: str, life: _Life, number: str, parent: str, from_us: int, to_us: int, words: dict[str, Attribute],
        *, fault: str = "", link: tuple[str, str] | None = None,
    ) -> None:  # fmt: skip
        if life.trace.sampled and not self._silent:
            self._to(Span(name, life.trace, number, parent, from_us, to_us, words, fault, link))


def _numbers(task: ev.TaskRef) -> tuple[int, ...]:
    return task.job, task.attempt, task.role, task.index


def _of_job(job: JobId, spec: JobSpec) -> dict[str, Attribute]:
    said = {"clearway.user": spec.user, "clearway.tenant": spec.tenant}
    words: dict[str, Attribute] = {"clearway.job": job, "clearway.name": spec.name, "clearway.queue": spec.queue}
    return words | {key: value for key, value in said.items() if value}


def _of_cycle(planned: ev.Planned | None) -> dict[str, Attribute]:
    return {} if planned is None else {"clearway.cycle": planned.cycle, "clearway.revision": planned.revision}
