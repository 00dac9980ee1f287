"""A call that was made, as its maker holds it."""

from __future__ import annotations

import asyncio
import contextlib
import sys
import time
from datetime import datetime
from typing import TYPE_CHECKING, Any, NoReturn

from clearway.calls import wire
from clearway.model.errors import ActorDiedError, CallCancelledError, CallError, CallTimedOutError, WorkerLostError
from clearway.sdk.tasks.stream import Stream
from clearway.sdk.tasks.values import loads

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Generator, Iterator

    from clearway.model.errors import ClearwayError
    from clearway.sdk.tasks.session import Session

PAGE = 1000
_OURS = {
    "timed_out": CallTimedOutError,
    "WorkerLostError": WorkerLostError,
    "WorkerError": WorkerLostError,
    "ActorDiedError": ActorDiedError,
}


class RemoteTraceback(Exception):  # noqa: N818  it is the cause that Python shows above an error, and no error itself
    """Where an exception was raised, in the process that ran the call."""

    def __str__(self) -> str:
        return f"\n{self.args[0]}"


class Handle:
    """A call, a chain or a group. It is entered within milliseconds; its methods wait for that."""

    __slots__ = ("__weakref__", "_callbacks", "_failure", "_id", "_name", "_over", "_session", "_silent")

    def __init__(self, session: Session, name: str) -> None:
        """Stand for what `session` enters."""
        self._session, self._name = session, name
        self._id = 0
        self._failure: ClearwayError | None = None
        self._over: wire.Over | None = None
        self._callbacks: list[Callable[[], None]] = []
        self._silent = False

    def __repr__(self) -> str:
        return f"<Handle {self._id or 'new'} {self._name}>"

    def __del__(self) -> None:
        self._complain()

    def __reduce__(self) -> NoReturn:
        """Refuse: it belongs to this program, and says little elsewhere."""
        raise TypeError(
            f"{self!r} cannot be sent or kept: give its result, handle.get(), or make a chain, f.s(..) | g.s(..)"
        )

    @property
    def id(self) -> int:
        """Its number. Waits until it is entered, and raises what kept it from that."""
        with self._session.over:
            while not self._id and self._failure is None:
                self._session.over.wait()
        self._check()
        return self._id

    @property
    def status(self) -> str:
        """Where it stands: pending, running, succeeded, failed or cancelled."""
        if self._over is not None:
            return self._over.state
        return str(self.row["state"])

    @property
    def row(self) -> dict[str, Any]:
        """What a list of calls shows of it now."""
        found: dict[str, Any] = self._session.row(self.id)
        return found

    def why(self) -> dict[str, Any]:
        """Return why it waits, or how it ended: `text` in a sentence, and the `reasons` of the worker it waits for."""
        found: dict[str, Any] = self._session.row(self.id, part="/why")
        return found

    def eta(self) -> datetime | None:
        """Return when it is expected to be over; None where that is not known, or where it is over."""
        said = self.why()["expected_end"]
        return None if said is None else datetime.fromisoformat(said)

    def logs(self, stream: str = "stdout") -> bytes:
        """Return what it wrote to stdout, or to stderr, in its last attempt that has ended."""
        return self._session.raw(f"calls/{self.id}/logs?stream={stream}")

    def done(self) -> bool:
        """Whether it is over."""
        return self._over is not None or self.status in {"succeeded", "failed", "cancelled"}

    def get(self, timeout: float | None = None) -> Any:  # noqa: ANN401  whatever the task returns
        """Return its result, or raise what it raised. TimeoutError: it is not over after `timeout` seconds."""
        if self._over is None and self._failure is None:
            self._wait(timeout)
        return self._result()

    def __await__(self) -> Generator[Any, None, Any]:
        return self._awaited().__await__()

    def __iter__(self) -> Iterator[Any]:
        """Yield what a call of a generator yields, as it comes; then raise what it raised, if anything.

        Of a group or map: its results, once all are there. TypeError: it is a call of no generator.
        """
        stream = Stream(self._session, self.id, content_of)
        with contextlib.closing(stream):
            while (items := stream.next()) is not None:
                yield from items
        yield from self._rest(self.get() if stream.whole else self._waited())

    async def __aiter__(self) -> AsyncIterator[Any]:
        """Yield the same in async code."""
        stream = Stream(self._session, await asyncio.to_thread(lambda: self.id), content_of)
        with contextlib.closing(stream):
            while (items := await asyncio.to_thread(stream.next)) is not None:
                for item in items:
                    yield item
        for item in self._rest(await self if stream.whole else await asyncio.to_thread(self._waited)):
            yield item

    def cancel(self) -> None:
        """End it, with all that is part of it. One that is over stays as it is."""
        self._session.cancel(self.id)

    def _waited(self) -> list[Any]:
        """Return nothing more once it is over and has yielded all. Raise what it raised."""
        if self._over is None and self._failure is None:
            self._wait(None)
        over = self._over
        if over is None or over.state != "succeeded":
            self._result()
        return [] if over is not None and over.parts else self._rest(None)

    def _rest(self, result: Any) -> list[Any]:  # noqa: ANN401
        if not isinstance(result, list):
            raise TypeError(f"call {self._id} of {self._name} is of no generator: .get() returns its result")
        return result

    # --- inside --------------------------------------------------------------------------------

    def _wait(self, timeout: float | None) -> None:
        end = None if timeout is None else time.monotonic() + timeout
        session = self._session
        with session.wanting(self), session.over:
            while self._over is None and self._failure is None:
                left = None if end is None else end - time.monotonic()
                if left is not None and left <= 0:
                    raise TimeoutError(f"call {self._id} of {self._name} is not over after {timeout:g} s")
                session.over.wait(left)

    async def _awaited(self) -> Any:  # noqa: ANN401
        loop = asyncio.get_running_loop()
        over = loop.create_future()

        def note() -> None:
            if not over.done():
                over.set_result(None)

        def tell() -> None:
            with contextlib.suppress(RuntimeError):  # its loop was closed meanwhile: nobody waits there any more
                loop.call_soon_threadsafe(note)

        with self._session.over:
            waits = self._over is None and self._failure is None
            if waits:
                self._callbacks.append(tell)
        if waits:
            try:
                with self._session.wanting(self):
                    await over
            finally:
                with self._session.over:
                    if tell in self._callbacks:
                        self._callbacks.remove(tell)
        if self._over is not None and (self._over.parts or wire.file_of(self._over.value)):
            return await asyncio.to_thread(self._result)
        return self._result()

    def _entered(self, number: int, failure: ClearwayError | None) -> None:
        self._id, self._failure = number, failure
        if failure is not None:
            self._silent = not self._callbacks
            self._tell()

    def _check(self) -> None:
        """Raise what kept it from being entered."""
        if self._failure is not None:
            self._silent = False
            raise self._failure

    def _complain(self) -> None:
        """Tell of a call that was not entered, where nobody has asked for it."""
        if self._silent and sys.stderr is not None:
            self._silent = False
            sys.stderr.write(
                f"clearway: a call of {self._name} was not made, and nobody asked for it: {self._failure}\n"
            )

    def _ended(self, over: wire.Over) -> None:
        self._over = over
        self._tell()

    def _tell(self) -> None:
        for tell in self._callbacks:
            tell()
        self._callbacks.clear()

    def _result(self) -> Any:  # noqa: ANN401
        self._check()
        over = self._over
        if over is None:
            raise CallError(f"call {self._id} of {self._name} is not over")
        if over.state == "succeeded":
            return parts_of(self._session, over) if over.parts else loads(content_of(self._session, over.value))
        if over.state == "cancelled":
            raise CallCancelledError(f"call {self._id} of {self._name} was cancelled")
        if not over.parts:
            raise raised(self._session, over, self._name)
        error = raised(self._session, self._session.ask(f"calls/{over.call}/failure", wire.Over), self._name)
        error.add_note(_note(self.row))
        raise error


def _note(row: dict[str, Any]) -> str:
    if row["kind"] == "chain":
        behind = "" if row["over"] == row["parts"] else "; what is behind it does not run"
        return f"chain {row['id']}: its part {row['over']} of {row['parts']} failed{behind}"
    return f"{row['kind']} {row['id']}: {row['failed']} of its {row['parts']} parts failed"


def content_of(session: Session, value: wire.Value) -> bytes:
    """Return the bytes of a value, also of one that is kept in a file."""
    name = wire.file_of(value)
    return value if name is None else session.fetch(name)


def parts_of(session: Session, over: wire.Over) -> Any:  # noqa: ANN401
    """Return the result of a node that is made of others: a list, or that of its last part."""
    found: list[Any] = []
    while True:
        page = session.ask(f"calls/{over.call}/members?first={len(found)}&most={PAGE}", wire.Members)
        if page.single is not None:
            return loads(content_of(session, page.single.value))
        for member in page.members:
            one = member.over
            found.append(parts_of(session, one) if one.parts else loads(content_of(session, one.value)))
        if not page.members or len(found) >= page.total:
            return found


def raised(session: Session, over: wire.Over, name: str) -> Exception:
    """Return the exception with which a call failed, with where it was raised as its cause."""
    problem = over.problem or wire.Problem(["CallError"], "it failed, and nothing says why")
    if problem.types[0] in _OURS and not over.value:
        return _OURS[problem.types[0]](f"call {over.call} of {name}: {problem.message}")
    error: object = None
    if over.value:
        try:
            error = loads(content_of(session, over.value))
        except Exception:  # noqa: BLE001  a class that is only there: its name and text are told instead
            error = None
    if not isinstance(error, Exception) or isinstance(error, StopIteration | StopAsyncIteration):
        # None at all, or one that would end the program that asks, or the loop that asks, in place of the call
        error = CallError(f"call {over.call} of {name} raised {problem.types[0]}: {problem.message}")
    error.__cause__ = RemoteTraceback(problem.traceback)
    return error
