"""Routes of values that are too large for a row: files, named by whoever made them, read by nobody here."""

from __future__ import annotations

import logging
import os
import re
import time
from pathlib import Path
from typing import TYPE_CHECKING

from fastapi import Request, Response
from starlette.responses import StreamingResponse

from clearway.api.body import received
from clearway.api.desk import TheDesk, answer
from clearway.api.roles import guarded
from clearway.api.tail import part_of
from clearway.model.errors import ConflictError, InputError, NotFoundError, StoreError

if TYPE_CHECKING:
    from clearway.api.desk import Desk

LOG = logging.getLogger("clearway.calls")
FOLDER = "values"
_NAME = re.compile("[0-9a-f]{32}")

router = guarded()


def value_path(desk: Desk, name: str) -> Path:
    """Return the file of a value. InputError: no value is named so."""
    if not _NAME.fullmatch(name):
        raise InputError("name", name, "32 digits from 0 to f")
    return desk.settings.home / FOLDER / name


@router.get("/calls/files/{name}")
def fetch(desk: TheDesk, name: str) -> Response:
    """Send a value."""
    path = value_path(desk, name)
    if not path.is_file():
        raise NotFoundError(f"there is no value {name} any more")
    size = path.stat().st_size
    headers = {"Content-Length": str(size)}
    return StreamingResponse(part_of(path, 0, size, desk.pace), headers=headers, media_type="application/octet-stream")


@router.put("/calls/files/{name}")
async def keep(desk: TheDesk, name: str, request: Request) -> Response:
    """Keep a value. It is written as it comes, up to the setting `value_limit`, and never written over."""
    path = value_path(desk, name)
    fresh = path.with_suffix(f".{os.urandom(4).hex()}")
    try:
        path.parent.mkdir(mode=0o700, exist_ok=True)
        with open(fresh, "xb", opener=_private) as file:  # noqa: ASYNC230  an empty file
            await received(request, file, desk.settings.value_limit)
        os.link(fresh, path)
    except FileExistsError:
        raise ConflictError(f"there is a value {name} already") from None
    except OSError as error:
        raise StoreError(f"the value cannot be kept in {path.parent}: {error.strerror}") from error
    finally:
        fresh.unlink(missing_ok=True)
    return answer({"name": name, "size": path.stat().st_size})


def sweep_values(home: Path, age_us: int, keep: set[str]) -> None:
    """Remove files of values that were written longer ago than that, but for some names."""
    before_s = time.time() - age_us / 1e6
    try:
        for entry in os.scandir(home / FOLDER):
            if entry.name not in keep and entry.stat(follow_symlinks=False).st_mtime < before_s:
                Path(entry.path).unlink(missing_ok=True)
    except FileNotFoundError:
        return  # no value was ever kept, or it went meanwhile
    except OSError as error:
        LOG.warning("values that belong to no call cannot be removed: %s", error)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
