"""A bell: one thread waits for it, any other may ring."""

from __future__ import annotations

import os


class Wake:
    """`fd` can be read once somebody rang."""

    def __init__(self) -> None:
        self.fd, self._in = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)

    def ring(self) -> None:
        """End a wait for it, or the next one."""
        try:
            os.write(self._in, b"w")
        except BlockingIOError:  # it rings already, often
            return

    def heard(self) -> None:
        """Have it silent again. It was ringing."""
        os.read(self.fd, 4096)

    def close(self) -> None:
        """Take it down."""
        os.close(self._in)
        os.close(self.fd)
