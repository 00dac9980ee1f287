"""What this machine has, as a node: CPUs, memory, disk and devices, with the limits it stands under itself."""

from __future__ import annotations

import os
import re
import shutil
import socket
from pathlib import Path
from typing import NamedTuple

import msgspec
import pynvml

from clearway.model.fleet import PLENTY, NodeSpec
from clearway.model.slices import is_profile

MILLI = 1000
_REMAPPING_FAILED = 3  # the place of failureOccurred in what the driver tells about remapped rows
_VENDOR_WORDS = frozenset({"NVIDIA", "Tesla", "GeForce", "Quadro", "Graphics", "Device"})
_FORM_WORDS = re.compile(r"\d+GB|SXM\d*|PCIe|HBM\d\w*|NVL\d*|MIG", re.IGNORECASE)
_NO_LIMIT = 2**60  # version 1 of cgroups writes almost 2**63 for none


class Device(NamedTuple):
    """One device as the driver shows it. `name` is what CUDA_VISIBLE_DEVICES calls it.

    `slices`: profile and name of each MIG instance; None where the device is whole.
    """

    name: str
    model: str
    memory: int
    healthy: bool
    slices: tuple[tuple[str, str], ...] | None = None


class Machine(NamedTuple):
    """This machine: its words as a node, its unhealthy devices, and the devices' names for CUDA_VISIBLE_DEVICES."""

    node: NodeSpec
    unhealthy: tuple[int, ...] = ()
    devices: tuple[str, ...] = ()


def discover(home: Path, devices: int | None = None, given: NodeSpec | None = None) -> Machine:
    """Return this machine as a node.

    `devices` declares so many that are only counted. `given` are words from a fleet file: what they do not say is
    read from the machine; where they name more devices than it has, all of them are only counted.
    """
    words = given if given is not None else NodeSpec(socket.gethostname())
    node = msgspec.structs.replace(
        words,
        cpus=words.cpus if words.cpus != PLENTY else cpus_milli(),
        memory=words.memory if words.memory != PLENTY else memory_bytes(),
        disk=words.disk if words.disk != PLENTY else _disk_bytes(home),
    )
    if devices is not None:
        return Machine(msgspec.structs.replace(node, gpus=devices, counted_only=devices > 0))
    found = real_devices()
    if given is not None and given.gpus > len(found):
        return Machine(msgspec.structs.replace(node, counted_only=True))
    return _with_devices(node, found if given is None else found[: given.gpus])


def _with_devices(node: NodeSpec, found: list[Device]) -> Machine:
    if not found:
        return Machine(node)
    least = min((device.memory for device in found if device.memory), default=0)
    full = msgspec.structs.replace(
        node,
        gpus=len(found),
        gpu_model=node.gpu_model or next((d.model for d in found if d.model), ""),
        gpu_memory=node.gpu_memory if node.gpu_memory != PLENTY else least,
    )
    unhealthy = tuple(number for number, device in enumerate(found) if not device.healthy)
    cut = [(number, *one) for number, device in enumerate(found) for one in device.slices or ()]
    full = msgspec.structs.replace(full, slices=tuple((number, profile) for number, profile, _ in cut))
    return Machine(full, unhealthy, (*(device.name for device in found), *(name for *_, name in cut)))


# --- CPUs, memory, disk --------------------------------------------------------------------------


def cpus_milli(root: Path = Path("/")) -> int:
    """Return the CPUs that processes may use here, in thousandths: the affinity, or a quota where that is less."""
    allowed = len(os.sched_getaffinity(0)) * MILLI
    return min([allowed, *_quotas(root)])


def _quotas(root: Path) -> list[int]:
    found = []
    for folder in _groups(root, "cpu"):
        old = (*_words(folder / "cpu.cfs_quota_us"), *_words(folder / "cpu.cfs_period_us"))
        both = _words(folder / "cpu.max") or old
        if len(both) == 2 and both[0].isdigit() and int(both[1]) > 0:  # noqa: PLR2004  a quota and its period
            found.append(int(both[0]) * MILLI // int(both[1]))
    return [quota for quota in found if quota > 0]


def memory_bytes(root: Path = Path("/")) -> int:
    """Return the memory that processes of this machine may use in bytes: all of it, or a control group's limit."""
    total = next(int(line.split()[1]) * 1024 for line in _lines(root / "proc/meminfo") if line.startswith("MemTotal:"))
    limits = [
        int(words[0])
        for folder in _groups(root, "memory")
        for words in (_words(folder / "memory.max") or _words(folder / "memory.limit_in_bytes"),)
        if words and words[0].isdigit() and int(words[0]) < _NO_LIMIT
    ]
    return min([total, *limits])


def _disk_bytes(home: Path) -> int:
    there = next(folder for folder in (home.absolute(), *home.absolute().parents) if folder.exists())
    return shutil.disk_usage(there).free


def _groups(root: Path, controller: str) -> list[Path]:
    """Return the folders of the control groups that this process stands under: its own and those above."""
    found = []
    for line in _lines(root / "proc/self/cgroup"):
        number, controllers, path = line.split(":", 2)
        if number == "0":
            base = root / "sys/fs/cgroup"
        elif controller in controllers.split(","):
            base = root / "sys/fs/cgroup" / controller
        else:
            continue
        own = base / path.strip("/")
        found += [folder for folder in (own, *own.parents) if folder == base or base in folder.parents]
    return found


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:  # this machine does not have it
        return []


def _words(path: Path) -> list[str]:
    return " ".join(_lines(path)).split()


# --- devices -------------------------------------------------------------------------------------


def real_devices() -> list[Device]:
    """Return the devices that the NVIDIA driver shows and CUDA_VISIBLE_DEVICES allows, by number; [] without driver."""
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:
        return []
    try:
        every = [_device(number) for number in range(pynvml.nvmlDeviceGetCount())]
    finally:
        pynvml.nvmlShutdown()
    return _allowed(every, os.environ.get("CUDA_VISIBLE_DEVICES"))


def unhealthy_of(names: tuple[str, ...]) -> tuple[int, ...]:
    """Return which of these devices, by their place, are unhealthy now, or no longer shown by the driver."""
    sound = [device for device in real_devices() if device.healthy]
    healthy = {name for device in sound for name in (device.name, *(name for _, name in device.slices or ()))}
    return tuple(number for number, name in enumerate(names) if name not in healthy)


def _device(number: int) -> tuple[Device, str]:
    """Return a device and its unique name. One that does not answer is there, and unhealthy."""
    try:
        handle = pynvml.nvmlDeviceGetHandleByIndex(number)
        model = model_of(_text(pynvml.nvmlDeviceGetName(handle)))
        memory = int(pynvml.nvmlDeviceGetMemoryInfo(handle).total)
        slices = _slices(handle)
        healthy = not _remapping_failed(handle) and slices != ()  # to be cut, and not cut yet: nobody could use it
        return Device(str(number), model, memory, healthy, slices), _text(pynvml.nvmlDeviceGetUUID(handle))
    except pynvml.NVMLError:
        return Device(str(number), "", 0, healthy=False), ""


def _remapping_failed(handle: object) -> bool:
    """Whether the device ran out of spare memory rows, after which its errors are there to stay."""
    try:
        return bool(pynvml.nvmlDeviceGetRemappedRows(handle)[_REMAPPING_FAILED])
    except pynvml.NVMLError:  # a model that does not remap
        return False


def _slices(handle: object) -> tuple[tuple[str, str], ...] | None:
    """Return profile and unique name of each MIG instance of a device; None where MIG is off, or not known to it.

    An instance's name ends in its profile: NVIDIA A100-SXM4-80GB MIG 1g.10gb.
    """
    try:
        if pynvml.nvmlDeviceGetMigMode(handle)[0] != pynvml.NVML_DEVICE_MIG_ENABLE:
            return None
    except pynvml.NVMLError:  # a model that cannot be cut
        return None
    found = []
    for number in range(pynvml.nvmlDeviceGetMaxMigDeviceCount(handle)):
        try:
            one = pynvml.nvmlDeviceGetMigDeviceHandleByIndex(handle, number)
            profile = _text(pynvml.nvmlDeviceGetName(one)).split()[-1].lower()
            unique = _text(pynvml.nvmlDeviceGetUUID(one))
        except pynvml.NVMLError:  # no instance has this number
            continue
        if is_profile(profile):
            found.append((profile, unique))
    return tuple(found)


def _text(value: str | bytes) -> str:
    return value.decode() if isinstance(value, bytes) else value


def _allowed(every: list[tuple[Device, str]], visible: str | None) -> list[Device]:
    """Return the devices that a value of CUDA_VISIBLE_DEVICES allows, in its order.

    The first that is unknown ends the list, as CUDA itself reads it.
    """
    if visible is None:
        return [device for device, _ in every]
    found = []
    for word in filter(None, map(str.strip, visible.split(","))):
        match = [d for d, unique in every if word == d.name or (unique and unique.startswith(word))]
        if not match:
            break
        found.append(match[0]._replace(name=word))
    return found


def model_of(full: str) -> str:
    """Return the short name that people use for a model: A100 for NVIDIA A100-SXM4-80GB."""
    short: list[str] = []
    for word in full.split():
        if _FORM_WORDS.fullmatch(word):
            break
        if word not in _VENDOR_WORDS:
            short.append(word.split("-")[0])
    return " ".join(short) or full
