"""The behaviour of every journal, as test classes: derive one, say how yours is opened, and pytest runs it.

class TestMine(LastingJournalSuite):
    opener = "my_package.journals:MyJournal"  # called with a place in a fresh folder
"""

# ruff: noqa: S101, PLR2004  a published suite asserts as any test does

from __future__ import annotations

import importlib
import os
import random
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING, ClassVar, cast

import msgspec
import pytest

from clearway.model import events as ev
from clearway.model import flow_events as fe
from clearway.model.errors import ClearwayError, ConflictError, StoreError
from clearway.model.fleet import NodeSpec
from clearway.model.ids import ClassId, JobId, NodeId
from clearway.model.job import JobSpec
from clearway.model.reasons import Code, because
from clearway.model.states import State
from clearway.ports.journal import Mark
from clearway.testing.records import every_record

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from clearway.ports.journal import Journal

BIG_CHARS = 3 * 2**20
"""More than the largest environment that a process can be given here."""
APPEND_OF = 7
KILLS = 4
MANY = 5000


def numbered(count: int, first: int = 1) -> list[ev.Record]:
    """Return `count` records that tell themselves apart by their job's number."""
    return [ev.Joined(at_us=n, job=JobId(n), cls=ClassId(1)) for n in range(first, first + count)]


class _Named(msgspec.Struct, tag="Submitted"):
    at_us: int
    job: int
    spec: dict[str, object]


class JournalSuite:
    """What every journal does. `opener` is `module:callable`; the callable takes a place (a path as text)."""

    opener: ClassVar[str]

    def open(self, place: str) -> Journal:
        """Open a journal at a place."""
        return opened(self.opener, place)

    @pytest.fixture
    def place(self, tmp_path: Path) -> str:
        """Return where a new journal may lie."""
        return str(tmp_path / "journal.db")

    @pytest.fixture
    def journal(self, place: str) -> Iterator[Journal]:
        """Yield an open journal without records."""
        made = self.open(place)
        yield made
        made.close()

    def test_a_new_one_is_empty(self, journal: Journal) -> None:
        """Nothing is in a journal that nothing was added to."""
        assert journal.last() == 0
        assert list(journal.read()) == []
        assert list(journal.of_job(JobId(1))) == []

    def test_numbers_have_no_gaps(self, journal: Journal) -> None:
        """Numbers run from 1 on through appends of any length, also of none."""
        ends = [journal.append(numbered(count)) for count in (1, 3, 0, 5)]
        assert ends == [1, 4, 4, 9]
        assert [e.number for e in journal.read()] == list(range(1, 10))
        assert journal.last() == 9

    def test_every_kind_comes_back_as_it_was(self, journal: Journal) -> None:
        """What is read equals what was added, for every kind of record."""
        journal.append(every_record())
        assert [e.record for e in journal.read()] == every_record()

    def test_read_after_a_number(self, journal: Journal) -> None:
        """`after` leaves out what the reader knows already."""
        journal.append(numbered(5))
        assert [e.number for e in journal.read(3)] == [4, 5]
        assert list(journal.read(5)) == []
        assert list(journal.read(50)) == []

    def test_of_job_finds_jobs_and_their_tasks(self, journal: Journal) -> None:
        """A job's records are those that name it or one of its tasks, in order, and no others."""
        mine = [r for r in every_record() if getattr(r, "job", None) == 7 or hasattr(r, "task")]
        journal.append(numbered(3, first=100))
        journal.append(every_record())
        found = list(journal.of_job(JobId(7)))
        assert [e.record for e in found] == mine
        assert [e.number for e in found] == sorted(e.number for e in found)
        assert list(journal.of_job(JobId(8))) == []

    def test_of_class_finds_its_reasons(self, journal: Journal) -> None:
        """A class's records are its ClassWaits, not its members' Joined."""
        why = (because(Code.CLEARING),)
        journal.append([ev.ClassWaits(1, ClassId(1), why), *numbered(4), ev.ClassWaits(2, ClassId(2), why)])
        journal.append([ev.ClassWaits(3, ClassId(1), ())])
        assert [(e.number, e.record.at_us) for e in journal.of_class(ClassId(1))] == [(1, 1), (7, 3)]

    def test_some_kinds_within_some_numbers(self, journal: Journal) -> None:
        """Only what is asked for is read, in order."""
        journal.append([*numbered(3), ev.ControllerStarted(4), *numbered(2, first=5), ev.ControllerStarted(9)])
        assert [e.number for e in journal.of_kinds({"ControllerStarted"}, 0, 7)] == [4, 7]
        assert [e.number for e in journal.of_kinds({"ControllerStarted"}, 4, 7)] == [7]
        assert [e.number for e in journal.of_kinds({"ControllerStarted"}, 0, 6)] == [4]
        assert list(journal.of_kinds(set(), 0, 7)) == []

    def test_parts_of_some_kinds_within_some_numbers(self, journal: Journal) -> None:
        """A decoder reads the fields that it wants, also beside text that is no UTF-8."""
        journal.append([*numbered(3), ev.Submitted(4, JobId(1), JobSpec("\udcff")), *numbered(2, first=5)])
        journal.append([ev.Submitted(at, JobId(at), JobSpec(f"j{at}")) for at in range(7, 250)])
        reader = msgspec.json.Decoder(_Named)
        found = [(one.at_us, one.job, one.spec["name"]) for one in journal.read_as(reader, {"Submitted"}, 3, 248)]
        assert found == [(4, 1, "\udcff"), *((at, at, f"j{at}") for at in range(7, 249))]

    def test_parts_of_some_kinds_of_some_jobs(self, journal: Journal) -> None:
        """Only what names one of the jobs is read, each job's in order, however many they are."""
        many = 1200
        journal.append([ev.Submitted(1, JobId(at), JobSpec(f"j{at}")) for at in range(1, many + 1)])
        journal.append([*numbered(3, first=1), ev.Submitted(2, JobId(7), JobSpec("again"))])
        reader = msgspec.json.Decoder(_Named)
        found = [(one.job, one.spec["name"]) for one in journal.read_of(reader, {"Submitted"}, [JobId(7), JobId(9)])]
        assert [name for job, name in found if job == 7] == ["j7", "again"]
        assert [name for job, name in found if job != 7] == ["j9"]
        odd = range(1, many, 2)
        assert {one.job for one in journal.read_of(reader, {"Submitted"}, [JobId(at) for at in odd])} == {*odd}
        assert list(journal.read_of(reader, {"Submitted"}, ())) == []
        assert list(journal.read_of(reader, set(), [JobId(7)])) == []

    def test_the_last_before_a_moment(self, journal: Journal) -> None:
        """A moment is found among the records, also between two of them and outside of all."""
        assert journal.before(5) == 0
        journal.append([ev.ControllerStarted(at) for at in (10, 10, 20, 30, 30, 30, 40)])
        found = [journal.before(at) for at in (0, 10, 11, 20, 30, 31, 40, 41)]
        assert found == [0, 0, 2, 2, 3, 6, 6, 7]

    def test_adding_while_reading(self, journal: Journal) -> None:
        """A reader sees records whole and in order while others are added."""
        journal.append(numbered(MANY))
        seen = []
        for entry in journal.read():
            seen.append(entry.number)
            if entry.number == MANY // 2:
                journal.append(numbered(10))
        assert seen[:MANY] == list(range(1, MANY + 1))
        assert journal.last() == MANY + 10

    def test_big_records(self, journal: Journal) -> None:
        """A job with as large an environment as a process may have is kept."""
        spec = JobSpec(name="big", env=(("A", "x" * BIG_CHARS),))
        journal.append([ev.Submitted(1, JobId(1), spec)])
        assert next(iter(journal.read())).record == ev.Submitted(1, JobId(1), spec)

    def test_any_text(self, journal: Journal) -> None:
        """Any text comes back, also one made of a file name that is not UTF-8."""
        texts = ["\u00e9 \u2603 \U0001f680", 'a\nb\tc"d\\e', "\x01\x7f", "", os.fsdecode(b"caf\xe9/\xff")]
        made = [ev.Submitted(1, JobId(1), JobSpec(name=t, run=(t,))) for t in texts]
        journal.append(made)
        assert [e.record for e in journal.read()] == made
        assert [e.record for e in journal.of_job(JobId(1))] == made

    def test_a_snapshot_comes_back(self, journal: Journal) -> None:
        """Snapshots of any size are read again as they were kept, newest first; one takes the place of its number."""
        journal.append(numbered(9))
        small, large = Mark(3, 3), Mark(9, 9)
        for mark, body in ((small, b"small"), (large, b"x"), (large, os.urandom(BIG_CHARS))):
            journal.keep(mark, body)
            assert journal.snapshot(mark) == body
        assert journal.marks() == [large, small]
        assert journal.snapshot(small) == b"small"
        journal.forget(small)
        assert journal.marks() == [large]
        with pytest.raises(StoreError, match="3"):
            journal.snapshot(small)

    def test_records_of_old_jobs_go_and_the_rest_stays(self, journal: Journal) -> None:
        """Dropped is what tells of jobs that were over before a moment, up to a snapshot; nothing else."""
        over, recent, live = JobId(1), JobId(2), JobId(3)
        before: list[ev.Record] = [
            ev.NodeAdded(1, NodeId(0), NodeSpec("n")),
            *(ev.Submitted(2, job, JobSpec(name=f"j{job}")) for job in (over, recent, live)),
            ev.Joined(3, over, ClassId(1)),
            ev.Joined(3, live, ClassId(2)),
            ev.ClassWaits(3, ClassId(1), ()),
            ev.ClassWaits(3, ClassId(2), ()),
            ev.TaskEnded(4, ev.TaskRef(over, 1, 0, 0), 0),
            ev.Ended(5, over, State.SUCCEEDED),
            ev.Ended(8, recent, State.SUCCEEDED),
        ]
        last = journal.append(before)
        journal.append([ev.Ended(9, live, State.SUCCEEDED), *numbered(2, first=50)])
        with pytest.raises(StoreError):
            journal.thin(Mark(last, 8), 6)
        journal.keep(Mark(last, 8), b"stands for what goes")
        assert journal.thin(Mark(last, 8), 6) == [over]
        assert list(journal.of_job(over)) == []
        assert [e.number for e in journal.read()] == [1, 3, 4, 6, 8, 11, 12, 13, 14]
        assert [e.number for e in journal.read(last)] == [12, 13, 14]
        assert [e.number for e in journal.of_job(live)] == [4, 6, 12]
        assert (journal.floor(), journal.last()) == (last, 14)
        assert journal.append(numbered(1)) == 15
        with pytest.raises(ConflictError):
            journal.forget(Mark(last, 8))

    def test_what_a_snapshot_stands_for_goes_with_them(self, journal: Journal) -> None:
        """Cycles and ticks up to the snapshot are dropped where they name no job; later ones stay."""
        cycle = ev.Planned(2, 1, 0, "hash", 0, 0)
        tick = fe.TicksMissed(3, "nightly", 3)
        last = journal.append([ev.NodeAdded(1, NodeId(0), NodeSpec("n")), cycle, tick])
        journal.append([ev.Planned(9, 2, 3, "hash", 0, 0)])
        journal.keep(Mark(last, 8), b"stands for what goes")
        assert journal.thin(Mark(last, 8), 6) == []
        assert [e.number for e in journal.read()] == [1, 4]

    def test_a_job_that_runs_again_is_not_dropped(self, journal: Journal) -> None:
        """A job that was over and waits again is not over."""
        again: list[ev.Record] = [
            ev.Submitted(1, JobId(1), JobSpec(name="j")),
            ev.Ended(2, JobId(1), State.FAILED),
            ev.Requeued(3, JobId(1), 3, because(Code.REQUEUED, by="ada")),
        ]
        last = journal.append(again)
        journal.keep(Mark(last, 3), b"s")
        assert journal.thin(Mark(last, 3), 100) == []
        assert [e.record for e in journal.read()] == again

    def test_closed_takes_nothing(self, journal: Journal) -> None:
        """After `close` an append is refused; closing twice is fine."""
        journal.append(numbered(1))
        journal.close()
        journal.close()
        with pytest.raises(StoreError, match="closed"):
            journal.append(numbered(1))


class LastingJournalSuite(JournalSuite):
    """What a journal does besides that outlives its process."""

    freed_s: ClassVar[float] = 0.0
    """So long after its writer was killed another one may still be refused."""

    def open_after_kill(self, place: str) -> Journal:
        """Open a journal whose writer was killed just now."""
        end_s = time.monotonic() + self.freed_s
        while True:
            try:
                return self.open(place)
            except ConflictError:
                if time.monotonic() >= end_s:
                    raise
                time.sleep(0.05)

    def test_reopened_it_goes_on(self, place: str) -> None:
        """Closed and opened again it holds the same records, and numbers go on."""
        first = self.open(place)
        first.append(every_record())
        first.close()
        again = self.open(place)
        assert [e.record for e in again.read()] == every_record()
        assert again.append(numbered(2)) == len(every_record()) + 2
        again.close()

    def test_snapshots_and_what_was_dropped_last(self, place: str) -> None:
        """Closed and opened again it has its snapshots, and knows what was dropped."""
        first = self.open(place)
        first.append([ev.Submitted(1, JobId(1), JobSpec(name="j")), ev.Ended(2, JobId(1), State.FAILED), *numbered(1)])
        first.keep(Mark(2, 2), b"body")
        first.thin(Mark(2, 2), 3)
        first.close()
        again = self.open(place)
        assert (again.marks(), again.snapshot(Mark(2, 2)), again.floor()) == ([Mark(2, 2)], b"body", 2)
        assert [e.number for e in again.read()] == [3]
        again.close()

    def test_second_writer_is_refused(self, journal: Journal, place: str) -> None:
        """While one has it open, another is refused with the process number of the first, also in this process."""
        with pytest.raises(ConflictError, match=str(os.getpid())):
            self.open(place)
        done = _child(self.opener, place, count=1)
        told, _ = done.communicate()
        assert done.returncode == 1
        assert f"ConflictError: the journal {place} is written by process {os.getpid()}" in told
        assert journal.append(numbered(1)) == 1

    def test_killed_while_adding(self, place: str) -> None:
        """A kill at any instant leaves whole appends, at least those that were confirmed, and frees the journal."""
        rng = random.Random(1)
        for _ in range(KILLS):
            confirmed = _killed_after(self.opener, place, rng.uniform(0.02, 0.2))
            journal = self.open_after_kill(place)
            entries = list(journal.read())
            assert len(entries) == journal.last() >= confirmed
            assert len(entries) % APPEND_OF == 0
            assert [e.number for e in entries] == list(range(1, len(entries) + 1))
            journal.close()


def opened(opener: str, place: str) -> Journal:
    """Call `module:callable` with a place."""
    module, _, name = opener.partition(":")
    return cast("Callable[[str], Journal]", getattr(importlib.import_module(module), name))(place)


def _child(opener: str, place: str, count: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "clearway.testing.journals", opener, place, str(count)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def _killed_after(opener: str, place: str, wait_s: float) -> int:
    """Kill a child `wait_s` after its first append, and return the last number that it said was there."""
    child = _child(opener, place, count=10**9)
    assert child.stdout is not None
    first = child.stdout.readline()
    time.sleep(wait_s)
    child.send_signal(signal.SIGKILL)
    rest, _ = child.communicate()
    said = (first + rest).split("\n")[:-1]  # the last line may have been cut by the kill
    assert all(line.isdecimal() for line in said), said
    return int(said[-1])


def _append_and_tell(opener: str, place: str, count: int) -> int:
    """Append again and again, and print the number of the last record after each."""
    try:
        journal = opened(opener, place)
    except ClearwayError as error:
        print(f"{type(error).__name__}: {error}", flush=True)  # noqa: T201  # read by the test
        return 1
    for _ in range(count):
        print(journal.append(numbered(APPEND_OF)), flush=True)  # noqa: T201  # read by the test
    return 0


if __name__ == "__main__":
    sys.exit(_append_and_tell(sys.argv[1], sys.argv[2], int(sys.argv[3])))
