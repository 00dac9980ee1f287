"""The words of what people ask of jobs that are there, of queues that are there, and of bookings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clearway.model import values as v
from clearway.model.asks import Change, SetQueue
from clearway.model.errors import InputError
from clearway.model.fleet import BookingSpec, QueueSpec
from clearway.model.machine_words import QUEUE_WORDS
from clearway.model.words import JOB_WORDS, Word, named, read_words

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from clearway.model.ids import JobId

NONE = "none"


def _limit_or_none(field: str, value: object) -> str | int:
    return NONE if value == NONE else v.duration(field, value)


CHANGE_WORDS: dict[str, Word] = {
    "priority": JOB_WORDS["priority"],
    "queue": JOB_WORDS["queue"],
    "time_limit": Word(_limit_or_none, "text", "an attempt is stopped after running so long; none: never"),
}
"""Words of a job that may be changed while it is there. A value is judged as in a submit."""


def read_change(job: JobId, raw: object, by: str = "") -> Change:
    """Read `{word: value}` with one word or more. Raises InputError."""
    given = read_words("change", raw, CHANGE_WORDS)
    if not given:
        raise InputError("change", raw, "one or more of " + ", ".join(CHANGE_WORDS))
    words = tuple(sorted(given))
    limit = given.pop("time_limit", NONE)
    return Change(job, words, time_limit_us=None if limit == NONE else limit, by=by, **given)


def read_queue_change(name: str, raw: object) -> SetQueue:
    """Read words of a queue; those that are not said stay as they are where the queue exists."""
    given = read_words(f"queue {name:.60}", raw, QUEUE_WORDS)
    if given.pop("name", name) != name:
        raise InputError("name", raw, "the name by which the queue is asked for", f"queue {name:.60}")
    spec = QueueSpec(name=v.name("name", name), **given)
    if spec.parent == spec.name:
        raise InputError("parent", spec.parent, "another queue than itself", f"queue {name:.60}")
    return SetQueue(spec, tuple(sorted(given)))


def _devices(field: str, value: object) -> int:
    milli = v.gpus(field, value)
    if not milli or milli % v.MILLI:
        raise InputError(field, value, "a whole number of devices, at least 1")
    return milli // v.MILLI


def _booking_words(moment: Callable[[str, object], int]) -> dict[str, Word]:
    return {
        "name": Word(v.name, "text", "name of the booking"),
        "nodes": Word(v.names, "names", "nodes that are kept whole"),
        "gpus": Word(_devices, "number", "so many whole devices are kept, on whatever nodes"),
        "from": Word(moment, "text", "when it begins"),
        "to": Word(moment, "text", "when it ends"),
        "for": Word(v.names, "names", "queues and users whose jobs may start there; nobody: no job may"),
    }


BOOKING_WORDS = _booking_words(v.instant)
"""Words of a booking; its times are dates with an offset. In a scenario they are seconds from its beginning."""


def read_booking(raw: Mapping[str, object], *, seconds: bool = False) -> BookingSpec:
    """Read a booking. Raises InputError."""
    place = named("booking", raw)
    given = read_words(place, raw, _booking_words(v.duration) if seconds else BOOKING_WORDS)
    for word in ("name", "from", "to"):
        if word not in given:
            raise InputError(word, None, "every booking has a name, a beginning and an end", place)
    if bool(given.get("nodes")) == bool(given.get("gpus")):
        raise InputError("nodes", given.get("nodes"), "either nodes or gpus, one of them", place)
    if given["to"] <= given["from"]:
        raise InputError("to", raw.get("to"), "later than from", place)
    return _booking(given)


def _booking(given: dict[str, Any]) -> BookingSpec:
    nodes = tuple(dict.fromkeys(given.get("nodes", ())))
    whom = tuple(dict.fromkeys(given.get("for", ())))
    return BookingSpec(given["name"], given["from"], given["to"], nodes, given.get("gpus", 0), whom)
