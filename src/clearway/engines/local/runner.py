"""The runner: `python -m clearway.engines.local.runner FOLDER`. One small process that outlives the controller.

It has one thread. It is ended by nothing but SIGKILL while tasks live; with nothing to do and nobody connected it
leaves by itself. What it holds is in its records, so that another one goes on where it was killed.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import selectors
import signal
import socket
import sys
import time

from clearway.engines.local import paths, spawn
from clearway.engines.local.groups import CPU, MEMBERS, MEMORY, Groups
from clearway.engines.local.keeper import Keeper
from clearway.engines.local.line import Line
from clearway.engines.local.memory import Memory
from clearway.engines.local.records import Records
from clearway.engines.local.trees import Trees
from clearway.engines.local.wire import PROTOCOL

TYPE_CHECKING = False  # not from typing: the runner pays for every module
if TYPE_CHECKING:
    from collections.abc import Callable

    from clearway.engines.local.wire import Message

IDLE_S = 60.0
"""It leaves when for so long nobody was connected and no task lived."""

LOCK_WAIT_S = 3.0
"""How long a new runner waits for one that is just leaving."""

PAUSE_AFTER_DEFECT_S = 0.5
"""An unforeseen error is written down and the work goes on, but never in a tight circle."""

_SET_CHILD_SUBREAPER = 36


class Runner:
    """The loop around a keeper and at most one controller: the newest to connect."""

    def __init__(self, folder: str) -> None:
        self._folder = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        self._selector = selectors.DefaultSelector()
        self._controller: Line | None = None
        self._place, self._lead = folder, _read_lead(folder)
        self._leaving = False
        self._alone_since = time.monotonic()
        settings = spawn.Settings(_name(folder))
        records = Records(os.path.join(folder, paths.RECORDS))  # noqa: PTH118  pathlib costs 2 MB
        self._memory = Memory(records)
        self._groups = Groups(settings.ticket_prefix)
        trees = Trees(settings.ticket_prefix, self._groups)
        self._keeper = Keeper(self._memory, trees, settings, self._selector, self._say)
        self._does: dict[str, Callable[[Message], None]] = {
            "hello": self._hello,
            "launch": self._keeper.launch,
            "halt": lambda m: self._keeper.halt(m["task"], m["signal"], m["grace_us"] / 1e6),
            "pause": lambda m: self._keeper.pause(m["task"], paused=m["paused"]),
            "ack": lambda m: self._keeper.acknowledge(m["tasks"]),
            "members": lambda _: self._say({"is": "members", "tasks": self._keeper.members()}),
            "ping": lambda _: self._say({"is": "alive"}),
            "bye": self._bye,
        }
        self._listen()

    def _listen(self) -> None:
        path = paths.short_socket_path(self._folder)
        if os.path.lexists(path):
            os.unlink(path)  # noqa: PTH108  an earlier runner's: this one holds the lock
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
        self._listener.bind(path)
        self._listener.listen(16)
        self._selector.register(self._listener, selectors.EVENT_READ, self._accept)

    def work(self) -> None:
        """Run until there is nothing to do and nobody to do it for."""
        self._wake_on_signals()
        wait = 0.0
        while not self._may_leave():
            try:
                for key, _ in self._selector.select(wait):
                    key.data()
                wait = min(self._keeper.turn(time.monotonic()), IDLE_S)
                self._shorten()
            except Exception as error:  # noqa: BLE001  running tasks need a runner more than a clean end
                _note(f"unforeseen: {type(error).__name__}: {error}")
                time.sleep(PAUSE_AFTER_DEFECT_S)
        self._listener.close()
        self._groups.leave()
        try:
            self._memory.records.sync()
        except OSError as error:  # acknowledgements: without them a few ends are told once more
            _note(f"the last records cannot be written: {error.strerror}")

    def _may_leave(self) -> bool:
        if self._keeper.live or self._memory.records.urgent:
            self._alone_since = time.monotonic()
            return False
        alone = self._controller is None and time.monotonic() - self._alone_since >= IDLE_S
        return self._leaving or alone or os.fstat(self._folder).st_nlink == 0

    def _shorten(self) -> None:
        if self._memory.records.grown:
            try:
                self._memory.shorten()
            except OSError as error:
                _note(f"the records cannot be written anew: {error.strerror}")
                self._memory.records.grow_on()

    # --- signals ---------------------------------------------------------------------------------

    def _wake_on_signals(self) -> None:
        awake, wake = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGTERM, self._asked_to_leave)
        for number in spawn.UNHEARD:
            signal.signal(number, signal.SIG_IGN)
        self._selector.register(awake, selectors.EVENT_READ, lambda: os.read(awake, 4096))

    def _asked_to_leave(self, *_: object) -> None:
        self._leaving = True

    # --- the controller --------------------------------------------------------------------------

    def _accept(self) -> None:
        try:
            sock, _ = self._listener.accept()
        except OSError as error:
            _note(f"a controller cannot be let in: {error.strerror}")
            time.sleep(PAUSE_AFTER_DEFECT_S)
            return
        line = Line(sock)
        if line.peer_uid() != os.geteuid():
            line.close()
            return
        self._selector.register(sock, selectors.EVENT_READ, lambda: self._serve(line))

    def _serve(self, line: Line) -> None:
        for message in line.receive():  # also the last words of one that has hung up
            if line is self._controller or self._admits(line, message):
                self._carry_out(message)
            if line.sock.fileno() < 0:
                return  # it was refused
        self._after_io(line)

    def _admits(self, line: Line, message: Message) -> bool:
        """Let whoever says hello take over, unless it leads by an older term of the same journal than one before it."""
        if message.get("do") != "hello" or line.lost:
            return False
        term = message.get("term", 0)
        lead = (str(message.get("journal", "")), term if isinstance(term, int) else 0)
        if lead[0] == self._lead[0] and lead[1] < self._lead[1]:
            _note(f"a controller of term {lead[1]} is refused: term {self._lead[1]} leads")
            line.send({"is": "displaced"})
            self._let_go(line)
            return False
        if self._controller is not None:
            self._controller.send({"is": "displaced"})
            self._hang_up(self._controller)
        self._leaving, self._controller = False, line
        if lead != self._lead:
            self._lead = lead
            _write_lead(self._place, lead)
        return True

    def _carry_out(self, message: Message) -> None:
        try:
            self._does[message["do"]](message)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            _note(f"a message of the controller is not understood: {type(error).__name__}")

    def _say(self, message: Message) -> None:
        if self._controller is not None:
            self._controller.send(message)
            self._after_io(self._controller)

    def _after_io(self, line: Line) -> None:
        if line is not self._controller:
            if line.lost and line.sock.fileno() >= 0:
                self._let_go(line)  # it never said hello
            return
        if line.lost:
            self._hang_up(line)
            return
        wanted = selectors.EVENT_READ | (selectors.EVENT_WRITE if line.unsent else 0)
        key = self._selector.get_key(line.sock)
        if key.events != wanted:
            self._selector.modify(line.sock, wanted, key.data)

    def _let_go(self, line: Line) -> None:
        self._selector.unregister(line.sock)
        line.close()

    def _hang_up(self, line: Line) -> None:
        self._let_go(line)
        self._controller = None
        self._alone_since = time.monotonic()

    def _hello(self, message: Message) -> None:
        del message
        keeper = self._keeper
        held = [part for part in (MEMBERS, MEMORY, CPU) if self._groups.has(part)]
        me = {"is": "here", "protocol": PROTOCOL, "pid": os.getpid(), "trouble": keeper.trouble, "stuck": keeper.stuck}
        me |= {"can": ["as", "venv", "members"], "groups": held, "refused": self._groups.refused}
        self._say({**me, "live": keeper.live, "gone": [task.gone() for task in keeper.unacknowledged]})

    def _bye(self, message: Message) -> None:
        del message
        self._leaving = True


def _read_lead(folder: str) -> tuple[str, int]:
    """Return which journal led last, and in which term."""
    try:
        with open(os.path.join(folder, "lead"), encoding="utf-8") as file:  # noqa: PTH118, PTH123
            term, _, journal = file.read().partition(" ")
            return journal, int(term)
    except (OSError, ValueError):
        return "", 0


def _write_lead(folder: str, lead: tuple[str, int]) -> None:
    path = os.path.join(folder, "lead")  # noqa: PTH118
    try:
        with open(path + ".new", "w", encoding="utf-8") as file:  # noqa: PTH123
            file.write(f"{lead[1]} {lead[0]}")
        os.replace(path + ".new", path)  # noqa: PTH105
    except OSError as error:  # a full disk: it is known as long as this runner lives
        _note(f"which term leads cannot be written down: {error.strerror}")


def _name(folder: str) -> str:
    """Return the name of this runner's place, made once: it tells its tasks from those of any other."""
    path = os.path.join(folder, "name")  # noqa: PTH118
    try:
        with open(path, encoding="ascii") as file:  # noqa: PTH123
            return file.read().strip()
    except FileNotFoundError:
        name = os.urandom(12).hex()
    with open(path + ".new", "w", encoding="ascii") as file:  # noqa: PTH123
        file.write(name)
        file.flush()
        os.fsync(file.fileno())
    os.replace(path + ".new", path)  # noqa: PTH105
    return name


def _lock(folder: str) -> int | None:
    """Return the lock that at most one runner of a folder holds, None where another one keeps it."""
    fd = os.open(os.path.join(folder, paths.LOCK), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)  # noqa: PTH118
    until = time.monotonic() + LOCK_WAIT_S
    while True:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > until:
                os.close(fd)
                return None
            time.sleep(0.02)
        else:
            return fd


def _adopt_orphans() -> None:
    """Become the parent of whatever our tasks' processes leave behind, so that it cannot get out of sight."""
    if ctypes.CDLL(None, use_errno=True).prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "this system does not let the runner adopt orphans")


def _note(text: str) -> None:
    """Write a line to the runner's own log, which is its standard error; a full disk is no reason to stop."""
    try:
        os.write(2, f"{time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime())} {text}\n".encode())
    except OSError:
        return


def main(arguments: list[str]) -> int:
    """Run until there is nothing to do. The folder exists and belongs to this user alone."""
    folder = os.path.abspath(arguments[1])  # noqa: PTH100
    lock = _lock(folder)
    if lock is None:
        _note("another runner is at work here")
        return 0
    os.chdir("/")
    _adopt_orphans()
    Runner(folder).work()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
