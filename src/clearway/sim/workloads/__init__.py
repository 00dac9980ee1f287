"""Workloads: past or invented jobs for the simulator, read from the files in which others publish them."""

from clearway.sim.workloads.registry import FORMATS, detect, open_workload
from clearway.sim.workloads.trace import Arrival, Damage, Trace

__all__ = ["FORMATS", "Arrival", "Damage", "Trace", "detect", "open_workload"]
