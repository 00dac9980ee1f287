"""Machines on their way: nodes all of which is held until they are there, so that promises and backfill see them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clearway.core.ledger import Held
from clearway.model.events import Grant
from clearway.model.ids import JobId, NodeId
from clearway.model.job import WHOLE, Demand

if TYPE_CHECKING:
    from clearway.core.view import View
    from clearway.model.fleet import NodeSpec


def boot_of(node: NodeId) -> JobId:
    """Return the number under which the books write the boot of a node: below 0, where no job is."""
    return JobId(-1 - node)


def begin(view: View, node: NodeId, spec: NodeSpec, now_us: int, ready_us: int) -> None:
    """Add a node that is expected to be there at `ready_us`."""
    view.ledger.add_node(node, spec)
    everything = Demand(
        spec.gpus, cpus=spec.cpus, memory=spec.memory, disk=spec.disk, bandwidth=spec.bandwidth,
        resources=spec.resources,
    )  # fmt: skip
    devices = tuple(range(spec.gpus))
    held = Held(Grant(0, 0, node, devices, WHOLE if devices else 0), everything)
    view.ledger.take(*held)
    view.ledger.booting.add(node)
    view.ledger.register(boot_of(node), [held])
    view.ends.add(boot_of(node), [held], now_us, ready_us - now_us)


def end(view: View, node: NodeId) -> None:
    """Take note that a node is there, or will never be."""
    view.ledger.release(boot_of(node), 0, 0)
    view.ledger.booting.discard(node)
    view.ends.remove(boot_of(node))
