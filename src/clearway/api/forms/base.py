"""What all forms are made of."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta


def _field(name: str) -> str:
    return name.rstrip("_")


class Form(msgspec.Struct, forbid_unknown_fields=True, rename=_field):
    """Fields of an answer; a word that Python has taken for itself stands with a line behind it."""


def says(text: str) -> Meta:
    """Say what a field means, and its unit."""
    return Meta(description=text)


Words = dict[str, Any]
Moment = Annotated[str, Meta(extra_json_schema={"format": "date-time"})]
"""ISO 8601 in UTC."""
Counts = dict[str, int]
Amounts = dict[str, float]
"""By resource: GPUs, CPUs and Gbit/s may be broken numbers, memory and disk are bytes."""


class Reason(Form):
    """Why something is so."""

    code: Annotated[str, says("one of docs/reasons")]
    text: Annotated[str, says("a sentence")]


class WordedReason(Reason):
    """A reason, and what a task asks for where that is it."""

    needs: Annotated[Amounts | msgspec.UnsetType, says("what a task asks for, by resource")] = msgspec.UNSET


class FullReason(WordedReason, kw_only=True):
    """A reason with its facts."""

    facts: Annotated[dict[str, int | str], says("in the program's units: microseconds, thousandths of a GPU, bytes")]


class Expected(Form):
    """When and where a job is expected to start."""

    start: Annotated[Moment, says("at this moment at the latest, as things stand")]
    nodes: Annotated[list[str], says("names of the nodes")]
