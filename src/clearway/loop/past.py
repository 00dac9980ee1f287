"""How jobs ended, kept for ever in one byte each: dependencies bind to jobs that may be long over."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, NamedTuple

from clearway.model.states import State
from clearway.model.values import SECOND_US

if TYPE_CHECKING:
    from collections.abc import Iterable

    from clearway.loop.entry import JobEntry
    from clearway.model.ids import JobId
    from clearway.model.job import JobSpec

STATES = tuple(State)
FIRST_JOBS = 1024
NAMES_KEPT_US = 24 * 3600 * SECOND_US
"""So long after its end a job's name can be waited for and its idempotency key is known: a client that tries again
does so within minutes, one that was down over night comes back within a day.
"""
MOST_NAMES = 1_000_000
"""But of so many finished jobs only, the newest: a million names with their keys are about 300 MB."""


class Past:
    """The terminal state of every job that is over, by its number."""

    def __init__(self) -> None:
        """Begin with nothing over."""
        self._codes = bytearray(FIRST_JOBS)

    def __setitem__(self, job: JobId, state: State) -> None:
        """Note how a job ended."""
        if job >= len(self._codes):
            self._codes.extend(bytes(max(job + 1 - len(self._codes), len(self._codes))))
        self._codes[job] = STATES.index(state) + 1

    def forget(self, job: JobId) -> None:
        """Take back that a job is over."""
        self._codes[job] = 0

    def taken(self) -> bytes:
        """Return all of it as bytes."""
        return bytes(self._codes).rstrip(b"\0")

    def put_back(self, taken: bytes) -> None:
        """Be as `taken` said."""
        self._codes = bytearray(taken.ljust(FIRST_JOBS, b"\0"))

    def get(self, job: JobId) -> State | None:
        """Return how a job ended, None if it is not over or there is none."""
        code = self._codes[job] if 0 <= job < len(self._codes) else 0
        return STATES[code - 1] if code else None

    def __getitem__(self, job: JobId) -> State:
        """Return how a job ended; KeyError if it is not over."""
        state = self.get(job)
        if state is None:
            raise KeyError(job)
        return state

    def __contains__(self, job: JobId) -> bool:
        """Return whether a job is over."""
        return self.get(job) is not None


Key = tuple[str, str]
"""An idempotency key is its user's own: who submits does not get, or learn of, what another one entered by chance or
intent under the same key.
"""
Keys = dict[Key, tuple["JobId", "JobSpec"]]


def key_of(spec: JobSpec) -> Key | None:
    """Return user and idempotency key of a job, None where it has no key."""
    return (spec.user, spec.idempotency_key) if spec.idempotency_key else None


class Named(NamedTuple):
    """A job that is over, and what it can still be found by."""

    ended_us: int
    job: JobId
    name: str
    key: Key | None


class Gone:
    """The jobs that are over and whose names and idempotency keys are still known, in the order in which they ended."""

    def __init__(self) -> None:
        """Begin with none."""
        self._named: deque[Named] = deque()

    def add(self, entry: JobEntry, names: dict[str, JobId], keys: Keys) -> None:
        """Take note of an end, and forget what has long been over, unless a newer job has its name or key."""
        now_us = entry.ended_us or 0
        while self._named and (now_us - self._named[0].ended_us >= NAMES_KEPT_US or len(self._named) >= MOST_NAMES):
            old = self._named.popleft()
            if names.get(old.name) == old.job:
                del names[old.name]
            if old.key is not None and old.key in keys and keys[old.key][0] == old.job:
                del keys[old.key]
        self._named.append(Named(now_us, entry.id, entry.spec.name, key_of(entry.spec)))

    def taken(self) -> tuple[tuple[int, JobId, str, str], ...]:
        """Return all of them, with keys alone: whose they are follows from what each key belongs to."""
        return tuple((one.ended_us, one.job, one.name, one.key[1] if one.key else "") for one in self._named)

    def put_back(self, taken: Iterable[tuple[int, JobId, str, str]], keys: Keys) -> None:
        """Be as `taken` said."""
        whose = {job: key for key, (job, _) in keys.items()}
        self._named = deque(
            Named(ended_us, job, name, whose.get(job) if key else None) for ended_us, job, name, key in taken
        )
