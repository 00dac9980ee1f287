"""A clock that stands still until it is moved."""

from __future__ import annotations

from clearway.sim.heap import VirtualClock

__all__ = ["VirtualClock"]
