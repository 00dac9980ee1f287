"""Follows a journal with two worlds: the one in charge, as it was, and one in which another policy decides."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from clearway.control.snapshots import loaded
from clearway.loop.forecast_state import MOST_RUNS
from clearway.loop.forecasting import Forecasting
from clearway.loop.world import World
from clearway.model import events as ev
from clearway.model.errors import StoreError
from clearway.whatif.shadow.pairs import LIVE, Pairs
from clearway.whatif.shadow.reality import BY_ITSELF, Reality
from clearway.whatif.shadow.world import ShadowWorld

if TYPE_CHECKING:
    from clearway.model.events import Record
    from clearway.model.ids import JobId
    from clearway.model.policies import Candidate
    from clearway.ports.forecaster import Forecaster
    from clearway.ports.journal import Journal

MOST_AT_ONCE = 20_000
"""So many records are followed at a time where nobody says otherwise."""


class Begun(NamedTuple):
    """What is compared: with which candidate, since when, and whether its first records are gone."""

    candidate: Candidate
    since_us: int
    late: bool


class Beside:
    """A candidate's world beside the one in charge, from the record of the candidate on.

    Where the journal does not lead back there any more it begins at the oldest snapshot that is left: `begun.late`.
    """

    def __init__(self, journal: Journal, record: int, forecaster: Forecaster) -> None:
        """Begin. ValueError: no candidate was set by this record; StoreError: nothing leads there."""
        self._journal, self._forecaster = journal, forecaster
        self.live, self._last = _before(journal, record)
        self.over, self._now_us = False, 0
        for entry in journal.read(self._last) if self._last < record else ():
            self.live.apply(entry.record)
            self._last = entry.number
            if entry.number >= record:
                break
        candidate = self.live.state.policies.candidate
        if candidate is None or candidate.record != record or self._last < record:
            raise ValueError(f"record {record} sets no candidate that is one still")
        self.begun = Begun(candidate, self.live.now_us, self._last > record)
        self._forecasting = Forecasting(forecaster)
        self._forecasting.learn(self.live.state, MOST_RUNS)
        self._reality, self.pairs = Reality(self.live), Pairs(self.live.now_us)
        for job in self.live.jobs.values():
            if not job.held and not job.attempt:
                self.pairs.enter(job.id, job.spec, job.submitted_us)
        self.shadow = ShadowWorld(self.live, candidate.policy, self._forecasting, self._reality, self.pairs)

    @property
    def now_us(self) -> int:
        """The moment up to which all is told."""
        return max(self.live.now_us, self.shadow.world.now_us, self._now_us)

    def follow(self, now_us: int | None = None, most: int = MOST_AT_ONCE) -> bool:
        """Take in what the journal holds by now, and look ahead up to a moment; return whether there is more."""
        group: list[Record] = []
        count = 0
        for entry in self._journal.read(self._last):
            if group and entry.record.at_us != group[0].at_us:
                self._take(group)
                group = []
                if count >= most or self.over:
                    return not self.over
            group.append(entry.record)
            self._last, count = entry.number, count + 1
        if group:
            self._take(group)
        if now_us is not None and not self.over:
            self.shadow.advance(now_us)
            self._now_us = now_us
        return False

    def _take(self, records: list[Record]) -> None:
        """Take in what was recorded at one moment: first here, then in the shadow."""
        at_us, ended = records[0].at_us, list[tuple["JobId", int | None]]()
        self.shadow.advance(at_us)
        for record in records:
            self._note(record, ended)
            self.live.apply(record)
        candidate = self.live.state.policies.candidate
        self.over = candidate is None or candidate.record != self.begun.candidate.record
        self._forecasting.learn(self.live.state, MOST_RUNS)
        if self.over:
            return
        for job, _ in ended:
            self.shadow.real_end(job)
        self.shadow.happen(records, at_us)
        for job, ran_us in ended:
            over = job not in self.live.jobs and self.pairs.over(LIVE, job, at_us, ran_us)
            if over and job not in self.shadow.world.jobs:
                self._reality.forget(job)

    def _note(self, record: Record, ended: list[tuple[JobId, int | None]]) -> None:
        match record:
            case ev.Submitted():
                self.pairs.enter(record.job, record.spec, record.since_us or record.at_us)
            case ev.Started():
                self.pairs.started(LIVE, record.job, record.at_us)
            case ev.Requeued():
                self.pairs.waits(LIVE, record.job, record.at_us)
            case ev.Planned():
                self.live.state.seed = self.shadow.world.state.seed = record.seed  # retries are spread by it
            case ev.AttemptEnded():
                self._reality.ended(record)
                ran_us = self.live.jobs[record.job].run_us(record.at_us) if record.end in BY_ITSELF else None
                ended.append((record.job, ran_us))
            case ev.Ended():
                ran_us = next((us for job, us in ended if job == record.job), None)
                ended.append((record.job, ran_us))
            case _:
                pass


def _before(journal: Journal, record: int) -> tuple[World, int]:
    """Return the world of the newest snapshot up to a record, else of the oldest one after it; and its number."""
    floor = journal.floor()
    marks = sorted(journal.marks(), key=lambda mark: mark.number)
    early = [mark for mark in marks if floor <= mark.number <= record]
    late = [mark for mark in marks if mark.number > max(record, floor - 1)]
    for mark in (*reversed(early), *(late if floor else ())):
        try:
            begun = loaded(journal.snapshot(mark), f"the snapshot at record {mark.number}")
        except StoreError:
            continue
        return begun.world, begun.number
    if floor:
        raise StoreError(f"the records up to number {floor} are gone, and no snapshot stands for them")
    return World(), 0
