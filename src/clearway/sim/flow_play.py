"""Tells the engine what will really happen to the jobs that the loop itself enters, and people what they are called."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from clearway.model.events import Started, Submitted
from clearway.model.flow_events import FlowBegan, FlowRerun, PartEntered, Ticked, TrialEntered

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from clearway.model.events import Record
    from clearway.model.ids import FlowId, JobId
    from clearway.sim.engine import SimEngine
    from clearway.sim.flow_words import FlowEntry
    from clearway.sim.schedule_words import ScheduleEntry
    from clearway.sim.script import Scenario
    from clearway.sim.search_words import SearchEntry
    from clearway.sim.truth import Truth


class FlowPlay:
    """Listens to records; `entered` is told the name, number and truth of each job that is a part of something."""

    def __init__(self, scenario: Scenario, engine: SimEngine, entered: Callable[[str, JobId, Truth], None]) -> None:
        self._entries = {entry.spec.name: entry for entry in scenario.flows}
        self._schedules = {entry.spec.name: entry for entry in scenario.schedules}
        self._entries |= {name: one.flow for name, one in self._schedules.items() if one.flow is not None}
        self.searches = {entry.spec.name: entry for entry in scenario.searches}
        self._trials: dict[JobId, tuple[SearchEntry, str]] = {}
        self._tries: Counter[tuple[str, str]] = Counter()
        self._starts: Counter[str] = Counter()
        self._runs: dict[JobId, ScheduleEntry] = {}
        self._engine, self._entered = engine, entered
        self._of: dict[FlowId, FlowEntry] = {}
        self.flows: dict[str, FlowId] = {}
        self._names: dict[JobId, str] = {}

    def hear(self, records: Sequence[Record]) -> None:
        """Take in what happened."""
        for record in records:
            match record:
                case Submitted(job=job, spec=spec):
                    self._names[job] = spec.name
                case FlowBegan(flow=flow, spec=spec, part=part):
                    self.flows[spec.name] = flow
                    self._of[flow] = self._entry(spec.name) if part is None else self._of[part.flow].inner[part.step]
                case FlowRerun(flow=flow, part=part) if part is not None:
                    self._of[flow] = self._of[part.flow].inner[part.step]
                case PartEntered():
                    self._part(record)
                case Ticked(schedule=schedule, job=job, run=run) if job is not None:
                    self._runs[job] = self._schedules[schedule]
                    self._entered(run, job, self._schedules[schedule].truth)
                case TrialEntered(search=search, point=point, job=job):
                    self._trials[job] = (self.searches[search], point)
                    self._entered(self._names[job], job, self.searches[search].truth)
                case Started(job=job, attempt=attempt) if job in self._trials:
                    self._try(job, attempt)
                case Started(job=job) if job in self._runs:
                    self._start(job)
                case _:
                    pass

    def _entry(self, name: str) -> FlowEntry:
        return self._entries.get(name) or self._entries[name.partition("@")[0]]

    def _part(self, record: PartEntered) -> None:
        truth = self._of[record.flow].truths[record.step].of(record.item, record.turn, record.input)
        self._engine.know_anew(record.job, truth)
        self._entered(self._names[record.job], record.job, truth)

    def _start(self, job: JobId) -> None:
        """Tell what happens to an attempt of a schedule's job: its lists are counted over all starts."""
        entry = self._runs[job]
        self._starts[entry.spec.name] += 1
        self._engine.know_anew(job, entry.at_start(self._starts[entry.spec.name]))

    def _try(self, job: JobId, attempt: int) -> None:
        """Tell what happens to an attempt of a trial: at some points the first ones fail."""
        entry, point = self._trials[job]
        self._tries[entry.spec.name, point] += 1
        number = self._tries[entry.spec.name, point]
        self._engine.know_anew(job, entry.at_start(point, attempt, number))

    def change(self, entry: FlowEntry) -> None:
        """Let a workflow be what a person made of it."""
        self._of[self.flows[entry.spec.name]] = entry
