"""Searches in the world: trials entered as ordinary jobs, never more than are still wanted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from clearway.flow.json_text import text_of, value_of
from clearway.flow.search import DRAWN, UNCOUNTED, Point, draw_of, next_point, worth
from clearway.flow.search_words import variable
from clearway.flow.stopping import stops
from clearway.loop import endings, flows
from clearway.model import events as ev
from clearway.model import flow_events as fe
from clearway.model.asks import SearchView, TrialView
from clearway.model.errors import ConflictError, NotFoundError
from clearway.model.ids import JobId
from clearway.model.reasons import Code, because

if TYPE_CHECKING:
    from collections.abc import Iterator

    from clearway.flow.search import SearchTrack, Trial
    from clearway.loop.world import World
    from clearway.model import asks
    from clearway.model.flow import SearchSpec
    from clearway.model.reasons import Reason
    from clearway.ports.engine import TaskReported


MOST_REPORTS = 10_000
"""What a trial tells after so many reports is not taken."""


def submit(world: World, ask: asks.SubmitSearch) -> None:
    """Check a search, and have it begin."""
    known = world.state.flows.searches.tracks.get(ask.spec.name)
    if known is not None and known.state is None:
        raise ConflictError(f"search {ask.spec.name!r} still runs")
    flows.check_job(world, ask.spec.job, f"search {ask.spec.name}")
    world.emit(fe.SearchBegan(world.now_us, ask.spec))


def cancel(world: World, ask: asks.CancelSearch) -> None:
    """Have no trial enter any more, and stop those that run."""
    track = world.state.flows.searches.tracks.get(ask.name)
    if track is None:
        raise NotFoundError(f"there is no search {ask.name!r}")
    if track.state is not None or track.stopping is not None:
        return
    _stop(world, track, because(Code.CANCELLED, by=ask.by))


def enter(world: World, ask: asks.EnterTrial) -> None:
    """Have a trial enter at a point that a sampler found, if it is still wanted."""
    track = _asking(world, ask.search)
    if track is None or not track.wants_more() or ask.number != len(track.trials) + 1:
        raise ConflictError(f"trial {ask.number} of search {ask.search.name!r} is not wanted any more")
    _enter(world, track, Point(ask.point, UNCOUNTED))
    world.state.flows.searches.stirred[ask.search.name] = None


def _asking(world: World, spec: SearchSpec) -> SearchTrack | None:
    """Return the search of these words that runs and is not being stopped."""
    track = world.state.flows.searches.tracks.get(spec.name)
    there = track is not None and track.spec == spec and track.state is None and track.stopping is None
    return track if there else None


def fail(world: World, ask: asks.FailSearch) -> None:
    """End a search for which no point can be found, with all its trials."""
    track = _asking(world, ask.search)
    if track is not None:
        _stop(world, track, because(Code.NO_POINT, error=ask.error))


def reported(world: World, report: TaskReported) -> None:
    """Take in what a trial tells on its way; one that does badly is stopped, where its search says so."""
    entry = world.state.live(report.task)
    found = world.state.flows.searches.trial_of(report.task.job)
    if entry is None or found is None:
        return
    track, trial = found
    value = worth(track.spec, report.metrics)
    told = trial.reports[-1][0] if trial.reports else 0
    if not value or report.step <= told or len(trial.reports) >= MOST_REPORTS:
        return
    world.emit(fe.TrialReported(world.now_us, track.spec.name, trial.number, report.step, value))
    if track.spec.stop is not None and stops(track, trial):
        searches = world.state.flows.searches
        searches.doomed.setdefault(entry.id, because(Code.STOPPED_EARLY, rule=track.spec.stop.rule, step=report.step))
        searches.stirred[track.spec.name] = None


def _stop(world: World, track: SearchTrack, cause: Reason) -> None:
    world.emit(fe.SearchStopping(world.now_us, track.spec.name, cause))
    for job in sorted(track.live):
        endings.cancel(world, world.jobs[job], cause)


def ask_again(world: World) -> None:
    """Have every point asked for anew: whoever was asked may be gone."""
    searches = world.state.flows.searches
    for track in searches.tracks.values():
        track.asked = 0
        if track.state is None:
            searches.stirred[track.spec.name] = None


def look(world: World, ask: asks.LookSearches) -> tuple[SearchView, ...]:
    """Return how the searches at hand stand; of the one that is asked for also what its trials reported."""
    tracks = world.state.flows.searches.tracks
    if ask.name:
        return (_view(tracks[ask.name], told=True),) if ask.name in tracks else ()
    return tuple(_view(track, told=False) for track in tracks.values())


def _view(track: SearchTrack, *, told: bool) -> SearchView:
    spec, best = track.spec, track.best()
    state = "running" if track.state is None else track.state.value
    trials = tuple(
        TrialView(t.number, t.point, t.job, _state(t), t.value, tuple(t.reports) if told else ()) for t in track.trials
    )
    return SearchView(
        spec.name, state, spec.trials, track.completed, track.failed, None if best is None else best.number, trials,
        track.reason, spec.direction, track.stopped, ((spec.job.user, spec.job.tenant),),
    )  # fmt: skip


def _state(trial: Trial) -> str:
    return "" if trial.state is None else "stopped" if trial.stopped else trial.state.value


def go_on(world: World) -> None:
    """Let every search go on of which something changed."""
    searches = world.state.flows.searches
    doomed, searches.doomed = searches.doomed, {}
    for job, cause in doomed.items():
        if job in world.jobs:  # it may have come to its end meanwhile
            endings.cancel(world, world.jobs[job], cause)
    while searches.stirred:
        name = next(iter(searches.stirred))
        del searches.stirred[name]
        track = searches.tracks[name]
        while track.state is None and track.wants_more():
            if track.spec.sampler in DRAWN:
                _ask(world, track)
                break
            _enter(world, track, next_point(track))
        found = None if track.state is not None else track.came_to()
        if found is not None:
            world.emit(fe.SearchEnded(world.now_us, name, *found))


def _named(point: str) -> Iterator[tuple[str, str]]:
    """Yield the variables that hold the values of a point: a text bare, all else as JSON."""
    for name, value in value_of(point).items():
        yield variable(name), value if isinstance(value, str) else text_of(name, value)


def _ask(world: World, track: SearchTrack) -> None:
    """Have the next point found, once."""
    if track.asked <= len(track.trials):
        track.asked = len(track.trials) + 1
        world.step_draws.append(draw_of(track))


def _enter(world: World, track: SearchTrack, point: Point) -> None:
    spec, job = track.spec, JobId(world.state.next_job)
    number = len(track.trials) + 1
    entered = replace(
        spec.job, name=f"{spec.name}.{number}", input=point.text, env=(*spec.job.env, *_named(point.text)), reports=True
    )
    world.emit(ev.Submitted(world.now_us, job, entered))
    world.emit(fe.TrialEntered(world.now_us, spec.name, number, point.text, point.place, job))
