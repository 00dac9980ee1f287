"""Tags of what is shown (ETag): what has not changed is not sent again, nobody overwrites what they have not seen.

The tag of one queue, node or schedule is of what people can change about it, not of the numbers that live: an edit
with `If-Match` holds only where it is still as it was read.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Annotated

import msgspec
from fastapi import Header, Request, Response

from clearway.api.desk import answer
from clearway.api.problems import HttpFault

if TYPE_CHECKING:
    from collections.abc import Mapping

LIVES = frozenset({"pending", "running", "use", "total_use", "wants", "share", "past", "tasks", "free_gpus", "devices",
                   "slices", "next", "active", "last", "state", "quiet_since"})  # fmt: skip
"""Words of a row that change by themselves."""


def tag_of(row: Mapping[str, object]) -> str:
    """Return the tag of what people can change about a queue, node or schedule."""
    return _tag({word: value for word, value in row.items() if word not in LIVES})


def _tag(content: object) -> str:
    return f'"{hashlib.sha256(msgspec.json.encode(content)).hexdigest()[:32]}"'


def one(row: Mapping[str, object]) -> Response:
    """Answer with a row and its tag."""
    told = answer(row)
    told.headers["ETag"] = tag_of(row)
    return told


def listed(request: Request, content: object) -> Response:
    """Answer with a list and the tag of all of it; without it where the reader has just that."""
    told = answer(content)
    tag = f'"{hashlib.sha256(told.body).hexdigest()[:32]}"'
    if tag in _tags(request.headers.get("if-none-match", "")):
        told = Response(status_code=304)
    told.headers["ETag"] = tag
    told.headers["Cache-Control"] = "private, no-cache"
    return told


def check(wanted: str | None, row: Mapping[str, object] | None) -> None:
    """Raise HttpFault 412 where something is not as an `If-Match` says that it was read."""
    if wanted is None:
        return
    now = None if row is None else tag_of(row)
    if now is None or (wanted.strip() != "*" and now not in _tags(wanted)):
        told = {} if now is None else {"ETag": now}
        raise HttpFault(412, "changed", "it was changed, or removed, since it was read; read it again", told)


def _tags(header: str) -> set[str]:
    return {tag.strip() for tag in header.split(",")}


IfMatch = Annotated[str | None, Header(description="The ETag with which it was read: else nothing is done (412)")]
