"""What the product needs from the outside, as protocols. Each contract is in its docstring."""

from clearway.ports.clock import Clock
from clearway.ports.engine import Engine, Inventory, NodeIsGone, NodeIsQuiet, NodeIsUp, Report, TaskIsGone, TaskIsUp
from clearway.ports.journal import Entry, Journal, Mark

__all__ = [
    "Clock", "Engine", "Entry", "Inventory", "Journal", "Mark", "NodeIsGone", "NodeIsQuiet", "NodeIsUp", "Report",
    "TaskIsGone", "TaskIsUp",
]  # fmt: skip
