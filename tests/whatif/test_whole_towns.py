"""Outlooks of whatever waits in towns with all kinds of jobs and mishaps: nothing is said that is not so."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from clearway.loop.snapshot import WorldKept, restore, take
from clearway.model.asks import Cancel, Submit
from clearway.model.asks import Change as ChangeAsked
from clearway.model.events import Started
from clearway.model.fleet import PolicySpec
from clearway.model.states import State
from clearway.model.values import SECOND_US
from clearway.ports.journal import Entry
from clearway.whatif.again import Again
from clearway.whatif.outlook import outlook
from tests.loop.town import Happening, Town, Workload
from tests.loop.workloads import POLICIES, workloads
from tests.whatif.towns import changed

if TYPE_CHECKING:
    from clearway.loop.world import World
    from clearway.model.asks import Ask
    from clearway.model.job import JobSpec
    from clearway.model.outlook import Change, Lack

NO_SHRINK = tuple(p for p in Phase if p is not Phase.shrink)
MORE = (
    *(one for one in POLICIES if one.time_slice_us is None),
    PolicySpec(order=("fair", "priority", "fifo"), weights=(3_000, 2_000, 1_000)),
    PolicySpec(order=("fair", "fifo"), half_life_us=5 * SECOND_US),
    PolicySpec(order=("srtf",), backfill="conservative"),
)


@settings(max_examples=40, deadline=None, phases=NO_SHRINK)
@given(workload=workloads(12, 6), policy=st.sampled_from(MORE), until_s=st.integers(5, 60))
def test_what_is_said_of_whatever_waits_is_so(workload: Workload, policy: PolicySpec, until_s: int) -> None:
    arrivals = tuple(one for one in workload.arrivals if one.at_s <= until_s)
    happenings = tuple(one for one in workload.happenings if one.at_s <= until_s)
    town = Town(workload._replace(policy=policy, arrivals=arrivals, happenings=happenings))
    town.live()
    body, now_us = msgspec.json.encode(take(town.world)), town.clock.now_us()
    for entry in list(town.world.jobs.values()):
        if entry.state is State.PENDING:
            found = outlook(town.world, entry.id, now_us)
            assert found.lacks
            assert found.start_us is None or found.verdict == "waits"
            for lack in found.lacks:
                _adds_up(lack)
            for change in found.changes:
                assert _starts(again(body), entry.spec, entry.id, change, now_us)
    assert msgspec.json.encode(take(town.world)) == body


def again(body: bytes) -> World:
    return restore(msgspec.json.decode(body, type=WorldKept))


def _adds_up(lack: Lack) -> None:
    if lack.need and lack.resource != "roles":
        assert lack.short > 0
        assert lack.has + lack.short == lack.need or lack.level in {"queue", "parent", "user"}
    if lack.level in {"node", "device"} and "ended" in lack.lifts:
        assert lack.holders


def _starts(world: World, spec: JobSpec, job: int, change: Change, now_us: int) -> bool:
    number = next(i for i, one in enumerate(spec.roles) if change.role in {"", one.name})
    other = replace(changed(replace(spec, roles=(spec.roles[number],)), change.word, change.after), after=())
    other = replace(other, roles=(*spec.roles[:number], *other.roles, *spec.roles[number + 1 :]))
    asked: list[Ask] = [Cancel(job), Submit((other,))]  # type: ignore[arg-type]
    if change.how == "set":
        word = change.word
        asked = [ChangeAsked(job, (word,), other.priority, other.queue, other.time_limit_us)]  # type: ignore[arg-type]
    last = world.state.next_job
    started = [one.job for one in world.step(asked, now_us).records if isinstance(one, Started)]
    mine = (one for one in started if one == job or one >= last or world.jobs[one].array == job)
    return next(mine, None) is not None


class SnapTown(Town):
    """A town whose controllers begin with a snapshot that is some turns old."""

    def __init__(self, workload: Workload, every: int) -> None:
        self.every = every
        self.snapshots: list[tuple[int, bytes]] = []
        super().__init__(workload)

    def turn(self, *more: object) -> object:  # type: ignore[override]
        step = super().turn(*more)  # type: ignore[arg-type]
        if self.steps % self.every == 0:
            self.snapshots.append((len(self.journal), msgspec.json.encode(take(self.world))))
        return step

    def begun(self, which: int) -> tuple[int, World]:
        """Return the world of a snapshot, and how many records led to it."""
        number, body = self.snapshots[which]
        world = again(body)
        world.state.revision = number
        return number, world

    def restarted(self) -> None:
        number, self.world = self.begun(-1)
        for record in self.journal[number:]:
            self.world.apply(record)
        self._take_over()

    def _happen(self, what: Happening) -> None:
        if what.kind == "restart" and self.snapshots:
            self.restarted()
        else:
            super()._happen(what)


@settings(max_examples=30, deadline=None, phases=NO_SHRINK)
@given(
    workload=workloads(10, 6), every=st.integers(1, 9), restarts=st.lists(st.integers(1, 80), min_size=1, max_size=3)
)
def test_what_controllers_decided_that_began_with_a_snapshot_is_decided_again(
    workload: Workload, every: int, restarts: list[int]
) -> None:
    more = (Happening(at_s, "restart") for at_s in restarts)
    happenings = tuple(sorted([*workload.happenings, *more], key=lambda one: one.at_s))
    town = SnapTown(workload._replace(happenings=happenings), every)
    town.live()
    entries = [Entry(number, record) for number, record in enumerate(town.journal, 1)]
    whole = [cycle.difference for cycle in Again(entries, workload.policy).cycles()]
    assert [one for one in whole if one] == []
    for which in range(0, len(town.snapshots), 5):  # where the records before are gone
        number, world = town.begun(which)
        thinned = Again(entries[number:], snapshot=world)
        found = list(thinned.cycles())
        assert [cycle.difference for cycle in found if cycle.difference] == []
        assert len(found) + thinned.unchecked <= len(whole)
