"""Workflows as the API shows them: each with what is inside it, what waits for a person, and what tells why."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clearway.api.moments import iso
from clearway.api.rows import job_row
from clearway.flow.json_text import value_of
from clearway.model.errors import ConflictError
from clearway.observe.words import sentence

if TYPE_CHECKING:
    from collections.abc import Iterable

    from clearway.api.desk import Desk
    from clearway.model.asks import FlowView, StepView
    from clearway.model.ids import FlowId
    from clearway.model.reasons import Reason

MOST_NAMED = 20  # steps that a message names


class FlowRows:
    """How all workflows at hand stand at one moment."""

    def __init__(self, desk: Desk, views: Iterable[FlowView]) -> None:
        """Find out which of them ask a person something, also deep inside."""
        self._desk, self._views = desk, {view.id: view for view in views}
        self._asks: dict[FlowId, list[tuple[FlowView, str]]] = {}
        for view in self._views.values():
            for step in view.steps:
                if step.pause:
                    self._asked(view, step.name)

    def _asked(self, asking: FlowView, step: str) -> None:
        view: FlowView | None = asking
        while view is not None:
            self._asks.setdefault(view.id, []).append((asking, step))
            view = None if view.part_of is None else self._views.get(view.part_of)

    def all(self) -> list[dict[str, Any]]:
        """Return a row for each, newest first."""
        return [self.row(view) for view in reversed(self._views.values())]

    def row(self, view: FlowView) -> dict[str, Any]:
        """Return what lists show of one; `asks`: its steps that wait for a person, also those of workflows inside."""
        counts: dict[str, int] = {}
        for step in view.steps:
            counts[step.state] = counts.get(step.state, 0) + 1
        return {
            "id": view.id, "name": view.name, "state": view.state, "run": view.run, "began": iso(view.began_us),
            "reason": _reason(view.reason), "steps": counts, "part_of": view.part_of, "asks": self._names(view),
        }  # fmt: skip

    def whole(self, view: FlowView) -> dict[str, Any]:
        """Return one with its steps."""
        return {**self.row(view), "steps": [self._step(step) for step in view.steps]}

    def _step(self, step: StepView) -> dict[str, Any]:
        """Return a step; `job` or `inner` (a workflow with its own steps) tells why it is not over or went wrong."""
        job = None if step.job is None else self._desk.board.jobs.get(step.job)
        inner = None if step.inner is None else self._views.get(step.inner)
        return {
            "name": step.name, "state": step.state, "after": list(step.after), "input": value_of(step.input),
            "result": value_of(step.result), "reason": _reason(step.reason), "jobs": step.jobs,
            "until": step.until or None, "pause": step.pause or None, "size": step.size, "ended": step.ended,
            "job": None if job is None else job_row(self._desk, job),
            "inner": None if inner is None else self.whole(inner),
        }  # fmt: skip

    def _names(self, view: FlowView) -> list[str]:
        return [f"{asking.name}.{step}".removeprefix(f"{view.name}.") for asking, step in self._asks.get(view.id, ())]

    def asking(self, view: FlowView, step: str) -> tuple[FlowId, str]:
        """Return the workflow, and its step, that a person answers by naming one, or the only one that waits.

        ConflictError: it is not clear which is meant. Where none waits by that name it is as it was said.
        """
        names, found = self._names(view), self._asks.get(view.id, [])
        meant = [one for one, name in zip(found, names, strict=True) if step in ("", name)]
        meant = meant or [one for one in found if step in (one[1], f"{one[0].name}.{one[1]}")]
        if len(meant) > 1 or (names and not meant and any(one.name == step for one in view.steps)):
            named = ", ".join(names[:MOST_NAMED])
            raise ConflictError(f"those that wait for a person are: {named}; say which is meant")
        return (meant[0][0].id, meant[0][1]) if meant else (view.id, step)


def _reason(reason: Reason | None) -> dict[str, str] | None:
    return None if reason is None else {"code": str(reason.code), "text": sentence(reason)}
