"""A run of a graph: a person is asked inside the pass in which it is."""

from __future__ import annotations

from typing import Any

from clearway.model.errors import ConflictError, NotFoundError
from clearway.sdk.flows.run import FlowRun

LOOP, ASK = "loop", "ask"


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

    def _round(self) -> dict[str, Any] | None:
        """Return the pass that runs now."""
        row = self.row
        passes = next(one["jobs"] for one in row["steps"] if one["name"] == LOOP)
        name = f"{row['name']}.{LOOP}" + (f"@{passes}" if passes > 1 else "")
        try:
            return self._client.flow(name)
        except NotFoundError:
            return None
