"""What the NVIDIA driver tells of the use of devices: how busy each is, by whom, and how much memory is taken."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

import pynvml

from clearway.ports.engine import DeviceUse

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

_PER_CENT = 10  # a hundredth in thousandths


class DeviceLook(NamedTuple):
    """One device: its use, and by process number the thousandths of its time (None: untold) and bytes of memory."""

    use: DeviceUse
    busy: dict[int, int] | None
    memory: dict[int, int]


NOTHING = DeviceLook(DeviceUse(), None, {})


class Driver:
    """Asks the driver, which it opens at the first look; slow, and may hang: never in a thread that others wait for."""

    def __init__(self, names: Sequence[str]) -> None:
        """`names` are those of CUDA_VISIBLE_DEVICES, by device number."""
        self._names = names
        self._since = [0] * len(names)
        self._opened = False

    def look(self) -> tuple[tuple[DeviceLook, ...], str]:
        """Return what each device does, in order, or nothing and why, in a sentence."""
        try:
            if not self._opened:
                pynvml.nvmlInit()
                self._opened = True
            return tuple(self._device(number, name) for number, name in enumerate(self._names)), ""
        except pynvml.NVMLError as error:
            self.close()
            return (), f"the NVIDIA driver does not answer: {error}"

    def close(self) -> None:
        """Let go of the driver."""
        if self._opened:
            self._opened = False
            _told(pynvml.nvmlShutdown)

    def _device(self, number: int, name: str) -> DeviceLook:
        try:
            handle = _handle(name)
        except pynvml.NVMLError:  # one that has fallen off
            return NOTHING
        rates, memory = (
            _told(pynvml.nvmlDeviceGetUtilizationRates, handle),
            _told(pynvml.nvmlDeviceGetMemoryInfo, handle),
        )
        running = _told(pynvml.nvmlDeviceGetComputeRunningProcesses, handle) or []
        use = DeviceUse(None if rates is None else rates.gpu * _PER_CENT, None if memory is None else int(memory.used))
        return DeviceLook(use, self._by_process(number, handle), {one.pid: one.usedGpuMemory or 0 for one in running})

    def _by_process(self, number: int, handle: object) -> dict[int, int] | None:
        """Return the mean of each process over the time since the last look; None where the model does not tell."""
        try:
            samples = pynvml.nvmlDeviceGetProcessUtilization(handle, self._since[number])
        except pynvml.NVMLError as error:
            return {} if error.value == pynvml.NVML_ERROR_NOT_FOUND else None  # not found: nobody worked since then
        moments: set[int] = set()
        sums: defaultdict[int, int] = defaultdict(int)
        for sample in samples:
            moments.add(sample.timeStamp)
            sums[sample.pid] += sample.smUtil * _PER_CENT
        self._since[number] = max([self._since[number], *moments])
        return {pid: total // len(moments) for pid, total in sums.items()}


def _handle(name: str) -> object:
    return pynvml.nvmlDeviceGetHandleByIndex(int(name)) if name.isdigit() else pynvml.nvmlDeviceGetHandleByUUID(name)


def _told(ask: Callable[..., Any], *of: object) -> Any:  # noqa: ANN401  what the driver has for it
    """Return an answer; None where the model, or a slice of one, does not know such a thing."""
    try:
        return ask(*of)
    except pynvml.NVMLError:
        return None
