"""What makes two jobs alike: the kinds of groups in which past runs are kept, wide ones before narrow ones."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from clearway.ports.forecaster import Known

_VARYING = re.compile(r"[0-9a-f]*\d[0-9a-f]*", re.IGNORECASE)
LONGEST_TEXT = 200
DIGITS = 2
REMEMBERED = 4096


class Kind(NamedTuple):
    """One way to group jobs. `key` returns None where the job does not say what is needed.

    `parent` is the place in KINDS of the wider group that speaks where a narrow one has few runs.
    """

    words: str
    parent: int
    key: Callable[[Known], Hashable]


NOBODY = -1


@lru_cache(REMEMBERED)
def stem(text: str) -> str:
    """Return what is left of a name or a command without numbers and hashes: runs of one thing have it in common."""
    return _VARYING.sub("#", text[:LONGEST_TEXT])


def size(known: Known) -> tuple[int, int, int]:
    """Return what a job asks for."""
    return known.milli_gpus, known.milli_cpus, known.tasks


def estimate(known: Known) -> int | None:
    """Return what the user says of the run time, to two digits."""
    us = known.asked_us or known.limit_us
    if us is None:
        return None
    step: int = 10 ** max(len(str(us)) - DIGITS, 0)
    return us // step * step


def _all(*parts: Callable[[Known], Hashable]) -> Callable[[Known], Hashable]:
    """Join what jobs must have in common; one that does not say one of it is in no such group."""

    def key(known: Known) -> Hashable:
        found = tuple(part(known) for part in parts)
        return None if None in found or "" in found else found

    return key


def _user(known: Known) -> str:
    return known.user


def _queue(known: Known) -> str:
    return known.queue


def _name(known: Known) -> str:
    return stem(known.name)


def _command(known: Known) -> str:
    return stem(known.command)


KINDS = (
    Kind("all runs", NOBODY, _all()),
    Kind("runs of this size", 0, _all(size)),
    Kind("runs of this queue", 0, _all(_queue)),
    Kind("runs of this size in this queue", 1, _all(_queue, size)),
    Kind("runs of this name", 0, _all(_name)),
    Kind("runs of this name and size", 4, _all(_name, size)),
    Kind("runs of this command", 0, _all(_command)),
    Kind("runs with this estimate", 0, _all(estimate)),
    Kind("runs of this user", 0, _all(_user)),
    Kind("runs of this size by this user", 8, _all(_user, size)),
    Kind("runs of this name by this user", 8, _all(_user, _name)),
    Kind("runs with this estimate by this user", 8, _all(_user, estimate)),
    Kind("runs of this command and size by this user", 9, _all(_user, _command, size)),
)
