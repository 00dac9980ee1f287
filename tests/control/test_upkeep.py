"""Snapshots and the end of old records: a controller that starts from them knows all that it knew, and no less."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import pytest

from clearway.control import snapshots
from clearway.control.board import Board
from clearway.control.controller import Controller
from clearway.control.snapshots import loaded, newest, packed, world_at, written
from clearway.control.upkeep import DAY_US, Upkeep, tidy
from clearway.loop.snapshot import settled, take
from clearway.loop.world import World
from clearway.model import events as ev
from clearway.model.errors import StoreError
from clearway.model.fleet import PolicySpec
from clearway.model.ids import JobId
from clearway.model.job import JobSpec
from clearway.model.states import State
from clearway.ports.journal import Mark
from clearway.sim.heap import VirtualClock
from clearway.store.memory import MemoryJournal
from clearway.testing.builders import Bench, job, node, rebuild
from clearway.testing.virtual import Life
from tests.test_differential import SETTINGS, machines, simulated, workload

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clearway.ports.engine import Engine

POLICY = PolicySpec(lease_us=5_000_000)


def journal_of(records: Sequence[ev.Record]) -> MemoryJournal:
    journal = MemoryJournal()
    journal.append(records)
    return journal


def snapshot_at(journal: MemoryJournal, number: int, policy: PolicySpec | None = None) -> Mark:
    """Keep a snapshot of what the records up to a number lead to."""
    world, board = World(policy), Board()
    for entry in journal.read():
        if entry.number <= number:
            world.apply(entry.record)
            board.fold((entry.record,))
    mark = Mark(number, world.now_us)
    journal.keep(mark, packed(written(world, board, number)))
    return mark


def started(clock: VirtualClock, engine: Engine, journal: MemoryJournal, every: int = 10**9) -> Controller:
    upkeep = Upkeep(journal, every=every)
    controller = Controller(World(POLICY), clock, engine, journal, first=SETTINGS, upkeep=upkeep)
    controller.take_over()
    return controller


def test_board_and_world_are_what_the_whole_journal_says() -> None:
    """At any record: a board and a world from a snapshot with the records after it are those from all records."""
    records = simulated(1, POLICY)
    whole, board = rebuild(records, POLICY), Board()
    board.fold(records)
    for number in range(0, len(records), len(records) // 9):
        journal = journal_of(records)
        snapshot_at(journal, number, POLICY)
        begin = newest(journal)
        assert begin is not None
        again = Board()
        again.put_back(begin.board)
        for entry in journal.read(begin.number):
            begin.world.apply(entry.record)
            again.fold((entry.record,))
        begin.world.validate()
        assert settled(take(begin.world)) == settled(take(whole))
        assert again.taken() == board.taken()


def test_a_controller_lives_on_from_its_snapshots() -> None:
    """Snapshots on the way change nothing of what is decided, and neither does starting from one."""
    plain, kept = MemoryJournal(), MemoryJournal()
    for journal, every in ((plain, 10**9), (kept, 50)):
        clock = VirtualClock()
        engine = machines(clock, POLICY)
        controller = started(clock, engine, journal, every)
        Life(clock, engine, workload(3)).live(controller)
        controller._upkeep.wait()
    assert [e.record for e in plain.read()] == [e.record for e in kept.read()]
    assert len(kept.marks()) >= 2
    engine = machines(VirtualClock(), POLICY)
    clock = VirtualClock()
    clock.move(controller.world.now_us)
    again = started(clock, engine, kept)
    assert again.world.state.next_job == controller.world.state.next_job
    assert again.board.jobs.keys() == controller.board.jobs.keys()


def test_a_damaged_snapshot_is_passed_over(caplog: pytest.LogCaptureFixture) -> None:
    journal = journal_of(simulated(0, POLICY))
    older = snapshot_at(journal, 50, POLICY)
    for body in (b"", b"nothing", packed(b"{}"), packed(b'{"version": 2}'), packed(b'{"version": 1}')):
        journal.keep(Mark(90, 10**9), body)
        with caplog.at_level(logging.WARNING):
            begin = newest(journal)
        assert begin is not None
        assert begin.number == older.number
    assert "an older one is used" in caplog.text
    assert "has version 2, this one knows 1" in caplog.text


def test_where_nothing_else_is_left_a_damaged_one_is_an_error() -> None:
    journal = journal_of(simulated(0, POLICY))
    mark = snapshot_at(journal, 90, POLICY)
    journal.thin(mark, 10**15)
    journal._snapshots[mark] = b"spoilt"
    with pytest.raises(StoreError, match="cannot be understood"):
        newest(journal)


def test_what_was_so_at_a_moment() -> None:
    bench = Bench(node(gpus=1))
    first, second = bench.submit(job("a"), job("b"))
    bench.at(10)
    bench.end(first)
    journal = journal_of(bench.journal)
    snapshot_at(journal, 3)
    assert world_at(journal, 9_000_000).jobs[first].state == State.STARTING
    assert world_at(journal, 9_000_000).jobs[second].state == State.PENDING
    now = world_at(journal, 10_000_000)
    assert first not in now.jobs
    assert now.jobs[second].state == State.STARTING


def test_before_the_oldest_snapshot_nothing_is_known_once_records_are_gone() -> None:
    bench = Bench(node(gpus=1))
    (number,) = bench.submit(job("a"))
    bench.at(10)
    bench.end(number)
    journal = journal_of(bench.journal)
    mark = snapshot_at(journal, journal.last())
    assert journal.thin(mark, mark.at_us + 1) == [number]
    with pytest.raises(StoreError, match="no longer known"):
        world_at(journal, 5_000_000)
    assert world_at(journal, 10_000_000).state.over[number] == State.SUCCEEDED


def test_text_that_is_no_utf8_is_kept() -> None:
    bench, name = Bench(node()), b"caf\xe9".decode("utf-8", "surrogateescape")
    (number,) = bench.submit(JobSpec(name=name, run=(name,)))
    found = loaded(packed(written(bench.world, Board(), 3)), "here")
    assert found.world.jobs[number].spec.name == name


# --- how long what is kept -----------------------------------------------------------------------


def test_records_older_than_the_retention_go_with_the_next_snapshot_but_one() -> None:
    """What is dropped is told; what was so since the retention time stays known."""
    told: list[JobId] = []
    bench = Bench(node(gpus=1))
    journal, board = MemoryJournal(), Board()
    upkeep = Upkeep(journal, every=1, retention_us=20_000_000, on_gone=told.extend)
    done = 0
    for second in (0, 10, 20, 30, 40, 50):
        bench.at(second)
        (number,) = bench.submit(job(f"j{second}"))
        bench.up(number)
        bench.at(second + 5)
        bench.end(number)
        journal.append(bench.journal[done:])
        board.fold(bench.journal[done:])
        done = len(bench.journal)
        upkeep.wait()
        upkeep.look(bench.world, board)
    upkeep.wait()
    assert told == [1, 2, 3]
    kept = {e.record.job for e in journal.read() if isinstance(e.record, ev.Submitted)}
    assert kept == {4, 5, 6}
    assert newest(journal) is not None
    assert world_at(journal, 37_000_000).state.over[JobId(4)] == State.SUCCEEDED


def test_of_old_snapshots_one_a_day_stays() -> None:
    journal, hour = MemoryJournal(), DAY_US // 24
    for number in range(1, 24 * 4):
        journal.append([ev.ControllerStarted(number * hour)])
        journal.keep(Mark(number, number * hour), b"")
        tidy(journal, number * hour, None)
    days = [mark.number for mark in journal.marks()]
    assert days == [95, 94, 73, 49, 25, 1]


def test_what_cannot_be_written_is_said_and_nothing_else(caplog: pytest.LogCaptureFixture) -> None:
    journal = journal_of([ev.ControllerStarted(1)])
    upkeep = Upkeep(journal, every=1)
    journal.close()
    with caplog.at_level(logging.WARNING):
        upkeep.look(World(), Board())
        upkeep.wait()
    assert "no snapshot was kept at record 1: the journal is closed; the records are all there" in caplog.text


def test_where_many_jobs_live_a_snapshot_is_worth_as_many_records() -> None:
    bench, board = Bench(node(gpus=1)), Board()
    bench.submit(*(job(f"j{i}") for i in range(50)))
    journal = journal_of(bench.journal[:49])
    upkeep = Upkeep(journal, every=1)
    upkeep.look(bench.world, board)
    assert not journal.marks()
    assert not upkeep.busy
    assert snapshots.VERSION == 1
