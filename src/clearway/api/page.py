"""The dashboard: files that are read once and served as they are."""

from __future__ import annotations

import hashlib
from importlib.resources import files
from typing import TYPE_CHECKING, NamedTuple

from fastapi import Request, Response

from clearway.api.roles import guarded
from clearway.model.errors import NotFoundError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from importlib.resources.abc import Traversable

TYPES: Mapping[str, str] = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
    "woff2": "font/woff2",
}
"""What is served, by the end of its name; other files of the folder (licences) are not."""

HEADERS = {"Cache-Control": "no-cache"}  # kept, and asked for anew: an update of the program shows at once


class File(NamedTuple):
    """A file as it is sent."""

    content: bytes
    kind: str
    tag: str


def _found(folder: Traversable, path: str = "") -> Iterator[tuple[str, File]]:
    for one in folder.iterdir():
        name = f"{path}{one.name}"
        if one.is_dir():
            yield from _found(one, f"{name}/")
        elif (kind := TYPES.get(one.name.rpartition(".")[2])) is not None:
            content = one.read_bytes()
            yield name, File(content, kind, f'"{hashlib.sha256(content).hexdigest()[:32]}"')


FILES: Mapping[str, File] = dict(_found(files("clearway.api") / "static"))
"""All files by their path: what is not among them does not exist, whatever a path says."""

router = guarded("", shown=False)


@router.get("/")
def index(request: Request) -> Response:
    """Send the page."""
    return _sent(FILES["index.html"], request)


@router.get("/static/{path:path}")
def part(request: Request) -> Response:
    """Send a part of the page."""
    path = request.path_params["path"]
    if path not in FILES:
        raise NotFoundError(f"the page has no part {path!r}")
    return _sent(FILES[path], request)


def _sent(file: File, request: Request) -> Response:
    headers = {**HEADERS, "ETag": file.tag}
    known = {tag.strip() for tag in request.headers.get("if-none-match", "").split(",")}
    if file.tag in known:
        return Response(status_code=304, headers=headers)
    return Response(file.content, headers=headers, media_type=file.kind)
