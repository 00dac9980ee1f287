"""What Slurm starts on a node: it runs one task, minds its whole tree, cuts its logs and writes how it ended.

Standard library alone, but for what engines share.

    python step.py FOLDER KEY

Its only talk with the engine are files of FOLDER, which all nodes see: `orders/KEY` says what to run, `halts/KEY` what
to do with it; it makes `ups/KEY` when it has the task, and `ends/KEY` when nothing of the task is left.
"""

from __future__ import annotations

import ctypes
import json
import os
import select
import signal
import subprocess
import sys
import tarfile
import time
from pathlib import Path
from typing import Any

from clearway.engines.parts import tree
from clearway.engines.parts.cuts import Cuts
from clearway.engines.parts.given import secrets_in
from clearway.engines.parts.looks import Looks
from clearway.engines.parts.memory import Kills

PR_SET_CHILD_SUBREAPER = 36
LOOK_S = 0.05
LEFT_GRACE_S = 2.0  # what a task leaves behind has so long after SIGTERM
UNWRITTEN_S = 3600.0  # so long an end is kept that cannot be written
PASSED_BY = (signal.SIGTERM, signal.SIGCHLD, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)  # heard only
SLURMS_GRACE_S = 20.0  # Slurm kills 30 s after it told to stop, if nobody set another KillWait
PRIVATE = 0o600


class Step:
    """One task."""

    def __init__(self, folder: Path, key: str) -> None:
        self.folder, self.key = folder, key
        self.seen = ""
        self.kill_at: float | None = None
        self.halted = False
        self.slurm_stops = self.taken = False
        self.cuts, self.looks = Cuts(), Looks()
        self.kills = Kills(f"job_{os.environ.get('SLURM_JOB_ID', '')}")
        self.rings, bell = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        signal.set_wakeup_fd(bell, warn_on_full_buffer=False)
        for number in PASSED_BY:
            signal.signal(number, self._hear)

    def run(self) -> None:
        """Run the task, unless it is over, or another step has or had it."""
        order = json.loads((self.folder / "orders" / self.key).read_text())
        try:
            os.close(os.open(self.folder / "claims" / self.key, os.O_CREAT | os.O_EXCL, PRIVATE))
        except FileExistsError:
            return
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        if (why := _other_devices(order)) or self._told().get("signal"):
            self._end({"code": None, "error": why})
            return
        try:
            child = _start(order)
        except (OSError, ValueError, tarfile.TarError) as error:
            self._end({"code": None, "error": _why(order, error)})
            return
        code = self._mind(child.pid, order)
        killed = code == -signal.SIGKILL and not self.halted
        self._clear()
        self.cuts.look(_logs(order), order["output_size"])
        self._end({
            "code": None if self.taken else code, "error": "",  # what was taken away did not end by itself
            "used": self.looks.used(), "uncut": self.cuts.trouble,
            "oom": self.kills.ran_out(was_killed=killed),
        })  # fmt: skip

    def _hear(self, number: int, _frame: object) -> None:
        self.slurm_stops = self.slurm_stops or number == signal.SIGTERM

    def _mind(self, child: int, order: dict[str, Any]) -> int:
        is_up = _write(self.folder / "ups" / self.key, "{}")  # also of a task that is over in this very moment
        while (code := tree.reap(child)) is None:
            is_up = is_up or _write(self.folder / "ups" / self.key, "{}")
            self._obey()
            if self.looks.due():
                self.looks.take(tree.below())
                self.kills.look()
                self.cuts.look(_logs(order), order["output_size"])
                if self._is_given_up() and not self.halted:
                    self.taken = True
                    self._halt(signal.SIGTERM, LEFT_GRACE_S)
            self._rest()
        return code

    def _rest(self) -> None:
        """Wait a moment, or until a child has died or Slurm says something."""
        if select.select([self.rings], [], [], LOOK_S)[0]:
            os.read(self.rings, 4096)

    def _is_given_up(self) -> bool:
        """Say whether somebody has already written how the task ended: it may run again elsewhere."""
        return any((self.folder / kind / self.key).exists() for kind in ("ends", "over"))

    def _obey(self) -> None:
        if self.slurm_stops:
            self.slurm_stops = False
            self.taken = self.taken or not self.halted
            self._halt(signal.SIGTERM, SLURMS_GRACE_S)
        told = self._told()
        text = json.dumps(told)
        if told and text != self.seen:
            self.seen = text
            if told.get("signal"):
                self._halt(told["signal"], told["grace_us"] / 1e6)
            else:
                tree.signal_all(signal.SIGSTOP if told.get("paused") else signal.SIGCONT)
        if self.kill_at is not None and time.monotonic() >= self.kill_at:
            tree.signal_all(signal.SIGKILL)

    def _halt(self, number: int, grace_s: float) -> None:
        until = time.monotonic() + grace_s
        self.kill_at = until if self.kill_at is None else min(self.kill_at, until)
        if not self.halted:
            self.halted = True
            tree.signal_all(number)
        tree.signal_all(signal.SIGCONT)

    def _told(self) -> dict[str, Any]:
        try:
            found: dict[str, Any] = json.loads((self.folder / "halts" / self.key).read_text())
        except (OSError, ValueError):  # there is none, or it cannot be read now
            return {}
        return found

    def _clear(self) -> None:
        """End what the main process left."""
        kill_at = min(time.monotonic() + LEFT_GRACE_S, self.kill_at or float("inf"))
        tree.signal_all(signal.SIGTERM)
        while tree.any_left():  # the dead count until they are collected
            if time.monotonic() >= kill_at:
                tree.signal_all(signal.SIGKILL)
            self._rest()
            tree.reap(0)

    def _end(self, end: dict[str, Any]) -> None:
        """Say how it ended; as long as it cannot be written the task is not over. A full disk becomes empty again."""
        until = time.monotonic() + UNWRITTEN_S
        while not self._is_given_up() and not _write(self.folder / "ends" / self.key, json.dumps(end)):
            if time.monotonic() > until:
                return
            time.sleep(1)


def _logs(order: dict[str, Any]) -> tuple[str, str]:
    return order["stdout"], order["stderr"]


def _other_devices(order: dict[str, Any]) -> str:
    """Return why the task may not run here: Slurm holds other devices for it than were decided."""
    wanted, held = order["devices"], _held_devices()
    given = held.split(",") if held else []
    if sorted(given) == sorted(map(str, wanted)) or (not order["exact"] and len(given) == len(wanted)) or not wanted:
        return ""
    return (
        f"Slurm holds the devices {held or 'none'} of {os.environ.get('SLURMD_NODENAME', 'the node')} for it, and "
        f"{','.join(map(str, wanted))} were decided"
    )


def _held_devices() -> str:
    """Return the devices that Slurm holds for this step of a job, or for this job."""
    return os.environ.get("SLURM_STEP_GPUS") or os.environ.get("SLURM_JOB_GPUS", "")


def _start(order: dict[str, Any]) -> subprocess.Popen[bytes]:
    environment = {**os.environ, **secrets_in(order["secrets"]), **order["env"], **_numbered_anew(order)}
    if order["code"]:
        Path(order["cwd"]).mkdir(mode=0o700, parents=True, exist_ok=True)
        with tarfile.open(order["code"]) as tar:
            tar.extractall(order["cwd"])  # noqa: S202  the controller looked at its members when they were sent
    Path(order["stdout"]).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with _log(order["stdout"]) as out, _log(order["stderr"]) as err:
        argv = ["/bin/sh", "-c", order["argv"][0]] if order["shell"] else order["argv"]
        return subprocess.Popen(
            argv, stdin=subprocess.DEVNULL, stdout=out, stderr=err, env=environment, cwd=order["cwd"],
            start_new_session=True,
        )  # fmt: skip


def _numbered_anew(order: dict[str, Any]) -> dict[str, str]:
    """Return the names of the devices where they are not the numbers that were decided.

    A control group of Slurm that hides all others counts them anew from 0; where devices have no types of their own,
    Slurm alone knows which ones it gave.
    """
    held, shown = _held_devices(), os.environ.get("CUDA_VISIBLE_DEVICES", "")
    anew = order["devices"] and held and (not order["exact"] or (shown and held != shown))
    return {"CUDA_VISIBLE_DEVICES": shown or held} if anew else {}


def _log(path: str) -> Any:  # noqa: ANN401  a file
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, PRIVATE), "wb")


def _why(order: dict[str, Any], error: OSError | ValueError | tarfile.TarError) -> str:
    name = "/bin/sh" if order["shell"] else order["argv"][0]
    if not isinstance(error, OSError):
        return f"the command {name!r} cannot be started: {error}"
    if error.filename is None:
        return str(error.strerror)
    if error.filename == name and isinstance(error, FileNotFoundError):
        return f"the command {name!r} does not exist"
    return f"the command {name!r} cannot be started: {error.filename}: {error.strerror}"


def _write(path: Path, text: str) -> bool:
    new = path.with_name("." + path.name)
    try:
        with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, PRIVATE), "w") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        new.rename(path)
    except OSError:
        return False
    return True


if __name__ == "__main__":
    Step(Path(sys.argv[1]), sys.argv[2]).run()
