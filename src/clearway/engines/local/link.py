"""The controller's end: finding the runner, starting one where none answers, and noticing when it is gone."""

from __future__ import annotations

import os
import select
import socket
import subprocess
import sys
import time
from typing import TYPE_CHECKING

from clearway.engines.local import paths
from clearway.engines.local.line import Line
from clearway.engines.local.wire import PROTOCOL
from clearway.model.errors import EngineError

if TYPE_CHECKING:
    from pathlib import Path

    from clearway.engines.local.wire import Message

FIRST_RETRY_S = 0.02
LONGEST_RETRY_S = 2.0
"""A runner that does not answer is tried again after the first delay, which doubles up to the longest."""

RESTART_AFTER_S = 1.0
"""A runner that was started has so long until another one is."""

_TALK_SHOWN_BYTES = 400


class Link:
    """A connection to the runner of a folder that is made again whenever it breaks.

    `turn` never waits. `opened` counts how often a runner said hello: a change means that everything it was told
    before has to be told again.
    """

    def __init__(self, folder: Path, journal: str = "", term: int = 0) -> None:
        """`term` of `journal`: by which a runner knows a controller that another one has succeeded."""
        self._folder = folder
        self._hello: Message = {"do": "hello", "protocol": PROTOCOL, "journal": journal, "term": term}
        self._line: Line | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._started_at = float("-inf")
        self._try_at = 0.0
        self._delay = FIRST_RETRY_S
        self.greeted = False
        self.displaced = False
        self.runner_pid = 0
        self.last_heard = time.monotonic()

    def make_folder(self) -> None:
        """Make the folder, for this user alone. Raises EngineError."""
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._folder.chmod(0o700)
        except OSError as error:
            raise EngineError(f"the folder {str(self._folder)!r} cannot be made: {error.strerror}") from error

    @property
    def fd(self) -> int | None:
        """What to wait on, None while nothing is connected."""
        return None if self._line is None else self._line.sock.fileno()

    @property
    def unsent(self) -> bool:
        """Whether something waits for the runner to read."""
        return self._line is not None and self._line.unsent

    def send(self, message: Message) -> None:
        """Send a message if the runner has said hello; else it is lost, and the caller tells it again then."""
        if self._line is not None and self.greeted:
            self._line.send(message)

    def greet(self) -> None:
        """Say hello once more: the answer says all that the runner knows."""
        self.send(self._hello)

    def turn(self) -> list[Message]:
        """Connect if it is time to, and return what came. Hello comes through as the message that `is` here."""
        if self._line is None and not self.displaced and time.monotonic() >= self._try_at:
            self._connect()
        if self._line is None:
            return []
        found = [message for message in self._line.receive() if self._takes(message)]
        if self._line is not None and self._line.lost:
            self._drop()
        return found

    def wait_s(self) -> float:
        """Return the seconds until `turn` has something to try."""
        if self._line is not None or self.displaced:
            return 3600.0
        return max(0.0, self._try_at - time.monotonic())

    def wait(self, timeout_s: float, wake_fd: int) -> bool:
        """Wait until there is something to read from the runner or from `wake_fd`; return whether `wake_fd` has."""
        reads = [wake_fd] + ([] if self.fd is None else [self.fd])
        writes = [self.fd] if self.unsent and self.fd is not None else []
        readable, writable, _ = _select(reads, writes, timeout_s)
        if writable and self._line is not None:
            self._line.flush()
        return wake_fd in readable

    def close(self, last: Message | None = None) -> None:
        """Hang up, after a last word."""
        if last is not None:
            self.send(last)
        if self._line is not None:
            self._line.close()
        self._line, self.greeted = None, False
        if self._process is not None:
            self._process.poll()
            self._process.returncode = self._process.returncode or 0  # it lives on by design: no warning about it

    def talk(self) -> str:
        """Return the end of what the runner wrote about itself."""
        try:
            return (self._folder / paths.TALK).read_bytes()[-_TALK_SHOWN_BYTES:].decode(errors="replace").strip()
        except OSError:
            return ""

    # --- connecting ------------------------------------------------------------------------------

    def _connect(self) -> None:
        try:
            self._line = Line(_connected(self._folder))
        except OSError:  # nobody listens: start one, and look again soon
            self._start()
            self._try_at = time.monotonic() + self._delay
            self._delay = min(self._delay * 2, LONGEST_RETRY_S)
            return
        self._line.send(self._hello)

    def _start(self) -> None:
        now = time.monotonic()
        dead = self._process is None or self._process.poll() is not None
        if not dead or now - self._started_at < RESTART_AFTER_S:
            return
        self._started_at = now
        command = [sys.executable, "-P", "-m", "clearway.engines.local.runner", str(self._folder)]
        try:
            talk = os.open(self._folder / paths.TALK, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        except OSError:  # a full disk must not keep the runner from work
            talk = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
        try:
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=talk, stderr=talk, start_new_session=True
            )
        except OSError:
            self._process = None  # no process to be had now: the next try comes with the next delay
        finally:
            os.close(talk)

    def _takes(self, message: Message) -> bool:
        self.last_heard = time.monotonic()
        if message["is"] == "displaced":
            self.displaced = True
            return False
        if message["is"] == "here":
            if message["protocol"] != PROTOCOL:
                self.close()
                raise EngineError(
                    f"the runner in {str(self._folder)!r} (pid {message['pid']}) is of another version of Clearway; "
                    "it leaves by itself when its tasks are over"
                )
            self.greeted, self.runner_pid, self._delay = True, message["pid"], FIRST_RETRY_S
        return bool(message["is"] != "alive")

    def _drop(self) -> None:
        if self._line is not None:
            self._line.close()
        self._line, self.greeted = None, False
        self._try_at = time.monotonic()
        self._delay = FIRST_RETRY_S


def _connected(folder: Path) -> socket.socket:
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
    try:
        sock.connect(paths.short_socket_path(fd))
    except OSError:
        sock.close()
        raise
    finally:
        os.close(fd)
    return sock


def _select(reads: list[int], writes: list[int], timeout_s: float) -> tuple[list[int], list[int], None]:
    """Wait with poll, which, unlike select, knows descriptors above 1,023."""
    poll = select.poll()
    for fd in reads:
        poll.register(fd, select.POLLIN | (select.POLLOUT if fd in writes else 0))
    ready = poll.poll(max(0.0, timeout_s) * 1000)
    heard = select.POLLIN | select.POLLHUP | select.POLLERR
    return [fd for fd, e in ready if e & heard], [fd for fd, e in ready if e & select.POLLOUT], None
