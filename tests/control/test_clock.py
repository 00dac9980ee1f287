"""The clock never goes back and cannot be set, across restarts too."""

from __future__ import annotations

import time

import pytest

from clearway.control.clock import Anchor, SystemClock, last_moment_us
from clearway.model import events as ev
from clearway.model.errors import StoreError
from clearway.store.memory import MemoryJournal

HOUR_US = 3_600_000_000
READING_US = 10_000
"""Two clocks are read one after the other."""


class Machine:
    """A machine whose clocks a test sets."""

    def __init__(self) -> None:
        self.boot, self.since_boot_us, self.wall = "boot-1", 1000, 50 * HOUR_US

    def clock(self, anchor: Anchor | None = None, last_us: int = 0) -> SystemClock:
        return SystemClock(
            anchor, last_us, boot_id=lambda: self.boot, boot_us=lambda: self.since_boot_us, wall_us=lambda: self.wall
        )


def test_begins_at_the_wall_clock() -> None:
    before = time.time_ns() // 1000
    now = SystemClock().now_us()
    assert before <= now <= time.time_ns() // 1000 + READING_US


def test_real_clock_goes_on() -> None:
    clock = SystemClock()
    first = clock.now_us()
    time.sleep(0.01)
    assert 10_000 <= clock.now_us() - first < 60_000_000  # a busy machine may let it wait


@pytest.mark.parametrize("step_us", [-10 * HOUR_US, 10 * HOUR_US])
def test_a_step_of_the_wall_clock_does_not_move_it(step_us: int) -> None:
    machine = Machine()
    clock = machine.clock()
    machine.wall += step_us
    machine.since_boot_us += 7
    assert clock.now_us() == 50 * HOUR_US + 7


@pytest.mark.parametrize("step_us", [-10 * HOUR_US, 10 * HOUR_US])
def test_after_a_restart_in_the_same_boot_it_continues_exactly(step_us: int) -> None:
    machine = Machine()
    anchor = machine.clock().anchor
    machine.wall += step_us
    machine.since_boot_us += 7
    again = machine.clock(Anchor.read(anchor.text()), last_us=50 * HOUR_US + 3)
    assert again.now_us() == 50 * HOUR_US + 7


def test_after_another_boot_it_takes_the_wall_clock() -> None:
    machine = Machine()
    anchor = machine.clock().anchor
    machine.boot, machine.since_boot_us, machine.wall = "boot-2", 5, 60 * HOUR_US
    assert machine.clock(anchor, last_us=55 * HOUR_US).now_us() == 60 * HOUR_US


def test_after_another_boot_with_a_wall_clock_in_the_past_it_does_not_go_back() -> None:
    machine = Machine()
    anchor = machine.clock().anchor
    machine.boot, machine.since_boot_us, machine.wall = "boot-2", 5, HOUR_US
    assert machine.clock(anchor, last_us=55 * HOUR_US).now_us() == 55 * HOUR_US + 1


def test_a_boot_clock_that_went_back_counts_as_another_boot() -> None:
    machine = Machine()
    anchor = machine.clock().anchor
    machine.since_boot_us, machine.wall = 3, 70 * HOUR_US
    assert machine.clock(anchor).now_us() == 70 * HOUR_US


def test_damaged_anchor() -> None:
    with pytest.raises(StoreError, match="anchor"):
        Anchor.read("{")


def test_last_moment() -> None:
    journal = MemoryJournal()
    assert last_moment_us(journal) == 0
    journal.append([ev.ControllerStarted(5), ev.ControllerStarted(9)])
    assert last_moment_us(journal) == 9
