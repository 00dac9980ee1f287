"""The `jobs` of a scenario: each entry is a batch of like jobs, entered one after another."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from clearway.model import values as v
from clearway.model.asks import Refuse
from clearway.model.errors import InputError, NotYetError, UnknownWordError
from clearway.model.job import JobSpec
from clearway.model.reasons import Code, Reason, because
from clearway.model.words import JOB_WORDS, Word, check_keys, read_job, read_words
from clearway.sim.queue_words import QueueBook
from clearway.sim.truth import TRUTH_WORDS, Truth, read_truth

if TYPE_CHECKING:
    from collections.abc import Iterator

RESERVED = frozenset(".#@[]*")
NAME_RULE = "in a scenario a name is free of . # @ [ ] *"
_ENTRY_WORDS: dict[str, Word] = {
    "submit": Word(v.duration, "text", "when it is submitted"),
    "count": Word(v.count, "number", "so many like jobs: name-1, name-2, .."),
    "every": Word(v.duration, "text", "time between their submits"),
}
_OWN = frozenset({*TRUTH_WORDS, *_ENTRY_WORDS})


class Arrival(NamedTuple):
    """What enters at `at_us`: a job, or its refusal at the door; and what will really happen to it."""

    at_us: int
    what: JobSpec | Refuse
    truth: Truth


class Reading(NamedTuple):
    """How the words of a job have been read: a spec under the batch's name, or why it is refused."""

    what: JobSpec | Reason
    truth: Truth


class Context(msgspec.Struct, frozen=True):
    """What reading a job needs beside its words."""

    queues: QueueBook
    clock_us: int = 0
    oracle: bool = False


class Batch(msgspec.Struct, frozen=True, eq=False):
    """One entry of `jobs`. `names` are those of its jobs, in the order of their submits."""

    raw: dict[str, object]
    names: tuple[str, ...]
    first_us: int
    every_us: int
    context: Context

    def arrivals(self) -> Iterator[Arrival]:
        """Yield its jobs in order of time. A queue's defaults are those at the moment of the submit."""
        read = lru_cache(maxsize=1)(self._read)
        for i, name in enumerate(self.names):
            at_us = self.first_us + i * self.every_us
            what, truth = read(self.context.queues.edition(at_us))
            yield Arrival(at_us, _named(what, name), truth)

    def all_names(self) -> Iterator[str]:
        """Yield the names of its jobs, and of the jobs of its arrays."""
        what = self._read(self.context.queues.edition(self.first_us)).what
        array = what.array if isinstance(what, JobSpec) else None
        yield from self.names
        if array is not None:
            yield from (f"{name}[{array.index(i)}]" for name in self.names for i in range(array.size))

    def check(self) -> None:
        """Raise UnknownWordError or NotYetError for a word that refuses the whole file."""
        self._read(self.context.queues.edition(self.first_us))

    def _read(self, edition: int) -> Reading:
        queue = self.raw.get("queue", "default")
        defaults = self.context.queues.defaults(queue if isinstance(queue, str) else "", edition)
        spec, truth = _spec(self.raw, defaults), _truth(self.raw)
        if isinstance(truth, Reason):
            return Reading(truth if isinstance(spec, JobSpec) else spec, Truth())
        if isinstance(spec, Reason):
            return Reading(spec, truth)
        if isinstance({**defaults, **self.raw}.get("deadline"), str):
            # A date is told by the wall clock, and the driver counts from the scenario's beginning.
            spec = msgspec.structs.replace(spec, deadline_us=max((spec.deadline_us or 0) - self.context.clock_us, 0))
        if self.context.oracle and truth.runtimes_us:
            spec = msgspec.structs.replace(spec, time_estimate_us=truth.runtimes_us[0])
        return Reading(spec, truth)


def read_batch(raw: object, context: Context) -> Batch:
    """Read one entry of `jobs`. Errors: unknown words, and what has no name or no moment, refuse the file."""
    if not isinstance(raw, dict):
        raise InputError("jobs", raw, "a list of maps of words")
    if "name" not in raw:
        raise InputError("name", None, "every job has a name", "jobs")
    name = v.name("name", raw["name"])
    place = f"job {name:.60}"
    check_keys(place, raw, {**JOB_WORDS, "pin": JOB_WORDS["name"]}, _OWN)
    own: dict[str, Any] = read_words(place, {k: x for k, x in raw.items() if k in _ENTRY_WORDS}, _ENTRY_WORDS)
    names = tuple(f"{name}-{i}" for i in range(1, own["count"] + 1)) if "count" in own else (name,)
    batch = Batch(raw, names, own.get("submit", 0), own.get("every", 0), context)
    batch.check()
    return batch


def _named(what: JobSpec | Reason, name: str) -> JobSpec | Refuse:
    if isinstance(what, Reason):
        return Refuse(name, what)
    return what if what.name == name else msgspec.structs.replace(what, name=name)


def refusal(error: InputError) -> Reason:
    """Return why a job is refused, from the error that says so."""
    return because(Code.BAD_VALUE, field=error.field, value=error.value, rule=error.rule)


def _truth(raw: dict[str, object]) -> Truth | Reason:
    try:
        return read_truth(raw)
    except (UnknownWordError, NotYetError):
        raise
    except InputError as error:
        return refusal(error)


def _spec(raw: dict[str, object], defaults: dict[str, object]) -> JobSpec | Reason:
    """Read a job. After a refused value the rest is read on, because an unknown word refuses the whole file."""
    words, first = dict(raw), None
    while True:
        try:
            spec = read_job(words, defaults, _OWN)
            break
        except (UnknownWordError, NotYetError):
            raise
        except InputError as error:
            first = first or refusal(error)
            culprit = error.field.partition(".")[0].partition("[")[0]
            if culprit not in words:
                return first
            del words[culprit]
    if first is None and RESERVED & set(spec.name):
        return because(Code.BAD_VALUE, field="name", value=repr(spec.name), rule=NAME_RULE)
    return first or spec
