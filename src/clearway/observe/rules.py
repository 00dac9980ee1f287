"""What a rule did without being asked, for the list of changes: who was stopped by it, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clearway.model import events as ev
from clearway.model.reasons import Code
from clearway.observe.moments import iso, said

if TYPE_CHECKING:
    from collections.abc import Callable

    from clearway.ports.observer import Heard

BY_RULE = {Code.IDLE_GPUS: "the idle rule", Code.BUDGET: "the rule of budgets"}
"""In whose name something is done for this cause."""


class Rules:
    """A watcher (`ports.Observer`): hands a line for each job that a rule stops to `tell`, which is given later."""

    def __init__(self) -> None:
        """Tell nobody yet."""
        self.tell: Callable[[dict[str, Any]], None] = _nobody

    def begin(self) -> None:
        """Nothing of the past is told again: it is in the list."""

    def hear(self, turn: Heard) -> None:
        """Tell of a turn."""
        for record in turn.records:
            if isinstance(record, ev.Stopping) and record.cause.code in BY_RULE:
                about = {"job": record.job, "attempt": record.attempt, "cause": said(record.cause)}
                self.tell(
                    {
                        "at": iso(record.at_us), "who": BY_RULE[record.cause.code], "role": "rule", "via": "controller",
                        "address": None, "method": "STOP", "path": f"/api/v1/jobs/id:{record.job}", "status": 200,
                        "about": about,
                    }
                )  # fmt: skip


def _nobody(_: dict[str, Any]) -> None:
    """Tell nobody."""
