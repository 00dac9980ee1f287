"""The nouns of machines: nodes and their devices."""

from __future__ import annotations

import msgspec

PLENTY = 2**60
"""Capacity of a resource that a node does not mention: more than any demand, and its sums still fit 64 bits."""


class NodeSpec(msgspec.Struct, frozen=True, omit_defaults=True):
    """A machine. Units as in Demand; `gpu_memory` is bytes per device; islands are lists of device numbers.

    `slices`: the device and the profile of each fixed slice; they are numbered behind the devices, in this order.
    """

    name: str
    cpus: int = PLENTY
    memory: int = PLENTY
    disk: int = PLENTY
    bandwidth: int = PLENTY
    gpus: int = 0
    gpu_model: str = ""
    gpu_memory: int = PLENTY
    resources: tuple[tuple[str, int], ...] = ()
    links: tuple[tuple[int, ...], ...] = ()
    pcie: tuple[tuple[int, ...], ...] = ()
    numa: tuple[tuple[int, ...], ...] = ()
    rack: str = ""
    zone: str = ""
    labels: tuple[tuple[str, str], ...] = ()
    taints: tuple[str, ...] = ()
    price_micros: int = 0
    spot: bool = False
    holds: tuple[str, ...] = ()
    counted_only: bool = False
    slices: tuple[tuple[int, str], ...] = ()

    @property
    def cut(self) -> frozenset[int]:
        """The devices that are cut into slices: nobody has them whole, or shares of them."""
        return frozenset(device for device, _ in self.slices)

    def label(self, key: str) -> str | None:
        """Return the value of a label; rack, zone, name and GPU model are labels too."""
        for k, v in self.labels:
            if k == key:
                return v
        own = {"rack": self.rack, "zone": self.zone, "name": self.name, "gpu_model": self.gpu_model}
        return own.get(key) or None


BOOT_TIMEOUT_US = 900_000_000  # at least; a type that takes long has twice as long as it is expected to take


class MachineType(msgspec.Struct, frozen=True, omit_defaults=True):
    """A kind of machine that can be ordered: each has the words of `node`, whose name is the type's.

    `boot_us` is how long one is expected to take from the order until it is there; one that is not there after
    `boot_timeout_us` is given up. At least `least` and at most `most` are ordered or there; those beyond `least` go
    when nobody has needed them for `idle_timeout_us`.
    """

    node: NodeSpec
    boot_us: int = 0
    least: int = 0
    most: int = 1000
    idle_timeout_us: int = 600_000_000
    boot_timeout_us: int = BOOT_TIMEOUT_US

    @property
    def name(self) -> str:
        """Return the name of the type."""
        return self.node.name


class QueueSpec(msgspec.Struct, frozen=True, omit_defaults=True):
    """A queue.

    Amounts by resource: gpus, cpus and bandwidth in thousandths, memory and disk in bytes, others counts.
    """

    name: str
    parent: str = ""
    guarantee: tuple[tuple[str, int], ...] = ()
    limit: tuple[tuple[str, int], ...] = ()
    weight: int = 1
    borrow: bool = True
    lend: bool = True
    order: tuple[str, ...] = ()
    limit_per_user: tuple[tuple[str, int], ...] = ()
    defaults: bytes = b"{}"
    """Job words for jobs that do not say, as JSON text: they are read together with the job's own words."""
    call_rate: tuple[int, ...] = ()
    """So many calls are handed to workers in so many microseconds; nothing: as many as there are workers for."""


class BookingSpec(msgspec.Struct, frozen=True, omit_defaults=True):
    """Nodes, or so many whole devices anywhere, kept from `from_us` to `to_us` for jobs of `whom`: queues and users.

    With nobody in `whom` nothing starts there in that time.
    """

    name: str
    from_us: int
    to_us: int
    nodes: tuple[str, ...] = ()
    gpus: int = 0
    whom: tuple[str, ...] = ()


class LimitSpec(msgspec.Struct, frozen=True, omit_defaults=True):
    """A shared limit: so many jobs that use it may run at once."""

    name: str
    slots: int


class PolicySpec(msgspec.Struct, frozen=True, omit_defaults=True):
    """What decides: the words of `policy` in docs/scenario.md; durations in microseconds."""

    order: tuple[str, ...] = ("priority", "fifo")
    backfill: str = "easy"
    estimate: str = "user"
    preempt: tuple[str, ...] = ()
    priority_inheritance: bool = False
    score: tuple[tuple[str, int], ...] = (("affinity", 1), ("fragmentation", 1), ("topology", 1))
    fairness_measure: str = "gpu"
    half_life_us: int | None = None
    min_runtime_us: int = 0
    calm_us: int = 60_000_000
    time_slice_us: int | None = None
    reservation_timeout_us: int | None = None
    fallback: str = "fifo"
    lease_us: int = 30_000_000
    share_memory: str = "stated"
    ageing_us: int | None = None
    idle_warn_us: int | None = None
    idle_release_us: int | None = None
    weights: tuple[int, ...] = ()
    """Of each in `order`, where they are weighed and not compared in turn."""
    quantile: int = 975
    """The chance, in thousandths, with which forecasts that plans count on hold."""
