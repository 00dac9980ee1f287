"""From what a cluster tells of a Job and its pods to one job of a workload."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from clearway.interop.importing import Past
from clearway.model.errors import InputError
from clearway.model.values import SECOND_US
from clearway.sim.workloads.writer import seconds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clearway.interop.gaps import Gaps

MAX_EXIT = 255
NEEDS = ("gpus", "gpu_model", "cpus", "memory")


class Owner(NamedTuple):
    """What pods belong to."""

    namespace: str
    kind: str
    name: str


class Known(NamedTuple):
    """A Job: when it was made, started and over, and its words. `parallel` pods at once, `completions` in all."""

    owner: Owner
    line: int
    at_us: int
    words: dict[str, object]
    started_us: int | None
    ended_us: int | None
    failed: bool
    parallel: int
    completions: int | None


class Ran(NamedTuple):
    """What one pod did. `taken`: it was stopped for another's sake, or lost with its node."""

    line: int
    made_us: int
    from_us: int
    to_us: int
    code: int
    words: dict[str, object]
    taken: bool


def job_of(known: Known, ran: Sequence[Ran], placed_us: int | None, gaps: Gaps) -> Past | None:
    """Return a Job with what its pods did; None, and counted, where it is not over. Raises InputError."""
    if known.ended_us is None:
        gaps.leave("Jobs that are not over")
        return None
    own = [one for one in ran if not one.taken]
    words = {"name": known.owner.name, **known.words}
    words |= {"tasks": known.parallel} if known.parallel > 1 else {}
    if known.parallel > 1:
        gaps.assume("its pods start together here; Kubernetes starts them one by one")
    if known.completions is not None and known.completions > known.parallel:
        gaps.assume("it had more completions than pods at once: it runs from the first to the last of them")
    words |= _tries(known, own) if own else _without(known, placed_us, gaps)
    took_us = _between("completionTime", known.at_us, known.ended_us)
    return Past(known.at_us, known.line, {**words, "took": seconds(took_us)})


def _tries(known: Known, ran: Sequence[Ran]) -> dict[str, object]:
    """Return how long each try ran. Pods side by side are one try, from the first to the last."""
    if known.parallel > 1 or (known.completions or 1) > 1:
        run_us = _between("finishedAt", min(one.from_us for one in ran), max(one.to_us for one in ran))
        return {"runtime": seconds(run_us), "exit_code": int(known.failed)}
    tries = sorted(ran, key=lambda one: one.from_us)
    times = [seconds(_between("finishedAt", one.from_us, one.to_us)) for one in tries]
    words: dict[str, object] = {"runtime": times, "exit_code": [max(0, min(one.code, MAX_EXIT)) for one in tries]}
    return words | ({"max_retries": len(tries) - 1} if len(tries) > 1 else {})


def _without(known: Known, placed_us: int | None, gaps: Gaps) -> dict[str, object]:
    """Return how long a Job ran whose pods are gone."""
    if placed_us is not None:
        begun_us = placed_us
        gaps.assume("its pods are gone: it runs from when an event says that they were placed")
    else:
        begun_us = known.started_us if known.started_us is not None else known.at_us
        gaps.assume("its pods are gone: it runs from its startTime, when they were made, so their wait is in it")
    run_us = _between("completionTime", begun_us, known.ended_us or begun_us)
    return {"runtime": seconds(run_us), "exit_code": int(known.failed)}


def loose_of(owner: Owner, ran: Sequence[Ran], gaps: Gaps) -> Past | None:
    """Return pods of one owner that is no Job here, or a pod without one, as one job."""
    own = [one for one in ran if not one.taken]
    if not own:
        gaps.leave("jobs whose pods were all evicted or preempted, so that nobody knows how long they run", 1)
        return None
    if owner.kind != "Pod":
        gaps.assume(f"it was made of the pods of a {owner.kind[:60]} that the file does not hold")
    at_us, end_us = min(one.made_us for one in own), max(one.to_us for one in own)
    run_us = _between("finishedAt", min(one.from_us for one in own), end_us)
    words = {k: value for k, value in own[0].words.items() if k not in NEEDS}
    words |= {"name": owner.name, **_roles(own), "runtime": seconds(run_us)}
    words["exit_code"] = max(0, min(max(one.code for one in own), MAX_EXIT))
    return Past(at_us, own[0].line, {**words, "took": seconds(_between("finishedAt", at_us, end_us))})


def _roles(ran: Sequence[Ran]) -> dict[str, object]:
    """Return the tasks: pods that ask for the same are one role."""
    kinds: list[tuple[dict[str, object], int]] = []
    for one in ran:
        need = {word: one.words[word] for word in NEEDS if word in one.words}
        at = next((i for i, (other, _) in enumerate(kinds) if other == need), None)
        if at is None:
            kinds.append((need, 1))
        else:
            kinds[at] = (need, kinds[at][1] + 1)
    if len(kinds) == 1:
        need, tasks = kinds[0]
        return {**need, **({"tasks": tasks} if tasks > 1 else {})}
    return {"roles": [{"name": f"kind-{i}", "tasks": tasks, **need} for i, (need, tasks) in enumerate(kinds)]}


def _between(field: str, from_us: int, to_us: int) -> int:
    if to_us < from_us:
        raise InputError(field, f"{(to_us - from_us) // SECOND_US} s", "not before the beginning")
    return to_us - from_us
