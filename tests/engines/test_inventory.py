from __future__ import annotations

import os
import socket
from typing import TYPE_CHECKING

import pynvml
import pytest

from clearway.engines.local import inventory
from clearway.engines.local.inventory import Device, cpus_milli, discover, memory_bytes, model_of
from clearway.model.fleet import NodeSpec

if TYPE_CHECKING:
    from pathlib import Path

GIB = 2**30
MEMINFO = f"MemTotal:       {64 * 2**20} kB\nMemFree: 1 kB\n"


def _machine(root: Path, files: dict[str, str]) -> Path:
    for name, text in {"proc/meminfo": MEMINFO, **files}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def test_this_machine_is_a_node(tmp_path: Path) -> None:
    node = discover(tmp_path / "not/yet/there").node
    assert node.name == socket.gethostname()
    assert 0 < node.cpus <= len(os.sched_getaffinity(0)) * 1000
    assert 2**20 < node.memory < 2**50
    assert 0 < node.disk < 2**60


@pytest.mark.parametrize(
    ("files", "memory"),
    [
        ({}, 64 * GIB),
        ({"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/memory.max": f"{8 * GIB}\n"}, 8 * GIB),
        ({"proc/self/cgroup": "0::/a\n", "sys/fs/cgroup/a/memory.max": "max\n"}, 64 * GIB),
        (
            {
                "proc/self/cgroup": "4:memory:/x\n3:cpu,cpuacct:/y\n",
                "sys/fs/cgroup/memory/x/memory.limit_in_bytes": f"{2 * GIB}\n",
                "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
            },
            2 * GIB,
        ),
    ],
    ids=["all", "version 2, above", "version 2, none", "version 1"],
)
def test_a_control_groups_memory_limit_counts(tmp_path: Path, files: dict[str, str], memory: int) -> None:
    assert memory_bytes(_machine(tmp_path, files)) == memory


@pytest.mark.parametrize(
    ("files", "milli"),
    [
        ({"proc/self/cgroup": "0::/a\n", "sys/fs/cgroup/a/cpu.max": "50000 100000\n"}, 500),
        ({"proc/self/cgroup": "0::/a\n", "sys/fs/cgroup/a/cpu.max": "max 100000\n"}, None),
        (
            {
                "proc/self/cgroup": "1:cpu:/a\n",
                "sys/fs/cgroup/cpu/a/cpu.cfs_quota_us": "25000\n",
                "sys/fs/cgroup/cpu/a/cpu.cfs_period_us": "100000\n",
                "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1\n",
                "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n",
            },
            250,
        ),
    ],
    ids=["version 2", "version 2, none", "version 1"],
)
def test_a_control_groups_cpu_quota_counts(tmp_path: Path, files: dict[str, str], milli: int | None) -> None:
    assert cpus_milli(_machine(tmp_path, files)) == (milli or len(os.sched_getaffinity(0)) * 1000)


def test_declared_devices_are_only_counted(tmp_path: Path) -> None:
    machine = discover(tmp_path, devices=4)
    assert (machine.node.gpus, machine.node.counted_only, machine.devices) == (4, True, ())


def test_what_a_fleet_file_does_not_say_is_read_from_the_machine(tmp_path: Path) -> None:
    machine = discover(tmp_path, given=NodeSpec("box", cpus=1500, gpus=64, gpu_model="A100"))
    assert (machine.node.name, machine.node.cpus, machine.node.gpus) == ("box", 1500, 64)
    assert machine.node.memory == memory_bytes()
    assert machine.node.counted_only


def _driver(monkeypatch: pytest.MonkeyPatch, names: list[str | None]) -> None:
    """Stand in for the driver of a machine with these devices; None is one that does not answer."""

    def handle(number: int) -> int:
        if names[number] is None:
            raise pynvml.NVMLError(pynvml.NVML_ERROR_GPU_IS_LOST)
        return number

    class Memory:
        total = 80 * GIB

    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    for name, value in {
        "nvmlInit": lambda: None,
        "nvmlShutdown": lambda: None,
        "nvmlDeviceGetCount": lambda: len(names),
        "nvmlDeviceGetHandleByIndex": handle,
        "nvmlDeviceGetName": lambda number: names[number],
        "nvmlDeviceGetMemoryInfo": lambda _: Memory,
        "nvmlDeviceGetUUID": lambda number: f"GPU-{number}{number}-x",
        "nvmlDeviceGetRemappedRows": lambda number: (0, 0, 0, int(number == 2)),
    }.items():
        monkeypatch.setattr(pynvml, name, value)


def test_real_devices_are_found_with_their_health(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _driver(monkeypatch, ["NVIDIA H100 80GB HBM3", None, "NVIDIA H100 80GB HBM3", "NVIDIA H100 80GB HBM3"])
    machine = discover(tmp_path)
    assert (machine.node.gpus, machine.node.gpu_model, machine.node.gpu_memory) == (4, "H100", 80 * GIB)
    assert machine.unhealthy == (1, 2)
    assert machine.devices == ("0", "1", "2", "3")
    assert not machine.node.counted_only


@pytest.mark.parametrize(
    ("visible", "names"),
    [("2,0", ("2", "0")), ("GPU-11-x", ("GPU-11-x",)), ("GPU-1", ("GPU-1",)), ("", ()), ("1,7,0", ("1",))],
)
def test_only_devices_that_are_visible_here_are_given_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, visible: str, names: tuple[str, ...]
) -> None:
    _driver(monkeypatch, ["NVIDIA A100-SXM4-80GB"] * 3)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    machine = discover(tmp_path)
    assert machine.devices == names
    assert machine.node.gpus == len(names)


def test_a_device_that_is_cut_is_shown_by_its_slices(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Device 1 is cut into two slices and has room for one more; device 2 is to be cut and has none yet."""
    profiles: dict[int, list[str | None]] = {1: ["1g.10gb", None, "3g.40gb"], 2: [None]}

    def instance(number: int, at: int) -> tuple[int, int]:
        if profiles[number][at] is None:
            raise pynvml.NVMLError(pynvml.NVML_ERROR_NOT_FOUND)
        return number, at

    def name(one: int | tuple[int, int]) -> str:
        card = "NVIDIA A100-SXM4-80GB"
        return card if isinstance(one, int) else f"{card} MIG {profiles[one[0]][one[1]]}"

    _driver(monkeypatch, ["NVIDIA A100-SXM4-80GB"] * 3)
    for called, value in {
        "nvmlDeviceGetMigMode": lambda number: (int(number in profiles), int(number in profiles)),
        "nvmlDeviceGetMaxMigDeviceCount": lambda number: len(profiles[number]),
        "nvmlDeviceGetMigDeviceHandleByIndex": instance,
        "nvmlDeviceGetName": name,
        "nvmlDeviceGetUUID": lambda one: f"GPU-{one}" if isinstance(one, int) else f"MIG-{one[0]}-{one[1]}",
        "nvmlDeviceGetRemappedRows": lambda _: (0, 0, 0, 0),
    }.items():
        monkeypatch.setattr(pynvml, called, value)
    machine = discover(tmp_path)
    assert (machine.node.gpus, machine.node.slices) == (3, ((1, "1g.10gb"), (1, "3g.40gb")))
    assert machine.devices == ("0", "1", "2", "MIG-1-0", "MIG-1-2"), "slices are numbered behind the devices"
    assert machine.unhealthy == (2,)
    assert inventory.unhealthy_of(machine.devices) == (2,)
    profiles[1][2] = None
    assert inventory.unhealthy_of(machine.devices) == (2, 4), "a slice that is gone is given to nobody"


def test_a_machine_without_driver_has_no_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> None:
        raise pynvml.NVMLError(pynvml.NVML_ERROR_LIBRARY_NOT_FOUND)

    monkeypatch.setattr(pynvml, "nvmlInit", missing)
    assert inventory.real_devices() == []
    assert inventory.Machine(NodeSpec("x")).devices == ()
    assert Device("0", "A100", 1, healthy=True).healthy


@pytest.mark.parametrize(
    ("full", "short"),
    [
        ("NVIDIA A100-SXM4-80GB", "A100"),
        ("Tesla V100-SXM2-16GB", "V100"),
        ("NVIDIA H100 80GB HBM3", "H100"),
        ("NVIDIA H100 PCIe", "H100"),
        ("NVIDIA GeForce RTX 4090", "RTX 4090"),
        ("NVIDIA L40S", "L40S"),
        ("NVIDIA GH200 480GB", "GH200"),
        ("Graphics Device", "Graphics Device"),
    ],
)
def test_models_have_the_names_people_use(full: str, short: str) -> None:
    assert model_of(full) == short
