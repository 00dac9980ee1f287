"""What lies on a node of a namespace: how its tasks ended whose host died, and all that is to be removed.

It goes to nodes by value, as `host` does: they need Ray and no Clearway.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import shutil
import signal
import stat
import time
from pathlib import Path
from typing import Any

MOST_BYTES = 1 << 20
"""What is read of a file at once."""
TERM = "term"
"""A file with the newest term by which anybody led on this node: new hosts obey no older one either."""
ALIVE = "alive"
"""A file that a host holds as long as it lives."""
TMP = "/tmp"  # noqa: S108  what lies there is looked at before it is trusted
OWN_RAY = "ray-"
PRIVATE = 0o700
KEPT_S = 3600.0
"""So long what a task left stays there whose host died with its node: whoever asks how it ended asks before."""


def own_folder(namespace: str) -> Path:
    """Return the folder of a namespace on this node, made for this user alone. Raises OSError where it is another's."""
    folder = Path(TMP, f"clearway-ray-{os.getuid()}")
    for one in (folder, folder / namespace):
        try:
            one.mkdir(mode=0o700)
        except FileExistsError:
            found = one.lstat()
            if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
                why = "it is not a folder of the user of this Ray node"
                raise PermissionError(errno.EPERM, why, str(one)) from None
            if stat.S_IMODE(found.st_mode) != PRIVATE:
                one.chmod(PRIVATE)
    return folder / namespace


def sweep(namespace: str, keys: list[str], patience_s: float) -> dict[str, dict[str, Any] | None]:
    """On the node of a host that died: wait until nothing of its tasks is left, and return how they ended."""
    return sweep_in(own_folder(namespace), keys, patience_s)


def sweep_in(folder: Path, keys: list[str], patience_s: float) -> dict[str, dict[str, Any] | None]:
    """Do the same in a folder."""
    found: dict[str, dict[str, Any] | None] = {}
    until = time.monotonic() + patience_s
    for key in keys:
        place = folder / key
        try:
            lock = os.open(place / "lock", os.O_WRONLY | os.O_CREAT, 0o600)
        except OSError:  # it never came so far
            found[key] = None
            continue
        try:
            _lock(lock, until)
            clear(place, until)
            found[key] = end_of(place)
        finally:
            os.close(lock)
        remove(place)
    return found


def _lock(lock: int, until: float) -> None:
    """Get a lock. Raises BlockingIOError where somebody else has it then."""
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > until:
                raise
            time.sleep(0.05)
        else:
            return


def clear(folder: Path, until: float = float("inf")) -> None:
    """End what is left of a task whose step was killed. Raises BlockingIOError where something is there even then."""
    while pids := _processes_of(folder):
        if time.monotonic() > until:
            raise BlockingIOError(errno.EAGAIN, f"processes {pids} of a task do not end", str(folder))
        for pid in pids:
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:  # gone in this very moment
                continue
        time.sleep(0.05)


def _processes_of(folder: Path) -> list[int]:
    """Return the processes that have a word of one task in the environment that they were started with."""
    mark, found = f"CLEARWAY_PROGRESS={folder}/progress".encode(), []
    for entry in os.listdir("/proc"):  # noqa: PTH208  names alone
        if entry.isdigit():
            try:
                words = Path("/proc", entry, "environ").read_bytes().split(b"\0")
            except OSError:  # gone since the list was made, or another user's
                continue
            if mark in words:
                found.append(int(entry))
    return found


def remove(folder: Path) -> None:
    """Remove what a task left on its node."""
    own_ray = Path(part(folder / "ray", 0, MOST_BYTES).decode(errors="replace"))
    if str(own_ray.parent) == TMP and own_ray.name.startswith(OWN_RAY):
        shutil.rmtree(own_ray, ignore_errors=True)
    shutil.rmtree(folder, ignore_errors=True)


def tidy(folder: Path) -> None:
    """Remove what hosts left that died with their node."""
    for step in folder.glob("step-*"):
        if _is_old(step) and _is_free(step / ALIVE):
            shutil.rmtree(step, ignore_errors=True)
    for host in folder.glob("*/host"):
        try:
            left = _is_old(host) and not (folder / host.read_text()).exists()
        except OSError:  # its host forgets it in this very moment
            continue
        if left and _is_free(host.with_name("lock")):
            remove(host.parent)


def _is_old(path: Path) -> bool:
    try:
        return time.time() - path.stat().st_mtime > KEPT_S
    except OSError:
        return False


def _is_free(path: Path) -> bool:
    """Say whether no process holds a file: the one that did is gone."""
    try:
        with path.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return True
    except BlockingIOError:
        return False
    return True


def end_of(folder: Path) -> dict[str, Any] | None:
    """Return how a task ended, None where its step did not say so."""
    try:
        return end_in(json.loads(part(folder / "end", 0, MOST_BYTES)))
    except (ValueError, TypeError, KeyError):  # the task's own
        return None


def end_in(said: dict[str, Any]) -> dict[str, Any]:
    """Return how a task ended by what its step said."""
    return {"code": said["code"], "error": said["error"], "used": said.get("used"), "oom": said.get("oom", False)}


def part(path: Path, offset: int, most: int) -> bytes:
    """Return what stands in a plain file from there on; nothing of what a task put in its place."""
    try:
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                return b""
            file.seek(offset)
            return file.read(most)
    except OSError:
        return b""


def term_in(folder: Path) -> tuple[int, int]:
    """Return the newest term by which anybody led on this node."""
    try:
        first, second = (folder / TERM).read_text().split()
    except (OSError, ValueError):  # nobody led here yet
        return 0, 0
    return int(first), int(second)


def keep_term(folder: Path, term: tuple[int, int]) -> None:
    """Keep a term for hosts to come."""
    new = folder / f".{TERM}-{os.getpid()}"
    try:
        new.write_text(f"{term[0]} {term[1]}")
        new.replace(folder / TERM)
    except OSError:  # a full disk: this host knows it
        return
