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
HELD = "result:"
"""Begins the name of an argument that is a result inside another one, where a map of this key alone marks its place."""


def _call(function: Any, given: Any) -> object:  # noqa: ANN401  a user's function, and JSON
    held = {name.removeprefix(HELD): given.pop(name) for name in list(given or {}) if name.startswith(HELD)}
    named = {**_filled((given or {}).pop(LITERALS, [{}])[0], held), **given}
    placed = [named.pop(str(i)) for i in range(len(named)) if str(i) in named]
    return function(*placed, **named)


def _filled(value: Any, held: dict[str, Any]) -> Any:  # noqa: ANN401  JSON
    """Return a value with results where it has marks."""
    if isinstance(value, dict):
        return held[value[HELD]] if list(value) == [HELD] else {key: _filled(one, held) for key, one in value.items()}
    return [_filled(one, held) for one in value] if isinstance(value, list) else value


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


def _awaited(result: Any) -> object:  # noqa: ANN401  whatever it returned
    """Return what a function came to, also one that is async."""
    import inspect

    if not inspect.iscoroutine(result):
        return result
    import asyncio

    return asyncio.run(result)


def main() -> None:
    """Do what the job is for, and give back the result."""
    thing = unpacked(os.environ.pop(FUNCTION))
    given = from_plain(json.loads(Path(os.environ["CLEARWAY_INPUT"]).read_text(encoding="utf-8")))
    path = Path(os.environ["CLEARWAY_RESULT"])
    kind = os.environ[KIND]
    result = to_plain(_awaited(KINDS[kind](thing, given)), path, planned=kind == "plan")
    path.write_text(json.dumps(result), encoding="utf-8")


if __name__ == "__main__":
    main()
