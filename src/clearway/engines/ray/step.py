"""Beside one task on its node: starts it, minds its whole tree, says how it ended and what it used.

It goes to the node as a text, with those of `engines.parts` that it needs; standard library alone. The host starts it
with pipes: the first line in says what to run, each later one what to do
with it; lines out say that it runs and how it ended. When the pipe in breaks the host is gone, and so is the task, at
once: nothing runs on that nobody can stop. It leaves the host's children by forking, which Ray may kill by itself.
"""

# ruff: noqa: PTH104, PTH118  # pathlib would cost each start of a task 5 ms

from __future__ import annotations

import ctypes
import errno
import fcntl
import json
import os
import select
import signal
import sys
import time

from clearway.engines.parts import tree
from clearway.engines.parts.cuts import Cuts
from clearway.engines.parts.looks import Looks
from clearway.engines.parts.memory import Kills

TYPE_CHECKING = False  # not from typing: this file is read at each start of a task
if TYPE_CHECKING:
    from typing import Any

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
LOOK_S = 0.02
LEFT_GRACE_S = 2.0  # what a task leaves behind has so long after SIGTERM
PRIVATE = 0o600


class Step:
    """One task. `lost`: the host is gone; `taken`: and the task with it."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.held = b""
        self.kill_at: float | None = None
        self.halted = self.lost = self.taken = False
        self.cuts, self.looks, self.kills = Cuts(), Looks(), Kills()

    def run(self) -> None:
        """Run the task that the first line names."""
        lock = os.open(os.path.join(self.folder, "lock"), os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, PRIVATE)
        fcntl.flock(lock, fcntl.LOCK_EX)
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        orders: list[dict[str, Any]] = []
        while not orders and not self.lost:
            orders = self._read(60.0)
        if self.lost:
            return
        try:
            main = _start(orders[0])
        except OSError as error:
            self._end(None, _why(orders[0], error))
            return
        _say({"is": "up"})
        for order in orders[1:]:
            self._obey(order)
        code = self._mind(main, orders[0])
        killed = code == -signal.SIGKILL and not (self.halted or self.lost)
        self._clear()
        self._end(  # what was taken did not end by itself
            None if self.taken else code, "", self.looks.used(), oom=self.kills.ran_out(was_killed=killed)
        )

    def _read(self, patience_s: float) -> list[dict[str, Any]]:
        if self.lost or not select.select([0], [], [], patience_s)[0]:
            if self.lost:
                time.sleep(patience_s)
            return []
        data = os.read(0, 1 << 20)
        self.lost = not data
        *lines, self.held = (self.held + data).split(b"\n")
        return [json.loads(line) for line in lines]

    def _mind(self, main: int, order: dict[str, Any]) -> int:
        pause_s = LOOK_S / 10
        while True:
            code = tree.reap(main)
            if code is not None:
                return code
            for told in self._read(pause_s):
                self._obey(told)
            pause_s = min(pause_s * 2, LOOK_S)
            if self.looks.due():
                self.looks.take(tree.below())
                self.kills.look()
                self.cuts.look((order["stdout"], order["stderr"]), order["output_size"])
            if self.lost or (self.kill_at is not None and time.monotonic() >= self.kill_at):
                self.taken = self.taken or (self.lost and not self.halted)
                tree.signal_all(signal.SIGKILL)

    def _obey(self, order: dict[str, Any]) -> None:
        if order["do"] == "pause":
            tree.signal_all(signal.SIGSTOP if order["paused"] else signal.SIGCONT)
            return
        until = time.monotonic() + order["grace_us"] / 1e6
        self.kill_at = until if self.kill_at is None else min(self.kill_at, until)
        if not self.halted:
            self.halted = True
            tree.signal_all(order["signal"])
        tree.signal_all(signal.SIGCONT)

    def _clear(self) -> None:
        """End what the main process left."""
        tree.reap(0)
        if not tree.any_left():
            return
        kill_at = min(time.monotonic() + LEFT_GRACE_S, self.kill_at or float("inf"))
        tree.signal_all(signal.SIGTERM)
        while tree.any_left():  # the dead count until they are collected
            if self.lost or time.monotonic() >= kill_at:
                tree.signal_all(signal.SIGKILL)
            self._read(LOOK_S)
            tree.reap(0)

    def _end(self, code: int | None, error: str, used: dict[str, int] | None = None, *, oom: bool = False) -> None:
        end = {"is": "over", "code": code, "error": error, "used": used, "oom": oom}
        new = os.path.join(self.folder, ".end")
        try:
            with open(new, "w", opener=_private) as file:
                json.dump(end, file)
            os.rename(new, os.path.join(self.folder, "end"))
        except OSError:  # a full disk: then it is only said
            pass
        _say(end)


def _start(order: dict[str, Any]) -> int:
    """Start the main process, in a session of its own, and return its number. Raises what kept it from running."""
    argv = ["/bin/sh", "-c", order["argv"][0]] if order["shell"] else order["argv"]
    tells, told = os.pipe2(os.O_CLOEXEC)
    pid = os.fork()
    if pid == 0:
        _become(order, argv, told)
    os.close(told)
    said = os.read(tells, 4096)
    os.close(tells)
    if said:
        os.waitpid(pid, 0)
        number, _, name = said.decode(errors="surrogateescape").partition(" ")
        raise OSError(int(number), os.strerror(int(number)), name)
    return pid


def _become(order: dict[str, Any], argv: list[str], told: int) -> None:
    """In the child: be the command. Whatever goes wrong is told and ends it."""
    try:
        os.setsid()
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        for ignored in (signal.SIGINT, signal.SIGPIPE, signal.SIGTERM, signal.SIGHUP):  # by Ray's worker
            signal.signal(ignored, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        os.chdir(order["cwd"])
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        for number, path in ((1, order["stdout"]), (2, order["stderr"])):
            os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, PRIVATE), number)
        os.execvpe(argv[0], argv, order["env"])  # noqa: S606  it is what it is for
    except OSError as error:
        os.write(told, os.fsencode(f"{error.errno} {error.filename or argv[0]}"))
    except ValueError:  # a zero byte
        os.write(told, os.fsencode(f"{errno.EINVAL} {argv[0]}"))
    os._exit(127)


def _why(order: dict[str, Any], error: OSError) -> str:
    name = "/bin/sh" if order["shell"] else order["argv"][0]
    if error.filename == order["cwd"]:
        return f"the folder {error.filename!r} cannot be entered on its node: {error.strerror}"
    if error.filename == name and isinstance(error, FileNotFoundError):
        return f"the command {name!r} does not exist on its node"
    return f"the command {name!r} cannot be started: {error.strerror}"


def _say(message: dict[str, Any]) -> None:
    try:
        os.write(1, json.dumps(message).encode() + b"\n")
    except OSError:  # the host is gone: the file `end` says the rest
        return


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, PRIVATE)


if __name__ == "__main__":
    if os.fork():
        os._exit(0)
    os.setsid()
    Step(sys.argv[1]).run()
