"""Starting and stopping the controller of a home, as a process of its own. Needs the standard library alone.

Two locks keep it to one: whoever starts a controller holds `launch.lock` until it answers, and the controller
holds `controller.lock` for as long as it lives.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import socket
import subprocess
import sys
import time
from collections import deque
from typing import TYPE_CHECKING, Any, NoReturn

from clearway.config.home import home_dir, make_home, process_start, read_running
from clearway.model.errors import ConflictError, ControllerError, StoreError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from clearway.config.home import Running

MODULE = "clearway.api.process"
LOOK_S = 0.01  # so often a starter looks whether the new controller answers
SAY_S = 5.0  # a controller that does not answer by then reads a long journal: that is said, and waited for
STOP_S = 30.0
SHOWN_LOG_LINES = 15
PRIVATE = 0o600
EXIT_TAKEN = os.EX_TEMPFAIL  # the new controller found that another one, still starting, has the home


def ensure_running(home: Path | None = None, options: Mapping[str, object] | None = None) -> Running:
    """Return who runs in `home`; starts a detached controller where none runs, and waits until it answers.

    However many processes do this at once, one controller results. Raises ControllerError, with the last lines of
    its log, where it dies or does not answer.
    """
    where = home_dir(home)
    if (running := answering(where)) is not None:
        return running
    make_home(where)
    with _alone(where):
        return answering(where) or _start(where, options or {})


def start(home: Path | None = None, options: Mapping[str, object] | None = None, *, detach: bool = True) -> Running:
    """Start a controller: detached, or (`detach=False`) in place of this process, which then never returns.

    `options` are settings, as in clearway.yaml. Raises ConflictError where one runs.
    """
    where = home_dir(home)
    make_home(where)
    with _alone(where):
        if (running := read_running(where)) is not None:
            raise ConflictError(f"a controller runs for {where} already, as process {running.pid}")
        if detach:
            return _start(where, options or {})
    return _become(_command(where, options or {}))


def _become(command: list[str]) -> NoReturn:
    os.execv(command[0], command)  # noqa: S606  no shell


def stop(home: Path | None = None, timeout_s: float = STOP_S) -> bool:
    """Stop the controller and wait until its process is gone. False: none runs. Tasks go on.

    Raises ControllerError where it is still there after `timeout_s` seconds.
    """
    where = home_dir(home)
    running = read_running(where)
    if running is None:
        return False
    with contextlib.suppress(ProcessLookupError):  # gone in this very moment
        os.kill(running.pid, signal.SIGTERM)
    end = time.monotonic() + timeout_s
    while process_start(running.pid) == running.started:
        if time.monotonic() >= end:
            raise ControllerError(f"the controller (process {running.pid}) did not stop within {timeout_s:g} s")
        time.sleep(LOOK_S)
    _forget_those_that_ended()
    return True


def status(home: Path | None = None) -> dict[str, Any]:
    """Return who runs in a home: `running`, `home`, and where one runs `pid`, `socket`, `listen`, `version`."""
    where = home_dir(home)
    running = read_running(where)
    told = {} if running is None else {k: v for k, v in running._asdict().items() if k != "started"}
    return {"running": running is not None, "home": str(where), **told}


def answering(home: Path) -> Running | None:
    """Return who runs in a home and takes connections, or None."""
    running = read_running(home)
    if running is None:
        return None
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(running.socket)
        except OSError:
            return None
    return running


@contextlib.contextmanager
def _alone(home: Path) -> Iterator[None]:
    try:
        lock = os.open(home / "launch.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, PRIVATE)
    except OSError as error:
        raise ControllerError(f"{home} cannot be written to: {error.strerror}") from error
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


def _command(home: Path, options: Mapping[str, object]) -> list[str]:
    import json

    said = json.dumps({key: value for key, value in options.items() if value is not None})
    return [sys.executable, "-m", MODULE, "--home", str(home), "--options", said]


def _start(home: Path, options: Mapping[str, object]) -> Running:
    log = home / "controller.log"
    try:
        sink = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, PRIVATE)
    except OSError as error:
        raise ControllerError(f"{log} cannot be written to: {error.strerror}") from error
    began = os.fstat(sink).st_size
    child = subprocess.Popen(
        _command(home, options),
        stdin=subprocess.DEVNULL,
        stdout=sink,
        stderr=sink,
        cwd=home,
        start_new_session=True,
    )
    os.close(sink)
    return _until_it_answers(home, child, began)


def _until_it_answers(home: Path, child: subprocess.Popen[bytes], log_from: int) -> Running:
    say_at: float | None = time.monotonic() + SAY_S
    while (running := answering(home)) is None:
        if child.poll() not in {None, EXIT_TAKEN}:
            raise ControllerError(f"the controller ended with code {child.returncode}:\n{_last_words(home, log_from)}")
        if say_at is not None and time.monotonic() >= say_at:
            sys.stderr.write("the controller is reading its journal ..\n")
            say_at = None
        time.sleep(LOOK_S)
    _forget_those_that_ended()
    _DETACHED.append(child)
    return running


_DETACHED: list[subprocess.Popen[bytes]] = []
"""Controllers that this process started: they are not waited for, and Python must not take them for forgotten."""


def _forget_those_that_ended() -> None:
    for child in tuple(_DETACHED):
        if child.poll() is not None:
            with contextlib.suppress(ValueError):  # another thread was first
                _DETACHED.remove(child)


def _last_words(home: Path, log_from: int) -> str:
    try:
        with (home / "controller.log").open("rb") as log:
            size = log.seek(0, os.SEEK_END)
            log.seek(log_from if log_from <= size else 0)  # it may have begun a new file
            lines = deque(log, SHOWN_LOG_LINES)
    except OSError as error:
        raise StoreError(f"{home / 'controller.log'} cannot be read: {error}") from error
    return b"".join(lines).decode("utf-8", "backslashreplace").rstrip()
