"""How things stand for one job: what it lacks, what would let it start at once, and when it is expected to start.

Every change that is named was tried: it was made in a twin of the world, which then decided as the world itself would,
and the job started. Nothing is guessed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from clearway.core.beyond import beyond_limits, could_stand
from clearway.core.explain import no_capacity
from clearway.core.hopeless import hopeless
from clearway.core.lacks import lacks
from clearway.core.otherwise import Proposal, proposals
from clearway.model import asks
from clearway.model.errors import ClearwayError, ConflictError, NotFoundError
from clearway.model.events import Started
from clearway.model.ids import JobId
from clearway.model.needs import sized
from clearway.model.outlook import Change, Outlook
from clearway.model.reasons import Code
from clearway.model.states import State
from clearway.whatif.ahead import look_ahead
from clearway.whatif.eta import etas
from clearway.whatif.outside import outside_lacks
from clearway.whatif.twin import twin

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from clearway.loop.entry import JobEntry
    from clearway.loop.world import World
    from clearway.model.job import JobSpec
    from clearway.model.needs import Need
    from clearway.model.outlook import Lack

    Patience = tuple[Callable[[], bool], Callable[[], bool]]

MOST_CHANGES = 4
MOST_TRIED = 12
"""So many changes are tried in a twin at most: each costs a copy of the world and a step."""
SHOWN_NODES = 8


def _always() -> bool:
    return True


def outlook(
    world: World, job: JobId, now_us: int, goes_on: Callable[[], bool] = _always, draws: Callable[[], bool] = _always
) -> Outlook:
    """Return how things stand for a job that waits. The world stays as it is.

    `goes_on` is asked before each change that is tried; no further one is, once it says no. `draws` in the same way
    before each sample of how sure its start is.
    NotFoundError: there is no such job among those that are not over; ConflictError: it does not wait.
    """
    if job not in world.jobs:
        raise NotFoundError(f"there is no job {job} among those that are not over")
    if world.jobs[job].state != State.PENDING:
        raise ConflictError(f"job {job} is {world.jobs[job].state}: only one that waits has an outlook")
    now_us = max(now_us, world.now_us)
    base = twin(world)
    step = base.step((), now_us)
    started = [record for record in step.records if isinstance(record, Started)]
    (found,) = _of(base, (job,), now_us, started, (goes_on, draws))
    return found


def advise(
    world: World,
    specs: Sequence[JobSpec],
    now_us: int,
    goes_on: Callable[[], bool] = _always,
    draws: Callable[[], bool] = _always,
) -> list[Outlook]:
    """Return how things would stand for jobs if they were submitted now, together. The world stays as it is.

    The errors of a submit: a queue, limit or job that is named and not there.
    """
    now_us = max(now_us, world.now_us)
    base = twin(world)
    base.step((), now_us)
    step = base.step((asks.Submit(tuple(specs)),), now_us)
    (numbers,) = step.answers
    if isinstance(numbers, ClearwayError):
        raise numbers
    if not isinstance(numbers, tuple):
        raise ConflictError(f"a submit was answered with {numbers!r}")
    started = [record for record in step.records if isinstance(record, Started)]
    return _of(base, numbers, now_us, started, (goes_on, draws))


def _of(
    base: World, jobs: Sequence[JobId], now_us: int, started: Sequence[Started], patience: Patience
) -> list[Outlook]:
    """Return how things stand for each; all of them are looked ahead for together."""
    goes_on, draws = patience
    found = {job: _stands(base, job, now_us, started) for job in jobs}
    wait = {job: _in_line(base, job) for job in jobs if found[job].verdict == "waits"}
    begin, looked_us = look_ahead(base, tuple(wait.values()), now_us, goes_on)
    for job, first in wait.items():
        begins = begin.get(first)
        if begins is None:
            found[job] = replace(found[job], looked_us=looked_us)
        else:
            found[job] = replace(found[job], start_us=begins.start_us, nodes=begins.nodes)
    for job in jobs:
        if found[job].verdict != "starts":
            found[job] = _changed(base, base.jobs[_in_line(base, job)], found[job], now_us, goes_on)
    if wait and base.state.view.forecasts.said:
        sure = etas(base, tuple(wait.values()), now_us, goes_on=draws)
        found |= {job: replace(found[job], eta=sure.get(first)) for job, first in wait.items()}
    return list(found.values())


def _stands(base: World, job: JobId, now_us: int, started: Sequence[Started]) -> Outlook:
    """Return whether a job starts, waits or never will, and what it lacks."""
    whole, job = job, _in_line(base, job)
    entry = base.jobs.get(job)
    needs = () if entry is None else _needs(base, entry, now_us)
    for record in started:
        if record.job in {job, whole} or base.jobs[record.job].array == whole:
            return Outlook("starts", start_us=record.at_us, nodes=_nodes(base, record), needs=needs)
    if entry is None:
        raise ConflictError(f"job {job} is over: {base.state.over.get(job)}")
    return _with_nodes(base, entry, Outlook(_verdict(base, entry), _lacks(base, entry), needs=needs))


def _changed(base: World, entry: JobEntry, found: Outlook, now_us: int, goes_on: Callable[[], bool]) -> Outlook:
    """Return it with what would let the job start now."""
    found = replace(found, changes=_changes(base, entry, now_us, goes_on))
    if found.needs and goes_on():
        found = replace(found, needs_nodes=_starts_with(base, entry, found.needs, now_us))
    return found


def _needs(base: World, entry: JobEntry, now_us: int) -> tuple[Need, ...]:
    """Return what a job is thought to need: as it was said of it, or as it would be said now."""
    if entry.needs or entry.attempt or base.forecasting is None:
        return entry.needs
    return base.forecasting.needed(entry.spec, now_us)


def _starts_with(base: World, entry: JobEntry, needs: tuple[Need, ...], now_us: int) -> tuple[str, ...]:
    """Return on which nodes a job would start at once with what is enough where it asks for more."""
    less = [replace(need, applied=True) for need in needs if 0 < need.enough < need.asked and not need.applied]
    spec = sized(entry.spec, less)
    if entry.cls is None or spec is entry.spec:
        return ()
    return tried_out(base, entry.id, Proposal(Change(less[0].word, less[0].asked, less[0].enough), spec), now_us) or ()


def _in_line(base: World, job: JobId) -> JobId:
    """Return the first job of an array that stands in the line for it; any other job for itself."""
    track = base.state.arrays.get(job)
    return job if track is None else min(track.in_line, default=job)


def _nodes(world: World, record: Started) -> tuple[str, ...]:
    return tuple(sorted({world.node_name(grant.node) for grant in record.grants}))


def _verdict(base: World, entry: JobEntry) -> str:
    view = base.state.view
    if beyond_limits(view, entry.spec):
        return "limited"
    if entry.cls is None:
        return "waits"
    cls = view.line.classes[entry.cls]
    return "never" if hopeless(view, cls) and cls.never else "waits"


def _lacks(base: World, entry: JobEntry) -> tuple[Lack, ...]:
    view = base.state.view
    if entry.cls is None:
        return outside_lacks(base, entry)
    cls = view.line.classes[entry.cls]
    found = lacks(view, cls)
    return found or outside_lacks(base, entry, cls.reasons)


def _with_nodes(base: World, entry: JobEntry, found: Outlook) -> Outlook:
    if entry.cls is None:
        return found
    view = base.state.view
    cls = view.line.classes[entry.cls]
    names = could_stand(view, cls)
    if cls.reasons and cls.reasons[0].code in (Code.NO_CAPACITY, Code.NEVER_FITS):
        found = replace(found, reason=no_capacity(view, cls, never=found.verdict == "never"))
    fleet = sum(1 for spec in view.ledger.specs if spec.name)
    return replace(found, fits=tuple(names[:SHOWN_NODES]), more_fit=max(len(names) - SHOWN_NODES, 0), of_nodes=fleet)


# --- changes -----------------------------------------------------------------------------------------


def _changes(base: World, entry: JobEntry, now_us: int, goes_on: Callable[[], bool]) -> tuple[Change, ...]:
    """Return the smallest changes of one word with which a job that stands in the line would start at once."""
    if entry.cls is None:
        return ()
    found: dict[tuple[str, str], Change] = {}
    for tried, proposal in enumerate(_proposed(base, entry, now_us)):
        if tried == MOST_TRIED or len(found) == MOST_CHANGES or not goes_on():
            break
        key = (proposal.change.word, proposal.change.role)
        if key not in found and (nodes := tried_out(base, entry.id, proposal, now_us)) is not None:
            found[key] = replace(proposal.change, nodes=nodes)
    return tuple(found.values())


def _proposed(base: World, entry: JobEntry, now_us: int) -> Iterator[Proposal]:
    view = base.state.view
    due = [promise.start_us for promise in view.reservations.values() if promise.job != entry.id]
    due += [kept.booking.from_us for kept in view.bookings.kept.values()]
    return proposals(view, entry.spec, min((moment for moment in due if moment > now_us), default=None), now_us)


def tried_out(base: World, job: JobId, proposal: Proposal, now_us: int) -> tuple[str, ...] | None:
    """Return on which nodes a job starts at once with a change, in a twin; None if it does not start."""
    trial = twin(base)
    wanted, inputs = _asked(trial, job, proposal)
    step = trial.step(inputs, now_us)
    if any(isinstance(answer, ClearwayError) for answer in step.answers):
        return None
    return next((_nodes(trial, r) for r in step.records if isinstance(r, Started) and r.job == wanted), None)


def _asked(trial: World, job: JobId, proposal: Proposal) -> tuple[JobId, list[asks.Ask]]:
    """Return what a person would ask for to have a change, and the job that is to start then."""
    spec, word = proposal.spec, proposal.change.word
    if proposal.change.how == "set":
        return job, [asks.Change(job, (word,), spec.priority, spec.queue, spec.time_limit_us)]
    anew = replace(spec, idempotency_key="", after=())
    return JobId(trial.state.next_job), [asks.Cancel(job), asks.Submit((anew,))]
