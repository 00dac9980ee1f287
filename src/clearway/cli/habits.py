"""Commands that other systems have, and what does that here: for messages alone."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_NOW = "clearway flow run FILE (or clearway run) does its work now"
WAYS: dict[str, dict[str, str]] = {
    "flow": {
        "submit": "flow run FILE", "trigger": "flow run FILE", "start": "flow run FILE", "create": "flow run FILE",
        "deploy": "schedule set FILE", "status": "flow show NAME", "describe": "flow show NAME",
        "why": "clearway why NAME", "logs": "clearway logs NAME.STEP", "stop": "flow cancel NAME",
        "kill": "flow cancel NAME", "delete": "flow cancel NAME", "rerun": "flow retry NAME",
        "restart": "flow retry NAME", "clear": "flow retry NAME --from STEP", "answer": "flow resume NAME --value ..",
        "pause": "a step with `pause`; or schedule pause NAME", "ps": "flow list", "draw": "flow graph NAME",
    },
    "schedule": {
        "create": "schedule set FILE", "add": "schedule set FILE", "apply": "schedule set FILE",
        "delete": "schedule remove NAME", "rm": "schedule remove NAME", "unpause": "schedule resume NAME",
        "stop": "schedule pause NAME", "show": "schedule next NAME, or schedule list", "trigger": _NOW, "run": _NOW,
        "backfill": f"ticks before it was set are not made up for; {_NOW}", "ps": "schedule list",
    },
    "search": {
        "create": "search run FILE", "submit": "search run FILE", "start": "search run FILE",
        "status": "search show NAME",
        "describe": "search show NAME", "best": "search show NAME", "stop": "search cancel NAME",
        "delete": "search cancel NAME", "resume": "search run FILE: a search goes on after a restart by itself",
    },
}  # fmt: skip
"""By group and by the word that somebody may write."""


def hint(group: str, word: str, known: Iterable[str]) -> str:
    """Return the end of a message about a command that a group does not have."""
    if way := WAYS.get(group, {}).get(word):
        return f"; here that is: {way}"
    near = get_close_matches(word, list(known), n=1, cutoff=0.5)
    return f"; did you mean {near[0]!r}?" if near else ""
