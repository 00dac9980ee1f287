"""What nodes and queues hold, for show: the board's sums over live grants. Decisions use the ledger's own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from clearway.control.board_kept import BooksKept
from clearway.control.rows import NodeRow, QueueRow, amounts_of, changed, spread
from clearway.core.turns import Occupied
from clearway.model import events as ev
from clearway.model.fleet import QueueSpec
from clearway.model.needs import sized_roles
from clearway.model.states import State

if TYPE_CHECKING:
    from collections.abc import Iterable

    from clearway.control.rows import JobRow
    from clearway.model.events import Grant, TaskRef
    from clearway.model.ids import JobId, NodeId
    from clearway.model.job import Demand, JobSpec, Role


class Books:
    """Node and queue rows, and who holds what. `node_names` also knows nodes that are gone: jobs once ran there."""

    def __init__(self) -> None:
        self.nodes: dict[NodeId, NodeRow] = {}
        self.node_names: dict[NodeId, str] = {}
        self.queues: dict[str, QueueRow] = {}
        self._roles: dict[JobId, tuple[str, tuple[Role, ...]]] = {}
        self.held: dict[JobId, dict[tuple[int, int], Grant]] = {}
        self._to_come_up: dict[JobId, set[tuple[int, int]]] = {}
        self._occupied = Occupied()

    def taken(self) -> BooksKept:
        """Return all that is written down, for a snapshot."""
        return BooksKept(
            tuple(self.nodes.values()),
            tuple(self.node_names.items()),
            tuple(self.queues.items()),
            tuple((job, *words) for job, words in self._roles.items()),
            tuple((job, tuple(held.values())) for job, held in self.held.items()),
            tuple((job, tuple(sorted(tasks))) for job, tasks in self._to_come_up.items()),
        )

    def put_back(self, kept: BooksKept) -> None:
        """Be as `taken` said."""
        self.nodes.update((row.id, row) for row in kept.nodes)
        self.node_names.update(kept.node_names)
        self.queues.update(kept.queues)
        self._roles = {job: (queue, roles) for job, queue, roles in kept.roles}
        self.held = {job: {(g.role, g.index): g for g in held} for job, held in kept.held}
        self._to_come_up = {job: set(tasks) for job, tasks in kept.to_come_up}

    def enter(self, job: JobId, spec: JobSpec) -> None:
        """Know a job's queue and what its tasks ask for, until it is forgotten."""
        self._roles[job] = (spec.queue, spec.roles)

    def holders(self) -> list[tuple[JobId, tuple[Grant, ...]]]:
        """Return which job holds which grants; from any thread: each copy below is made in one step of Python."""
        return [(job, tuple(held.values())) for job, held in list(self.held.items())]

    def forget(self, job: JobId) -> None:
        """Know a job no longer."""
        self._roles.pop(job, None)

    def count(self, old: JobRow | None, new: JobRow) -> None:
        """Count a job as what it has become."""
        if new.progress is not None:
            return  # of an array each job counts
        if old is not None and (old.state, old.queue) == (new.state, new.queue):
            return
        if old is not None:
            self._count(old, -1)
        self._count(new, 1)

    def hold(self, record: ev.Started) -> None:
        """Take in the grants of an attempt."""
        self.held[record.job] = {(g.role, g.index): g for g in record.grants}
        self._to_come_up[record.job] = set(self.held[record.job])
        self.add(record.job, record.grants)

    def add(self, job: JobId, grants: Iterable[Grant]) -> None:
        """Add grants of a job that is known to all sums."""
        for grant in grants:
            self._change(job, grant, 1)

    def more(self, record: ev.Resized) -> None:
        """Take in further grants of an attempt; those that it gives back are held until they are free."""
        for grant in record.more:
            self.held[record.job][grant.role, grant.index] = grant
            self._change(record.job, grant, 1)

    def all_up(self, task: TaskRef) -> bool:
        """One more task is up: say whether all of its attempt have been."""
        to_come_up = self._to_come_up.get(task.job, set())
        if (task.role, task.index) in self.held.get(task.job, {}):
            to_come_up.discard((task.role, task.index))
        return not to_come_up

    def free(self, task: TaskRef) -> None:
        """One task's grant is free."""
        grant = self.held.get(task.job, {}).pop((task.role, task.index), None)
        if grant is not None:
            self._change(task.job, grant, -1)

    def free_all(self, job: JobId) -> None:
        """All grants of a job are free."""
        self._to_come_up.pop(job, None)
        for grant in self.held.pop(job, {}).values():
            self._change(job, grant, -1)

    def fold(
        self,
        record: ev.NodeAdded | ev.NodeRemoved | ev.NodeQuiet | ev.NodeHeard | ev.NodeDrained | ev.NodeLost
        | ev.NodeNoticed | ev.DevicesChanged | ev.QueueChanged | ev.ControllerStarted | ev.Sized,
    ) -> None:  # fmt: skip
        """Take in what happened to a node or a queue, or what a job's tasks are given."""
        match record:
            case ev.ControllerStarted():
                self._forgive()
            case ev.QueueChanged():
                row = self._queue(record.queue.name)
                self.queues[record.queue.name] = replace(row, spec=record.queue)
            case ev.Sized():
                self._size(record)
            case ev.NodeAdded():
                self.node_names[record.node] = record.spec.name
                known = self.nodes.get(record.node) or NodeRow(record.node, record.spec)
                self.nodes[record.node] = replace(known, spec=record.spec)
            case _:
                if (node := self.nodes.get(record.node)) is not None:
                    self._fold_node(node, record)

    def _size(self, record: ev.Sized) -> None:
        if record.job in self._roles:
            queue, roles = self._roles[record.job]
            self._roles[record.job] = (queue, sized_roles(roles, record.needs))

    def _fold_node(
        self,
        row: NodeRow,
        record: ev.NodeRemoved
        | ev.NodeQuiet
        | ev.NodeHeard
        | ev.NodeDrained
        | ev.NodeLost
        | ev.NodeNoticed
        | ev.DevicesChanged,
    ) -> None:
        match record:
            case ev.NodeRemoved():
                self._free_node(row.id)
                del self.nodes[row.id]
            case ev.NodeLost():
                self._free_node(row.id)
                self.nodes[row.id] = replace(self.nodes[row.id], lost=True, gone_us=_ahead(row, record.at_us))
            case ev.NodeQuiet():
                self.nodes[row.id] = replace(row, quiet_since_us=record.since_us)
            case ev.NodeHeard():
                self.nodes[row.id] = replace(row, quiet_since_us=None, lost=False, gone_us=_ahead(row, record.at_us))
            case ev.NodeDrained():
                self.nodes[row.id] = replace(row, drained=record.drained)
            case ev.NodeNoticed():
                self.nodes[row.id] = replace(row, gone_us=max(record.gone_us, row.gone_us or 0))
            case ev.DevicesChanged():
                self.nodes[row.id] = replace(row, unhealthy=record.unhealthy)

    def _forgive(self) -> None:
        # A new controller gives every node a full lease.
        for number, row in self.nodes.items():
            if row.quiet_since_us is not None:
                self.nodes[number] = replace(row, quiet_since_us=None)

    def _free_node(self, node: NodeId) -> None:
        for job, held in self.held.items():
            for key in [k for k, grant in held.items() if grant.node == node]:
                self._change(job, held.pop(key), -1)

    def _queue(self, name: str) -> QueueRow:
        return self.queues.get(name) or QueueRow(QueueSpec(name))

    def _count(self, row: JobRow, by: int) -> None:
        if not row.queue or row.over:
            return
        queue = self._queue(row.queue)
        if row.state is State.PENDING:
            self.queues[row.queue] = replace(queue, pending=queue.pending + by)
        else:
            self.queues[row.queue] = replace(queue, running=queue.running + by)

    def _change(self, job: JobId, grant: Grant, sign: int) -> None:
        name, roles = self._roles[job]
        demand = roles[grant.role].demand
        by = amounts_of(grant, demand)
        queue = self._queue(name)
        self.queues[name] = replace(queue, use=changed(queue.use, by, sign))
        node = self.nodes.get(grant.node)
        if node is not None:
            self.nodes[grant.node] = replace(
                node,
                tasks=node.tasks + sign,
                use=changed(node.use, self._by_device(grant, demand, by, sign), sign),
                shares=spread(node.shares, grant.devices, sign * grant.share),
                memories=spread(node.memories, grant.devices, sign * grant.gpu_memory),
            )

    def _by_device(self, grant: Grant, demand: Demand, by: dict[str, int], sign: int) -> dict[str, int]:
        """Return what a node gives for a grant: a device whose time jobs share is held once."""
        return {**by, "gpus": sign * self._occupied.change(grant, 0, sign)[0]} if demand.colocate else by


def _ahead(row: NodeRow, now_us: int) -> int | None:
    """Return when a node is taken away, None where that is past."""
    return row.gone_us if row.gone_us is not None and row.gone_us > now_us else None
