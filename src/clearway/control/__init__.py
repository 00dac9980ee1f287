"""The live driver: waits, steps, commits, carries out."""

from clearway.control.board import Board, JobRow, NodeRow, QueueRow
from clearway.control.clock import Anchor, SystemClock, last_moment_us
from clearway.control.controller import Controller, Health
from clearway.control.upkeep import Upkeep

__all__ = [
    "Anchor", "Board", "Controller", "Health", "JobRow", "NodeRow", "QueueRow", "SystemClock", "Upkeep",
    "last_moment_us",
]  # fmt: skip
