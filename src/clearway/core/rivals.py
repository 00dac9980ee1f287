"""Whom a job lets go first because it would be stopped for that one as soon as it ran.

A claim inside a guarantee lets a job go before all others where it holds at every level. Further down it may hold
against a few queues only: what it may take back from them at once is not given to them first. And a job that comes
first in its queue only because it is small enough for a claim waits for its turn behind a more important one, which
is not, and would stop it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from clearway.core.hopeless import hopeless

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from clearway.core.agenda import Agenda
    from clearway.core.line import Key, WaitClass, Waiting
    from clearway.core.queues import Amounts
    from clearway.core.sleepers import Turn
    from clearway.core.view import View
    from clearway.model.ids import JobId


class Rivals:
    """The rivals of one cycle. `any`: whether there can be some; mostly there is nothing to look at."""

    def __init__(self, view: View) -> None:
        """Look at the policy and the tree of queues."""
        self._view = view
        causes = {rule.name for rule in view.rules.preempt} if view.queues.any_guarantee else set()
        self._reclaim = "reclaim" in causes and view.queues.nested
        self._priority = "priority" in causes
        self._let: set[tuple[JobId, JobId]] = set()
        self.any = self._reclaim or self._priority

    def passed_by(self, agenda: Agenda, cls: WaitClass, waiting: Waiting) -> bool:
        """Return whether a job comes before another of its queue by a claim alone that would stop it."""
        if not self._priority or agenda.late(cls):
            return False
        classes, mine = self._view.line.classes, waiting.candidate.priority
        turns = ((classes[turn.cls], turn.position) for turn in agenda.passed_by(cls, waiting))
        return any(
            other.jobs[other.entries[at][1]].candidate.priority > mine and not hopeless(self._view, other)
            for other, at in turns
        )

    def before(self, agenda: Agenda, cls: WaitClass, waiting: Waiting, key: Key) -> Turn | None:
        """Take out the turn of a job that would claim back what this one starts with; each may go first once."""
        classes = self._view.line.classes
        for turn in self._claims(cls, agenda.fronts(self._beside(cls), key)) if self._reclaim else ():
            other = classes[turn.cls]
            pair = (waiting.job, other.jobs[other.entries[turn.position][1]].job)
            if pair not in self._let:
                self._let.add(pair)
                return agenda.take(turn)
        return None

    def _beside(self, cls: WaitClass) -> list[str]:
        """Return the other queues below the topmost one of a class that have a guarantee to claim, by name."""
        queues, mine = self._view.queues, cls.spec.queue
        root = queues.chain(mine)[-1:]
        return [
            name
            for name in sorted(queues.specs)
            if name != mine
            and queues.chain(name)[-1:] == root
            and queues.has_claims(name, queues.shared_level(name, mine))
        ]

    def _claims(self, cls: WaitClass, turns: Iterable[Turn]) -> Iterator[Turn]:
        """Yield the turns of queues beside that of a class that could claim back what it starts with."""
        queues, mine = self._view.queues, cls.spec.queue
        more: dict[str, Amounts] = {}
        for turn in turns:
            other = self._view.line.classes[turn.cls]
            queue = other.spec.queue
            if not more:
                taken = {resource: -amount for resource, amount in queues.least_of(cls.spec).items()}
                more = dict.fromkeys(queues.chain(mine), taken)
            need, shared = queues.least_of(other.spec), queues.shared_level(queue, mine)
            if queues.guaranteed(queue, need, below=shared) and queues.above_guarantee(mine, need, shared, more):
                yield turn
