"""The processes of one task, by whoever stands beside it as their subreaper: all of them descend from it."""

# ruff: noqa: PTH123, PTH208  # pathlib would cost each start of a task 5 ms

from __future__ import annotations

import os


def below() -> list[int]:
    """Return the living processes of the task: all that descend from this one, which adopts orphans."""
    parents: dict[int, list[int]] = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                with open(f"/proc/{entry}/stat", encoding="utf-8", errors="replace") as file:
                    state, parent = file.read().rpartition(")")[2].split()[:2]
            except OSError:  # gone since the list was made
                continue
            if state not in "ZX":
                parents.setdefault(int(parent), []).append(int(entry))
    found = [os.getpid()]
    for pid in found:
        found += parents.get(pid, [])
    return found[1:]


def signal_all(number: int) -> None:
    """Send a signal to all of them."""
    for pid in below():
        try:
            os.kill(pid, number)
        except OSError:  # gone in this very moment, or another user's
            continue


def any_left() -> bool:
    """Say whether this process has children, alive or not yet collected."""
    with open(f"/proc/self/task/{os.getpid()}/children", encoding="ascii") as file:
        return bool(file.read().strip())


def reap(main: int) -> int | None:
    """Collect what has died; return the code of the main process if it is among them."""
    found = None
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return found
        if pid == 0:
            return found
        if pid == main:
            found = os.waitstatus_to_exitcode(status)
