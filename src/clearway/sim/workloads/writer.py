"""Writes Clearway's own workload file, line by line. docs/workload-format.md describes it."""

from __future__ import annotations

import gzip
from contextlib import contextmanager
from fractions import Fraction
from typing import IO, TYPE_CHECKING, Any

import msgspec

from clearway.model.job import WHOLE
from clearway.model.values import MILLI, SECOND_US
from clearway.sim.workloads.own import NAME, TOOK, VERSION

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from clearway.model.job import Demand, JobSpec, Role
    from clearway.sim.truth import Truth
    from clearway.sim.workloads.trace import Arrival

_encoder = msgspec.json.Encoder()
_SAME = ("priority", "preemptible", "max_retries", "max_losses", "on_deadline", "user", "tenant", "right_size")
_DEMAND_SAME = ("memory", "disk", "gpu_memory", "spot")


@contextmanager
def written(path: Path, header: Mapping[str, Any] | None = None) -> Iterator[Callable[[Arrival], None]]:
    """Open a workload file and yield what writes one job. A name that ends in `.gz` is compressed.

    `header` may hold `clock`, `title`, `origin`, `fleet`, `queues`, `limits`. Jobs must come in order of time, or a
    reader has to sort them.
    """
    with _opened(path) as file:
        file.write(_encoder.encode({"format": NAME, "version": VERSION, **(header or {})}) + b"\n")

        def write(arrival: Arrival) -> None:
            file.write(_encoder.encode(words_of(arrival)) + b"\n")

        yield write


def _opened(path: Path) -> IO[bytes]:
    # mtime 0: the same jobs make the same file
    return gzip.GzipFile(path, "wb", mtime=0) if path.name.endswith(".gz") else path.open("wb")  # type: ignore[return-value]


def words_of(arrival: Arrival) -> dict[str, Any]:
    """Return one job as words. Commands, environments and directories are left out: a replay needs none."""
    spec, truth = arrival.spec, arrival.truth
    words: dict[str, Any] = {"name": spec.name, "submit": seconds(arrival.at_us)}
    words |= _truth_words(truth)
    words |= _roles_words(spec.roles)
    words |= _changed(spec, _SAME)
    if spec.queue != "default":
        words["queue"] = spec.queue
    words |= {word: list(getattr(spec, word)) for word in ("uses", "after", "retry_on") if getattr(spec, word)}
    if spec.labels:
        words["labels"] = dict(spec.labels)
    for word in ("time_limit", "time_estimate", "start_deadline"):
        us = getattr(spec, f"{word}_us")
        if us is not None:
            words[word] = seconds(us)
    if spec.deadline_us is not None:
        words["deadline"] = seconds(spec.deadline_us)
    if spec.checkpoint.every_us:
        words["checkpoint"] = {"every": seconds(spec.checkpoint.every_us), "grace": seconds(spec.checkpoint.grace_us)}
    return words


def seconds(us: int) -> int | float:
    """Return microseconds as seconds, exactly as far as a float can, whole ones as integers."""
    exact = Fraction(us, SECOND_US)
    return exact.numerator if exact.denominator == 1 else float(exact)


def _truth_words(truth: Truth) -> dict[str, Any]:
    words: dict[str, Any] = {}
    if truth.runtimes_us:
        times = [seconds(us) for us in truth.runtimes_us]
        words["runtime"] = times[0] if len(times) == 1 else times
    if any(truth.exit_codes):
        words["exit_code"] = truth.exit_codes[0] if len(truth.exit_codes) == 1 else list(truth.exit_codes)
    if truth.cancel_after_us is not None:
        words["cancel_after"] = seconds(truth.cancel_after_us)
    if truth.took_us is not None:
        words[TOOK] = seconds(truth.took_us)
    return words


def _roles_words(roles: tuple[Role, ...]) -> dict[str, Any]:
    if len(roles) == 1:
        return _role_words(roles[0])
    return {"roles": [{"name": role.name, **_role_words(role)} for role in roles]}


def _role_words(role: Role) -> dict[str, Any]:
    words: dict[str, Any] = {}
    if role.tasks != 1:
        words["tasks"] = role.tasks
    if role.min_tasks != role.tasks:
        words["min_tasks"] = role.min_tasks
    if role.one_per_node:
        words["one_per_node"] = True
    return words | _demand_words(role.demand)


def _demand_words(demand: Demand) -> dict[str, Any]:
    words: dict[str, Any] = _changed(demand, _DEMAND_SAME)
    if demand.gpus or demand.share:
        words["gpus"] = demand.gpus or demand.share / WHOLE
    for word in ("cpus", "bandwidth"):
        milli = getattr(demand, word)
        if milli:
            words[word] = milli // MILLI if milli % MILLI == 0 else milli / MILLI
    if demand.gpu_models:
        words["gpu_model"] = list(demand.gpu_models)
    if demand.tolerates:
        words["tolerates"] = list(demand.tolerates)
    words |= {word: dict(getattr(demand, word)) for word in ("resources", "nodes") if getattr(demand, word)}
    return words


def _changed(thing: Demand | JobSpec, words: tuple[str, ...]) -> dict[str, Any]:
    """Return the words whose values are not the default."""
    defaults = dict(zip(thing.__struct_fields__[::-1], thing.__struct_defaults__[::-1], strict=False))
    return {word: getattr(thing, word) for word in words if getattr(thing, word) != defaults.get(word)}
