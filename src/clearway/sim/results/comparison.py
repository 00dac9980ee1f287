"""Several outcomes of one workload, put side by side."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from clearway.model.fleet import PLENTY
from clearway.sim.results.outcome import Comparison, labels
from clearway.sim.results.paired import compare

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clearway.model.fleet import NodeSpec
    from clearway.sim.results.outcome import Outcome
    from clearway.sim.results.replay import Plan
    from clearway.sim.workloads.trace import Trace

SHOWN_KINDS = 4
MILLI = 1000


def comparison(trace: Trace, plans: Sequence[Plan], outcomes: Sequence[Outcome]) -> Comparison:
    """Compare the outcomes with the first one, on the same jobs. `trace` has been read, so that its damage is known."""
    first, plan = outcomes[0], plans[0]
    names = labels(outcomes)
    return Comparison(
        workload=trace.path.name,
        format=trace.format,
        load=plan.load,
        notes=(*trace.notes, *plan.fleet.notes),
        damage=tuple(trace.damage.sentences()),
        damaged_lines=trace.damage.count,
        fleet=fleet_words(plan.fleet.nodes),
        outcomes=tuple(outcomes),
        differences={
            name: compare(first.jobs, other.jobs, plan.seed)
            for name, other in zip(names[1:], outcomes[1:], strict=True)
        },
    )


def fleet_words(nodes: Sequence[NodeSpec]) -> str:
    """Return a fleet in a few words: `8 nodes with 64 GPUs (64 V100)`, or `one pool of 256 CPUs`."""
    devices = sum(node.gpus for node in nodes)
    count = "1 node" if len(nodes) == 1 else f"{len(nodes):,} nodes"
    if not devices:
        cpus = sum(node.cpus for node in nodes if node.cpus < PLENTY) // MILLI
        return f"one pool of {cpus:,} CPUs" if len(nodes) == 1 else f"{count} with {cpus:,} CPUs"
    models = Counter[str]()
    for node in nodes:
        models[node.gpu_model] += node.gpus
    kinds = [f"{n:,} {model}" for model, n in models.most_common(SHOWN_KINDS) if model]
    more = len(models) - SHOWN_KINDS
    named = f" ({', '.join(kinds)}{f', {more} more models' if more > 0 else ''})" if kinds else ""
    return f"{count} with {devices:,} GPU{'' if devices == 1 else 's'}{named}"
