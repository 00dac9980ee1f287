"""Searches as the world knows them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clearway.flow.search import SearchTrack

if TYPE_CHECKING:
    from clearway.flow.search import Trial
    from clearway.model import flow_events as fe
    from clearway.model.ids import JobId
    from clearway.model.reasons import Reason
    from clearway.model.states import State


KEPT = 1000
"""Searches that are over and can still be shown: so many of the newest."""


class Searches:
    """All searches by name."""

    def __init__(self) -> None:
        """Begin without any."""
        self.tracks: dict[str, SearchTrack] = {}
        self.stirred: dict[str, None] = {}
        self.doomed: dict[JobId, Reason] = {}
        """Trials that are stopped at the end of this step, if they are not over by then."""
        self._of_job: dict[JobId, str] = {}

    def began(self, record: fe.SearchBegan) -> None:
        """Take in a search."""
        self.tracks.pop(record.spec.name, None)
        self.tracks[record.spec.name] = SearchTrack(record.spec)
        self.stirred[record.spec.name] = None

    def entered(self, record: fe.TrialEntered) -> None:
        """Take in a trial."""
        self._of_job[record.job] = record.search
        self.tracks[record.search].entered(record.job, record.point, record.place)

    def put_back(self, track: SearchTrack) -> None:
        """Take in a search as it was kept."""
        self.tracks[track.spec.name] = track
        if track.state is None:
            self._of_job.update(dict.fromkeys(track.live, track.spec.name))

    def stopping(self, record: fe.SearchStopping) -> None:
        """Take in that no trial enters any more."""
        self.tracks[record.search].stopping = record.reason
        self.stirred[record.search] = None

    def ended(self, record: fe.SearchEnded) -> None:
        """Take in that a search is over."""
        track = self.tracks[record.search]
        track.state, track.reason = record.state, record.reason
        over = [name for name, track in self.tracks.items() if track.state is not None]
        for name in over[:-KEPT]:
            del self.tracks[name]

    def reported(self, record: fe.TrialReported) -> None:
        """Take in what a trial told on its way."""
        self.tracks[record.search].reported(record.number, record.step, record.value)

    def trial_of(self, job: JobId) -> tuple[SearchTrack, Trial] | None:
        """Return the trial that a job is which is not over."""
        track = self.tracks.get(self._of_job.get(job, ""))
        return (track, track.live[job]) if track is not None and job in track.live else None

    def job_is(self, job: JobId, state: State | None, result: str, *, stopped: bool) -> None:
        """Take in that the job of a trial is over, and what it gave back; `stopped`: for what it reported."""
        name = self._of_job.pop(job, None)
        if name is not None:
            self.tracks[name].job_is(job, state, result, stopped=stopped)
            self.stirred[name] = None
