"""What a decision looks at: the books, the line, the queues, and what runs until when. Read-only for `decide`."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from clearway.core.ledger import Held, Ledger
from clearway.core.line import Line, WaitClass, Waiting, class_key
from clearway.core.places import Places
from clearway.core.profile import Ends
from clearway.core.protocols import Candidate, Rules
from clearway.core.queues import Queues

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clearway.model.events import Grant
    from clearway.model.ids import ClassId, JobId
    from clearway.model.job import Demand, JobSpec


class Reservation(NamedTuple):
    """The promise to a waiting job: these grants from `start_us` on."""

    job: JobId
    start_us: int
    grants: tuple[Grant, ...]


class View:
    """The state that `decide` reads. The loop changes it by applying records, nothing else does."""

    def __init__(self, rules: Rules) -> None:
        """Begin with an empty fleet and an empty line."""
        self.rules = rules
        self.ledger = Ledger()
        self.queues = Queues()
        self.line = Line()
        self.ends = Ends(self.ledger)
        self.reservations: dict[JobId, Reservation] = {}
        self.reservation_timeout_us: int | None = None
        self.promises_changed = False
        self.places: dict[Demand, Places] = {}
        self.changed_limits: set[str] = set()

    def set_rules(self, rules: Rules) -> None:
        """Decide by other rules from now on: every key and every score is worked out anew."""
        self.rules = rules
        self.places.clear()
        waiting = [w for cls in self.line.classes.values() for w in cls.jobs.values()]
        reasons = {cls.id: cls.reasons for cls in self.line.classes.values()}
        for cls in self.line.classes.values():
            cls.places = [self.places_of(role.demand) for role in cls.spec.roles]
        for one in waiting:
            self.line.leave(one.job)
        for one in waiting:
            cls = self.line.classes[one.cls]
            one.key = self.key(one.job, one.spec, one.key[-2])
            self.line.join(one, cls)
            cls.reasons = reasons[cls.id]

    def places_of(self, demand: Demand) -> Places:
        """Return the candidates of a demand, one object per demand."""
        found = self.places.get(demand)
        if found is None:
            found = self.places[demand] = Places(self.ledger, self.rules, demand)
        return found

    def key(self, job: JobId, spec: JobSpec, submitted_us: int) -> tuple[int, ...]:
        """Return what orders a job: the policy's orders in turn, then submit time, then number."""
        candidate = Candidate(job, spec, submitted_us)
        return (*(order.key(candidate) for order in self.rules.orders), submitted_us, job)

    def class_of(self, waiting: Waiting) -> ClassId:
        """Return the class that a job belongs to; a class seen for the first time gets the next number."""
        key = class_key(waiting)
        number = self.line.class_for(key)
        if number is None:
            number = self.line.next_class()
            cls = WaitClass(number, waiting.spec, [self.places_of(role.demand) for role in waiting.spec.roles])
            self.line.add_class(key, cls)
        return number

    def start(self, job: JobId, spec: JobSpec, held: Sequence[Held], now_us: int) -> None:
        """Count an attempt's grants everywhere, unless the cycle that decided it did so already."""
        if job not in self.ledger.holdings:
            for one in held:
                self.ledger.take(one.grant, one.demand)
            self.count_start(job, spec, held, now_us)

    def count_start(self, job: JobId, spec: JobSpec, held: Sequence[Held], now_us: int) -> None:
        """Count grants that are taken in the books as a job's: its queues, shared limits and expected end."""
        self.ledger.register(job, held)
        self.queues.count_held(spec.queue, held, 1)
        if spec.uses:
            self.queues.count_slots(spec.uses, 1)
        self.ends.add(job, held, now_us, spec.estimate_us)

    def free_task(self, job: JobId, spec: JobSpec, role: int, index: int) -> Held | None:
        """Free one task's grant; the last one gives back the slots of shared limits."""
        held = self.ledger.release(job, role, index)
        if held is None:
            return None
        self.queues.count_held(spec.queue, [held], -1)
        self.changed_limits.update(self.queues.chain(spec.queue))
        if job not in self.ledger.holdings:
            self.queues.count_slots(spec.uses, -1)
            self.changed_limits.update(spec.uses)
            self.ends.remove(job)
        return held
