"""Bars come out the same from whole records and from the few fields of them that a journal is read for."""

from __future__ import annotations

import random

from clearway.model import events as ev
from clearway.model.events import Grant, TaskRef
from clearway.model.ids import JobId, NodeId
from clearway.model.job import JobSpec
from clearway.model.reasons import Code, because
from clearway.model.states import End
from clearway.model.use import Used
from clearway.observe.bar_records import KINDS, READER, Owner
from clearway.observe.bars import Bars
from clearway.store import MemoryJournal
from clearway.testing.records import every_record

FAR_US = 2**50
PLACED, OVER = because(Code.PLACED), because(Code.TIME_LIMIT)


def _grant(index: int, node: int, *devices: int) -> Grant:
    return Grant(0, index, NodeId(node), devices, 1000)


def _story() -> list[ev.Record]:
    found: list[ev.Record] = []
    chance = random.Random(3)
    for number in range(1, 40):
        job, node, at_us = JobId(number), number % 3, number * 10
        spec = JobSpec(f"j{number}") if number % 2 else JobSpec("x", queue="q", user="u", tenant="t")
        grants = tuple(_grant(index, node, index, index + 4) for index in range(1 + number % 2))
        found += [ev.Submitted(at_us, job, spec), ev.Started(at_us + 1, job, 1, grants, PLACED)]
        if number % 5 == 0:
            found.append(ev.Resized(at_us + 2, job, 1, PLACED, (_grant(2, 3, 7),)))
        if number % 3 == 0:
            found.append(ev.TaskEnded(at_us + 3, TaskRef(job, 1, 0, 0), 0, used=Used(busy=chance.randrange(1000))))
        if number % 4:
            end = End.SUCCEEDED if number % 7 else End.TIMED_OUT
            found.append(ev.AttemptEnded(at_us + 4, job, 1, end, OVER))
        if number % 11 == 0:
            found += [ev.NodeLost(at_us + 5, NodeId(node)), ev.NodeRemoved(at_us + 6, NodeId(3))]
    return found


def _shown(bars: Bars) -> tuple[dict[str, list[int]], object]:
    columns, left_out = bars.shown(0, FAR_US, 10**6)
    assert not left_out
    told = {name: column.tolist() for name, column in columns.items()}
    return told, (bars.owners, bars.devices.all, bars.ends.all, bars.causes.all)


def test_bars_of_a_journal_are_those_of_its_records() -> None:
    whole, parts, journal = Bars(), Bars(), MemoryJournal()
    story = _story()
    journal.append(story)
    for record in story:
        whole.apply(record)
    for part in journal.read_as(READER, KINDS, 0, journal.last()):
        parts.apply(part)
    assert _shown(whole) == _shown(parts)
    assert len(whole) > 60
    assert parts.owners[JobId(2)] == Owner("x", "q", "u", "t")
    assert parts.owners[JobId(3)].queue == JobSpec("j3").queue
    assert parts.causes.all == ["time-limit"]


def test_every_record_that_bars_are_made_of_can_be_read() -> None:
    journal = MemoryJournal()
    journal.append(every_record())
    found = list(journal.read_as(READER, KINDS, 0, journal.last()))
    assert {type(one).__name__ for one in found} == KINDS
