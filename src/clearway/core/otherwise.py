"""Which one word of a waiting job, said otherwise, would give it room now: the smallest changes first.

Only room and limits are looked at here; whether the job then really starts is for a cycle to say. What leaves the size
of the job alone comes before what makes it smaller; of sizes the largest that finds room is proposed.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from clearway.core.draft import Draft
from clearway.core.line import WaitClass, Waiting
from clearway.core.place import anywhere, place
from clearway.core.protocols import Candidate
from clearway.core.resources import ROW_NAMES
from clearway.model.ids import ClassId, JobId
from clearway.model.job import LEVELS, WHOLE, Demand, JobSpec, Role, Topology
from clearway.model.outlook import Change
from clearway.model.values import MAX_PRIORITY, SECOND_US

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from clearway.core.view import View

NOBODY = JobId(-1)
MOST_QUEUES = 20  # so many other queues are looked at, by name
AMOUNTS = ("cpus", "memory", "disk", "bandwidth")


class Proposal(NamedTuple):
    """A job with one word said otherwise."""

    change: Change
    spec: JobSpec


def has_room(view: View, spec: JobSpec, attempt: int = 0) -> bool:
    """Return whether a job would find room below its limits and on nodes if nobody were owed anything."""
    if view.queues.held_back(spec) is not None:
        return False
    waiting = Waiting(Candidate(NOBODY, spec, 0, spec.estimate_us), attempt, spec.estimate_us)
    cls = WaitClass(ClassId(-1), spec, [view.places_of(role.demand) for role in spec.roles], view.bound_of(spec))
    draft = Draft(view.ledger)
    found = place(view, cls, waiting, draft, None, anywhere) is not None
    draft.undo()
    return found


def proposals(view: View, spec: JobSpec, room_until_us: int | None, now_us: int) -> Iterator[Proposal]:
    """Yield the changes that give a job room now, the smallest first.

    `room_until_us`: when what is promised to others falls due; a job that ends before passes it.
    """
    sooner = chain(_first(view, spec), _sooner(view, spec, room_until_us, now_us))
    for one in chain(_elsewhere(view, spec), sooner, _smaller(view, spec)):
        if has_room(view, one.spec):
            yield one


# --- the same job somewhere else -------------------------------------------------------------------


def _elsewhere(view: View, spec: JobSpec) -> Iterator[Proposal]:
    yield from _wider(spec)
    for number, role in enumerate(spec.roles):
        yield from _other_nodes(view, spec, number, role)
    yield from _other_queues(view, spec)


def _wider(spec: JobSpec) -> Iterator[Proposal]:
    """Yield the job with wider required domains, in the end with none."""
    required = spec.topology.require
    wider = LEVELS[LEVELS.index(required) + 1 :] if required else ()
    for level in (*wider, "") if required else ():
        topology = Topology(level, spec.topology.prefer or required)
        yield Proposal(Change("topology", required, level or None), replace(spec, topology=topology))


def _other_nodes(view: View, spec: JobSpec, number: int, role: Role) -> Iterator[Proposal]:
    demand = role.demand
    if demand.gpu_models:
        others = sorted({kind.gpu_model for kind in view.ledger.kinds if kind.gpu_model} - set(demand.gpu_models))
        for model in others:
            yield _with(spec, number, "gpu_model", "gpu_models", (*demand.gpu_models, model))
    for label in demand.nodes:
        yield _with(spec, number, "nodes", "nodes", tuple(one for one in demand.nodes if one != label))
    for taint in sorted({taint for kind in view.ledger.kinds for taint in kind.taints} - set(demand.tolerates)):
        yield _with(spec, number, "tolerates", "tolerates", (*demand.tolerates, taint))
    if demand.spot != "allow":
        yield _with(spec, number, "spot", "spot", "allow")


def _other_queues(view: View, spec: JobSpec) -> Iterator[Proposal]:
    parents = {one.parent for one in view.queues.specs.values()}
    others = [name for name in sorted(view.queues.specs) if name != spec.queue and name not in parents]
    for name in others[:MOST_QUEUES]:
        yield Proposal(Change("queue", spec.queue, name, how="set"), replace(spec, queue=name))


def _first(view: View, spec: JobSpec) -> Iterator[Proposal]:
    """Yield the job with a priority above that of all to whom something is promised, or who wait where none is."""
    waiting = [one for cls in view.line.classes.values() for one in cls.jobs.values() if one.candidate.spec is not spec]
    promised = [one for one in waiting if one.job in view.reservations] or waiting
    above = max((one.candidate.priority for one in promised), default=spec.priority) + 1
    if spec.priority < above <= MAX_PRIORITY:
        yield Proposal(Change("priority", spec.priority, above, how="set"), replace(spec, priority=above))


def _sooner(view: View, spec: JobSpec, until_us: int | None, now_us: int) -> Iterator[Proposal]:
    """Yield the job with a time limit that ends before what is promised to others falls due."""
    left = 0 if until_us is None else (until_us - now_us) // SECOND_US * SECOND_US
    if left <= 0 or (spec.estimate_us is not None and spec.estimate_us <= left):
        return
    if spec.time_limit_us is not None or spec.time_estimate_us is None or view.forecasts.level:
        shorter = replace(spec, time_limit_us=left)
        yield Proposal(Change("time_limit", spec.time_limit_us, left, how="set"), shorter)
    else:
        yield Proposal(Change("time_estimate", spec.time_estimate_us, left), replace(spec, time_estimate_us=left))


# --- a smaller job ---------------------------------------------------------------------------------


def _smaller(view: View, spec: JobSpec) -> Iterator[Proposal]:
    for number, role in enumerate(spec.roles):
        for word in AMOUNTS:
            yield from _less(view, spec, number, word)
        yield from _less(view, spec, number, "gpu_memory", least=0 if role.demand.gpus or role.demand.share else 1)
        yield from _fewer_tasks(view, spec, number)
        yield from _less(view, spec, number, "gpus", least=1)
        yield from _less(view, spec, number, "share", least=1)


def _less(view: View, spec: JobSpec, number: int, field: str, least: int = 0) -> Iterator[Proposal]:
    """Yield the job with the largest smaller amount of something with which it finds room."""
    has = int(getattr(spec.roles[number].demand, field))
    free = {*_free_amounts(view, field), *_left_below_limits(view, spec, number, field)}
    sizes = list(range(least, has) if field in {"gpus", "share"} else sorted({n for n in free if n < has}))
    best = _largest([n for n in sizes if n >= least], lambda n: has_room(view, _with(spec, number, "", field, n).spec))
    if best is not None:
        yield _with(spec, number, "gpus" if field == "share" else field, field, best)


def _free_amounts(view: View, field: str) -> Iterable[int]:
    """Return what is free of a resource on each node, or of the memory of each device: the amounts that matter."""
    ledger = view.ledger
    if field == "gpu_memory":
        return {int(room) for room in ledger.dev_room[: ledger.count * ledger.width] if room > 0}
    if field in {"gpus", "share"}:
        return ()
    row = ROW_NAMES.index(field)
    return {int(free) for free in ledger.free[row][: ledger.count] if free > 0}


def _left_below_limits(view: View, spec: JobSpec, number: int, field: str) -> set[int]:
    """Return what each limit of a job's queues leaves for one of its tasks."""
    tasks = max(spec.roles[number].min_tasks, 1)
    return {(limit - used) // tasks for _, name, used, limit, _ in view.queues.limits_of(spec) if name == field}


def _fewer_tasks(view: View, spec: JobSpec, number: int) -> Iterator[Proposal]:
    role = spec.roles[number]

    def with_tasks(tasks: int) -> JobSpec:
        return _roles(spec, number, replace(role, tasks=tasks, min_tasks=min(role.min_tasks, tasks)))

    best = _largest(range(1, role.min_tasks), lambda n: has_room(view, with_tasks(n)))
    if best is not None:
        word, least = ("tasks", role.tasks) if role.tasks == role.min_tasks else ("min_tasks", role.min_tasks)
        said = with_tasks(best) if word == "tasks" else _roles(spec, number, replace(role, min_tasks=best))
        yield Proposal(Change(word, least, best, _role(spec, number)), said)


def _largest(sizes: Iterable[int], fits: Callable[[int], bool]) -> int | None:
    """Return the largest of sizes in ascending order that fits, None if none does; a smaller one fits no less."""
    sizes = list(sizes)
    low, high, found = 0, len(sizes) - 1, None
    while low <= high:
        middle = (low + high) // 2
        if fits(sizes[middle]):
            found, low = sizes[middle], middle + 1
        else:
            high = middle - 1
    return found


# --- words -----------------------------------------------------------------------------------------


def _with(spec: JobSpec, number: int, word: str, field: str, value: object) -> Proposal:
    demand: Demand = spec.roles[number].demand
    before = getattr(demand, field)
    changed = replace(demand, **{field: value})
    said = Change(word, _value(word, field, before), _value(word, field, value), _role(spec, number))
    return Proposal(said, _roles(spec, number, replace(spec.roles[number], demand=changed)))


def _value(word: str, field: str, value: object) -> int | str | tuple[str, ...] | None:
    if isinstance(value, int):
        return value * WHOLE if field == "gpus" else value
    if word == "nodes" and isinstance(value, tuple):
        return tuple(f"{key}={text}" for key, text in value)
    return value if isinstance(value, str) else tuple(value) if isinstance(value, tuple) else None


def _roles(spec: JobSpec, number: int, role: Role) -> JobSpec:
    return replace(spec, roles=(*spec.roles[:number], role, *spec.roles[number + 1 :]))


def _role(spec: JobSpec, number: int) -> str:
    return spec.roles[number].name if len(spec.roles) > 1 else ""
