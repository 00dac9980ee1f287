"""A run of a graph: a person is asked inside the pass in which it is."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from clearway.model.errors import ConflictError
from clearway.sdk.flows.plain import from_plain
from clearway.sdk.flows.run import LOOK_S, OVER, FlowRun

if TYPE_CHECKING:
    from collections.abc import Iterator

LOOP, ASK, PLAN, NODE = "loop", "ask", "plan", "node_"


class GraphRun(FlowRun):
    """A run of a StateGraph."""

    def waiting(self) -> list[dict[str, Any]]:
        """Return what it asks a person, if it does: a row with `question`."""
        inner = self._round()
        steps = [] if inner is None else inner["steps"]
        return [{**step, "question": (step["input"] or {}).get("question")} for step in steps if step["pause"]]

    def resume(self, value: object, step: str | None = None) -> None:
        """Answer what it asks."""
        inner = self._round()
        if inner is None:
            raise ConflictError(f"workflow {self.id} asks nobody anything")
        self._client.resume_flow(f"id:{inner['id']}", value, step or ASK)

    def values(self) -> dict[str, Any]:
        """Return its state as it stands: after the rounds that are over."""
        rows = (self._client.flow(f"id:{one['id']}") for one in reversed(self._passes()))
        return next((state for state in map(_state, rows) if state is not None), {})

    def rounds(self, mode: str = "updates") -> Iterator[Any]:
        """Yield, as rounds end, what their nodes gave back (`updates`: {node: change}), or the state (`values`).

        FlowError: it did not succeed.
        """
        told, looks = 0, iter(LOOK_S)
        while True:
            row = self.row
            passes = [one for one in self._passes() if one["state"] == "succeeded"]
            for one in passes[told:]:
                yield from _told(self._client.flow(f"id:{one['id']}"), mode)
            told = len(passes)
            if row["state"] in OVER:
                self.result()
                return
            self._tell_asks(row)
            time.sleep(next(looks, LOOK_S[-1]))

    def _passes(self) -> list[dict[str, Any]]:
        """Return its rounds so far, in order."""
        return [row for row in reversed(self._client.flows()) if row["part_of"] == self.id]

    def _round(self) -> dict[str, Any] | None:
        """Return the pass that runs now."""
        found: dict[str, Any] | None = next(one["inner"] for one in self.row["steps"] if one["name"] == LOOP)
        return None if found is None or found["state"] in OVER else found


def _state(row: dict[str, Any]) -> dict[str, Any] | None:
    """Return the state that a round began with."""
    plan = _plan(row)
    found: dict[str, Any] | None = None if plan is None else from_plain(plan["state"])
    return found


def _told(row: dict[str, Any], mode: str) -> Iterator[Any]:
    plan = _plan(row)
    if mode == "values":
        if plan is not None and not plan["asked"]:  # else it is as before
            yield from_plain(plan["state"])
        return
    for step in row["steps"]:
        if step["name"].startswith(NODE):
            for one in step["result"] or []:
                if one is not None and "update" in one:
                    yield {step["name"].removeprefix(NODE): from_plain(one["update"])}


def _plan(row: dict[str, Any]) -> dict[str, Any] | None:
    found: dict[str, Any] | None = next(step["result"] for step in row["steps"] if step["name"] == PLAN)
    return found
