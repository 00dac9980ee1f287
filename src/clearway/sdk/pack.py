"""A working directory as a job takes it along: its files, packed so that the same content gives the same bytes."""

from __future__ import annotations

import hashlib
import io
import os
import subprocess
import tarfile
from pathlib import Path
from typing import TYPE_CHECKING

from clearway.model.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

LIMIT_BYTES = 32 * 2**20
"""Code is small; what is larger is data, and is read where it lies (`inputs`)."""

MODULES = ".py_modules"
"""Where modules of a `runtime_env` lie among the files: the engine `ray` has Python find them there."""

LEFT_OUT = frozenset(
    {".git", ".hg", ".svn", ".venv", "venv", "node_modules", "__pycache__", ".mypy_cache", ".ruff_cache"}
)
"""Folders that are not taken along where git does not say what belongs to the code."""

_SHOWN = 3


def pack(
    folder: Path | None, modules: Mapping[str, Path] | None = None, left_out: Sequence[str] = ()
) -> tuple[str, bytes]:
    """Return `sha256:HEX` and a tar of the files of a folder: what git counts as its own, else all but LEFT_OUT.

    `modules` are folders too, by their names; with them, be it none, the task finds them and the folder as Python's
    modules. `left_out` are patterns as in a .gitignore.
    Raises InputError where it is no folder, cannot be read, holds a link that leads out of it, or is too large.
    """
    out = io.BytesIO()
    left = LIMIT_BYTES
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as tar:
        if modules is not None:
            tar.addfile(tarfile.TarInfo(f"{MODULES}/.keep"))
        for prefix, place in {**({"": folder} if folder else {}), **_under_modules(modules or {})}.items():
            try:
                names = sorted(_without(_names(place), left_out))
                left -= _check_size(place, names, left)
                _add(tar, place, names, prefix)
            except OSError as error:
                rule = f"a folder whose files can be read ({error.strerror})"
                raise InputError("workdir", str(place), rule) from error
    content = out.getvalue()
    return f"sha256:{hashlib.sha256(content).hexdigest()}", content


def _under_modules(modules: Mapping[str, Path]) -> dict[str, Path]:
    return {f"{MODULES}/{name}/": place for name, place in modules.items()}


def _without(names: list[str], left_out: Sequence[str]) -> list[str]:
    if not left_out:
        return names
    from pathspec import GitIgnoreSpec

    return list(GitIgnoreSpec.from_lines(left_out).match_files(names, negate=True))


def _names(folder: Path) -> list[str]:
    if not folder.is_dir():
        raise NotADirectoryError(20, "it is no folder")
    asked = ["git", "-C", str(folder), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        told = subprocess.run(asked, capture_output=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):  # no git, or no repository
        return list(_walk(folder))
    return [name for name in map(os.fsdecode, told.split(b"\0")) if name and os.path.lexists(folder / name)]


def _walk(folder: Path) -> list[str]:
    found = []
    for place, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if name not in LEFT_OUT]
        links = [name for name in folders if (Path(place) / name).is_symlink()]
        found += [os.path.relpath(Path(place) / name, folder) for name in (*files, *links)]
    return found


def _check_size(folder: Path, names: list[str], left: int) -> int:
    sizes = {name: os.lstat(folder / name).st_size for name in names}
    total = sum(sizes.values())
    if total > left:
        largest = sorted(names, key=lambda name: -sizes[name])[:_SHOWN]
        told = ", ".join(f"{name} ({sizes[name]} bytes)" for name in largest)
        rule = f"at most {LIMIT_BYTES} bytes of code; it holds {total}, among them {told}. Data belongs into `inputs`"
        raise InputError("workdir", str(folder), rule)
    return total


def _add(tar: tarfile.TarFile, folder: Path, names: list[str], prefix: str) -> None:
    for name in names:
        info = tar.gettarinfo(str(folder / name), prefix + name)
        if info is None or not (info.isfile() or info.issym()):
            continue  # sockets and the like, and submodules
        if info.issym() and _leads_out(name, info.linkname):
            raise InputError("workdir", str(folder), f"links that stay inside; {name} leads to {info.linkname}")
        info.mtime, info.uid, info.gid, info.uname, info.gname = 0, 0, 0, "", ""
        info.mode = 0o755 if info.mode & 0o100 else 0o644
        if info.isfile():
            with (folder / name).open("rb") as file:
                tar.addfile(info, file)
        else:
            tar.addfile(info)


def _leads_out(name: str, target: str) -> bool:
    whole = os.path.normpath(os.path.join(os.path.dirname(name), target))  # noqa: PTH118, PTH120  texts, not files
    return target.startswith("/") or whole.split("/")[0] == ".."
