"""What runs in the job of a step: `python -m clearway.sdk.flows.at_work`. The variables of `packed` say what to do."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from clearway.sdk.flows.packed import FUNCTION, KIND, unpacked
from clearway.sdk.flows.plain import from_plain, to_plain

LITERALS = "literals"
"""Among the arguments of a call: those that are no results, in a list of one map."""


def _call(function: Any, given: Any) -> object:  # noqa: ANN401  a user's function, and JSON
    named = {**(given or {}).pop(LITERALS, [{}])[0], **given}
    placed = [named.pop(str(i)) for i in range(len(named)) if str(i) in named]
    return function(*placed, **named)


def _item(function_and_more: Any, given: Any) -> object:  # noqa: ANN401
    function, more = function_and_more
    return function(given, **more)


def _plan(graph: Any, given: Any) -> object:  # noqa: ANN401
    return graph.plan(given)


def _node(graph_and_name: Any, given: Any) -> object:  # noqa: ANN401
    graph, name = graph_and_name
    return graph.visit(name, given)


def _trial(function: Any, given: Any) -> object:  # noqa: ANN401
    return function(**given)


KINDS = {"call": _call, "item": _item, "plan": _plan, "node": _node, "trial": _trial}


def main() -> None:
    """Do what the job is for, and give back the result."""
    thing = unpacked(os.environ.pop(FUNCTION))
    given = from_plain(json.loads(Path(os.environ["CLEARWAY_INPUT"]).read_text(encoding="utf-8")))
    path = Path(os.environ["CLEARWAY_RESULT"])
    result = to_plain(KINDS[os.environ[KIND]](thing, given), path)
    path.write_text(json.dumps(result), encoding="utf-8")


if __name__ == "__main__":
    main()
