"""Errors as problem documents (RFC 9457), each class with its status and title."""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING, Any

from starlette.responses import Response

from clearway.model.errors import (
    ClearwayError,
    ConflictError,
    ControllerError,
    EngineError,
    FullError,
    InputError,
    NotAllowedError,
    NotFoundError,
    StoreError,
    UnknownWordError,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fastapi import FastAPI
    from fastapi.exceptions import RequestValidationError
    from starlette.exceptions import HTTPException
    from starlette.requests import Request

LOG = logging.getLogger(__name__)
MEDIA_TYPE = "application/problem+json"

KINDS: tuple[tuple[type[ClearwayError], int, str], ...] = (
    (UnknownWordError, 422, "unknown word"),
    (InputError, 422, "refused"),
    (NotAllowedError, 403, "forbidden"),
    (NotFoundError, 404, "not found"),
    (ConflictError, 409, "conflict"),
    (FullError, 429, "full"),
    (ControllerError, 503, "no controller"),
    (StoreError, 507, "store"),
    (EngineError, 502, "engine"),
    (ClearwayError, 500, "failed"),
)
"""Which status and title an error has: the first class that it belongs to."""


class HttpFault(Exception):  # noqa: N818  it is about the request's form, and never leaves this room
    """A request that is not as HTTP or JSON should be."""

    def __init__(
        self, status: int, title: str, detail: str, headers: Mapping[str, str] | None = None, **parts: str
    ) -> None:
        """Keep what the answer says; `parts` are field, value and rule where it is about one."""
        super().__init__(detail)
        self.status, self.title, self.detail, self.headers = status, title, detail, dict(headers or {})
        self.parts = parts


def problem(status: int, title: str, detail: str, headers: Mapping[str, str] | None = None, **more: object) -> Response:
    """Return a problem answer. ASCII only: a value in it may be no text that UTF-8 can write."""
    told = {"type": "about:blank", "title": title, "status": status, "detail": detail, **more}
    return Response(json.dumps(told).encode(), status, dict(headers or {}), MEDIA_TYPE)


def problem_of(error: ClearwayError) -> Response:
    """Return the problem answer for an error of ours."""
    status, title = next((s, t) for kind, s, t in KINDS if isinstance(error, kind))
    parts: dict[str, Any] = {}
    headers: dict[str, str] = {}
    if isinstance(error, InputError):
        parts = {"field": error.field, "value": error.value, "rule": error.rule, "place": error.place}
    if isinstance(error, FullError):
        parts, headers = {"retry_after_s": error.after_s}, {"Retry-After": str(error.after_s)}
    return problem(status, title, str(error), headers, **parts)


def install(app: FastAPI) -> None:
    """Have an app tell all its errors as problems."""
    from fastapi.exceptions import RequestValidationError  # noqa: PLC0415  beside its use
    from starlette.exceptions import HTTPException  # noqa: PLC0415

    app.exception_handlers |= {
        ClearwayError: _ours,
        HttpFault: _fault,
        RequestValidationError: _validation,
        HTTPException: _http,
        Exception: _defect,
    }


async def _ours(_request: Request, error: ClearwayError) -> Response:
    return problem_of(error)


async def _fault(_request: Request, error: HttpFault) -> Response:
    return problem(error.status, error.title, error.detail, error.headers, **error.parts)


async def _validation(_request: Request, error: RequestValidationError) -> Response:
    first = error.errors()[0]
    field = str(first["loc"][-1])
    return problem_of(InputError(field, first.get("input"), str(first["msg"]), str(first["loc"][0])))


async def _http(request: Request, error: HTTPException) -> Response:
    title = "not found" if error.status_code == 404 else "http"  # noqa: PLR2004
    return problem(error.status_code, title, f"{request.method} {request.url.path}: {error.detail}", error.headers)


async def _defect(request: Request, error: Exception) -> Response:
    LOG.error("%s %s failed", request.method, request.url.path, exc_info=error)
    return problem(500, "failed", "a defect in the controller; its log says more")
