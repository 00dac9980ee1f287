"""Nodes, queues and limits as words, as `read_nodes`, `read_queue` and `read_limit` take them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from clearway.model.fleet import PLENTY
from clearway.model.values import MILLI, rate_text

if TYPE_CHECKING:
    from clearway.model.fleet import LimitSpec, NodeSpec, QueueSpec

MICROS = 10**6
_THOUSANDTHS = frozenset({"gpus", "cpus", "bandwidth"})


def units(milli: int) -> int | float:
    """Return thousandths as units, whole ones as integers."""
    return milli // MILLI if milli % MILLI == 0 else milli / MILLI


def node_words(node: NodeSpec) -> dict[str, Any]:
    """Return a node; what it does not mention is plentiful."""
    words: dict[str, Any] = {"name": node.name}
    words |= {w: units(getattr(node, w)) for w in ("cpus", "bandwidth") if getattr(node, w) < PLENTY}
    words |= {w: getattr(node, w) for w in ("memory", "disk") if getattr(node, w) < PLENTY}
    if node.gpus:
        words["gpus"] = node.gpus
        words |= {"gpu_memory": node.gpu_memory} if node.gpu_memory < PLENTY else {}
    words |= {w: getattr(node, w) for w in ("gpu_model", "rack", "zone", "spot") if getattr(node, w)}
    words |= {w: [list(i) for i in getattr(node, w)] for w in ("links", "pcie", "numa") if getattr(node, w)}
    words |= {w: list(getattr(node, w)) for w in ("taints", "holds") if getattr(node, w)}
    words |= {w: dict(getattr(node, w)) for w in ("resources", "labels") if getattr(node, w)}
    return words | ({"price": node.price_micros / MICROS} if node.price_micros else {})


def queue_words(queue: QueueSpec) -> dict[str, Any]:
    """Return a queue; only what differs from a queue where nothing is said."""
    words: dict[str, Any] = {"name": queue.name}
    if queue.parent:
        words["parent"] = queue.parent
    for word in ("guarantee", "limit", "limit_per_user"):
        amounts = getattr(queue, word)
        if amounts:
            words[word] = {k: units(n) if k in _THOUSANDTHS else n for k, n in amounts}
    if queue.weight != 1:
        words["weight"] = queue.weight
    words |= {word: False for word in ("borrow", "lend") if not getattr(queue, word)}
    words |= {"order": list(queue.order)} if queue.order else {}
    words |= {"call_rate": rate_text(queue.call_rate)} if queue.call_rate else {}
    defaults = json.loads(queue.defaults)
    return words | ({"defaults": defaults} if defaults else {})


def limit_words(limit: LimitSpec) -> dict[str, Any]:
    """Return a shared limit."""
    return {"name": limit.name, "slots": limit.slots}
