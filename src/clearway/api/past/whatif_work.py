"""What the process beside the controller does for a what-if: works it out, and keeps the answer in the home."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from clearway.api.past.shelf import Shelf
from clearway.compose.whatif_past import of_home
from clearway.model.errors import ControllerError
from clearway.observe.report import whatif_json, whatif_page
from clearway.whatif.answer import AS_IS, WHAT_IF, Question, prepare
from clearway.whatif.words import read_asked

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_SIDES = {"as_is": AS_IS, "what_if": WHAT_IF}


def work_out(home: Path, options: Mapping[str, object], said: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Return the row of a what-if that was worked out and is kept now."""
    asked, begun_s = read_asked(said["words"]), time.monotonic()
    source = of_home(home, asked.since, asked.warm_up, folder, options)
    answer = prepare(
        Question(
            source.workload, source.read, source.policy, asked.policy, None, asked.fleet, asked.queues, asked.limits,
            asked.think, source.first_us, asked.seed, pictures=True,
        )
    ).answer(1, _quiet)  # fmt: skip
    if answer is None or not answer.found.complete:
        raise ControllerError("it was interrupted")
    row = {**said["row"], "state": "done", "took_s": round(time.monotonic() - begun_s, 3)}
    told = whatif_json(answer)
    row |= _headline(told)
    Shelf(home).keep(row, told, whatif_page(answer), folder / "kept")
    return row


def _quiet(_plan: int, _finished: int) -> None:
    """Nobody sees how far it is."""


def _headline(told: Mapping[str, Any]) -> dict[str, Any]:
    found, differences = told["comparison"]["policies"], list(told["comparison"]["differences"].values())
    return {
        "changes": told["changes"],
        "summary": told["summary"],
        "past": told["read"],
        "completion": _interval(differences[0]["completion"]) if differences and differences[0]["jobs"] else None,
        "figures": {
            side: {
                "wait_mean": found[label]["wait"]["mean"],
                "wait_p95": found[label]["wait"]["p95"],
                "completion_mean": found[label]["completion"]["mean"],
                "use": found[label]["use"],
                "preemptions": found[label]["preemptions"],
            }
            for side, label in _SIDES.items()
        },
    }


def _interval(found: Mapping[str, Any]) -> dict[str, Any]:
    return {end: found[end] for end in ("mean", "low", "high")}
