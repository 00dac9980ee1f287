"""Routes of the code that jobs take along: kept once by its content, for as many jobs as name it."""

from __future__ import annotations

import hashlib
import io
import os
import re
import tarfile
from typing import TYPE_CHECKING, Annotated
from urllib.parse import unquote

from fastapi import Depends, Request, Response
from starlette.concurrency import run_in_threadpool

from clearway.api.body import check_room, read_bytes
from clearway.api.desk import TheDesk, answer
from clearway.api.roles import guarded
from clearway.compose.stores import engine_home
from clearway.model.errors import InputError, NotFoundError, StoreError

if TYPE_CHECKING:
    from pathlib import Path

    from clearway.api.desk import Desk

FOLDER = "code"
_DIGEST = re.compile("sha256:[0-9a-f]{64}")

router = guarded()


async def _digest(request: Request) -> str:
    digest = unquote(str(request.path_params["digest"]))
    if not _DIGEST.fullmatch(digest):
        raise InputError("code", digest, "sha256: and 64 digits from 0 to f")
    return digest


TheDigest = Annotated[str, Depends(_digest)]


def code_path(home: Path, digest: str) -> Path:
    """Return the file of what is kept under a digest."""
    return home / FOLDER / f"{digest.removeprefix('sha256:')}.tar"


def check_code(desk: Desk, code: str) -> None:
    """Raise InputError where a job names code that is not here. An empty text is a job that takes none along."""
    if code == "copied":
        raise InputError("code", code, "sha256:.. of what was sent before; `clearway` and the Python client send it")
    if code and not code_path(engine_home(desk.settings), code).exists():
        raise InputError("code", code, "code that was sent to this controller before")


@router.get("/code/{digest}")
def code(desk: TheDesk, digest: TheDigest) -> Response:
    """Say whether code with this content is here, and its size."""
    path = code_path(engine_home(desk.settings), digest)
    if not path.exists():
        raise NotFoundError(f"there is no code {digest}")
    return answer({"code": digest, "size": path.stat().st_size})


@router.put("/code/{digest}")
async def put_code(desk: TheDesk, digest: TheDigest, request: Request) -> Response:
    """Keep a tar of files under the digest of its bytes; sending it again changes nothing."""
    content = await read_bytes(request, request.app.state.body_limit)
    await run_in_threadpool(_keep, code_path(engine_home(desk.settings), digest), digest, content)
    return answer({"code": digest, "size": len(content)})


def _keep(path: Path, digest: str, content: bytes) -> None:
    if f"sha256:{hashlib.sha256(content).hexdigest()}" != digest:
        raise InputError("code", digest, "the digest of the bytes that are sent")
    _check_members(content)
    if path.exists():
        return
    fresh = path.with_suffix(f".{os.getpid()}-{os.urandom(4).hex()}")
    try:
        path.parent.mkdir(mode=0o700, exist_ok=True)
        check_room(path.parent, len(content))
        with open(fresh, "xb", opener=_private) as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(path)
    except OSError as error:
        fresh.unlink(missing_ok=True)
        raise StoreError(f"the code cannot be kept in {path.parent}: {error.strerror}") from error


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _check_members(content: bytes) -> None:
    """Refuse what would not stay in the folder into which a job unpacks it. Nothing is unpacked here."""
    try:
        with tarfile.open(fileobj=io.BytesIO(content), mode="r:") as tar:
            for member in tar:
                parts = member.name.split("/")
                if member.name.startswith("/") or ".." in parts or not (member.isfile() or member.issym()):
                    raise InputError("code", member.name, "files and links inside the folder")
    except tarfile.TarError as error:
        raise InputError("code", f"{len(content)} bytes", f"a tar that is not compressed ({error})") from error
