"""All metrics of a controller, and the page that Prometheus reads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, GCCollector, PlatformCollector, ProcessCollector
from prometheus_client.exposition import choose_encoder

from clearway.observe.meter import Meter

if TYPE_CHECKING:
    from prometheus_client.registry import Collector

    from clearway.control import Board


class Metrics:
    """A registry of its own: whoever imports prometheus_client elsewhere in the process adds nothing to it."""

    def __init__(self, board: Board) -> None:
        """Count from now on what `meter` hears."""
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        PlatformCollector(registry=self.registry)
        GCCollector(registry=self.registry)
        self.meter = Meter(self.registry, board)

    def add(self, collector: Collector) -> None:
        """Show what a collector tells, too."""
        self.registry.register(collector)

    def page(self, accepts: str) -> tuple[bytes, str]:
        """Return the page and its media type, in the format that whoever asks takes best."""
        encode, kind = choose_encoder(accepts)
        return encode(self.registry), kind
