"""What one program has to do with one controller: calls on their way there, and calls whose end it waits for.

Calls leave in batches: all that were made while the batch before was on its way. Ends come in batches too. A connection
that breaks is made again, and what was under way is sent once more: nothing is entered twice.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import math
import os
import secrets
import threading
import time
import weakref
from collections import Counter, deque
from itertools import count, islice
from typing import TYPE_CHECKING, Any

import msgspec

from clearway.calls import wire
from clearway.model.errors import ClearwayError, ControllerError, FullError, InputError, NotFoundError
from clearway.sdk.tasks.parts import in_parts
from clearway.sdk.tasks.reach import inside_a_job, reach, where
from clearway.sdk.tasks.waits import WAITS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from clearway.sdk.tasks.handle import Handle
    from clearway.sdk.transport import Line

MOST_UNSENT = 10_000
"""So many calls may wait to be sent; then whoever makes more waits."""
BATCH = 2_000
MOST_POLLED = 10_000
"""So many calls are asked for at once."""
WAIT_MS = 30_000
TURN_MS = 500
"""So long each part is asked for where more are waited for: others have their turn."""
LINGER_MS = 15
AGAIN_S = (0.05, 0.1, 0.25, 0.5, 1.0)
"""Pauses before a controller that does not answer is tried again; the last one repeats."""
PATIENCE_S = 60.0
"""So long is it tried again; then the calls that were to be sent fail."""


class _Unsent:
    __slots__ = ("handle", "recipes", "spec")

    def __init__(self, spec: wire.Spec, recipes: list[wire.Recipe], handle: Handle) -> None:
        self.spec, self.recipes, self.handle = spec, recipes, handle


class Way:
    """A connection for one request after the other, made when it is needed."""

    def __init__(self) -> None:
        """Have none yet."""
        self.line: Line | None = None
        self.lock = threading.Lock()

    def close(self) -> None:
        """Close it."""
        if self.line is not None:
            self.line.close()


class Session:
    """One controller, as this process sees it. `of` a handle: whoever made it."""

    def __init__(self) -> None:
        self.pid, self.where = os.getpid(), where()
        self._key, self._count = secrets.token_hex(8), 0
        self._unsent: deque[_Unsent] = deque()
        self._sending = 0
        self._room = threading.Condition()
        self._functions: dict[str, bytes] = {}
        self._known: set[str] = set()
        self.over = threading.Condition()
        self._pending: dict[int, weakref.ref[Handle]] = {}
        self._wanted: Counter[Handle] = Counter()
        self._turn = 0
        self._polled: set[int] = set()
        self._refused: weakref.WeakSet[Handle] = weakref.WeakSet()
        self._poll_line: Line | None = None
        self._sender = threading.Thread(target=self._send_for_ever, name="clearway-send", daemon=True)
        self._poller: threading.Thread | None = None
        self._way = Way()
        self._actors: set[str] = set()
        self._met = False
        atexit.register(self._end)

    # --- sending -------------------------------------------------------------------------------

    def function(self, digest: str, body: bytes) -> None:
        """Remember a function, to be sent with the first call of it."""
        if digest not in self._known:
            self._functions[digest] = body

    def enter(self, spec: wire.Spec, recipes: list[wire.Recipe], handle: Handle) -> None:
        """Send what a handle stands for, soon. Waits where too much is on its way."""
        with self._room:
            if not self._sender.is_alive():
                self._sender = threading.Thread(target=self._send_for_ever, name="clearway-send", daemon=True)
                self._sender.start()
            while len(self._unsent) >= MOST_UNSENT:
                self._room.wait()
            self._unsent.append(_Unsent(spec, recipes, handle))
            self._room.notify_all()

    def flush(self) -> None:
        """Wait until all calls are entered. Those that cannot be fail; their handles say why."""
        with self._room:
            while (self._unsent or self._sending) and self.pid == os.getpid():
                self._room.wait(1.0)

    def owns(self, actor: str) -> None:
        """End an actor when this program ends."""
        self._actors.add(actor)

    def end_actor(self, key: str) -> None:
        """End an actor, after all calls that were made so far are entered."""
        self.flush()
        self._actors.discard(key)
        self._ask("POST", f"calls/actors/{key}/end")

    def _end(self) -> None:
        self.flush()
        for handle in list(self._refused):
            handle._complain()  # noqa: SLF001  a handle is this session's
        mine = self.pid == os.getpid() and self.where == where()  # else it would start a controller elsewhere
        for actor in list(self._actors) if mine else ():
            with contextlib.suppress(ClearwayError):  # no controller: its job is to be cancelled by hand
                self.end_actor(actor)

    def _send_for_ever(self) -> None:
        while True:
            with self._room:
                while not self._unsent:
                    self._room.wait()
                some = [self._unsent.popleft() for _ in range(min(len(self._unsent), BATCH))]
                self._sending = len(some)
                self._room.notify_all()
            try:
                self._send(some)
            except Exception as error:  # noqa: BLE001  whatever it is: who waits is told, and the next are sent
                self._note(some, 0, ControllerError(f"it cannot be sent: {error!r}"))
            with self._room:
                self._sending = 0
                self._room.notify_all()

    def _send(self, some: list[_Unsent]) -> None:
        failure: ClearwayError | None = None
        try:
            for one in some:
                one.spec = in_parts(one.spec, self._send_part)
            message, digests = self._message(some)
            entered = msgspec.msgpack.decode(self._ask_until_room(message), type=wire.Entered)
        except ClearwayError as error:
            if self._known and isinstance(error, InputError) and error.field == "function":
                self._known.clear()  # it has dropped a function that was not called for long: all are sent again
                self._send(some)
                return
            if len(some) > 1 and not isinstance(error, ControllerError):
                for one in some:  # one of them is refused: the others are not
                    self._send([one])
                return
            first, failure = 0, error
        else:
            first = entered.first
            self._known |= digests
        self._note(some, first, failure)

    def _note(self, some: list[_Unsent], first: int, failure: ClearwayError | None) -> None:
        with self.over:
            for at, one in enumerate(some):
                one.handle._entered(first + at, failure)  # noqa: SLF001  a handle is this session's
                if failure is None:
                    self._pending[first + at] = weakref.ref(one.handle)
                else:
                    self._refused.add(one.handle)
            self.over.notify_all()
        self._nudge(one.handle for one in some)

    def _send_part(self, part: wire.Part) -> None:
        self._ask("POST", "calls/parts", wire.encode(part))

    def _ask_until_room(self, message: bytes) -> bytes:
        """Have calls entered. Where the controller has no room for more it is asked again, however long that takes."""
        while True:
            try:
                return self._ask("POST", "calls", message)
            except FullError as error:
                time.sleep(error.after_s)

    def _message(self, some: list[_Unsent]) -> tuple[bytes, set[str]]:
        numbers: dict[wire.Recipe, int] = {}
        roots = []
        for one in some:
            mine = [numbers.setdefault(recipe, len(numbers)) for recipe in one.recipes]
            roots.append(wire.numbered(one.spec, mine))
        digests = {recipe.function for recipe in numbers} - self._known
        self._count += 1
        said = wire.Enter(
            f"{self._key}-{self._count}",
            list(numbers),
            roots,
            {digest: self._functions[digest] for digest in digests & set(self._functions)},
        )
        return wire.encode(said), digests

    # --- asking --------------------------------------------------------------------------------

    def _ask(self, method: str, path: str, body: bytes | None = None, *, way: Way | None = None) -> bytes:
        """Return the answer. A controller that does not answer is asked again: whatever is asked may be asked twice."""
        way = way or self._way
        patient = inside_a_job()  # there a controller comes back, however long it takes
        end = time.monotonic() + (math.inf if patient else PATIENCE_S)
        for tries in count():
            try:
                with way.lock:
                    way.line = way.line or reach().line()
                    answer = way.line.call(method, path, body)
                    self._met = True
                    return answer
            except ControllerError:
                way.line = None
                if time.monotonic() >= end or (tries and not self._met and not patient):
                    raise
            if tries:
                time.sleep(AGAIN_S[min(tries - 1, len(AGAIN_S) - 1)])
        raise AssertionError("unreachable")

    def keep(self, content: bytes) -> wire.Value:
        """Keep a large value in a file of the controller, and return what stands for it."""
        name = secrets.token_hex(16)
        self._ask("PUT", f"calls/files/{name}", content)
        return wire.FILE + name.encode()

    def fetch(self, name: str) -> bytes:
        """Return a value that is kept in a file."""
        return self._ask("GET", f"calls/files/{name}")

    def cancel(self, call: int) -> None:
        """End a call with all that is part of it."""
        self._ask("POST", f"calls/{call}/cancel")

    def raw(self, path: str) -> bytes:
        """Return an answer as it is."""
        return self._ask("GET", path)

    def row(self, call: int, *, part: str = "") -> Any:  # noqa: ANN401  JSON
        """Return what the controller says of a call."""
        return json.loads(self._ask("GET", f"calls/{call}{part}"))

    def ask(self, path: str, kind: Any, way: Way | None = None) -> Any:  # noqa: ANN401  any message
        """Return an answer, read as a kind of message; on a `way` of its own it keeps no others waiting."""
        content = self._ask("GET", path, way=way)
        return msgspec.msgpack.decode(content, type=kind)

    # --- waiting -------------------------------------------------------------------------------

    def watch(self, handle: Handle) -> None:
        """Learn of the end of a handle whose number is known from elsewhere."""
        with self.over:
            self._pending[handle.id] = weakref.ref(handle)

    @contextlib.contextmanager
    def wanting(self, handle: Handle) -> Iterator[None]:
        """Wait, inside, for the end of a handle."""
        with self.over:
            self._wanted[handle] += 1
            if self._poller is None or not self._poller.is_alive():
                self._poller = threading.Thread(target=self._poll_for_ever, name="clearway-poll", daemon=True)
                self._poller.start()
            self.over.notify_all()
        try:
            self._nudge([handle])
            with WAITS:
                yield
        finally:
            with self.over:
                self._wanted[handle] -= 1
                if not self._wanted[handle]:
                    del self._wanted[handle]

    def _nudge(self, handles: Iterable[Handle]) -> None:
        """Have a poll that is under way begin anew where it does not ask for what somebody waits for."""
        line = self._poll_line
        if line is None or not self._wanted or len(self._wanted) > MOST_POLLED:
            return
        with self.over:
            asked = [one._id for one in handles if one in self._wanted]  # noqa: SLF001
            if any(number in self._pending and number not in self._polled for number in asked):
                line.cut()

    def _poll_for_ever(self) -> None:
        failures = 0
        while True:
            with self.over:
                while not (self._wanted and self._pending):
                    self.over.wait()
                numbers, wait_ms = self._next_polled()
            if not numbers:
                continue
            try:
                self._poll(numbers, wait_ms)
                failures = 0
            except NotFoundError as error:
                self._drop(numbers, error)
            except ClearwayError:
                time.sleep(AGAIN_S[min(failures, len(AGAIN_S) - 1)] if failures else 0)
                failures += 1

    def _next_polled(self) -> tuple[list[int], int]:
        """Return what is asked for next, and how long: first what somebody waits for, by turns where that is much."""
        for number in [n for n, ref in self._pending.items() if ref() is None]:
            del self._pending[number]
        known = {one._id for one in self._wanted} & self._pending.keys()  # noqa: SLF001
        wanted = sorted(known)
        if len(wanted) <= MOST_POLLED:
            others = (number for number in self._pending if number not in known)
            more = islice(others, MOST_POLLED - len(wanted))
            return sorted([*wanted, *more]), WAIT_MS
        at = self._turn = (self._turn + MOST_POLLED) % len(wanted)
        return sorted((wanted[at:] + wanted[:at])[:MOST_POLLED]), TURN_MS

    def _poll(self, numbers: list[int], wait_ms: int) -> None:
        if self._poll_line is None:
            self._poll_line = reach().line()
        line, self._polled = self._poll_line, set(numbers)
        many = max(1, len(numbers) // 4)
        said = wire.Poll(_ranges(numbers), wait_ms, min(many, 500), LINGER_MS)
        try:
            answer = line.call("POST", "calls/poll", wire.encode(said))
        except ControllerError:
            self._poll_line = None
            raise
        finally:
            self._polled = set()
        self._take_in(msgspec.msgpack.decode(answer, type=wire.Polled).over)

    def _take_in(self, over: list[wire.Over]) -> None:
        with self.over:
            for one in over:
                ref = self._pending.pop(one.call, None)
                handle = None if ref is None else ref()
                if handle is not None:
                    handle._ended(one)  # noqa: SLF001
            self.over.notify_all()

    def _drop(self, numbers: list[int], error: ClearwayError) -> None:
        """Fail the handles of calls that the controller does not know, one by one."""
        for number in numbers:
            try:
                self._poll([number], 0)
            except NotFoundError:
                with self.over:
                    ref = self._pending.pop(number, None)
                    handle = None if ref is None else ref()
                    if handle is not None:
                        handle._entered(number, error)  # noqa: SLF001
                    self.over.notify_all()


def _ranges(numbers: list[int]) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    first = last = numbers[0]
    for number in numbers[1:]:
        if number != last + 1:
            found.append((first, last))
            first = number
        last = number
    found.append((first, last))
    return found


_here: list[Session] = []
_making = threading.Lock()


def session() -> Session:
    """Return the session of this process with the controller that its environment names."""
    found = _here[0] if _here else None
    if found is None or found.pid != os.getpid() or found.where != where():
        with _making:
            if not _here or _here[0].pid != os.getpid() or _here[0].where != where():
                _here[:] = [Session()]
            found = _here[0]
    return found
