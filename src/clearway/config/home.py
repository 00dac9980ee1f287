"""The state directory of a controller ("home"): where it lies, what is in it, and who runs there.

home/                 mode 0700, owned by the one user who may use it
├── clearway.yaml     settings (optional)
├── journal.db        the truth
├── calls.db          calls of tasks
├── values/           large values of calls
├── controller.json   who runs here; written when it is ready, removed when it stops
├── controller.lock   held by the controller for as long as it lives
├── launch.lock       held by whoever starts one, so that two shells start one
├── controller.log    what the controller has to say; rotates
├── socket            HTTP, mode 0600 (see `socket_path` for long paths)
├── token             the owner's own for HTTP at a port, mode 0600
├── changes.jsonl     who changed what, mode 0600
├── secrets/          values that jobs name (see `config.secrets`)
├── logs/             what tasks print
└── runner/           what the local engine keeps
"""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import NamedTuple

from clearway.model.errors import ControllerError

MAX_SOCKET_BYTES = 100  # the system's limit is 108 on Linux and 104 elsewhere, with the final zero
DIRECTORY_MODE = 0o700
PASS = 0o011  # with the setting `uids` others may go through, to their own folders, and see nothing else
OTHERS = stat.S_IRWXG | stat.S_IRWXO
MARKS = frozenset({"clearway.yaml", "journal.db", "controller.lock", "launch.lock"})
"""A directory with one of these is a home, or somebody made it to be one."""


class Running(NamedTuple):
    """What controller.json says. `started` tells a process from a later one with the same number."""

    pid: int
    started: str
    socket: str
    listen: str
    version: str


def home_dir(given: Path | None = None) -> Path:
    """Return what is given, else $CLEARWAY_HOME, else clearway in $XDG_STATE_HOME, else ~/.local/state/clearway.

    Always a whole path: the controller runs in another directory than whoever starts it.
    """
    if given is not None:
        return given.absolute()
    if own := os.environ.get("CLEARWAY_HOME"):
        return Path(own).absolute()
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state).absolute() / "clearway"


def make_home(home: Path) -> None:
    """Make the directory, for its user alone. Raises ControllerError where it cannot be made safe.

    One that others may enter is closed to them only where it is empty or a home already: /tmp stays as it is.
    """
    try:
        home.mkdir(mode=DIRECTORY_MODE, parents=True, exist_ok=True)
        check_owner(home)
        if home.stat().st_mode & OTHERS & ~PASS:
            if not _is_ours(home):
                raise ControllerError(
                    f"{home} holds other things and is open to others: name a new directory, or an empty one"
                )
            home.chmod(DIRECTORY_MODE)
    except OSError as error:
        raise ControllerError(f"the state directory {home} cannot be used: {error}") from error


def _is_ours(home: Path) -> bool:
    names = {path.name for path in home.iterdir()}
    return not names or bool(names & MARKS)


def check_owner(home: Path) -> None:
    """Raise ControllerError where a home is another user's: only its owner may use a controller."""
    owner = home.stat().st_uid
    if owner != os.geteuid():
        raise ControllerError(f"{home} belongs to user {owner}, not to user {os.geteuid()}: not used")


def read_running(home: Path) -> Running | None:
    """Return who runs here by controller.json, or None if nobody does.

    A process that is gone counts as nobody, and so does a spoilt file: a controller that runs writes it again.
    """
    try:
        text = (home / "controller.json").read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise ControllerError(f"{home / 'controller.json'} cannot be read: {error.strerror}") from error
    running = _told(text)
    return running if running is not None and process_start(running.pid) == running.started else None


def _told(text: bytes) -> Running | None:
    try:
        found = json.loads(text)
        return Running(
            int(found["pid"]), str(found["started"]), str(found["socket"]), str(found["listen"]), str(found["version"])
        )
    except (ValueError, KeyError, TypeError, OverflowError):
        return None


def says(home: Path, running: Running) -> bool:
    """Whether controller.json is there and names this controller."""
    try:
        return _told((home / "controller.json").read_bytes()) == running
    except FileNotFoundError:
        return False


def write_running(home: Path, running: Running) -> None:
    """Write controller.json, whole or not at all."""
    new = home / f"controller.json.{running.pid}"
    new.touch(0o600)
    new.write_text(json.dumps(running._asdict()) + "\n")
    new.replace(home / "controller.json")


def process_start(pid: int) -> str:
    """Return what tells this process from a later one with its number; empty if there is no such process.

    On Linux the clock ticks since boot at which it began, and the boot: a step of the wall clock changes neither.
    """
    try:
        after_name = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return "" if Path("/proc/self/stat").exists() else _process_start_elsewhere(pid)
    state, ticks = after_name[0], after_name[19]
    return "" if state in "ZX" else f"{ticks}@{_boot()}"


def _boot() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return "unknown boot"


def _process_start_elsewhere(pid: int) -> str:
    import psutil  # noqa: PLC0415  not needed on Linux, and takes 20 ms

    try:
        return str(psutil.Process(pid).create_time())
    except psutil.Error:
        return ""


def fits_socket(path: Path) -> bool:
    """Whether the system can bind a socket to this path."""
    return len(os.fsencode(path)) <= MAX_SOCKET_BYTES
