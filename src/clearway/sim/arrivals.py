"""Jobs on their way in: as they are listed, or some of them after the end of what their user waited for."""

from __future__ import annotations

from collections import deque
from heapq import heappop, heappush
from typing import TYPE_CHECKING

from clearway.model.asks import Refuse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from clearway.model.ids import JobId
    from clearway.model.job import JobSpec
    from clearway.sim.thinking import Thinking
    from clearway.sim.truth import Truth

Listed = tuple[int, "JobSpec | Refuse", "Truth"]
Entering = tuple["JobSpec | Refuse", "Truth"]


class Arrivals:
    """Jobs enter when the list says. They are pulled when their moment comes, in order of time."""

    def __init__(self, jobs: Iterable[Listed]) -> None:
        """Take the list."""
        self._jobs = iter(jobs)
        self._head = next(self._jobs, None)

    def next_us(self) -> int | None:
        """Return when the next job enters, None where none is known to."""
        return self._head[0] if self._head else None

    def take(self, now_us: int) -> list[Entering]:
        """Return those whose moment has come, in order."""
        found: list[Entering] = []
        while self._head and self._head[0] <= now_us:
            found.append(self._head[1:])
            self._head = next(self._jobs, None)
        return found

    def entered(self, job: JobId | None, now_us: int) -> None:
        """Hear, in the order of `take`, under which number a job was taken; None: it was refused."""

    def ended(self, job: JobId, now_us: int) -> None:
        """Hear that a job is over."""


class AfterThought(Arrivals):
    """What users submitted once they had seen the end of something enters so long after that end as it did then.

    `told` is given the place of each job in the list, and the job, when it enters. The list is read no further than
    the earliest moment at which a job in it could enter.
    """

    def __init__(self, jobs: Iterable[Listed], thinking: Thinking, told: Callable[[int, JobSpec, Truth], None]) -> None:
        """Take the list, and what of it hangs on what."""
        super().__init__(jobs)
        self._thinking, self._told = thinking, told
        self._place = 0
        self._ready: list[tuple[int, int, JobSpec | Refuse, Truth]] = []
        self._held: dict[int, list[tuple[int, int, JobSpec | Refuse, Truth]]] = {}
        self._shifts: dict[int, int] = {}
        self._unread = thinking.sizes.tolist()
        self._left = thinking.sizes.tolist()
        self._earliest_us = 0
        self._asked: deque[int] = deque()
        self._places: dict[JobId, int] = {}

    def next_us(self) -> int | None:
        """Return when the next job enters, None where none is known to."""
        self._read()
        return self._ready[0][0] if self._ready else None

    def take(self, now_us: int) -> list[Entering]:
        """Return those whose moment has come, in order."""
        found: list[Entering] = []
        while (at_us := self.next_us()) is not None and at_us <= now_us:
            _, place, what, truth = heappop(self._ready)
            self._asked.append(place)
            if not isinstance(what, Refuse):
                self._told(place, what, truth)
            found.append((what, truth))
        return found

    def entered(self, job: JobId | None, now_us: int) -> None:
        """Hear, in the order of `take`, under which number a job was taken; None: it was refused."""
        place = self._asked.popleft()
        if job is None:
            self._over(place, now_us)
        else:
            self._places[job] = place

    def ended(self, job: JobId, now_us: int) -> None:
        """Hear that a job is over."""
        place = self._places.pop(job, None)
        if place is not None:
            self._over(place, now_us)

    def _read(self) -> None:
        """Read on while a job that is still in the list could enter before all that are ready."""
        while self._head and (not self._ready or self._head[0] + self._earliest_us <= self._ready[0][0]):
            at_us, what, truth = self._head
            self._head = next(self._jobs, None)
            place, self._place = self._place, self._place + 1
            self._put(place, at_us, what, truth)

    def _put(self, place: int, at_us: int, what: JobSpec | Refuse, truth: Truth) -> None:
        batch = int(self._thinking.batches[place])
        self._unread[batch] -= 1
        shift = self._shifts.get(batch)
        if shift is not None:
            heappush(self._ready, (at_us + shift, place, what, truth))
            if self._unread[batch] == 0:
                del self._shifts[batch]
                self._look_again()
        elif self._thinking.after[batch] >= 0:
            self._held.setdefault(batch, []).append((at_us, place, what, truth))
        else:
            heappush(self._ready, (at_us, place, what, truth))

    def _over(self, place: int, now_us: int) -> None:
        batch = int(self._thinking.batches[place])
        self._left[batch] -= 1
        if self._left[batch] == 0:
            for follower in self._thinking.followers.get(batch, ()):
                self._release(follower, now_us)

    def _release(self, batch: int, now_us: int) -> None:
        """Let a batch go: its first job enters after the time of thought, the others as far behind it as they were."""
        shift = now_us + int(self._thinking.think_us[batch]) - int(self._thinking.begin_us[batch])
        for at_us, place, what, truth in self._held.pop(batch, ()):
            heappush(self._ready, (at_us + shift, place, what, truth))
        if self._unread[batch]:
            self._shifts[batch] = shift
            self._look_again()

    def _look_again(self) -> None:
        self._earliest_us = min(0, *self._shifts.values()) if self._shifts else 0
