"""Control groups: one for each task, where this machine lets the runner make them.

A process cannot leave its group as it leaves its session or its parents, so the group says for certain what is left of
a task; and it is what holds a task to its memory, and to its part of the CPUs when others want them too. Version 2
and version 1 differ in names only; a machine may have both at once.
"""

from __future__ import annotations

import contextlib
import os
import signal

TYPE_CHECKING = False  # not from typing: the runner pays for every module
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

MEMBERS, MEMORY, CPU = "members", "memory", "cpu"
_V1_FOR_MEMBERS = ("pids", "freezer", "cpu", "memory")  # any would do; the first ones change nothing for the task
_PROCS = "cgroup.procs"
_SHARES_OF_A_CPU = 1024  # version 1 counts so for one CPU
_WEIGHT_OF_A_CPU = 100  # and version 2 so
_LEAST_SHARES, _MOST_WEIGHT = 2, 10_000
_MILLI = 1000


class Groups:
    """Makes, fills and removes the groups of one runner's tasks. `name` tells them from another runner's."""

    def __init__(self, name: str, root: str = "/") -> None:
        self._name = f"clearway-{name[:12]}"
        self._base: dict[str, str] = {}
        self._v2: set[str] = set()
        self.refused = ""
        """Why there are none, or not all of them, in a sentence; empty where there are."""
        try:
            self._find(root)
        except OSError as error:
            self._refuse(error)

    def _find(self, root: str) -> None:
        own = _own_groups(os.path.join(root, "proc/self/cgroup"))  # noqa: PTH118  pathlib costs 2 MB
        mounted = _mounted(os.path.join(root, "proc/self/mounts"), own)  # noqa: PTH118
        if "" in mounted:
            self._make_base((MEMBERS,), mounted[""], v2=True)
            self._let_version_2_limit(mounted[""])
        for part, controllers in ((MEMBERS, _V1_FOR_MEMBERS), (MEMORY, ("memory",)), (CPU, ("cpu",))):
            folder = next((mounted[one] for one in controllers if one in mounted), None)
            if part not in self._base and folder is not None:
                self._make_base((part,), folder, v2=False)
        if MEMBERS not in self._base and not self.refused:
            self.refused = "this machine has no control groups"

    def _make_base(self, parts: tuple[str, ...], folder: str, *, v2: bool) -> None:
        base = os.path.join(folder, self._name)  # noqa: PTH118
        try:
            os.makedirs(base, 0o755, exist_ok=True)  # noqa: PTH103
            if not os.access(os.path.join(base, _PROCS), os.W_OK):  # noqa: PTH118
                raise PermissionError(13, "its file of processes cannot be written")
        except OSError as error:
            self._refuse(error)
            return
        for part in parts:
            self._base[part] = base
            if v2:
                self._v2.add(part)

    def _let_version_2_limit(self, folder: str) -> None:
        """Have the groups below ours count memory and CPUs, where the group above hands that down."""
        offered = set(_words(os.path.join(folder, "cgroup.controllers"))) & {MEMORY, CPU}  # noqa: PTH118
        if not offered or MEMBERS not in self._base:
            return
        try:
            for place in (folder, self._base[MEMBERS]):
                _write(os.path.join(place, "cgroup.subtree_control"), " ".join(f"+{one}" for one in sorted(offered)))  # noqa: PTH118
        except OSError as error:
            self._refuse(error)
            return
        for part in offered:
            self._base[part] = self._base[MEMBERS]
            self._v2.add(part)

    def _refuse(self, error: OSError) -> None:
        self.refused = f"control groups cannot be made here: {error.strerror}"

    # --- what holds ----------------------------------------------------------------------------

    def has(self, part: str) -> bool:
        """Whether tasks have a group for their MEMBERS, MEMORY or CPU."""
        return part in self._base

    # --- one task --------------------------------------------------------------------------------

    def make(self, key: str, memory: int, cpus_milli: int) -> list[str]:
        """Make the groups of a task that holds so many bytes and thousandths of CPUs (0: as many as there are).

        Returns the files into which each of its processes writes itself. Raises OSError.
        """
        parts = [MEMBERS] + [MEMORY] * (memory > 0) + [CPU] * (cpus_milli > 0)
        folders = list(dict.fromkeys(self._folder(part, key) for part in parts if part in self._base))
        for folder in folders:
            os.makedirs(folder, 0o755, exist_ok=True)  # noqa: PTH103
        if memory and MEMORY in self._base:
            name = "memory.max" if MEMORY in self._v2 else "memory.limit_in_bytes"
            _write(os.path.join(self._folder(MEMORY, key), name), str(memory))  # noqa: PTH118
        if cpus_milli and CPU in self._base:
            _write(*self._weight(key, cpus_milli))
        return [os.path.join(folder, _PROCS) for folder in folders]  # noqa: PTH118

    def _weight(self, key: str, cpus_milli: int) -> tuple[str, str]:
        if CPU in self._v2:
            weight = max(1, min(_MOST_WEIGHT, _WEIGHT_OF_A_CPU * cpus_milli // _MILLI))
            return os.path.join(self._folder(CPU, key), "cpu.weight"), str(weight)  # noqa: PTH118
        shares = max(_LEAST_SHARES, _SHARES_OF_A_CPU * cpus_milli // _MILLI)
        return os.path.join(self._folder(CPU, key), "cpu.shares"), str(shares)  # noqa: PTH118

    def _folder(self, part: str, key: str) -> str:
        return os.path.join(self._base[part], key)  # noqa: PTH118

    def members(self, key: str) -> list[int]:
        """Return the processes in a task's group, also in groups that it made below; [] where there is none."""
        if MEMBERS not in self._base:
            return []
        folders = _below(self._folder(MEMBERS, key))
        return [int(word) for folder in folders for word in _words(os.path.join(folder, _PROCS))]  # noqa: PTH118

    def kill(self, key: str) -> None:
        """Kill all of a task's group at once, where the system can do that; what is forked meanwhile dies with it."""
        if MEMBERS in self._v2:
            with contextlib.suppress(OSError):  # a system before Linux 5.14, or it is gone: the signals go on
                _write(os.path.join(self._folder(MEMBERS, key), "cgroup.kill"), "1")  # noqa: PTH118

    def ran_out_of_memory(self, key: str) -> bool:
        """Whether the system killed something of a task because it had used up its memory."""
        if MEMORY not in self._base:
            return False
        name = "memory.events" if MEMORY in self._v2 else "memory.oom_control"
        words = _words(os.path.join(self._folder(MEMORY, key), name))  # noqa: PTH118
        return "oom_kill" in words and words[words.index("oom_kill") + 1] != "0"

    def remove(self, key: str) -> None:
        """Remove the groups of a task that has no process any more. What cannot be removed yet is left for `sweep`."""
        for base in set(self._base.values()):
            for folder in reversed(_below(os.path.join(base, key))):  # noqa: PTH118
                with contextlib.suppress(OSError):
                    os.rmdir(folder)  # noqa: PTH106

    def sweep(self, live: Collection[str]) -> None:
        """Remove every group of ours that belongs to no task of `live`; what still runs in one is killed."""
        for base in set(self._base.values()):
            with contextlib.suppress(OSError):
                for key in [entry.name for entry in os.scandir(base) if entry.is_dir() and entry.name not in live]:
                    self._kill_members(key)
                    self.remove(key)

    def _kill_members(self, key: str) -> None:
        self.kill(key)
        for pid in self.members(key):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def leave(self) -> None:
        """Remove what is ours, for a runner that leaves: nothing of it holds a process."""
        self.sweep(())
        for base in set(self._base.values()):
            with contextlib.suppress(OSError):
                os.rmdir(base)  # noqa: PTH106


def enter(files: list[str]) -> None:
    """Have this process, and all it will start, belong to groups. Raises OSError."""
    for file in files:
        _write(file, "0")


def _own_groups(path: str) -> dict[str, str]:
    """Return the group that this process is in, by controller; version 2 has the empty name."""
    found = {}
    for line in _lines(path):
        _, controllers, place = line.split(":", 2)
        found.update(dict.fromkeys(controllers.split(","), place))
    return found


def _mounted(path: str, own: dict[str, str]) -> dict[str, str]:
    """Return the folder of this process's own group, by controller, or of the highest one that can be seen."""
    found: dict[str, str] = {}
    for line in _lines(path):
        _, folder, kind, options, *_ = line.split(" ")
        names = [""] if kind == "cgroup2" else options.split(",") if kind == "cgroup" else []
        for name in names:
            if name in own and name not in found:
                inside = os.path.join(folder, own[name].strip("/"))  # noqa: PTH118
                found[name] = inside if os.path.isdir(inside) else folder  # noqa: PTH112
    return found


def _below(folder: str) -> list[str]:
    return list(_walk(folder))


def _walk(folder: str) -> Iterator[str]:
    try:
        inner = [entry.path for entry in os.scandir(folder) if entry.is_dir(follow_symlinks=False)]
    except OSError:  # there is none, or it has just gone
        return
    yield folder
    for one in inner:
        yield from _walk(one)


def _write(path: str, text: str) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(fd, text.encode("ascii"))
    finally:
        os.close(fd)


def _lines(path: str) -> list[str]:
    with open(path, encoding="utf-8", errors="replace") as file:  # noqa: PTH123
        return file.read().splitlines()


def _words(path: str) -> list[str]:
    try:
        return " ".join(_lines(path)).split()
    except OSError:  # there is none, or it has just gone
        return []
