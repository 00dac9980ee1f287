"""Where a task would break an island of linked devices that nobody uses yet, since no broken one will do."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from clearway.model.job import WHOLE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from clearway.core.ledger import Ledger
    from clearway.model.fleet import NodeSpec
    from clearway.model.job import Demand

Links = tuple[tuple[int, ...], ...]


def breaks_whole(ledger: Ledger, demand: Demand, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return on which of these nodes one more task would take a part of an island (NVLink) that nobody uses yet."""
    found = np.zeros(len(rows), np.bool_)
    kinds = ledger.kind.take(rows)
    for number in np.unique(kinds).tolist():
        if ledger.kinds[number].links:
            mine = kinds == number
            found[mine] = _on_kind(ledger, ledger.kinds[number], demand, rows[mine])
    return found


def _on_kind(ledger: Ledger, kind: NodeSpec, demand: Demand, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
    shares = ledger.dev_share.reshape(-1, ledger.width).take(rows, axis=0)
    rooms = ledger.dev_room.reshape(-1, ledger.width).take(rows, axis=0)
    idle = (shares == WHOLE) & (rooms >= kind.gpu_memory)
    member = np.zeros((len(kind.links), ledger.width), np.bool_)
    for at, island in enumerate(kind.links):
        member[at, list(island)] = True
    counts, sizes = idle @ member.T.astype(np.int64), member.sum(axis=1)
    need = _idle_needed(ledger, demand, rows, shares, rooms, idle)[:, None]
    alone = (idle & ~member.any(axis=0)).any(axis=1)[:, None] & (need <= 1)
    spared = (counts >= need) & ((counts < sizes) | (counts == need))
    spoilt = (counts >= need) & (counts == sizes) & (need > 0)
    broken: NDArray[np.bool_] = spoilt.any(axis=1) & ~spared.any(axis=1) & ~alone[:, 0]
    return broken


def _idle_needed(
    ledger: Ledger, demand: Demand, rows: NDArray[np.int64], shares: NDArray[np.int64], rooms: NDArray[np.int64],
    idle: NDArray[np.bool_],
) -> NDArray[np.int64]:  # fmt: skip
    """Return how many idle devices one more task takes of each node."""
    if demand.gpus:
        many = ledger.turns.new_devices(ledger, rows, demand) if demand.colocate else demand.gpus
        return np.broadcast_to(np.asarray(many, np.int64), len(rows))
    memory = ledger.memory_of(demand, rows)
    each = memory if isinstance(memory, int) else memory[:, None]
    begun = (~idle & (shares >= demand.share) & (rooms >= each)).any(axis=1)
    return np.where(begun, 0, 1)


def spoils(idle: set[int], links: Links, device: int) -> bool:
    """Return whether a device belongs to an island all of whose devices are idle."""
    return any(device in island and idle.issuperset(island) for island in links)
