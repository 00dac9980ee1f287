"""The words of a workflow with some of its steps' words said otherwise."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from clearway.model.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


def steps_of(form: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the maps of all steps inside a workflow or a form, but for those of workflows inside it."""
    chord = form.get("chord") or {}
    inner = [*(form.get("steps") or ()), *(form.get("chain") or ()), *(form.get("group") or ())]
    inner += [*(chord.get("group") or ()), chord.get("callback"), form.get("on_error")]
    for one in inner:
        if isinstance(one, dict):
            if any(key in one for key in ("chain", "group", "chord")):
                yield from steps_of(one)
            else:
                yield one


def reworded(words: Mapping[str, Any], said: object, place: str) -> dict[str, Any]:
    """Return the words of a workflow with others for some of its steps: `{step: {word: value}}`."""
    if not isinstance(said, dict):
        raise InputError("set", said, "{step: {word: value}}", place)
    raw: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(words))
    steps = {step["name"]: step for step in steps_of(raw)}
    for name, more in said.items():
        if name not in steps or not isinstance(more, dict):
            raise InputError("set", name, "a step of the workflow, and a map of its words", place)
        steps[name].update(more)
    return raw
