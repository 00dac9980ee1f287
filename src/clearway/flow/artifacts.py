"""Data that steps leave on the disks of their nodes, and what steps behind them read of it.

In a workflow W the output `rows` of a step is called `W.rows`, that of an instance `W.rows[0]`: runs that go on at the
same time have data of their own. A step reads what those directly before it have left, a pass what the pass before it
has left, and each what it names in `inputs`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from clearway.flow.track import ALONE
from clearway.model.states import StepState

if TYPE_CHECKING:
    from collections.abc import Iterator

    from clearway.flow.track import FlowTrack, StepTrack
    from clearway.model.job import Demand, JobSpec

MOST_READ = 100
"""Instances of a step whose data count for where a step behind it is placed."""

Data = tuple[str, int]


def with_data(track: FlowTrack, step: StepTrack, item: int, job: JobSpec) -> JobSpec:
    """Return the job of an instance of a step with the names that its data have in this workflow."""
    if not track.graph.makers:
        return job
    outputs = tuple((_named(track, name, item), size) for name, size in job.outputs)
    if track.is_tail(step):
        return replace(job, outputs=outputs)
    before = dict(_left_before(track, step, item))
    roles = tuple(replace(role, demand=_reads(track, role.demand, before)) for role in job.roles)
    return replace(job, outputs=outputs, roles=roles)


def _named(track: FlowTrack, name: str, item: int) -> str:
    return f"{track.spec.name}.{name}" + (f"[{item}]" if item != ALONE else "")


def _reads(track: FlowTrack, demand: Demand, before: dict[str, int]) -> Demand:
    found = dict(before)
    for name, size in demand.inputs:
        maker = track.graph.makers.get(name)
        found |= {name: size} if maker is None else dict(_left_by(track, track.steps[maker], {name}))
    return replace(demand, inputs=tuple(sorted(found.items())))


def _left_before(track: FlowTrack, step: StepTrack, item: int) -> Iterator[Data]:
    """Yield what those directly before an instance left: of a step that gives it its item just that one's."""
    for name in step.spec.after:
        before = track.steps[name]
        own = item if before.items is not None and step.spec.each_of == name else None
        yield from _left_by(track, before, None, own)
    one = step.instances.get(item)
    if step.spec.until and one is not None and one.good:  # its own pass before
        yield from _left_by(track, step, None, item)


def _left_by(track: FlowTrack, maker: StepTrack, only: set[str] | None, own: int | None = None) -> Iterator[Data]:
    """Yield the data (`only` of these names, of one instance `own`) that a step left as far as it succeeded."""
    for name in maker.spec.gather:
        yield from _left_by(track, track.steps[name], only)
    outputs = () if maker.spec.job is None else maker.spec.job.outputs
    for item in _succeeded(maker) if own is None else [own]:
        yield from ((_named(track, name, item), size) for name, size in outputs if only is None or name in only)


def _succeeded(maker: StepTrack) -> list[int]:
    if maker.items is None:
        one = maker.instances.get(ALONE)
        return [ALONE] if one is not None and one.state == StepState.SUCCEEDED else []
    whole = (item for item, one in maker.instances.items() if item != ALONE and one.state == StepState.SUCCEEDED)
    return sorted(whole)[:MOST_READ]
