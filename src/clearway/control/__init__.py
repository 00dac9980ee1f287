"""The live driver: waits, steps, commits, carries out."""

from clearway.control.board import Board, JobRow, NodeRow, QueueRow
from clearway.control.clock import Anchor, SystemClock, last_moment_us
from clearway.control.controller import Controller, Health

__all__ = [
    "Anchor", "Board", "Controller", "Health", "JobRow", "NodeRow", "QueueRow", "SystemClock", "last_moment_us",
]  # fmt: skip
