"""One end of the connection between a controller and the runner; neither ever waits for the other."""

from __future__ import annotations

import socket
import struct

from clearway.engines.local.wire import BrokenMessageError, Reader, packed

TYPE_CHECKING = False  # not from typing: the runner pays for every module
if TYPE_CHECKING:
    from clearway.engines.local.wire import Message

MOST_UNSENT = 256 * 2**20
"""Bytes that may wait for a peer that does not read. Then the line counts as lost; nothing is lost with it, since
both sides tell each other everything again when they meet.
"""

_PIECE = 2**18
_CREDENTIALS = struct.Struct("iII")  # pid, uid, gid


class Line:
    """A connected socket that carries messages. `lost` says that the other end is not there any more."""

    def __init__(self, sock: socket.socket) -> None:
        sock.setblocking(False)  # noqa: FBT003
        self.sock = sock
        self.lost = False
        self._reader = Reader()
        self._out = bytearray()

    @property
    def unsent(self) -> bool:
        """Whether something waits for the other end to read."""
        return bool(self._out)

    def peer_uid(self) -> int:
        """Return the user number of the process at the other end, as the system knows it."""
        told = self.sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
        return int(_CREDENTIALS.unpack(told)[1])

    def send(self, message: Message) -> None:
        """Send a message, or keep what does not go out now."""
        self._out += packed(message)
        self.flush()

    def flush(self) -> None:
        """Send what waits, as far as it goes."""
        while self._out and not self.lost:
            try:
                del self._out[: self.sock.send(self._out[:_PIECE])]
            except BlockingIOError:
                break
            except OSError:
                self.lost = True
        if len(self._out) > MOST_UNSENT:
            self.lost = True

    def receive(self) -> list[Message]:
        """Return the messages that came whole by now, and send what waits."""
        self.flush()
        found: list[Message] = []
        while not self.lost:
            try:
                data = self.sock.recv(_PIECE)
                found += self._reader.feed(data)
            except BlockingIOError:
                break
            except (OSError, BrokenMessageError):
                self.lost = True
                break
            if not data:
                self.lost = True
        return found

    def close(self) -> None:
        """Hang up."""
        self.lost = True
        self.sock.close()
