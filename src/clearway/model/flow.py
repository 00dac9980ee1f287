"""The nouns of workflows, schedules and searches: what a user describes, read and checked.

Values that users make up (inputs, results, items) are JSON texts in one canonical form, so that equal ones are equal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from clearway.model.ids import FlowId
from clearway.model.job import JobSpec

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_LOOPS = 1000
"""Passes that a loop may make where nothing is said."""

SKIPS_ITSELF = 99
"""Exit code by which a step says that it had nothing to do: it ends as skipped, and is not tried again."""

NULL = "null"
"""The JSON text of nothing: the result of what was skipped, failed or gave none."""


class Arg(msgspec.Struct, frozen=True, omit_defaults=True):
    """One named argument of a step: `path` names a value, else `value` is one, as JSON."""

    name: str
    path: str = ""
    value: str = NULL


UNDO = ".undo"
"""Ends the name of the step that takes back what another one did."""


class StepSpec(msgspec.Struct, frozen=True, omit_defaults=True):
    """One step.

    With `pause` it has no job: it asks a person that, and its result is the answer. With `flow` it is a workflow of its
    own. Else without `job` it only gathers: it is done when all in `after` are, and its result is the list of the
    results of `gather`, or with `alias` the only one of them itself. `undo` takes back what it did where a later step
    has failed.

    `each` is a JSON list of items, or `each_of` names the step whose result is one. `choose` are the direct followers
    that it picks, None for all; `chooses` instead names a value that is their list. `passes` names a number that counts
    against `max_loops`, where that is not the number of the pass. `shown` is false for what a nested form needs and
    nobody named.
    """

    name: str
    job: JobSpec | None = None
    after: tuple[str, ...] = ()
    rule: str = "all_succeeded"
    when: str = ""
    each: str = ""
    each_of: str = ""
    until: str = ""
    max_loops: int = MAX_LOOPS
    choose: tuple[str, ...] | None = None
    chooses: str = ""
    args: tuple[Arg, ...] = ()
    gather: tuple[str, ...] = ()
    alias: bool = False
    shown: bool = True
    pause: str = ""
    undo: JobSpec | None = None
    flow: FlowSpec | None = None
    passes: str = ""

    @property
    def gathers(self) -> bool:
        """Whether it runs nothing."""
        return self.job is None and self.flow is None and not self.pause

    @property
    def maps(self) -> bool:
        """Whether it runs once for each item of a list."""
        return bool(self.each or self.each_of)


class FlowSpec(msgspec.Struct, frozen=True, omit_defaults=True):
    """A workflow: steps in an order in which none stands before what it waits for. `time_limit_us` is of a run.

    `words` is what a person said (JSON), so that a run may say some of it otherwise. `input` (JSON) is what the first
    steps are handed, `result` what it gives back by name (empty: the result of its last steps).
    """

    name: str
    steps: tuple[StepSpec, ...]
    time_limit_us: int | None = None
    on_error: StepSpec | None = None
    words: str = ""
    input: str = ""
    result: tuple[Arg, ...] = ()

    def jobs(self) -> Iterator[tuple[str, JobSpec]]:
        """Yield the jobs that it may run, each with the step that it belongs to."""
        for step in [*self.steps, *([self.on_error] if self.on_error else [])]:
            if step.job is not None:
                yield step.name, step.job
            if step.undo is not None:
                yield step.name + UNDO, step.undo
            if step.flow is not None:
                yield from ((f"{step.name}.{name}", job) for name, job in step.flow.jobs())

    def owners(self) -> tuple[tuple[str, str], ...]:
        """Return user and tenant of its jobs, each pair once."""
        return tuple(sorted({(job.user, job.tenant) for _, job in self.jobs()}))


class PartOf(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a workflow is of another one: pass `turn` of an instance (`item` -1: of the step itself) of a step."""

    flow: FlowId
    step: str
    item: int = -1
    turn: int = 1


class ScheduleSpec(msgspec.Struct, frozen=True, omit_defaults=True):
    """A job or a workflow that runs again and again. Its ticks are moments of the wall clock in a time zone.

    `skipped` (run, skip) and `repeated` (first, both) say what becomes of a fixed local time in the hours that a clock
    change leaves out or repeats. Ticks outside `from_us` to `to_us` (wall clock, both included) do not exist. On the
    days of `exclude` (first and last of each range, as ISO dates of the time zone) nothing runs. A tick is taken up to
    `jitter_us` later, by as much as follows from the schedule's name and the tick.
    """

    name: str
    cron: str
    timezone: str = "UTC"
    job: JobSpec | None = None
    flow: FlowSpec | None = None
    from_us: int | None = None
    to_us: int | None = None
    catchup: str = "none"
    overlap: str = "skip"
    after_previous: bool = False
    skipped: str = "run"
    repeated: str = "first"
    exclude: tuple[tuple[str, str], ...] = ()
    jitter_us: int = 0


class Dimension(msgspec.Struct, frozen=True, omit_defaults=True):
    """One dimension of a search: `values`, or whole numbers or (`real`) any from `low` to `high`; all as JSON."""

    name: str
    values: tuple[str, ...] = ()
    low: str = "0"
    high: str = "0"
    real: bool = False


class StopSpec(msgspec.Struct, frozen=True, omit_defaults=True):
    """When trials of a search are stopped that do badly, by what they report on their way: median, halving, hyperband.

    No trial is stopped before `min_step`. `min_trials` others must have come as far for a median; of those that reach a
    rung of a halving one in `reduction` goes on; `max_step` is where a trial ends, for hyperband.
    """

    rule: str
    min_step: int = 1
    min_trials: int = 5
    reduction: int = 3
    max_step: int = 0


class SearchSpec(msgspec.Struct, frozen=True, omit_defaults=True):
    """A search for good values: `trials` completed trials are wanted, at most `parallel` of them at a time.

    More than `max_failed` trials that do not succeed end it. What a trial is worth is the number that it gives back, or
    with `metric` the one of that name; `direction` (minimize, maximize) says which is the best.
    """

    name: str
    trials: int
    job: JobSpec
    space: tuple[Dimension, ...]
    parallel: int = 1
    sampler: str = "random"
    seed: int = 0
    max_failed: int = 0
    metric: str = ""
    direction: str = "minimize"
    stop: StopSpec | None = None
