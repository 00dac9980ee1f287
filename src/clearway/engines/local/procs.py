"""Processes of this machine, told apart by number and start time: a number alone is used again."""

from __future__ import annotations

import errno
import fcntl
import os
import signal
import struct
import time
from typing import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from resource import struct_rusage

TICKET = "CLEARWAY_TASK_ID"
"""The variable by which a process is known as part of a task even when it has left its parents."""

_STATE, _PPID, _SESSION, _THREADS, _START = 0, 1, 3, 17, 19  # fields of /proc/PID/stat after the name, from 0
_DEAD = (b"Z", b"X", b"x")
_MOST_ENVIRONMENT = 4 * 2**20  # the system passes on about 3 MB

_SHORTEST_S = 0.01  # the system tells starts no finer

_INFO_BYTES = 64  # struct pidfd_info of Linux 6.13, which later ones extend
_GET_INFO = (3 << 30) | (_INFO_BYTES << 16) | (0xFF << 8) | 11  # PIDFD_GET_INFO
_INFO_EXIT = 1 << 3  # PIDFD_INFO_EXIT, Linux 6.15
_EXIT_CODE_AT = 60


class Proc(NamedTuple):
    """A process: its number, parent, session, and start time in clock ticks since boot.

    One that is `dead` only waits to be collected by its parent.
    """

    pid: int
    parent: int
    session: int
    start: int
    dead: bool


def look(pid: int) -> Proc | None:
    """Return the living process with this number, None where none lives. Raises OSError for other causes."""
    proc = _read(pid)
    return None if proc is None or proc.dead else proc


def start_of(child: int) -> int:
    """Return the start time of a child that was not collected yet, so that its number is surely its own."""
    proc = _read(child)
    if proc is None:
        raise ChildProcessError(child)
    return proc.start


def used(told: struct_rusage, start: int) -> tuple[int, int]:
    """Return the mean CPUs in thousandths, and the most bytes of one process, of a child that ended just now.

    What it started and waited for counts; `start` in clock ticks since boot.
    """
    lasted_s = time.clock_gettime(time.CLOCK_BOOTTIME) - start / os.sysconf("SC_CLK_TCK")
    cpus = (told.ru_utime + told.ru_stime) / max(lasted_s, _SHORTEST_S)
    return int(cpus * 1000), told.ru_maxrss * 1024


def everything() -> dict[int, Proc]:
    """Return every process that can be seen, by number, also dead ones that were not collected."""
    found = (_read(int(name)) for name in os.listdir("/proc") if name.isdigit())  # noqa: PTH208  pathlib costs 2 MB
    return {proc.pid: proc for proc in found if proc is not None}


def _read(pid: int) -> Proc | None:
    try:
        fd = os.open(f"/proc/{pid}/stat", os.O_RDONLY)
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ESRCH):
            return None
        raise
    try:
        text = os.read(fd, 4096)
    except ProcessLookupError:
        return None
    finally:
        os.close(fd)
    words = text[text.rfind(b")") + 2 :].split()
    dead = words[_STATE] in _DEAD and int(words[_THREADS]) <= 1  # the first thread may be gone while others run
    return Proc(pid, int(words[_PPID]), int(words[_SESSION]), int(words[_START]), dead)


def boot() -> str:
    """Return what names this life of the machine and this space of process numbers."""
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:  # noqa: PTH123
        return f"{file.read().strip()}/{os.readlink('/proc/self/ns/pid')}"  # noqa: PTH115


def ticket(pid: int) -> str:
    """Return the value of TICKET in the environment that a process was started with, empty where there is none."""
    mark = TICKET.encode() + b"="
    try:
        fd = os.open(f"/proc/{pid}/environ", os.O_RDONLY)
    except OSError:  # gone, or another user's: either way it shows no ticket
        return ""
    try:
        pairs = _read_all(fd).split(b"\0")
    except OSError:
        return ""
    finally:
        os.close(fd)
    return next((pair[len(mark) :].decode(errors="replace") for pair in pairs if pair.startswith(mark)), "")


def _read_all(fd: int) -> bytes:
    pieces = []
    left = _MOST_ENVIRONMENT
    while left > 0 and (piece := os.read(fd, min(left, 65536))):
        pieces.append(piece)
        left -= len(piece)
    return b"".join(pieces)


def hold(proc_pid: int, start: int) -> int | None:
    """Return a descriptor that stands for exactly this process, None where it no longer lives."""
    try:
        fd = os.pidfd_open(proc_pid)
    except ProcessLookupError:
        return None
    now = look(proc_pid)
    if now is not None and now.start == start:
        return fd
    os.close(fd)
    return None


def send(proc: Proc, number: int) -> bool:
    """Send a signal to exactly this process. False where it is gone or belongs to somebody else."""
    fd = hold(proc.pid, proc.start)
    if fd is None:
        return False
    try:
        signal.pidfd_send_signal(fd, number)
    except (ProcessLookupError, PermissionError):
        return False
    finally:
        os.close(fd)
    return True


def exit_code(pidfd: int) -> int | None:
    """Return how a process that somebody else collects ended; None where this system never tells.

    Raises BlockingIOError while nobody has collected it yet.
    """
    asked = struct.pack("Q", _INFO_EXIT).ljust(_INFO_BYTES, b"\0")
    try:
        told = fcntl.ioctl(pidfd, _GET_INFO, asked)
    except OSError:  # a system older than Linux 6.13
        return None
    if not struct.unpack_from("Q", told)[0] & _INFO_EXIT:
        raise BlockingIOError
    return os.waitstatus_to_exitcode(struct.unpack_from("i", told, _EXIT_CODE_AT)[0])
