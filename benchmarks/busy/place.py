"""A large place as a journal: its past, who runs now, and who waits, decided by the real loop."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, NamedTuple

from benchmarks.busy.engine import STOPPED
from benchmarks.busy.past import past
from benchmarks.busy.shapes import Draw, Size, fleet, queues
from clearway.control import Board
from clearway.control.snapshots import packed, without_collecting, written
from clearway.loop.world import World
from clearway.model import events as ev
from clearway.model.actions import Halt, Launch
from clearway.model.asks import Book, ControllerUp, SetPolicy, SetQueue, Submit
from clearway.model.events import TaskRef  # noqa: TC001  a place is read from JSON by its types
from clearway.model.fleet import BookingSpec, NodeSpec, PolicySpec
from clearway.ports.engine import NodeIsUp, TaskIsGone, TaskIsUp
from clearway.ports.journal import Mark

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clearway.model.asks import Ask
    from clearway.model.events import Record
    from clearway.ports.engine import Report
    from clearway.store import SqliteJournal

ORDER, BACKFILL, PREEMPT = ("fair", "priority", "fifo"), "easy", ()
POLICY = PolicySpec(order=ORDER, backfill=BACKFILL, preempt=PREEMPT)
SECOND_US = 1_000_000
HOUR_US = 3600 * SECOND_US
PAST_US, LIVE_US = 14 * 24 * HOUR_US, 6 * HOUR_US
STEPS = 24  # of the hours that run now
KEPT_PAST = 2000  # ended jobs that are still at hand


class Place(NamedTuple):
    """What a controller of it begins with, beside the journal."""

    nodes: list[NodeSpec]
    running: dict[str, list[TaskRef]]
    unhealthy: dict[str, tuple[int, ...]]


class _Builder:
    """Writes what a world has decided, and keeps what shows it."""

    def __init__(self, journal: SqliteJournal) -> None:
        self.journal, self.world, self.board = journal, World(POLICY), Board()
        self.running: dict[str, list[TaskRef]] = {}

    def step(self, now_us: int, *inputs: Ask | Report) -> None:
        step = self.world.step(inputs, now_us)
        self.journal.append(step.records)
        self.board.fold(step.records)
        if heard := [self._done(action) for action in step.actions if isinstance(action, Launch | Halt)]:
            self.step(now_us, *heard)

    def _done(self, action: Launch | Halt) -> Report:
        mine = self.running.setdefault(action.node, [])
        if isinstance(action, Launch):
            mine.append(action.task)
            return TaskIsUp(action.task)
        mine.remove(action.task)
        return TaskIsGone(action.task, STOPPED)

    def write(self, records: Sequence[Record], *, shown: bool) -> None:
        self.journal.append(records)
        if shown:
            self.board.fold(records)


def build(journal: SqliteJournal, size: Size, now_us: int, seed: int = 7) -> Place:
    """Write the journal of a place that is full and has a long line. The same seed makes the same place."""
    with without_collecting():
        return _build(journal, size, now_us, random.Random(seed))


def _build(journal: SqliteJournal, size: Size, now_us: int, chance: random.Random) -> Place:
    nodes, draw, builder = fleet(size.nodes), Draw(chance), _Builder(journal)
    unhealthy: dict[str, tuple[int, ...]] = {nodes[n].name: (chance.randrange(8),) for n in range(3, len(nodes), 97)}
    gpus = sum(node.gpus for node in nodes)
    began_us = now_us - PAST_US
    ups = [NodeIsUp(node, (), unhealthy.get(node.name, ())) for node in nodes]
    settings: list[Ask] = [SetPolicy(POLICY), *map(SetQueue, queues(gpus))]
    builder.step(began_us, ControllerUp(), *ups, *settings)
    last: list[Record] = []
    for records in past(size.past, size.nodes, draw, began_us + 1, now_us - LIVE_US):
        last = records[-4 * KEPT_PAST :]
        builder.write(records, shown=False)
    if last:
        _know_the_last(builder, last, size.past)
    _live(builder, size, gpus, draw, now_us)
    _keep(builder, now_us)
    return Place(nodes, builder.running, unhealthy)


def _know_the_last(builder: _Builder, last: Sequence[Record], many: int) -> None:
    """Show the jobs that ended last, and have the next one get the next number."""
    whole = {record.job for record in last if isinstance(record, ev.Submitted)}
    kept = [record for record in last if getattr(record, "job", None) in whole]
    over = {record.job for record in kept if isinstance(record, ev.Ended)}
    builder.board.fold([record for record in kept if getattr(record, "job", None) in over])
    builder.world.state.next_job = many + 1


def _live(builder: _Builder, size: Size, gpus: int, draw: Draw, now_us: int) -> None:
    """Fill the fleet over some hours, let the line grow, and book some devices for tomorrow."""
    number, held = size.past, 0
    for at in range(STEPS):
        specs = []
        while held < gpus * (at + 1) * 1.05 / STEPS:
            number += 1
            specs.append(draw.one(number))
            held += max(1, specs[-1].milli_gpus // 1000)
        builder.step(now_us - LIVE_US + at * LIVE_US // (2 * STEPS), Submit(tuple(specs)))
    for at in range(STEPS):
        many = size.waiting * (at + 1) // STEPS - size.waiting * at // STEPS
        specs = [draw.one(number + n + 1) for n in range(many)]
        number += many
        builder.step(now_us - LIVE_US // 2 + at * LIVE_US // (2 * STEPS), Submit(tuple(specs)))
    night = BookingSpec(
        "review", now_us + 8 * HOUR_US, now_us + 12 * HOUR_US, gpus=min(64, gpus // 4), whom=("science",)
    )
    builder.step(now_us - 60 * SECOND_US, Book(night))


def _keep(builder: _Builder, now_us: int) -> None:
    last = builder.journal.last()
    builder.journal.keep(Mark(last, now_us), packed(written(builder.world, builder.board, last)))
