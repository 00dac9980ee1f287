"""The body of a request: JSON of a bounded size, each key once, whatever else it may hold."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

from starlette.concurrency import run_in_threadpool

from clearway.api.problems import HttpFault
from clearway.model.errors import InputError

if TYPE_CHECKING:
    from starlette.requests import Request

BODY_S = 120.0
"""Whoever needs longer for a body is told so: a connection that sends a byte now and then holds nothing for ever."""


async def read_json(request: Request) -> Any:  # noqa: ANN401  whatever was sent
    """Return the body, read as JSON. `app.state.body_limit` bounds its bytes.

    Raises HttpFault 413 for a larger one, 415 for another content type, 400 for what is no JSON; InputError for a
    key that stands twice. NaN and infinities come through as numbers: the rule of their field refuses them.
    """
    _check_type(request)
    content = await read_bytes(request, request.app.state.body_limit)
    return await run_in_threadpool(decode, content)


async def read_json_or(request: Request, otherwise: object) -> Any:  # noqa: ANN401  whatever was sent
    """Return the body, read as `read_json` does; `otherwise` where none was sent."""
    content = await read_bytes(request, request.app.state.body_limit)
    if not content:
        return otherwise
    _check_type(request)
    return await run_in_threadpool(decode, content)


def decode(content: bytes) -> Any:  # noqa: ANN401
    """Read JSON bytes strictly."""
    try:
        return json.loads(content.decode("utf-8"), object_pairs_hook=_once)
    except InputError:
        raise
    except (ValueError, RecursionError) as error:  # also bytes that are not UTF-8, and integers beyond all bounds
        raise HttpFault(400, "malformed", f"the body is no JSON: {error}") from error


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise InputError(key, "(not shown)", "a key stands once in a map", "body")
            seen.add(key)
    return found


def _check_type(request: Request) -> None:
    kind, _, parameters = request.headers.get("content-type", "").partition(";")
    charset = parameters.replace('"', "").strip().lower()
    if kind.strip().lower() != "application/json" or charset not in {"", "charset=utf-8"}:
        raise HttpFault(415, "content type", "the body must be application/json in UTF-8")
    if request.headers.get("content-encoding", "identity") != "identity":
        raise HttpFault(415, "content type", "the body must not be compressed")


async def read_bytes(request: Request, limit: int) -> bytes:
    """Return the bytes of a body as they are. Raises HttpFault 413 where there are more than `limit`."""
    said = request.headers.get("content-length", "")
    if said.isascii() and said.isdigit() and int(said) > limit:
        raise _too_large(limit)
    found = bytearray()
    try:
        async with asyncio.timeout(BODY_S):
            async for piece in request.stream():
                found += piece
                if len(found) > limit:
                    raise _too_large(limit)
    except TimeoutError:
        raise HttpFault(
            408, "too slow", f"the body did not come within {BODY_S:g} s", {"Connection": "close"}
        ) from None
    return bytes(found)


def _too_large(limit: int) -> HttpFault:
    rule = f"at most {limit} bytes; send the jobs in several requests"
    return HttpFault(413, "too large", f"the body is too large: {rule}", field="body", value="this body", rule=rule)
