"""Records folded into bars: who held what of which node, from when to when. Columns of integers, for very many."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

import numpy as np

from clearway.model import events as ev
from clearway.model.events import TaskRef
from clearway.model.ids import JobId
from clearway.observe import bar_records as br
from clearway.observe.bar_records import Owner

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import numpy.typing as npt

    from clearway.model.events import Grant, Record
    from clearway.observe.bar_records import BarRecord

T = TypeVar("T")
OPEN = -1
"""End of a bar that has none yet, and number of a text that there is not."""
_NEVER_US = 2**62
COLUMNS = ("job", "attempt", "node", "devices", "share", "from_us", "to_us", "end", "cause", "task", "busy", "worked")
"""`task`: role and index as one number; `busy`: what it used of its devices, in thousandths; `worked`: on how many of
them anything worked; OPEN where untold."""
_ROLE = 2**32  # the numbers of a role's tasks are below that
_WIDE = len(COLUMNS)
_NODE, _TO, _END, _CAUSE = map(COLUMNS.index, ("node", "to_us", "end", "cause"))
_BUSY, _WORKED = map(COLUMNS.index, ("busy", "worked"))


class Table(Generic[T]):
    """Values by number, each once."""

    def __init__(self) -> None:
        """Begin without any."""
        self.all: list[T] = []
        self._numbers: dict[T, int] = {}

    def number(self, value: T) -> int:
        """Return the number of a value."""
        found = self._numbers.get(value)
        if found is None:
            found = self._numbers[value] = len(self.all)
            self.all.append(value)
        return found


class _Attempt(NamedTuple):
    """Bars of an attempt that is not over, by where they begin in the cells: of tasks that go on, and all of them."""

    tasks: dict[tuple[int, int], int]
    every: list[int]


class Bars:
    """A fold over records, whole or as `bar_records` reads them. Each grant is a bar, which ends with its task.

    `lacking` are ends of attempts whose start is not known: it lies before the first record.
    """

    def __init__(self) -> None:
        """Begin empty."""
        self._cells = array("q")  # row after row: one is added at a time, and many are looked at
        self.ends, self.causes = Table[str](), Table[str]()
        self.devices = Table[tuple[int, ...]]()
        self.owners: dict[JobId, Owner] = {}
        self.lacking: list[ev.AttemptEnded | br.AttemptEnded] = []
        self._open: dict[tuple[JobId, int], _Attempt] = {}
        taken: dict[str, Callable[[Any], None]] = {
            "Submitted": self._submitted, "Started": self._started, "Resized": self._resized,
            "TaskEnded": self._end_task, "AttemptEnded": self._end, "NodeLost": self._end_node,
            "NodeRemoved": self._end_node,
        }  # fmt: skip
        self._taken = {getattr(room, name): take for name, take in taken.items() for room in (ev, br)}

    def __len__(self) -> int:
        return len(self._cells) // _WIDE

    def apply(self, record: Record | BarRecord) -> None:
        """Take the next record; others than those of `bar_records` change nothing."""
        take = self._taken.get(type(record))
        if take is not None:
            take(record)

    def _submitted(self, record: br.Submitted) -> None:
        spec = record.spec
        known = isinstance(spec, Owner)  # else it is a whole job
        self.owners[record.job] = spec if known else Owner(spec.name, spec.queue, spec.user, spec.tenant)

    def _started(self, record: br.Started) -> None:
        self.begin(record.job, record.attempt, record.at_us, record.grants)

    def _resized(self, record: br.Resized) -> None:
        attempt = self._open.get((record.job, record.attempt))
        if attempt is not None:
            self._add(attempt, record.job, record.attempt, record.at_us, record.more)

    def begin(self, job: JobId, attempt: int, at_us: int, grants: Iterable[Grant]) -> None:
        """Begin the bars of an attempt, if that is not done."""
        if (job, attempt) not in self._open:
            mine = self._open[job, attempt] = _Attempt({}, [])
            self._add(mine, job, attempt, at_us, grants)

    def _add(self, mine: _Attempt, job: JobId, attempt: int, at_us: int, grants: Iterable[Grant]) -> None:
        cells, tasks, every = self._cells, mine.tasks, mine.every
        for grant in grants:
            role, index = grant.role, grant.index
            tasks[role, index] = at = len(cells)
            every.append(at)
            devices = self.devices.number(grant.devices)
            task = role * _ROLE + index
            cells.extend((job, attempt, grant.node, devices, grant.share, at_us, OPEN, OPEN, OPEN, task, OPEN, OPEN))

    def _end_task(self, record: br.TaskEnded) -> None:
        task, used = record.task, record.used
        attempt = self._open.get((task.job, task.attempt))
        at = None if attempt is None else attempt.tasks.pop((task.role, task.index), None)
        if at is not None:
            self._cells[at + _TO] = record.at_us
            if used is not None and used.busy is not None:
                self._cells[at + _BUSY] = used.busy
            if used is not None and used.worked is not None:
                self._cells[at + _WORKED] = used.worked

    def _end(self, record: br.AttemptEnded) -> None:
        mine = self._open.pop((record.job, record.attempt), None)
        if mine is None:
            self.lacking.append(record)
            return
        cells, end, cause = self._cells, self.ends.number(str(record.end)), OPEN
        if record.end != "succeeded":
            cause = self.causes.number(str(record.cause.code))
        for at in mine.tasks.values():
            cells[at + _TO] = record.at_us
        for at in mine.every:
            cells[at + _END], cells[at + _CAUSE] = end, cause

    def _end_node(self, record: br.NodeLost) -> None:
        cells = self._cells
        for mine in self._open.values():
            for key in [key for key, at in mine.tasks.items() if cells[at + _NODE] == record.node]:
                cells[mine.tasks.pop(key) + _TO] = record.at_us

    @staticmethod
    def task(job: int, attempt: int, number: int) -> TaskRef:
        """Return the task of a bar, from its columns `job`, `attempt` and `task`."""
        return TaskRef(JobId(job), attempt, *divmod(number, _ROLE))

    def shown(self, from_us: int, to_us: int, limit: int) -> tuple[dict[str, npt.NDArray[np.int64]], int]:
        """Return the columns of the bars that touch a time, in order of their begin, and how many were left out.

        Of more than `limit` the shortest are left out: on a screen they are the least.
        """
        cells = np.array(self._cells, np.int64).reshape(-1, _WIDE)
        columns = {name: cells[:, at] for at, name in enumerate(COLUMNS)}
        begins, ends = columns["from_us"], columns["to_us"]
        until = np.where(ends == OPEN, _NEVER_US, ends)
        found = np.flatnonzero((begins < to_us) & (until >= from_us))
        left_out = max(0, len(found) - limit)
        if left_out:
            longest = np.argpartition(begins[found] - until[found], limit - 1)[:limit]
            found = found[longest]
        found = found[np.lexsort((found, begins[found]))]
        return {name: column[found] for name, column in columns.items()}, left_out
