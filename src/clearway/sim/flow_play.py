"""Tells the engine what will really happen to the jobs that the loop itself enters, and people what they are called."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clearway.model.events import Submitted
from clearway.model.flow_events import FlowBegan, PartEntered

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from clearway.model.events import Record
    from clearway.model.ids import FlowId, JobId
    from clearway.sim.engine import SimEngine
    from clearway.sim.flow_words import FlowEntry
    from clearway.sim.truth import Truth


class FlowPlay:
    """Listens to records; `entered` is told the name, number and truth of each job that is a part of something."""

    def __init__(
        self, entries: Iterable[FlowEntry], engine: SimEngine, entered: Callable[[str, JobId, Truth], None]
    ) -> None:
        self._entries = {entry.spec.name: entry for entry in entries}
        self._engine, self._entered = engine, entered
        self._of: dict[FlowId, FlowEntry] = {}
        self.flows: dict[str, FlowId] = {}
        self._names: dict[JobId, str] = {}

    def hear(self, records: Sequence[Record]) -> None:
        """Take in what happened."""
        for record in records:
            match record:
                case Submitted(job=job, spec=spec):
                    self._names[job] = spec.name
                case FlowBegan(flow=flow, spec=spec):
                    self.flows[spec.name] = flow
                    self._of[flow] = self._entries[spec.name]
                case PartEntered():
                    self._part(record)
                case _:
                    pass

    def _part(self, record: PartEntered) -> None:
        truth = self._of[record.flow].truths[record.step].of(record.item, record.turn, record.input)
        self._engine.know_anew(record.job, truth)
        self._entered(self._names[record.job], record.job, truth)

    def change(self, entry: FlowEntry) -> None:
        """Let a workflow be what a person made of it."""
        self._of[self.flows[entry.spec.name]] = entry
