"""The part of a past that a what-if looks at, written to a workload file of its own."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from clearway.model.values import SECOND_US
from clearway.sim.workloads.fleet_words import limit_words, node_words, queue_words
from clearway.sim.workloads.trace import moved
from clearway.sim.workloads.writer import written

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from clearway.sim.workloads.trace import Arrival, Trace


class Part(NamedTuple):
    """How many jobs were written, and the submits of the first and the last in the time of what they were read from."""

    jobs: int
    begin_us: int
    last_us: int


def header_of(trace: Trace) -> dict[str, Any]:
    """Return what a trace says of its machines, as the header of a workload file, without its clock."""
    words: dict[str, Any] = {"origin": "; ".join((trace.path.name, *trace.notes))}
    if trace.nodes:
        words["fleet"] = {"nodes": [node_words(node) for node in trace.nodes]}
    words["queues"] = [queue_words(queue) for queue in trace.queues]
    words["limits"] = [limit_words(limit) for limit in trace.limits]
    return words


def write_part(
    arrivals: Iterable[Arrival], header: Mapping[str, Any], out: Path, from_us: int, clock_us: int | None
) -> Part | None:
    """Write the jobs submitted from a moment on, counted from the first of them; None where there are none."""
    words = {key: value for key, value in header.items() if key != "clock"}
    late = (arrival for arrival in arrivals if arrival.at_us >= from_us)
    first = next(late, None)
    if first is None:
        return None
    begin_us = last_us = first.at_us
    if clock_us is not None:
        words["clock"] = datetime.fromtimestamp((clock_us + begin_us) / SECOND_US, UTC).isoformat()
    with written(out, words) as write:
        write(moved(first, 0))
        jobs = 1
        for arrival in late:
            write(moved(arrival, arrival.at_us - begin_us))
            jobs, last_us = jobs + 1, arrival.at_us
    return Part(jobs, begin_us, last_us)
