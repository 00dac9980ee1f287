"""The controller's end of the bridge: a process that is started anew whenever it is gone."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import threading
import time
from collections import deque
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    Message = dict[str, Any]

AGAIN_S = 2.0
"""So long after one start the next one is tried."""
CLOSE_S = 10.0
_TALK_SHOWN_BYTES = 400


class Link:
    """The bridge as a child process. `send` never waits: a thread writes, and one reads."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None
        self._started_at = float("-inf")
        self._closed = False
        self._heard: deque[Message] = deque()
        self._unsent: deque[bytes] = deque()
        self._work = threading.Condition()
        self._out, self._in = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)

    @property
    def fd(self) -> int:
        """What to wait on."""
        return self._out

    def alive(self) -> bool:
        """Say whether there is a bridge."""
        return self._process is not None and self._process.poll() is None

    def start(self) -> bool:
        """Start a bridge where there is none and it is time to; return whether one was started."""
        if self.alive() or time.monotonic() - self._started_at < AGAIN_S:
            return False
        self._end_threads()
        self._started_at = time.monotonic()
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        command = [sys.executable, "-P", "-m", "clearway.engines.ray.bridge"]
        environment = {"RAY_ENABLE_AUTO_CONNECT": "0", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0", **os.environ}
        with (self._folder / "bridge.log").open("ab") as talk:
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=talk, start_new_session=True,
                env=environment,
            )  # fmt: skip
        self._unsent.clear()
        for work in (self._write, self._read):
            threading.Thread(target=work, args=(self._process,), name="ray bridge", daemon=True).start()
        return True

    def send(self, message: Message) -> None:
        """Send a message to the bridge, if there is one."""
        with self._work:
            self._unsent.append(json.dumps(message).encode() + b"\n")
            self._work.notify_all()

    def heard(self) -> list[Message]:
        """Return what the bridge has said."""
        _drain(self._out)
        found = []
        while self._heard:
            found.append(self._heard.popleft())
        return found

    def wait(self, timeout_s: float, wake_fd: int) -> bool:
        """Wait until the bridge has said something or `wake_fd` can be read; return whether `wake_fd` can."""
        if self._heard:
            return False
        poll = select.poll()
        for fd in (self._out, wake_fd):
            poll.register(fd, select.POLLIN)
        return wake_fd in [fd for fd, _ in poll.poll(max(0.0, timeout_s) * 1000)]

    def talk(self) -> str:
        """Return the end of what the bridge wrote about itself."""
        try:
            return (self._folder / "bridge.log").read_bytes()[-_TALK_SHOWN_BYTES:].decode(errors="replace").strip()
        except OSError:
            return ""

    def end(self) -> None:
        """End the bridge at once: it does not answer."""
        if self._process is not None:
            self._process.kill()

    def close(self) -> None:
        """End the bridge; once."""
        if self._closed:
            return
        self._closed = True
        self._end_threads()
        os.close(self._in)
        os.close(self._out)

    def _end_threads(self) -> None:
        process, self._process = self._process, None
        with self._work:
            self._work.notify_all()
        if process is None:
            return
        try:
            process.wait(CLOSE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def _write(self, process: subprocess.Popen[bytes]) -> None:
        pipe = process.stdin
        if pipe is None:
            return
        try:
            while (data := self._next(process)) is not None:
                pipe.write(data)
                pipe.flush()
            pipe.close()
        except OSError:  # it is gone: all is said again to the next one
            return

    def _next(self, process: subprocess.Popen[bytes]) -> bytes | None:
        with self._work:
            while not self._unsent:
                if self._process is not process:
                    return None
                self._work.wait()
            return self._unsent.popleft()

    def _read(self, process: subprocess.Popen[bytes]) -> None:
        pipe = process.stdout
        if pipe is None:
            return
        for line in pipe:
            if line.endswith(b"\n"):  # it was not killed in the middle of it
                self._heard.append(json.loads(line))
                self._ring()
        pipe.close()
        self._ring()

    def _ring(self) -> None:
        try:
            os.write(self._in, b"h")
        except OSError:  # full: it is awake; closed: nobody waits any more
            return


def _drain(fd: int) -> None:
    try:
        while os.read(fd, 4096):
            continue
    except BlockingIOError:
        return
