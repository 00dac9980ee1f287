"""What a job needs beside what it asks for: when it is said, and how it is applied and taken back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from clearway.model import events as ev
from clearway.model.needs import Amounts, Took, as_asked, asked_of, sized
from clearway.model.reasons import Code, Reason, because
from clearway.model.retry_words import kind_of
from clearway.model.states import End
from clearway.model.use import Used, each
from clearway.ports.forecaster import known_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from clearway.forecast.needs import Needs
    from clearway.loop.entry import JobEntry
    from clearway.loop.state import WorldState
    from clearway.loop.world import World
    from clearway.model.job import JobSpec
    from clearway.model.needs import Need

LOWERED = ("memory", "gpu_memory", "cpus")
"""Words that may be lowered for a job that allows it; how many GPUs it gets is its own to say."""
FULL = 90
"""A task that took so many hundredths of its GPU memory and failed is taken to have run out of it."""


def needs_of(needs: Needs, spec: JobSpec, submitted_us: int) -> tuple[Need, ...]:
    """Return what a job is thought to need where it asks for something else, applied where it may be."""
    if spec.right_size == "off" or spec.array is not None:
        return ()
    found = needs.of(known_of(spec, submitted_us), spec)
    return tuple(replace(one, applied=True) if _may_apply(one, spec) else one for one in found)


def _may_apply(need: Need, spec: JobSpec) -> bool:
    role = next(role for role in spec.roles if role.name == need.role)
    wanted = spec.right_size == "apply" and need.word in LOWERED and need.own and not need.ooms
    of_share = need.word != "gpu_memory" or role.demand.one_device
    return wanted and of_share and 0 < need.enough < need.asked


def see_to(needs: Needs, world: World, entry: JobEntry) -> None:
    """Record what a job needs, before its first attempt."""
    if entry.attempt or entry.needs or not (found := needs_of(needs, entry.spec, entry.submitted_us)):
        return
    world.emit(ev.Sized(world.now_us, entry.id, found))


def ran_short(entry: JobEntry, end: End, cause: Reason) -> str:
    """Return the word of which a failed attempt was given too little of what its job asks for; empty: of none."""
    words = {need.word for need in entry.needs if need.applied}
    if end is not End.FAILED or not words:
        return ""
    if "memory" in words and (entry.oom or kind_of(end, cause) == "oom"):
        return "memory"
    return "gpu_memory" if "gpu_memory" in words and any(map(_filled, entry.took.values())) else ""


def _filled(took: Took) -> bool:
    had, most = took.had.gpu_memory or 0, took.took.gpu_memory or 0
    return had > 0 and most * 100 >= had * FULL


def give_back(world: World, entry: JobEntry, word: str) -> Reason:
    """Have a job get what it asks for from now on, and return why."""
    need = next(need for need in entry.needs if need.applied and need.word == word)
    world.emit(ev.Sized(world.now_us, entry.id, as_asked(entry.needs)))
    return because(Code.RAN_SHORT, word=word, had=need.enough, asked=need.asked)


def asked(entry: JobEntry) -> JobSpec:
    """Return a job as its user asks for it."""
    return sized(entry.spec, as_asked(entry.needs))


def count_took(entry: JobEntry, record: ev.TaskEnded) -> None:
    """Take note of what a task took that has ended: the most of each role counts."""
    if record.used is None and not record.oom:
        return
    role, used = entry.spec.roles[record.task.role], record.used or Used()
    before = entry.took.get(record.task.role)
    took = _amounts(used) if before is None else _most(before.took, used)
    oom = record.oom or (before is not None and before.oom)
    lowered = any(need.applied and (need.role, need.word) == (role.name, "memory") for need in entry.needs)
    entry.took[record.task.role] = Took(role.name, role.tasks, asked_of(role), took, oom, lowered)


def _amounts(used: Used) -> Amounts:
    return Amounts(used.peak_memory, used.peak_gpu_memory, used.peak_cpus, used.worked)


def _most(before: Amounts, used: Used) -> Amounts:
    was = Used(
        peak_cpus=before.cpus, peak_memory=before.memory, peak_gpu_memory=before.gpu_memory, worked=before.gpus
    )  # fmt: skip
    return _amounts(each(was, used))


def _sized(state: WorldState, record: ev.Sized) -> None:
    entry = state.jobs[record.job]
    entry.needs, entry.spec = record.needs, sized(entry.spec, record.needs)


APPLY: dict[type, Callable[[Any, Any], None]] = {ev.Sized: _sized}
