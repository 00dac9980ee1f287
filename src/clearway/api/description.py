"""What OpenAPI says of the routes: FastAPI's own description, with bodies, answers, errors and roles filled in."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import msgspec
from fastapi.openapi.utils import get_openapi

from clearway.api.answers import ANSWERS, BODIES, OTHER_BODIES, OTHER_KINDS, STATUSES
from clearway.api.forms.access import Problem
from clearway.api.problems import MEDIA_TYPE
from clearway.api.roles import NEEDED

if TYPE_CHECKING:
    from fastapi import FastAPI

JSON = "application/json"
PROBLEMS = {
    400: "no HTTP or JSON as it should be",
    401: "no token that is known",
    403: "the role, tenant or scopes do not reach so far",
    404: "nothing has this name or number",
    405: "this path is not asked so",
    408: "the body did not come in time",
    409: "the request contradicts what is already there",
    412: "it was changed since it was read",
    413: "the body is too large",
    415: "the body is of another type",
    416: "the range is not in the log",
    421: "the Host is none of this controller",
    422: "a value is refused: field, value and rule",
    429: "asked too often: Retry-After says when again",
    500: "a defect in the controller",
    502: "the engine failed",
    503: "the controller cannot answer now",
    507: "the journal cannot be read or written",
}
_ALWAYS = (400, 401, 403, 421, 422, 429, 500, 503, 507)
_WITH_BODY = (408, 413, 415)
_CHANGES = (409, 412, 502)
_BESIDE = tuple(
    f"GET /api/v1/{path}" for path in ("report", "load", "forecasts", "cycles", "audit", "history", "journal")
)
"""What a process of its own answers, from the journal."""


def describe(app: FastAPI) -> dict[str, Any]:
    """Return the OpenAPI document of an app."""
    told = get_openapi(title=app.title, version=app.version, routes=app.routes)
    told["info"]["description"] = "Schedules AI work on shared GPUs. Every answer but health's needs a token."
    schemas, named = _schemas()
    for path, methods in told["paths"].items():
        for method, operation in methods.items():
            _fill(operation, method.upper(), path, schemas)
    told["components"] = {
        "schemas": named,
        "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
    }
    return told


def _schemas() -> tuple[dict[Any, Any], dict[str, Any]]:
    kinds = [Problem, *dict.fromkeys((*ANSWERS.values(), *BODIES.values()))]
    found, named = msgspec.json.schema_components(kinds, ref_template="#/components/schemas/{name}")
    for form in named.values():
        form.pop("additionalProperties", None)  # who reads an answer is to let pass a field that comes later
    return dict(zip(kinds, found, strict=True)), named


def _fill(operation: dict[str, Any], method: str, path: str, schemas: dict[Any, Any]) -> None:
    key = f"{method} {path}"
    operation["operationId"] = re.sub(r"\W+", "_", f"{method.lower()} {path.removeprefix('/api/v1/')}").strip("_")
    role = NEEDED.get(key)
    operation["security"] = [] if role is None else [{"token": []}]
    if role is not None:
        operation["description"] = f"{operation.get('description', '')}\n\nNeeds the role {role.name}.".strip()
    known = {one["name"] for one in operation.get("parameters", ()) if one["in"] == "path"}
    for word in re.findall(r"{(\w+)}", path):
        if word not in known:
            one = {"name": word, "in": "path", "required": True, "schema": {"type": "string", "minLength": 1}}
            operation.setdefault("parameters", []).append(one)
    if key in BODIES:
        operation["requestBody"] = {"required": True, "content": {JSON: {"schema": schemas[BODIES[key]]}}}
    elif key in OTHER_BODIES:
        content = {OTHER_BODIES[key]: {"schema": {"type": "string", "format": "binary"}}}
        operation["requestBody"] = {"required": True, "content": content}
    operation["responses"] = _responses(key, "{" in path, schemas)


def _responses(key: str, named: bool, schemas: dict[Any, Any]) -> dict[str, Any]:  # noqa: FBT001  of a path
    content = {
        kind: {"schema": schemas[ANSWERS[key]] if kind == JSON else {"type": "string"}}
        for kind in OTHER_KINDS.get(key, (JSON,))
    }
    told = {str(status): {"description": "done", "content": content} for status in STATUSES.get(key, (200,))}
    if "304" in told:
        told["304"] = {"description": "as `If-None-Match` says"}
    changes = not key.startswith("GET ")
    for status in (*_ALWAYS, *((404, 409) if named else ()), *((*_WITH_BODY, *_CHANGES) if changes else ())):
        told.setdefault(str(status), _problem(status, schemas))
    if key.startswith(_BESIDE):
        told["404"] = _problem(404, schemas)
    if key.endswith("/logs"):
        told["416"] = _problem(416, schemas)
    if key.endswith(("/health", "/enter")):
        told = {
            status: said for status, said in told.items() if status in ("200", "401", "403", "421", "422", "500", "503")
        }
    if key.endswith("/enter"):
        both = {**_problem(401, schemas)["content"], "text/html": {"schema": {"type": "string"}}}
        told["401"] = {"description": PROBLEMS[401], "content": both}
    return told


def _problem(status: int, schemas: dict[Any, Any]) -> dict[str, Any]:
    return {"description": PROBLEMS[status], "content": {MEDIA_TYPE: {"schema": schemas[Problem]}}}
