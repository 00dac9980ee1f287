"""Past decisions, decided again: a journal is lived through once more, and each cycle compared with what it recorded.

Two worlds go through it. One only applies records: it stands as a controller stands that has just taken over. The
other decides every cycle that was recorded, as the controller did, and is made anew of the first wherever a controller
took over.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from clearway.core.trace import Trace
from clearway.loop.planned import hash_of
from clearway.loop.world import MOST_CYCLES, World
from clearway.model.events import ControllerStarted, Planned, Record
from clearway.whatif.twin import twin

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from clearway.core.cycle import Plan
    from clearway.model.considered import Considered
    from clearway.model.fleet import PolicySpec
    from clearway.ports.journal import Entry


class Difference(NamedTuple):
    """The first record of a plan that is another one when it is decided again; None where one has no such record."""

    number: int
    recorded: Record | None
    again: Record | None
    what: str = ""


class Cycle(NamedTuple):
    """One cycle: where it stands in the journal, its recorded plan, and how deciding it again differs, if it does."""

    number: int
    planned: Planned
    records: tuple[Record, ...]
    difference: Difference | None
    turns: tuple[Considered, ...] = ()
    considered: int = 0


class Again:
    """Lives through a journal again. `world` stands behind the cycle that was yielded last, before its plan."""

    def __init__(
        self, entries: Iterable[Entry], policy: PolicySpec | None = None, snapshot: World | None = None
    ) -> None:
        """Take the entries of a whole journal. `policy`: what the first controller began with.

        `snapshot`: what the records before these led to, where they are gone. Cycles cannot be decided again then
        before a controller took over: `unchecked` counts them.
        """
        self._entries = iter(entries)
        self._plain = World(policy) if snapshot is None else snapshot
        self.world = twin(self._plain)
        self._knows = snapshot is None
        self.unchecked = self._rounds = 0

    def cycles(self, traced: int | None = None, since_us: int = 0, until_us: int | None = None) -> Iterator[Cycle]:
        """Yield each cycle from one moment to another; the one with the number `traced` with all that it considered.

        What lies before is only applied where a controller took over later and before `since_us`.
        """
        for entry in self._entries:
            record = entry.record
            if until_us is not None and record.at_us > until_us:
                return
            if isinstance(record, Planned) and not self._knows:
                self.unchecked += 1
                self._plain.apply(record)
            elif isinstance(record, Planned):
                cycle = self._cycle(entry.number, record, traced == record.cycle)
                if record.at_us >= since_us:
                    yield cycle
                self._follow(cycle)
            else:
                self._apply(record)

    def _apply(self, record: Record) -> None:
        self._plain.apply(record)
        if isinstance(record, ControllerStarted):
            self.world, self._knows = twin(self._plain), True
            return
        if not self._knows:
            return
        if record.at_us > self.world.now_us:
            self.world.reach(record.at_us)
        self.world.apply(record)

    def _cycle(self, number: int, planned: Planned, traced: bool) -> Cycle:  # noqa: FBT001 - the one that is asked for
        self.world.reach(planned.at_us)
        self.world.state.seed = planned.seed
        trace = Trace(self.world.state.view) if traced else None
        self._promised = frozenset(self.world.state.view.reservations)
        self._plan = self.world.cycle(trace)
        recorded = tuple(entry.record for entry in islice(self._entries, planned.records))
        found = self._compared(number, planned, recorded, self._plan)
        turns = () if trace is None else tuple(trace.turns)
        return Cycle(number, planned, recorded, found, turns, 0 if trace is None else trace.count)

    def _compared(self, number: int, planned: Planned, recorded: tuple[Record, ...], plan: Plan) -> Difference | None:
        state = self.world.state
        told, now = (planned.revision, planned.policy), (state.revision, hash_of(state.policy))
        for what, one, other in zip(("revision", "policy"), told, now, strict=True):
            if one != other:
                return Difference(number, planned, None, f"{what}: {one} is recorded, {other} is so now")
        for at in range(max(len(recorded), len(plan.records))):
            one_record = recorded[at] if at < len(recorded) else None
            other_record = plan.records[at] if at < len(plan.records) else None
            if one_record != other_record:
                return Difference(number + 1 + at, one_record, other_record)
        return None

    def _follow(self, cycle: Cycle) -> None:
        """Apply a recorded plan, and note what the loop notes behind the last cycle of a step."""
        for record in (cycle.planned, *cycle.records):
            self._plain.apply(record)
            self.world.apply(record)
        self._rounds += 1
        if self._rounds == MOST_CYCLES or not self.world.goes_on(self._plan, self._promised):
            self.world.wake_later(self._plan)
            self._rounds = 0
