"""How the tasks of a gang meet: rank 0 listens where Clearway told all of them to, and each gets the mean of all."""

from __future__ import annotations

import os
import time
from multiprocessing.connection import Client, Listener
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from typing import Self

    from numpy.typing import NDArray

PATIENCE_S = 30.0
LOOK_S = 0.05


class Meeting:
    """The tasks of one attempt, connected to rank 0. Arrays travel as bytes: nothing is unpickled."""

    def __init__(self) -> None:
        """Read who and where it is from the environment that Clearway gives to every task."""
        self.rank, self.size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
        self._at = (os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]))
        self._key = f"{os.environ['CLEARWAY_JOB']}.{os.environ['CLEARWAY_ATTEMPT']}".encode()
        self._others: list[Connection] = []

    def __enter__(self) -> Self:
        """Connect to one another."""
        self._others = self._gather() if self.rank == 0 else [self._join()]
        return self

    def __exit__(self, *_: object) -> None:
        """Part."""
        for other in self._others:
            other.close()

    def _gather(self) -> list[Connection]:
        with Listener(self._at, authkey=self._key) as listener:
            return [listener.accept() for _ in range(self.size - 1)]

    def _join(self) -> Connection:
        end = time.monotonic() + PATIENCE_S
        while True:
            try:
                return Client(self._at, authkey=self._key)
            except ConnectionRefusedError:  # rank 0 is not there yet
                if time.monotonic() >= end:
                    raise
                time.sleep(LOOK_S)

    def mean(self, mine: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the mean of what all tasks bring; all of them must come, with arrays of one size."""
        if self.rank == 0:
            brought = [mine, *(_received(other) for other in self._others)]
            found: NDArray[np.float64] = np.mean(brought, axis=0)
            for other in self._others:
                other.send_bytes(found.tobytes())
            return found
        (first,) = self._others
        first.send_bytes(mine.tobytes())
        return _received(first)


def _received(other: Connection) -> NDArray[np.float64]:
    return np.frombuffer(other.recv_bytes(), np.float64)
