"""Processes of a worker that run calls beside its own one, while that waits for the ends of others.

A call that waits holds its worker's place, and needs none of it meanwhile. So the worker goes on taking calls, and runs
them in a process of its own that it starts for that: they have the same place, and the controller knows one worker.
"""

from __future__ import annotations

import os
import queue
import signal
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING, BinaryIO

import msgspec

from clearway.calls import wire
from clearway.sdk.tasks.waits import WAITS

if TYPE_CHECKING:
    from collections.abc import Callable

MOST = 32
"""So many processes of one worker may wait for each other; calls that are deeper than that wait for another worker."""
_LENGTH = 4


class Work(msgspec.Struct, frozen=True):
    """A call for such a process, with what it needs to know of it."""

    given: wire.Given
    told: wire.Told
    body: bytes


class Said(msgspec.Struct, frozen=True, omit_defaults=True):
    """What such a process says: what its call yields, that it is done, or whether it waits for others now."""

    done: wire.Done | None = None
    waits: bool | None = None
    items: wire.Items | None = None


class Lane:
    """One process, as its worker sees it. All but `send` is called with the worker's lock held."""

    def __init__(self, heard: Callable[[Lane, Said | None], None]) -> None:
        """Start the process. `heard` is called with what it says, and with None once it is gone."""
        self.given: wire.Given | None = None
        self.began, self.waits, self.over = 0.0, False, False
        theirs, to = os.pipe()
        try:
            source, mine = os.pipe()
        except OSError:
            os.close(theirs)
            os.close(to)
            raise
        command = [sys.executable, "-m", "clearway.sdk.worker", str(theirs), str(mine)]
        try:
            self._process = subprocess.Popen(command, pass_fds=(theirs, mine), stdin=subprocess.DEVNULL)
        except OSError:
            os.close(to)
            os.close(source)
            raise
        finally:
            os.close(theirs)
            os.close(mine)
        self._to, self._from = os.fdopen(to, "wb"), os.fdopen(source, "rb")
        self._heard = heard
        threading.Thread(target=self._listen, name="beside", daemon=True).start()

    @property
    def active(self) -> bool:
        """Whether it computes something now."""
        return self.given is not None and not self.waits

    def begin(self, work: Work) -> None:
        """Have it run a call."""
        self.given, self.began, self.waits = work.given, time.monotonic(), False
        try:
            _write(self._to, work)
        except OSError:
            self.end()  # it is gone: its reader tells so

    def end(self) -> None:
        """End it, whatever it does."""
        self.over = True
        self._process.kill()

    def _listen(self) -> None:
        while (content := _read(self._from)) is not None:
            self._heard(self, msgspec.msgpack.decode(content, type=Said))
        self._process.wait()
        self._from.close()
        self._heard(self, None)


def serve(reading: int, writing: int) -> int:
    """Be such a process: run what comes, one after the other, until the worker is gone."""
    from clearway.sdk.worker.running import Runs

    signal.signal(signal.SIGTERM, lambda *_: None)  # its worker decides when it ends
    source, sink = os.fdopen(reading, "rb"), os.fdopen(writing, "wb")
    lock, inbox = threading.Lock(), queue.SimpleQueue[Work]()

    def say(said: Said) -> None:
        with lock:
            _write(sink, said)

    def listen() -> None:
        while (content := _read(source)) is not None:
            inbox.put(msgspec.msgpack.decode(content, type=Work))
        os._exit(0)

    runs = Runs(lambda items: say(Said(items=items)))
    WAITS.tell = lambda waits: say(Said(waits=waits))
    threading.Thread(target=listen, daemon=True).start()
    while True:
        work = inbox.get()
        runs.learn(wire.Hand(recipes={work.given.recipe: work.told}, functions={work.told.function: work.body}))
        say(Said(runs.run(work.given)))


def _write(to: BinaryIO, message: Work | Said) -> None:
    content = wire.encode(message)
    to.write(len(content).to_bytes(_LENGTH, "big") + content)
    to.flush()


def _read(source: BinaryIO) -> bytes | None:
    """Return one message; None at the end."""
    head = source.read(_LENGTH)
    if len(head) < _LENGTH:
        return None
    content = source.read(int.from_bytes(head, "big"))
    return content if len(content) == int.from_bytes(head, "big") else None
