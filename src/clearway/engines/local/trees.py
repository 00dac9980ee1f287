"""Which process belongs to which task.

A process is a task's when it is in the task's control group (where there are any), is its main process, in the main
process's session, a descendant of such a one, was once seen as such, or carries the task's ticket in its environment.
The runner adopts what loses its parents, so nothing it forked can get out of sight. What shows none of these marks
(without control groups: it left its session, dropped its environment and lost its parents between two looks) belongs
to a task only when no other task can have made it.
"""

from __future__ import annotations

import os

from clearway.engines.local import procs

TYPE_CHECKING = False  # not from typing: the runner pays for every module
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from clearway.engines.local.groups import Groups
    from clearway.engines.local.procs import Proc
    from clearway.engines.local.tasks import Task

Owners = dict[int, str]


class Trees:
    """Looks at all processes and tells them apart. `prefix` begins the ticket of each task of this runner."""

    def __init__(self, prefix: str, groups: Groups) -> None:
        self._prefix, self.groups = prefix, groups
        self._me = os.getpid()
        self.steady = True
        """Whether the last look missed nothing. Numbers are listed first and read then: an orphan that forked and died
        in between hides its child. But then it is our child, dead and not collected, and that is seen.
        """

    def look(self, tasks: Collection[Task]) -> dict[str, list[Proc]]:
        """Return the living processes of each of these tasks, which are all that may have some."""
        every = procs.everything()
        mains = {task.pid for task in tasks}
        self.steady = not any(p.dead and p.parent == self._me and p.pid not in mains for p in every.values())
        table = {pid: proc for pid, proc in every.items() if not proc.dead}
        owners = {**self._marked(table, tasks), **self._grouped(every, tasks)}
        _inherit(table, owners, self._me)
        if self._by_ticket(table, owners, tasks) + self._by_exclusion(table, owners, tasks):
            _inherit(table, owners, self._me)
        found: dict[str, list[Proc]] = {task.key: [] for task in tasks}
        for pid, key in owners.items():
            found[key].append(table[pid])
        for task in tasks:
            task.known = frozenset((proc.pid, proc.start) for proc in found[task.key])
        return found

    def _marked(self, table: dict[int, Proc], tasks: Collection[Task]) -> Owners:
        sessions = {task.pid: task.key for task in tasks if _session_is_its_own(table, task)}
        owners = {proc.pid: sessions[proc.session] for proc in table.values() if proc.session in sessions}
        for task in tasks:
            for pid, start in ((task.pid, task.start), *task.known):
                if pid in table and table[pid].start == start:
                    owners[pid] = task.key
        return owners

    def _grouped(self, every: dict[int, Proc], tasks: Collection[Task]) -> Owners:
        """Return what is in the tasks' groups; one that was forked since the processes were listed is a missed one."""
        found: Owners = {}
        for task in [task for task in tasks if task.sought]:
            for pid in self.groups.members(task.key):
                if pid not in every:
                    self.steady = False
                elif not every[pid].dead:
                    found[pid] = task.key
        return found

    def _by_ticket(self, table: dict[int, Proc], owners: Owners, tasks: Collection[Task]) -> int:
        keys = {task.key for task in tasks}
        before = len(owners)
        for proc in self._suspects(table, owners, tasks):
            prefix, _, key = procs.ticket(proc.pid).rpartition(":")
            if prefix == self._prefix and key in keys:
                owners[proc.pid] = key
        return len(owners) - before

    def _suspects(self, table: dict[int, Proc], owners: Owners, tasks: Collection[Task]) -> Iterator[Proc]:
        """Yield what may belong to a task without being its descendant.

        These are orphans that came to this runner or, where tasks were forked by an earlier one, to anybody.
        """
        foreign = [task.start for task in tasks if not task.mine]
        for proc in table.values():
            if proc.pid in owners or proc.pid == self._me:
                continue
            if proc.parent == self._me or (foreign and proc.start >= min(foreign)):
                yield proc

    def _by_exclusion(self, table: dict[int, Proc], owners: Owners, tasks: Collection[Task]) -> int:
        before = len(owners)
        for proc in [p for p in table.values() if p.parent == self._me and p.pid not in owners]:
            able = [task.key for task in tasks if task.start <= proc.start]
            if len(able) == 1:
                owners[proc.pid] = able[0]
        return len(owners) - before


def _session_is_its_own(table: dict[int, Proc], task: Task) -> bool:
    """Say whether what has the session number of a task is the task's.

    The number is free again when all of the session is gone; then it may be a stranger's. Without its leader only the
    runner that forked it can be sure.
    """
    leader = table.get(task.pid)
    return task.mine if leader is None else leader.start == task.start


def _inherit(table: dict[int, Proc], owners: Owners, me: int) -> None:
    """Give every process the owner of its nearest ancestor that has one."""
    for proc in table.values():
        line: list[int] = []
        at: Proc | None = proc
        while at is not None and at.pid not in owners and at.pid != me and len(line) <= len(table):
            line.append(at.pid)
            at = table.get(at.parent)
        if at is not None and at.pid in owners:
            owners.update((pid, owners[at.pid]) for pid in line)
