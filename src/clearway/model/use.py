"""What was measured: how much of what a task holds it really uses."""

from __future__ import annotations

import msgspec

_WHOLE = 1000


class Used(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """What a task used from its start to its end; None: nothing measured it.

    `cpus` and `peak_cpus` are thousandths of a CPU, the mean and the most between two looks. `peak_memory` is the most
    bytes that its processes had in memory at a look; what processes share counts for each of them. `busy`: the mean
    part of the time in which its devices worked for it, in thousandths of what it holds of them. `peak_gpu_memory`:
    the most bytes that it had on one device. `worked`: on how many of its devices anything ever worked at a look.
    """

    cpus: int | None = None
    peak_cpus: int | None = None
    peak_memory: int | None = None
    busy: int | None = None
    peak_gpu_memory: int | None = None
    worked: int | None = None


def together(every: list[Used]) -> Used:
    """Return what tasks that ran side by side used together; of `busy` the mean, of `peak_gpu_memory` the most."""
    busy = [one.busy for one in every if one.busy is not None]
    return Used(
        _sum([one.cpus for one in every]),
        _sum([one.peak_cpus for one in every]),
        _sum([one.peak_memory for one in every]),
        sum(busy) // len(busy) if busy else None,
        max((one.peak_gpu_memory for one in every if one.peak_gpu_memory is not None), default=None),
        _sum([one.worked for one in every]),
    )


def over_asked(used: Used, devices: int, gpu_memory: int) -> int | None:
    """Return the part of what a task held of devices that it had no use for from its start to its end, in thousandths.

    Of whole devices or shares of their time: those on which nothing ever worked; of a share of memory alone
    (`gpu_memory` bytes): what it never took. None: not known.
    """
    if gpu_memory:
        peak = used.peak_gpu_memory
        return None if peak is None else max(gpu_memory - peak, 0) * _WHOLE // gpu_memory
    if used.worked is None or not devices:
        return None
    return max(devices - used.worked, 0) * _WHOLE // devices


def each(one: Used, other: Used) -> Used:
    """Return the most that either of two tasks used."""
    return Used(*(_most(getattr(one, name), getattr(other, name)) for name in Used.__struct_fields__))


def _most(one: int | None, other: int | None) -> int | None:
    return one if other is None else other if one is None else max(one, other)


def _sum(amounts: list[int | None]) -> int | None:
    known = [one for one in amounts if one is not None]
    return sum(known) if known else None
