"""A journal and an engine at each of whose acts the controller may die: before it, and after it."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from clearway.model.errors import EngineError

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from msgspec.json import Decoder

    from clearway.model.actions import Action
    from clearway.model.events import Record, TaskRef
    from clearway.model.ids import ClassId, JobId
    from clearway.ports.engine import Engine, Inventory, Measured, Report
    from clearway.ports.journal import Entry, Journal, Mark

T = TypeVar("T")


class Killed(BaseException):
    """The controller is dead from here on: nothing of it runs any more, not even a handler of errors."""


class Fate:
    """Decides where a controller dies: at the act `at` (counted from 1), or by chance at one act in `one_in`."""

    def __init__(self, *, at: int = 0, chance: random.Random | None = None, one_in: int = 0) -> None:
        """Without `at` and `one_in` it never does; `acts` counts all the same."""
        self._at, self._chance, self._one_in = at, chance, one_in
        self.acts = self.kills = 0

    def act(self) -> None:
        """Count an act, and die if it is the one."""
        self.acts += 1
        unlucky = self._chance is not None and self._one_in and self._chance.randrange(self._one_in) == 0
        if self.acts == self._at or unlucky:
            self.kills += 1
            raise Killed


class MortalJournal:
    """A journal of somebody who may die at each write."""

    def __init__(self, journal: Journal, fate: Fate) -> None:
        """Write to `journal`."""
        self._journal, self._fate = journal, fate

    def append(self, records: Sequence[Record]) -> int:
        """Add records, or die before or after."""
        self._fate.act()
        last = self._journal.append(records)
        self._fate.act()
        return last

    def keep(self, mark: Mark, body: bytes) -> None:
        """Keep a snapshot, or die before or after, or leave one that is not whole."""
        self._fate.act()
        self._journal.keep(mark, body[: len(body) // 2])
        self._fate.act()
        self._journal.keep(mark, body)
        self._fate.act()

    def forget(self, mark: Mark) -> None:
        """Drop a snapshot, or die before."""
        self._fate.act()
        self._journal.forget(mark)

    def thin(self, mark: Mark, ended_before_us: int) -> list[JobId]:
        """Drop old records, or die before."""
        self._fate.act()
        return self._journal.thin(mark, ended_before_us)

    def read(self, after: int = 0) -> Iterator[Entry]:
        """Yield entries."""
        return self._journal.read(after)

    def of_job(self, job: JobId) -> Iterator[Entry]:
        """Yield a job's."""
        return self._journal.of_job(job)

    def of_class(self, cls: ClassId) -> Iterator[Entry]:
        """Yield a class's."""
        return self._journal.of_class(cls)

    def of_kinds(self, kinds: Collection[str], after: int, up_to: int) -> Iterator[Entry]:
        """Yield some kinds."""
        return self._journal.of_kinds(kinds, after, up_to)

    def read_as(self, reader: Decoder[T], kinds: Collection[str], after: int, up_to: int) -> Iterator[T]:
        """Yield parts of some kinds."""
        return self._journal.read_as(reader, kinds, after, up_to)

    def read_of(self, reader: Decoder[T], kinds: Collection[str], jobs: Collection[JobId]) -> Iterator[T]:
        """Yield parts of some jobs'."""
        return self._journal.read_of(reader, kinds, jobs)

    def before(self, at_us: int) -> int:
        """Return the last number of an earlier moment."""
        return self._journal.before(at_us)

    def last(self) -> int:
        """Return the last number."""
        return self._journal.last()

    def marks(self) -> list[Mark]:
        """Return the snapshots."""
        return self._journal.marks()

    def snapshot(self, mark: Mark) -> bytes:
        """Return a snapshot's bytes."""
        return self._journal.snapshot(mark)

    def floor(self) -> int:
        """Return the floor."""
        return self._journal.floor()

    def close(self) -> None:
        """Leave the real one open: the next controller goes on with it."""


class MortalEngine:
    """An engine of somebody who may die at each call."""

    def __init__(self, engine: Engine, fate: Fate, fails: Callable[[], bool] = lambda: False) -> None:
        """Tell `engine`. While it `fails`, nothing can be told or heard once it has been opened."""
        self._engine, self._fate, self._fails = engine, fate, fails

    @property
    def trouble(self) -> str:
        """Say what the real one says."""
        return self._engine.trouble

    @property
    def measured(self) -> Measured:
        """Say what the real one says."""
        return self._engine.measured

    @property
    def lacks(self) -> Mapping[str, str]:
        """Say what the real one says."""
        return self._engine.lacks

    def enforced(self) -> dict[str, str]:
        """Say what the real one says."""
        return self._engine.enforced()

    def open(self) -> Inventory:
        """Attach, or die before or after."""
        self._fate.act()
        found = self._engine.open()
        self._fate.act()
        return found

    def carry_out(self, actions: Sequence[Action]) -> None:
        """Do each action, or die before it or after the last."""
        for action in actions:
            self._work()
            self._fate.act()
            self._engine.carry_out([action])
        self._fate.act()

    def reports(self) -> list[Report]:
        """Return what came, or die with it in hand."""
        self._work()
        found = self._engine.reports()
        if found:
            self._fate.act()
        return found

    def wait(self, timeout_s: float) -> None:
        """Wait."""
        self._engine.wait(timeout_s)

    def wake(self) -> None:
        """End a wait."""
        self._engine.wake()

    def acknowledge(self, tasks: Sequence[TaskRef]) -> None:
        """Let ends be forgotten, or die before or after."""
        self._work()
        self._fate.act()
        self._engine.acknowledge(tasks)
        self._fate.act()

    def look(self) -> None:
        """Have nodes say what they are, or die before or after."""
        self._work()
        self._fate.act()
        self._engine.look()
        self._fate.act()

    def _work(self) -> None:
        if self._fails():
            raise EngineError("it does not answer")

    def close(self) -> None:
        """Detach."""
        self._engine.close()
