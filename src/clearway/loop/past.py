"""How jobs ended, kept for ever in one byte each: dependencies bind to jobs that may be long over."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clearway.model.states import State

if TYPE_CHECKING:
    from clearway.model.ids import JobId

STATES = tuple(State)
FIRST_JOBS = 1024


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
