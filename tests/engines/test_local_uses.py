"""What tasks and devices really use. Processes are real; only the driver of devices is a stand-in, where none is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pynvml
import pytest

from clearway.engines.local.driver import DeviceLook, Driver
from clearway.engines.local.engine import LocalEngine
from clearway.engines.local.meter import Look, Meter
from clearway.model.actions import Launch
from clearway.model.events import Grant
from clearway.model.fleet import NodeSpec
from clearway.model.ids import NodeId
from clearway.model.job import Demand, JobSpec, Role
from clearway.model.use import Used, each, together
from clearway.ports.engine import DeviceUse, TaskIsIdle
from tests.engines.places import NODE, Place, task

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

MIB = 2**20
OFTEN_S = 0.1
BURNS = "exec python3 -c 'x = bytearray(64 * 2**20)\nwhile True: pass'"


class Rates:
    def __init__(self, gpu: int) -> None:
        self.gpu = gpu


class Memory:
    def __init__(self, used: int) -> None:
        self.used = used


class Process:
    def __init__(self, pid: int, memory: int | None) -> None:
        self.pid, self.usedGpuMemory = pid, memory


class Sample:
    def __init__(self, pid: int, moment: int, sm: int) -> None:
        self.pid, self.timeStamp, self.smUtil = pid, moment, sm


class Card:
    """What the stand-in for a driver says of one device; a number in `sick` is an error of the library."""

    def __init__(self, busy: int = 0, memory: int = 0) -> None:
        self.busy, self.memory = busy, memory
        self.running: list[Process] = []
        self.samples: list[Sample] | int = pynvml.NVML_ERROR_NOT_FOUND
        self.since: list[int] = []
        self.works = 0
        """A process that takes 25 % at each moment that is asked for."""


def _stand_in(monkeypatch: pytest.MonkeyPatch, cards: dict[str, Card | None]) -> None:
    """Stand in for `pynvml` where no such hardware is: the same names, the same shapes, the same errors."""

    def handle(name: object) -> Card:
        card = cards.get(str(name))
        if card is None:
            raise pynvml.NVMLError(pynvml.NVML_ERROR_GPU_IS_LOST)
        return card

    def samples(card: Card, since: int) -> list[Sample]:
        card.since.append(since)
        if card.works:
            return [Sample(card.works, since + 1, 25)]
        if isinstance(card.samples, int):
            raise pynvml.NVMLError(card.samples)
        return [one for one in card.samples if one.timeStamp > since]

    def rates(card: Card) -> Rates:
        if card.busy < 0:
            raise pynvml.NVMLError(pynvml.NVML_ERROR_NOT_SUPPORTED)
        return Rates(card.busy)

    for name, does in {
        "nvmlInit": lambda: None, "nvmlShutdown": lambda: None, "nvmlDeviceGetHandleByIndex": handle,
        "nvmlDeviceGetHandleByUUID": handle, "nvmlDeviceGetUtilizationRates": rates,
        "nvmlDeviceGetMemoryInfo": lambda card: Memory(card.memory),
        "nvmlDeviceGetComputeRunningProcesses": lambda card: card.running,
        "nvmlDeviceGetProcessUtilization": samples,
    }.items():  # fmt: skip
        monkeypatch.setattr(pynvml, name, does)


# --- the driver ----------------------------------------------------------------------------------


def test_the_driver_tells_devices_and_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    card = Card(busy=37, memory=5 * MIB)
    card.running = [Process(11, 3 * MIB), Process(12, None)]
    card.samples = [Sample(11, 100, 20), Sample(11, 200, 40), Sample(12, 200, 6)]
    _stand_in(monkeypatch, {"0": card, "GPU-x": Card(busy=-1, memory=MIB), "2": None})
    driver = Driver(("0", "GPU-x", "2"))
    (first, second, lost), why_not = driver.look()
    assert (first.use, why_not) == (DeviceUse(370, 5 * MIB), "")
    assert (first.busy, first.memory) == ({11: 300, 12: 30}, {11: 3 * MIB, 12: 0})
    assert second.use == DeviceUse(None, MIB)  # a slice tells no utilisation
    assert lost.use == DeviceUse(None, None)
    driver.look()
    assert card.since == [0, 200]  # what was told is not told again


def test_without_a_driver_it_is_said_why() -> None:
    looks, why_not = Driver(("0",)).look()
    assert looks == ()
    assert why_not.startswith("the NVIDIA driver does not answer: ")


# --- one task's meter ----------------------------------------------------------------------------


def _device(busy: int, memory: int = 0, by: dict[int, int] | None = None) -> DeviceLook:
    return DeviceLook(DeviceUse(busy, memory), by, {})


def test_a_meter_keeps_means_and_peaks() -> None:
    meter = Meter("0,1:1000")
    for now, cpu_s, memory, busy in ((0.0, 0.0, 5, 200), (10.0, 30.0, 9, 600), (20.0, 40.0, 7, 100)):
        devices = {0: _device(busy, 100 + int(now)), 1: _device(0, 50)}
        meter.take(now, Look(cpu_s, memory), devices, {1}, set())
    assert meter.now.cpus == 1000
    assert meter.now.busy == 50
    assert meter.used(None, None) == Used(2000, 3000, 9, 150, 120, 1)
    assert meter.used(2500, 11) == Used(2500, 3000, 11, 150, 120, 1)  # what the system told of the end is exact


def test_how_many_devices_worked_is_known_after_a_few_looks_at_all_of_them() -> None:
    meter, busy = Meter("0,1,2:1000"), {0: 10, 1: 0, 2: 0}

    def looked(devices: dict[int, DeviceLook]) -> int | None:
        meter.take(0.0, Look(0.0, 1), devices, set(), set())
        found = meter.used(None, None)
        return None if found is None else found.worked

    every = {number: _device(one) for number, one in busy.items()}
    assert [looked({0: _device(900)}), looked(every), looked(every), looked(every)] == [None, None, None, 1]
    assert looked({**every, 2: _device(5)}) == 2
    assert Meter(":1000").used(1, 1) == Used(1, 1, 1)


def test_on_a_shared_device_only_its_own_processes_count() -> None:
    meter = Meter("0:500")
    meter.take(0.0, Look(0.0, 1), {0: _device(900, 8, {7: 200, 8: 700})}, {7}, {0})
    assert meter.now.busy == 400  # of the half that it holds
    meter.take(5.0, Look(0.0, 1), {0: _device(900, 8)}, {7}, {0})
    assert meter.now.busy is None  # the model does not tell by whom


def test_who_holds_no_device_is_never_idle_and_one_without_looks_knows_nothing() -> None:
    meter = Meter(":1000")
    assert meter.used(None, None) is None
    meter.take(0.0, Look(0.0, 1), {}, {7}, set())
    assert (meter.now.busy, meter.idle_since) == (None, None)
    assert meter.used(None, None) == Used(None, 0, 1, None, None)


def test_idle_since_the_first_of_the_looks_that_found_it_so() -> None:
    meter = Meter("0:1000")
    for now, busy, since in ((0.0, 10, 0.0), (5.0, 49, 0.0), (10.0, 50, None), (15.0, 0, 15.0)):
        meter.take(now, Look(0.0, 1), {0: _device(busy)}, set(), set())
        assert meter.idle_since == since


def test_tasks_side_by_side() -> None:
    both = together([Used(100, 200, 5, 400, 7, 2), Used(300, 300, 6, None, 9, 1)])
    assert both == Used(400, 500, 11, 400, 9, 3)
    assert each(Used(1, 5, 3), Used(2, 4, None, 6)) == Used(2, 5, 3, 6)
    assert together([]) == Used()


# --- real processes ------------------------------------------------------------------------------


class Watched(Place):
    """A place whose engine looks often; `devices` as the stand-in has them."""

    devices: tuple[str, ...] = ()

    def engine(self) -> LocalEngine:
        node = NodeSpec(NODE, gpus=len(self.devices))
        found = LocalEngine(self.home, node, devices=self.devices, workdir=self.scratch)
        found._uses.every_s = OFTEN_S
        return found

    def hold(self, job: int, text: str, devices: tuple[int, ...], share: int = 1000) -> None:
        demand = Demand(gpus=len(devices)) if share == 1000 else Demand(share=share)
        spec = JobSpec("job", (Role(demand=demand),), run=self.line(text), shell=True)  # noqa: S604
        self.talk.tell(Launch(task(job), spec, Grant(0, 0, NodeId(0), devices, share), NODE, 0, 1))

    def uses(self, holds: Callable[[], bool], what: str) -> None:
        self.hear_until(holds, what)


@pytest.fixture
def watched(tmp_path: Path) -> Iterator[Watched]:
    place = Watched(tmp_path)
    yield place
    place.clear()


@pytest.mark.slow
def test_what_a_real_process_uses(watched: Watched) -> None:
    talk = watched.open()
    assert talk.engine.measured.why_not == "this machine has no NVIDIA devices"
    watched.launch(1, BURNS)

    def known() -> bool:
        now = talk.engine.measured.tasks.get(task(1))
        return now is not None and (now.cpus or 0) > 0 and (now.memory or 0) > 64 * MIB

    watched.uses(known, "its CPU time and memory are measured")
    now = talk.engine.measured.tasks[task(1)]
    assert (now.busy, now.gpu_memory) == (None, None)
    used = watched.halt(1).used
    assert used is not None
    assert used.cpus is not None
    assert used.peak_cpus is not None
    assert used.peak_memory is not None
    assert 0 < used.cpus <= used.peak_cpus
    assert 64 * MIB < used.peak_memory < 2**30
    assert (used.busy, used.peak_gpu_memory) == (None, None)


@pytest.mark.slow
def test_a_task_too_short_to_be_looked_at_is_measured_by_its_end(watched: Watched) -> None:
    talk = watched.open()
    watched.launch(1, "exec python3 -c 'x = bytearray(32 * 2**20); sum(range(2_000_000))'")
    used = talk.gone(task(1)).used
    assert used is not None
    assert (used.cpus or 0) > 0
    assert (used.peak_memory or 0) > 32 * MIB


@pytest.mark.slow
def test_devices_are_measured_for_who_holds_them(watched: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    """The driver is a stand-in, the processes are real: one holds device 0 alone, two share device 1."""
    cards: dict[str, Card | None] = {"0": Card(80, 7 * MIB), "1": Card(60, 9 * MIB)}
    _stand_in(monkeypatch, cards)
    watched.devices = ("0", "1")
    talk = watched.open()
    watched.hold(1, "exec sleep 600", (0,))
    watched.hold(2, "echo $$ > two; exec sleep 600", (1,), 500)
    watched.hold(3, "exec sleep 600", (1,), 500)
    shared = cards["1"]
    assert shared is not None
    pid = watched.number_in("two")
    shared.running = [Process(pid, 4 * MIB)]

    shared.works = pid

    def known() -> bool:
        now = talk.engine.measured.tasks
        return [now[task(n)].busy for n in (1, 2, 3) if task(n) in now] == [800, 500, 0]

    watched.uses(known, "all three are measured, who shares a device by what its own processes do")
    found = talk.engine.measured
    assert found.devices == {(NODE, 0): DeviceUse(800, 7 * MIB), (NODE, 1): DeviceUse(600, 9 * MIB)}
    assert [found.tasks[task(n)].gpu_memory for n in (1, 2, 3)] == [7 * MIB, 4 * MIB, 0]
    used = watched.halt(1).used
    assert used is not None
    assert (used.busy, used.peak_gpu_memory) == (800, 7 * MIB)


@pytest.mark.slow
def test_a_runner_that_was_killed_knows_what_its_tasks_hold(watched: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    _stand_in(monkeypatch, {"0": Card(40, MIB)})
    watched.devices = ("0",)
    talk = watched.open()
    watched.hold(1, "exec sleep 600", (0,))
    talk.up(task(1))
    watched.kill_runner()
    watched.uses(lambda: watched.runner != 0 and bool(talk.engine.measured.tasks), "another runner tells its tasks")
    watched.uses(lambda: talk.engine.measured.tasks[task(1)].busy == 400, "its device is known")


@pytest.mark.slow
def test_who_lets_a_device_do_nothing_is_told_of_until_it_works(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    card = Card(2, MIB)
    _stand_in(monkeypatch, {"0": card})
    watched.devices = ("0",)
    talk = watched.open()
    assert isinstance(talk.engine, LocalEngine)
    talk.engine._uses.idle_after_s = 0.3
    watched.hold(1, "exec sleep 600", (0,))

    def told() -> list[TaskIsIdle]:
        return [report for report in talk.heard if isinstance(report, TaskIsIdle)]

    watched.uses(lambda: len(told()) == 1, "it is told")
    card.busy = 50
    watched.uses(lambda: len(told()) == 2, "that it works again is told")
    first, second = told()
    assert first.task == second.task == task(1)
    assert (first.for_us or 0) >= 300_000
    assert second.for_us is None
