"""Records folded into bars: who held what of which node, from when to when. Columns of integers, for very many."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from clearway.model import events as ev
from clearway.model.events import TaskRef
from clearway.model.ids import JobId

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy.typing as npt

    from clearway.model.events import Grant, Record
    from clearway.model.ids import NodeId

_USED = (ev.Submitted, ev.Started, ev.Resized, ev.TaskEnded, ev.AttemptEnded, ev.NodeLost, ev.NodeRemoved)
KINDS = frozenset(kind.__name__ for kind in _USED)
"""Names of the types of records that bars are made of."""
OPEN = -1
"""End of a bar that has none yet, and number of a text that there is not."""
_NEVER_US = 2**62
COLUMNS = ("job", "attempt", "node", "devices", "share", "from_us", "to_us", "end", "cause", "task", "busy")
"""`task`: role and index as one number; `busy`: what it used of its devices, in thousandths, OPEN where untold."""
_ROLE = 2**32  # the numbers of a role's tasks are below that


class Owner(NamedTuple):
    """Whose bars they are."""

    name: str
    queue: str
    user: str
    tenant: str


class Texts:
    """Texts by number, each once."""

    def __init__(self) -> None:
        """Begin without any."""
        self.all: list[str] = []
        self._numbers: dict[str, int] = {}

    def number(self, text: str) -> int:
        """Return the number of a text."""
        found = self._numbers.get(text)
        if found is None:
            found = self._numbers[text] = len(self.all)
            self.all.append(text)
        return found


class Bars:
    """A fold over the records of `KINDS`. Each grant is a bar; a task that is stopped alone ends its own.

    `lacking` are ends of attempts whose start is not known: it lies before the first record.
    """

    def __init__(self) -> None:
        """Begin empty."""
        self.columns = {name: array("q") for name in COLUMNS}
        self.ends, self.causes, self.devices = Texts(), Texts(), Texts()
        self.owners: dict[JobId, Owner] = {}
        self.lacking: list[ev.AttemptEnded] = []
        self._open: dict[tuple[JobId, int], dict[tuple[int, int], int]] = {}
        self._rows: dict[tuple[JobId, int], list[int]] = {}

    def __len__(self) -> int:
        return len(self.columns["job"])

    def knows(self, job: JobId, attempt: int) -> bool:
        """Whether an attempt that is not over has its bars."""
        return (job, attempt) in self._open

    def apply(self, record: Record) -> None:
        """Take the next record; others than those of `KINDS` change nothing."""
        match record:
            case ev.Submitted():
                spec = record.spec
                self.owners[record.job] = Owner(spec.name, spec.queue, spec.user, spec.tenant)
            case ev.Started():
                self.begin(record.job, record.attempt, record.at_us, record.grants)
            case ev.Resized():
                if self.knows(record.job, record.attempt):
                    self._add(record.job, record.attempt, record.at_us, record.more)
            case ev.TaskEnded():
                self._end_task(record)
            case ev.AttemptEnded():
                self._end(record)
            case ev.NodeLost() | ev.NodeRemoved():
                self._end_node(record.node, record.at_us)
            case _:
                pass

    def begin(self, job: JobId, attempt: int, at_us: int, grants: Iterable[Grant]) -> None:
        """Begin the bars of an attempt, if that is not done."""
        if not self.knows(job, attempt):
            self._open[job, attempt], self._rows[job, attempt] = {}, []
            self._add(job, attempt, at_us, grants)

    def _add(self, job: JobId, attempt: int, at_us: int, grants: Iterable[Grant]) -> None:
        mine, rows = self._open[job, attempt], self._rows[job, attempt]
        for grant in grants:
            mine[grant.role, grant.index] = len(self)
            rows.append(len(self))
            devices = self.devices.number(" ".join(map(str, grant.devices)))
            task = grant.role * _ROLE + grant.index
            row = (job, attempt, grant.node, devices, grant.share, at_us, OPEN, OPEN, OPEN, task, OPEN)
            for column, value in zip(self.columns.values(), row, strict=True):
                column.append(value)

    def _end_task(self, record: ev.TaskEnded) -> None:
        task, used = record.task, record.used
        at = self._open.get((task.job, task.attempt), {}).pop((task.role, task.index), None)
        if at is not None:
            self.columns["to_us"][at] = record.at_us
            if used is not None and used.busy is not None:
                self.columns["busy"][at] = used.busy

    def _end(self, record: ev.AttemptEnded) -> None:
        mine = self._open.pop((record.job, record.attempt), None)
        if mine is None:
            self.lacking.append(record)
            return
        end, cause = self.ends.number(str(record.end)), OPEN
        if record.end != "succeeded":
            cause = self.causes.number(str(record.cause.code))
        for at in mine.values():
            self.columns["to_us"][at] = record.at_us
        for at in self._rows.pop((record.job, record.attempt)):
            self.columns["end"][at], self.columns["cause"][at] = end, cause

    def _end_node(self, node: NodeId, at_us: int) -> None:
        nodes = self.columns["node"]
        for mine in self._open.values():
            for key in [key for key, at in mine.items() if nodes[at] == node]:
                self.columns["to_us"][mine.pop(key)] = at_us

    @staticmethod
    def task(job: int, attempt: int, number: int) -> TaskRef:
        """Return the task of a bar, from its columns `job`, `attempt` and `task`."""
        return TaskRef(JobId(job), attempt, *divmod(number, _ROLE))

    def shown(self, from_us: int, to_us: int, limit: int) -> tuple[dict[str, npt.NDArray[np.int64]], int]:
        """Return the columns of the bars that touch a time, in order of their begin, and how many were left out.

        Of more than `limit` the shortest are left out: on a screen they are the least.
        """
        columns = {name: np.array(column, np.int64) for name, column in self.columns.items()}
        begins, ends = columns["from_us"], columns["to_us"]
        until = np.where(ends == OPEN, _NEVER_US, ends)
        found = np.flatnonzero((begins < to_us) & (until >= from_us))
        left_out = max(0, len(found) - limit)
        if left_out:
            longest = np.argpartition(begins[found] - until[found], limit - 1)[:limit]
            found = found[longest]
        found = found[np.lexsort((found, begins[found]))]
        return {name: column[found] for name, column in columns.items()}, left_out
