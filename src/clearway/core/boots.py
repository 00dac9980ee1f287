"""Machines on their way: nodes all of which is held until they are there, so that promises and backfill see them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clearway.core.ledger import Held
from clearway.model.events import Grant
from clearway.model.ids import JobId, NodeId
from clearway.model.job import WHOLE, Demand
from clearway.model.slices import slice_of

if TYPE_CHECKING:
    from clearway.core.view import View
    from clearway.model.fleet import NodeSpec


def boot_of(node: NodeId) -> JobId:
    """Return the number under which the books write the boot of a node: below 0, where no job is."""
    return JobId(-1 - node)


def begin(view: View, node: NodeId, spec: NodeSpec, now_us: int, ready_us: int) -> None:
    """Add a node that is expected to be there at `ready_us`."""
    ledger = view.ledger
    ledger.add_node(node, spec)
    held = _everything(node, spec)
    for one in held:
        ledger.take(*one)
    ledger.booting.add(node)
    ledger.register(boot_of(node), held)
    view.ends.add(boot_of(node), held, now_us, ready_us - now_us)


def _everything(node: NodeId, spec: NodeSpec) -> list[Held]:
    """Return grants of all that a node has: its uncut devices with all else, and each slice."""
    devices = tuple(device for device in range(spec.gpus) if device not in spec.cut)
    demand = Demand(
        len(devices), cpus=spec.cpus, memory=spec.memory, disk=spec.disk, bandwidth=spec.bandwidth,
        resources=spec.resources,
    )  # fmt: skip
    held = [Held(Grant(0, 0, node, devices, WHOLE if devices else 0), demand)]
    for number, (_, profile) in enumerate(spec.slices, spec.gpus):
        held.append(Held(Grant(0, number + 1, node, (number,), *slice_of(profile)), Demand(slice=profile)))
    return held


def end(view: View, node: NodeId) -> None:
    """Take note that a node is there, or will never be."""
    for one in list(view.ledger.holdings[boot_of(node)]):
        view.ledger.release(boot_of(node), one.grant.role, one.grant.index)
    view.ledger.booting.discard(node)
    view.ends.remove(boot_of(node))
