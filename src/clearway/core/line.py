"""The line: who waits, in classes of jobs that are equal in all that decides whether they can start."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, Any

import numpy as np

from clearway.core.heads import Heads
from clearway.core.places import NONE
from clearway.core.protocols import UNKNOWN_US
from clearway.core.resources import CPUS, GPUS, MEMORY
from clearway.core.sorted import Ordered
from clearway.model.ids import ClassId

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray

    from clearway.core.domains import Bound
    from clearway.core.ledger import Ledger
    from clearway.core.places import Places
    from clearway.core.protocols import Candidate
    from clearway.model.ids import JobId
    from clearway.model.job import JobSpec
    from clearway.model.reasons import Reason

Key = tuple[Any, ...]
"""Whole numbers, or tuples of them where an order goes by queues; keys of one policy compare part by part."""
ClassKey = tuple[object, ...]


class Mode(IntEnum):
    """What a class waits for, and so when it is tried again."""

    AWAKE = 0
    NO_ROOM = 1
    PASSED_OVER = 2
    LIMITED = 3
    CANNOT = 4


FIRST_CLASSES = 16  # columns start with so many slots and double when full
MOST_EMPTY = 1024  # so many classes without jobs are kept, since jobs like theirs tend to come again
SLEEPERS = (Mode.LIMITED, Mode.PASSED_OVER, Mode.NO_ROOM)
BLOCKING = (Mode.NO_ROOM, Mode.PASSED_OVER)
"""Modes in which a sleeping class holds back later ones; limits and hopeless needs hold back nobody."""


class Waiting:
    """One waiting job. `key` orders it; `attempt` is the number of its last attempt, 0 if none.

    `estimate_us` is how long it runs, as plans count on it: that may be longer than orders expect.
    """

    __slots__ = ("attempt", "candidate", "cls", "estimate_us", "job", "key", "spec", "started")

    def __init__(self, candidate: Candidate, attempt: int, bound_us: int | None) -> None:
        """Describe the job; `key` and `cls` are set when it joins."""
        self.candidate, self.attempt = candidate, attempt
        self.job, self.spec = candidate.job, candidate.spec
        self.estimate_us = UNKNOWN_US if bound_us is None else bound_us
        self.key: Key = ()
        self.started = False
        self.cls = ClassId(-1)


class WaitClass:
    """Waiting jobs with equal demands in one queue. What is found out for its head holds for all of them.

    `too_long_us`: in mode PASSED_OVER, jobs that run at least so long cannot start beside what is promised.
    `simple`: it has room exactly where one more task of its one role has. `claim` and `need` are kept by the view.
    """

    __slots__ = (
        "bound", "cannot", "claim", "claim_at", "entries", "fleet", "id", "jobs", "limited_by", "mode", "need", "never",
        "places", "pool", "reasons", "shortest_us", "simple", "slot", "spec", "too_long_us",
    )  # fmt: skip

    def __init__(self, number: ClassId, spec: JobSpec, places: list[Places], bound: Bound | None = None) -> None:
        """Begin without jobs; `spec` is any member's, `places` one per role, `bound` what its topology asks for."""
        self.id, self.spec, self.places, self.bound = number, spec, places, bound
        self.entries: Ordered[tuple[Key, JobId]] = Ordered()
        self.shortest_us = UNKNOWN_US
        self.jobs: dict[JobId, Waiting] = {}
        self.reasons: tuple[Reason, ...] = ()
        self.mode = Mode.AWAKE
        self.too_long_us = 0
        self.limited_by: tuple[str, ...] = ()
        self.pool = self.slot = -1
        self.fleet = -1
        self.cannot = self.never = False
        self.claim, self.claim_at = 1, -1
        self.need: dict[str, int] | None = None
        self.simple = bound is None and spec.pin is None and len(spec.roles) == 1 and spec.roles[0].min_tasks == 1

    def at(self, position: int) -> Waiting | None:
        """Return the job at a position in the class's order, None past the end."""
        return self.jobs[self.entries[position][1]] if position < len(self.entries) else None

    def shorter(self, position: int, than_us: int) -> int | None:
        """Return the position of the first job from `position` on that runs shorter than `than_us`; None if none does.

        `shortest_us` is a lower bound of all estimates in the class: most searches need no look at the jobs.
        """
        if self.shortest_us >= than_us:
            return None
        for at in range(position, len(self.entries)):
            if self.jobs[self.entries[at][1]].estimate_us < than_us:
                return at
        self.shortest_us = min((waiting.estimate_us for waiting in self.jobs.values()), default=UNKNOWN_US)
        return None


def class_key(waiting: Waiting) -> ClassKey:
    """Return what makes jobs equal to the cycle: queue, tasks, shared limits, topology, a pin that still binds."""
    spec = waiting.spec
    key = (spec.queue, spec.roles, spec.uses, spec.pin if waiting.attempt == 0 else None)
    return (*key, spec.topology) if spec.topology.require or spec.topology.prefer else key


class Line:
    """All waiting jobs that could start, sorted by key within their class; and which classes to look at."""

    def __init__(self) -> None:
        """Begin empty."""
        self.classes: dict[ClassId, WaitClass] = {}
        self.awake: set[ClassId] = set()
        self.new: set[ClassId] = set()
        self.stirred: set[ClassId] = set()
        """Sleeping classes that are tried in this cycle as long as there is room for anything like them."""
        self.hopeful: set[ClassId] = set()
        """Sleeping classes without room that look in this cycle whether they may stop somebody now."""
        self.blocking: dict[int, dict[str, Heads]] = {}
        """The first jobs of the sleeping classes that hold back later ones, by pool and queue."""
        self.count = 0
        self.keys: dict[ClassId, ClassKey] = {}
        self.limited: set[ClassId] = set()
        self.passed: set[ClassId] = set()
        self.no_room: set[ClassId] = set()
        self._empty: dict[ClassId, None] = {}
        self._made = 0
        self._by_key: dict[ClassKey, ClassId] = {}
        self._class_of: dict[JobId, ClassId] = {}
        self._pools: dict[bytes, int] = {}
        self._needs = np.zeros((3, FIRST_CLASSES), np.int64)
        self._sleeps = np.zeros(FIRST_CLASSES, np.bool_)
        self._in_slot: list[ClassId] = []
        self._slots: list[int] = []
        self._fleet = -1

    # --- classes -------------------------------------------------------------------------------

    def class_for(self, key: ClassKey) -> ClassId | None:
        """Return the class with this key, if there was ever one."""
        return self._by_key.get(key)

    def next_class(self) -> ClassId:
        """Return the number that a new class will get."""
        return ClassId(self._made)

    def add_class(self, key: ClassKey, cls: WaitClass) -> None:
        """Make a class known under its key."""
        self._made += 1
        self._by_key[key] = cls.id
        self.keys[cls.id] = key
        self.classes[cls.id] = cls
        self._empty[cls.id] = None
        cls.slot = self._slot(cls.id)
        for at, row in enumerate((GPUS, CPUS, MEMORY)):
            amounts = [dict(p.ledger.needs_of(p.demand)).get(row, 0) for p in cls.places]
            self._needs[at, cls.slot] = min(amounts)

    def _slot(self, number: ClassId) -> int:
        """Return a free slot of the columns for a class."""
        if self._slots:
            slot = self._slots.pop()
            self._in_slot[slot] = number
            return slot
        self._in_slot.append(number)
        if len(self._in_slot) > len(self._sleeps):
            self._needs = np.concatenate([self._needs, np.zeros_like(self._needs)], axis=1)
            self._sleeps = np.concatenate([self._sleeps, np.zeros_like(self._sleeps)])
        return len(self._in_slot) - 1

    def empty(self) -> tuple[ClassId, ...]:
        """Return the classes without jobs, longest empty first."""
        return tuple(self._empty)

    def put_back(self, made: int, empty: Iterable[ClassId]) -> None:
        """Give new classes numbers from `made` on, and count these as the empty ones, longest empty first."""
        self._made = made
        self._empty = dict.fromkeys(empty)

    def forget(self) -> list[WaitClass]:
        """Forget the classes that have been empty longest, if many are, and return them."""
        gone = []
        while len(self._empty) > MOST_EMPTY:
            number = next(iter(self._empty))
            del self._empty[number]
            cls = self.classes.pop(number)
            del self._by_key[self.keys.pop(number)]
            self._slots.append(cls.slot)
            gone.append(cls)
        return gone

    def sort_into_pools(self, ledger: Ledger) -> None:
        """Give every class that will be looked at the number of its pool; anew for all when the fleet changed."""
        if self._fleet != ledger.fleet_revision:
            self._fleet = ledger.fleet_revision
            self._pools.clear()
            for cls in self.classes.values():
                if cls.mode in (*BLOCKING, Mode.CANNOT) and cls.entries:
                    self.wake(cls)
                cls.pool = -1
        for number in self.awake:
            cls = self.classes[number]
            if cls.pool < 0:
                cls.pool = self._pools.setdefault(pool_mask(cls).tobytes(), len(self._pools))

    # --- jobs ----------------------------------------------------------------------------------

    def join(self, waiting: Waiting, cls: WaitClass) -> None:
        """Put a job into its class; the class is tried again if the job may succeed where the others did not."""
        head = cls.entries[0] if cls.entries else None
        self._empty.pop(cls.id, None)
        cls.entries.add((waiting.key, waiting.job))
        cls.shortest_us = min(cls.shortest_us, waiting.estimate_us)
        cls.jobs[waiting.job] = waiting
        waiting.cls = cls.id
        self._class_of[waiting.job] = cls.id
        self.count += 1
        self._head_moved(cls, head)
        if not cls.reasons:
            self.new.add(cls.id)
        if cls.mode == Mode.AWAKE or (cls.mode == Mode.PASSED_OVER and waiting.estimate_us < cls.too_long_us):
            self.wake(cls)

    def retell(self, waiting: Waiting) -> Waiting:
        """Know otherwise what orders may look at of a job, and how long it runs; return it as it stands in the line."""
        old = self.member(waiting.job)
        old.candidate, old.estimate_us = waiting.candidate, waiting.estimate_us
        cls = self.classes[old.cls]
        cls.shortest_us = min(cls.shortest_us, old.estimate_us)
        return old

    def rekey(self, waiting: Waiting, key: Key) -> None:
        """Give a job of the line another key."""
        if key == waiting.key:
            return
        cls = self.classes[waiting.cls]
        head = cls.entries[0]
        cls.entries.remove((waiting.key, waiting.job))
        waiting.key = key
        cls.entries.add((key, waiting.job))
        self._head_moved(cls, head)

    def leave(self, job: JobId) -> Waiting | None:
        """Take a job out of the line and return it; None if it is not in it."""
        number = self._class_of.pop(job, None)
        if number is None:
            return None
        cls = self.classes[number]
        head = cls.entries[0]
        waiting = cls.jobs.pop(job)
        cls.entries.remove((waiting.key, job))
        self.count -= 1
        self._head_moved(cls, head)
        if not cls.entries:
            self.wake(cls)
            self.awake.discard(cls.id)
            self.new.discard(cls.id)
            self._empty[cls.id] = None
            cls.reasons = ()
        return waiting

    def _head_moved(self, cls: WaitClass, before: tuple[Key, JobId] | None) -> None:
        now = cls.entries[0] if cls.entries else None
        if before == now or cls.mode not in BLOCKING:
            return
        if before is not None:
            self._drop_head(cls, before[0])
        if now is not None:
            self._add_head(cls)

    def _add_head(self, cls: WaitClass) -> None:
        lanes = self.blocking.setdefault(cls.pool, {})
        heads = lanes.get(cls.spec.queue)
        if heads is None:
            heads = lanes[cls.spec.queue] = Heads()
        heads.add((cls.entries[0][0], cls.id))

    def _drop_head(self, cls: WaitClass, key: Key) -> None:
        lanes = self.blocking[cls.pool]
        heads = lanes[cls.spec.queue]
        heads.remove((key, cls.id))
        if not heads.entries:
            del lanes[cls.spec.queue]

    def find(self, job: JobId) -> Waiting | None:
        """Return a job if it stands in the line."""
        number = self._class_of.get(job)
        return None if number is None else self.classes[number].jobs[job]

    def member(self, job: JobId) -> Waiting:
        """Return a job that stands in the line."""
        return self.classes[self._class_of[job]].jobs[job]

    # --- sleeping and waking -------------------------------------------------------------------

    def wake(self, cls: WaitClass) -> None:
        """Have a class tried in the next cycle."""
        self._unblock(cls)
        cls.mode, cls.limited_by = Mode.AWAKE, ()
        self._sleeps[cls.slot] = False
        self.stirred.discard(cls.id)
        self.hopeful.discard(cls.id)
        self.awake.add(cls.id)

    def turned_over(self) -> set[ClassId]:
        """Return the sleeping classes that have a turn of their own in this cycle."""
        return self.stirred | self.hopeful

    def wake_turned_over(self) -> None:
        """Wake the classes whose turn did not come."""
        for number in sorted(self.turned_over()):
            self.wake(self.classes[number])

    def _unblock(self, cls: WaitClass) -> None:
        for sleepers in (self.limited, self.passed, self.no_room):
            sleepers.discard(cls.id)
        if cls.mode in BLOCKING and cls.entries:
            self._drop_head(cls, cls.entries[0][0])

    def sleep(self, cls: WaitClass, mode: Mode) -> None:
        """Leave a class alone until something changes that it waits for."""
        self._unblock(cls)
        cls.mode = mode
        self.awake.discard(cls.id)
        self._sleeps[cls.slot] = mode != Mode.LIMITED
        if mode in SLEEPERS:
            {Mode.LIMITED: self.limited, Mode.PASSED_OVER: self.passed, Mode.NO_ROOM: self.no_room}[mode].add(cls.id)
        if mode in BLOCKING:
            self._add_head(cls)

    def wake_for_nodes(self, nodes: Iterable[int], ledger: Ledger, *, lightly: bool) -> None:
        """Wake the classes that could use what came free on these nodes; `lightly`: only stir those that can be."""
        rows = np.fromiter(nodes, np.int64)
        if not len(rows):
            return
        many = len(self._in_slot)
        most = [int(ledger.free[row].take(rows).max()) for row in (GPUS, CPUS, MEMORY)]
        could = self._sleeps[:many].copy()
        for at, amount in enumerate(most):
            could &= self._needs[at, :many] <= amount
        room: dict[Places, bool] = {}
        for number in sorted(self._in_slot[slot] for slot in np.flatnonzero(could).tolist()):
            cls = self.classes[number]
            if cls.mode == Mode.CANNOT or _room_on(cls, rows, room):
                if lightly and cls.simple and cls.mode == Mode.NO_ROOM:
                    self.stirred.add(number)
                else:
                    self.wake(cls)

    def wake_for_limits(self, names: set[str]) -> None:
        """Wake the classes that one of these queues or shared limits held back."""
        for cls in [self.classes[number] for number in sorted(self.limited)]:
            if not names.isdisjoint(cls.limited_by):
                self.wake(cls)

    def wake_without_room(self, may_take: Callable[[WaitClass], bool], *, lightly: bool) -> None:
        """Have the classes that might stop someone look again: who could be stopped has changed.

        `lightly`: those that have no room only look at that. One that a promise kept from starting is woken when it
        has lost the room it had then.
        """
        for cls in [self.classes[number] for number in sorted(self.no_room | self.limited | self.passed)]:
            if not cls.entries or (cls.mode == Mode.PASSED_OVER and _has_room(cls)) or not may_take(cls):
                continue
            if lightly and cls.mode == Mode.NO_ROOM:
                self.hopeful.add(cls.id)
            else:
                self.wake(cls)

    def wake_passed_over(self) -> list[WaitClass]:
        """Wake the classes that a promise kept from starting, and return them."""
        found = [self.classes[number] for number in sorted(self.passed)]
        for cls in found:
            self.wake(cls)
        return found


def pool_mask(cls: WaitClass) -> NDArray[np.bool_]:
    """Return the nodes that some task of a class could use if they were empty."""
    mask = np.zeros(cls.places[0].ledger.count, np.bool_)
    bound = cls.bound if cls.bound is not None and cls.bound.required else None
    for number, places in enumerate(cls.places):
        places.refresh()
        mask |= places.may if bound is None or number not in bound.roles else places.may & bound.usable()
    return mask


def _has_room(cls: WaitClass) -> bool:
    """Return whether a class has room now, promises aside; where that takes a search it is thought to have none."""
    if not cls.simple:
        return False
    cls.places[0].refresh()
    return cls.places[0].best() != NONE


def _room_on(cls: WaitClass, rows: NDArray[np.int64], known: dict[Places, bool]) -> bool:
    """Return whether some task of a class finds room on these nodes; `known` by its candidates."""
    for places in cls.places:
        found = known.get(places)
        if found is None:
            places.refresh()
            found = known[places] = bool((places.key.take(rows) >= 0).any())
        if found:
            return True
    return False
