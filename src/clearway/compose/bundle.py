"""A bundle: what happened in a home, redacted, as one archive that somebody else can look at and decide again.

bundle.tar.gz
├── about.json      who made it, of what; versions
├── settings.json   clearway.yaml
├── snapshot.json   what was so at first; not there where the journal is whole
├── journal.jsonl   the records since: {"number": .., "record": {..}} a line
└── logs/           the ends of the controller's and the runner's log
"""

from __future__ import annotations

import io
import json
import os
import platform
import tarfile
import tempfile
import time
import zlib
from contextlib import closing, contextmanager
from importlib.metadata import distributions
from typing import IO, TYPE_CHECKING, Any, NamedTuple

import msgspec

from clearway import __version__
from clearway.compose.stores import engine_home, open_reader
from clearway.config.home import home_dir
from clearway.config.settings import load_settings
from clearway.config.yaml_file import read_yaml
from clearway.control.snapshots import loaded, packed
from clearway.engines.local.paths import RUNNER, TALK
from clearway.model.errors import ConflictError, InputError, StoreError
from clearway.observe.redaction import Redaction
from clearway.ports.journal import Entry
from clearway.store.codec import decode, encode
from clearway.whatif.again import Again

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from clearway.config.settings import Settings
    from clearway.ports.journal import Journal, Mark

FORM = 1
TAIL_BYTES = 256 * 1024
ABOUT, SETTINGS, SNAPSHOT, JOURNAL = "about.json", "settings.json", "snapshot.json", "journal.jsonl"


class Made(NamedTuple):
    """What went into a bundle: records from one number to another, and how many values were left out."""

    first: int
    last: int
    redacted: int
    size: int


def make_bundle(
    home: Path | None, file: Path, status: dict[str, Any] | None, options: Mapping[str, object] | None = None
) -> Made:
    """Write a bundle into a new file, which only its owner can read. ConflictError: it is there already.

    `status` is what a running controller says of itself.
    """
    if file.exists():
        raise ConflictError(f"{file} is there already: a bundle is never written over something")
    if not file.parent.is_dir():
        raise InputError("file", str(file), f"a file that can be written (there is no folder {file.parent})")
    where = home_dir(home)
    settings = load_settings(where, options)
    redaction = Redaction(_secrets(settings))
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with (
            closing(open_reader(settings)) as journal,
            os.fdopen(descriptor, "wb") as raw,
            tarfile.open(fileobj=raw, mode="w:gz") as tar,
        ):
            first, last = _add_journal(tar, journal, redaction)
            _add_rest(tar, settings, redaction, {"first": first, "last": last, "status": status})
    except BaseException:
        file.unlink()
        raise
    return Made(first, last, redaction.count, file.stat().st_size)


def _secrets(settings: Settings) -> list[str]:
    """Return what is known to be secret: what stands in the files of tokens."""
    named = [getattr(one, word, None) for one in settings.notices for word in ("secret_file", "password_file")]
    files = (settings.home / "token", settings.telemetry and settings.telemetry.token_file, *named)
    return [path.read_text(errors="replace").strip() for path in files if path and path.is_file()]


def _add_journal(tar: tarfile.TarFile, journal: Journal, redaction: Redaction) -> tuple[int, int]:
    base, last = _base(journal), journal.last()
    if base is not None:
        text = zlib.decompress(journal.snapshot(base))
        _add(tar, SNAPSHOT, json.dumps(redaction.document(json.loads(text))).encode())
    first = 1 if base is None else base.number + 1
    with tempfile.TemporaryFile() as lines:
        for entry in journal.read(first - 1):
            if entry.number > last:
                break
            told = {"number": entry.number, "record": redaction.document(json.loads(encode(entry.record)))}
            lines.write(json.dumps(told, separators=(",", ":")).encode() + b"\n")
        member = tarfile.TarInfo(JOURNAL)
        member.size, member.mode, member.mtime = lines.tell(), 0o600, int(time.time())
        lines.seek(0)
        tar.addfile(member, lines)
    return first, last


def _base(journal: Journal) -> Mark | None:
    """Return the newest snapshot from which decisions can be taken again: one before a controller took over."""
    took_over = [entry.number for entry in journal.of_kinds({"ControllerStarted"}, journal.floor(), journal.last())]
    begin = took_over[-1] if took_over else 0
    found = next((mark for mark in journal.marks() if mark.number < begin), None)
    if found is None and journal.floor():
        found = next((mark for mark in journal.marks() if mark.number == journal.floor()), None)
    return found


def _add_rest(tar: tarfile.TarFile, settings: Settings, redaction: Redaction, told: dict[str, Any]) -> None:
    path = settings.home / "clearway.yaml"
    raw = read_yaml(path) if path.exists() else None
    _add(tar, SETTINGS, json.dumps(redaction.document(raw), indent=2).encode())
    logs = {
        "controller.log.1": settings.home / "controller.log.1",
        "controller.log": settings.home / "controller.log",
        TALK: engine_home(settings) / RUNNER / TALK,
    }
    for name, log in logs.items():
        if log.is_file():
            _add(tar, f"logs/{name}", redaction.text(_tail(log)).encode())
    told["status"] = redaction.document(told["status"])
    _add(tar, ABOUT, json.dumps({"form": FORM, **_versions(), **told}, indent=2).encode())


def _versions() -> dict[str, Any]:
    packages = {found.metadata["Name"]: found.version for found in distributions()}
    machine = {"python": platform.python_version(), "system": platform.platform(), "cpus": os.cpu_count()}
    return {"clearway": __version__, **machine, "packages": dict(sorted(packages.items()))}


def _tail(path: Path) -> str:
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(size - TAIL_BYTES, 0))
        text = file.read().decode(errors="replace")
    return text if size <= TAIL_BYTES else text.partition("\n")[2]


def _add(tar: tarfile.TarFile, name: str, content: bytes) -> None:
    member = tarfile.TarInfo(name)
    member.size, member.mode, member.mtime = len(content), 0o600, int(time.time())
    tar.addfile(member, io.BytesIO(content))


@contextmanager
def bundle_of(file: Path) -> Iterator[tuple[dict[str, Any], Again]]:
    """Open a bundle: what it says of itself, and what lives through its journal again. StoreError: it is none."""
    try:
        with tarfile.open(file, "r:gz") as tar:
            names = tar.getnames()
            about = json.loads(_read(tar, ABOUT))
            if about.get("form") != FORM:
                raise StoreError(f"the bundle {file} has form {about.get('form')}, this one knows {FORM}")
            begun = None
            if SNAPSHOT in names:
                begun = loaded(packed(_read(tar, SNAPSHOT)), f"the snapshot of {file}").world
            yield about, Again(_entries(tar, file), snapshot=begun)
    except (tarfile.TarError, zlib.error, EOFError, OSError, KeyError, ValueError) as error:
        raise StoreError(f"{file} cannot be read as a bundle: {error}") from error


def _entries(tar: tarfile.TarFile, file: Path) -> Iterator[Entry]:
    with _member(tar, JOURNAL) as lines:
        for at, line in enumerate(lines, 1):
            told = msgspec.json.decode(line, type=_Line)
            yield Entry(told.number, decode(bytes(told.record), f"line {at} of {file}"))


class _Line(msgspec.Struct):
    number: int
    record: msgspec.Raw


def _read(tar: tarfile.TarFile, name: str) -> bytes:
    with _member(tar, name) as member:
        return member.read()


def _member(tar: tarfile.TarFile, name: str) -> IO[bytes]:
    found = tar.extractfile(name)
    if found is None:
        raise StoreError(f"the bundle has no {name}")
    return found
