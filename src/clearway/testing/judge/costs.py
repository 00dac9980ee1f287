"""The rule costs: no job goes on after it has cost what it may."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clearway.model.values import SECOND_US
from clearway.testing.judge.values import NEVER, amount, show, span

if TYPE_CHECKING:
    from collections.abc import Iterator

    from clearway.testing.judge.world import Held, World

_HOUR_US = 3600 * SECOND_US
_SLACK_US = 1000


def costs(w: World) -> Iterator[str]:
    """Check that the grants of a job cost no more than its `max_cost`, but for what it held while it stopped."""
    for name, job in w.jobs.items():
        words = w.words(name)
        most, stop = words.get("max_cost"), words.get("stop_time", 0)
        if most is None or stop == "never":
            continue
        late = span(stop) + span((words.get("checkpoint") or {}).get("grace", 10)) * bool(stop) + _SLACK_US
        held = [h for a in job["attempts"] for h in w.tasks(name, a["number"])]
        last = max((h.end if h.end < NEVER else w.until for h in held), default=0)
        paid = sum(_rate(w, h) * max(0, min(h.end, last - late) - h.begin) / _HOUR_US for h in held)
        if paid > most:
            yield f"{name} has cost {paid:g} at {show(last - late)}, and may cost {most:g}"


def _rate(w: World, h: Held) -> float:
    """Return what a task's part of its node costs per hour."""
    node = w.machines[h.node].words
    parts = []
    if h.devices and node.get("gpus"):
        memory = h.uses.get("gpu_memory", 0) / amount("gpu_memory", node["gpu_memory"]) if node.get("gpu_memory") else 0
        parts.append((len(h.devices) * h.share / 1000 if h.share else memory) / node["gpus"])
    if h.uses.get("cpus") and node.get("cpus"):
        parts.append(h.uses["cpus"] / amount("cpus", node["cpus"]))
    return float(node.get("price", 0)) * max(parts, default=1)
