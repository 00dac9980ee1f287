"""Running one call: its function is made from bytes here, and nowhere else but in its maker's program."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import signal
import sys
import threading
import time
import traceback
from typing import TYPE_CHECKING, Any

from clearway.calls import wire
from clearway.sdk.tasks.handle import parts_of
from clearway.sdk.tasks.session import session
from clearway.sdk.tasks.task import MOST_INLINE, Task
from clearway.sdk.tasks.values import dumps, loads
from clearway.sdk.worker.named import name_file
from clearway.sdk.worker.output import Output
from clearway.sdk.worker.telling import told

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator
    from types import FrameType

_MAIN = threading.main_thread()


class Runs:
    """What this process knows of recipes and functions, and how it runs a call of them."""

    def __init__(self, tell: Callable[[wire.Items], None]) -> None:
        """Have what calls yield told by `tell`, in their order."""
        self._tell = tell
        self._recipes: dict[int, wire.Told] = {}
        self._bodies: dict[str, bytes] = {}
        self._functions: dict[str, Callable[..., Any]] = {}
        self._actors: dict[str, Any] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._output = Output()
        self._inside = self._unwanted = 0
        signal.signal(signal.SIGINT, self._interrupted)

    def learn(self, hand: wire.Hand) -> None:
        """Take in recipes and functions that are new."""
        self._recipes.update(hand.recipes)
        self._bodies.update(hand.functions)

    def knows(self, given: wire.Given) -> bool:
        """Whether it has been told what a call is of."""
        recipe = self._recipes.get(given.recipe)
        return recipe is not None and recipe.function in self._bodies

    def told(self, given: wire.Given) -> tuple[wire.Told, bytes]:
        """Return the recipe and the function of a call."""
        recipe = self._recipes[given.recipe]
        return recipe, self._bodies[recipe.function]

    def interrupt(self, call: int) -> None:
        """Have a call that runs fail where it is, as by Ctrl-C; nothing where it is over. From any thread.

        What it has called may take its time, or go on all the same.
        """
        self._unwanted = call
        if _MAIN.ident is not None:
            signal.pthread_kill(_MAIN.ident, signal.SIGINT)

    def _interrupted(self, _number: int, _frame: FrameType | None) -> None:
        if self._inside and self._inside == self._unwanted:
            self._unwanted = 0
            raise KeyboardInterrupt("the call was cancelled")

    def limit_s(self, given: wire.Given) -> float | None:
        """How long a call may take."""
        limit_us = self._recipes[given.recipe].limit_us
        return None if limit_us is None else limit_us / 1e6

    def run(self, given: wire.Given) -> wire.Done:
        """Run a call, whatever it does, and return how it ended."""
        recipe = self._recipes[given.recipe]
        self._output.begin()
        from_ = self._output.written()
        began = time.perf_counter_ns()
        try:
            try:
                self._inside = given.call
                if self._unwanted == given.call:  # it was cancelled just before
                    self._interrupted(0, None)
                result = self._call(recipe, given)
            finally:
                self._inside = 0
            value, problem = bytes(result) if isinstance(result, _Yielded) else _kept(dumps(result)), None
        except BaseException as error:  # noqa: BLE001  also SystemExit: a call ends, not its worker
            value, problem = _told(error)
        took_us = (time.perf_counter_ns() - began) // 1000
        upto = self._output.written()
        return wire.Done(given.call, given.attempt, value, problem, took_us, (from_[0], upto[0], from_[1], upto[1]))

    def stack(self) -> str:
        """Return where the main thread is."""
        frame = sys._current_frames().get(_MAIN.ident or 0)  # noqa: SLF001  its documented name
        return "".join(traceback.format_stack(frame)) if frame is not None else ""

    def _call(self, recipe: wire.Told, given: wire.Given) -> Any:  # noqa: ANN401
        if recipe.how == "method":
            return self._method(recipe, given)
        function = self._function(recipe.function)
        value = loads(_content(given.value))
        first = self._input(given)
        if recipe.how == "call":
            args, kwargs = value
            return self._finish(function(*first, *args, **kwargs), given)
        if recipe.how == "each":
            return self._finish(function(*first, value))
        if recipe.how == "star":
            return self._finish(function(*first, *value))
        return [self._finish(function(*first, item)) for item in value]

    def _method(self, recipe: wire.Told, given: wire.Given) -> Any:  # noqa: ANN401
        if recipe.function not in self._actors:
            file, (made, args, kwargs) = loads(self._bodies[recipe.function])
            name_file(made, file)
            self._actors[recipe.function] = made(*args, **kwargs)
        name, args, kwargs = loads(_content(given.value))
        if not name:
            return None
        method = getattr(self._actors[recipe.function], name)
        return self._finish(method(*self._input(given), *args, **kwargs), given)

    def _yielded(self, items: Iterator[Any], given: wire.Given) -> _Yielded:
        count = 0
        for count, item in enumerate(items, 1):
            self._item(given, count, item)
        return _Yielded(wire.yielded(count))

    async def _yielded_later(self, items: AsyncIterator[Any], given: wire.Given) -> _Yielded:
        count = 0
        async for item in items:
            count += 1
            self._item(given, count, item)
        return _Yielded(wire.yielded(count))

    def _item(self, given: wire.Given, count: int, item: Any) -> None:  # noqa: ANN401
        self._tell(wire.Items(given.call, given.attempt, count - 1, [_kept(dumps(item))]))

    def _input(self, given: wire.Given) -> tuple[Any, ...]:
        if given.input is not None:
            return (loads(_content(given.input)),)
        if given.input_of:
            return (parts_of(session(), wire.Over(given.input_of, "succeeded", parts=True)),)
        return ()

    def _function(self, digest: str) -> Callable[..., Any]:
        found = self._functions.get(digest)
        if found is None:
            file, made = loads(self._bodies[digest])
            found = self._functions[digest] = made.function if isinstance(made, Task) else made
            name_file(found, file)
        return found

    def _finish(self, result: Any, given: wire.Given | None = None) -> Any:  # noqa: ANN401
        """Return the result. What a generator yields is told at once where it is that of a whole call, `given`."""
        if inspect.isgenerator(result):
            return list(result) if given is None else self._yielded(result, given)
        if inspect.isasyncgen(result):
            result = _listed(result) if given is None else self._yielded_later(result, given)
        if not inspect.iscoroutine(result):
            return result
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
        task = self._loop.create_task(result)
        try:
            return self._loop.run_until_complete(task)
        except KeyboardInterrupt:
            if task.cancel():  # it was interrupted from without, and would go on with the next call
                with contextlib.suppress(asyncio.CancelledError):
                    self._loop.run_until_complete(task)
            raise


class _Yielded(bytes):
    """A value that says how many items were told."""

    __slots__ = ()


async def _listed(items: AsyncIterator[Any]) -> list[Any]:
    return [item async for item in items]


def _content(value: wire.Value) -> bytes:
    name = wire.file_of(value)
    return value if name is None else session().fetch(name)


def _kept(content: bytes) -> wire.Value:
    return content if len(content) <= MOST_INLINE else session().keep(content)


def _told(error: BaseException) -> tuple[wire.Value, wire.Problem]:
    frames = error.__traceback__
    while frames is not None and frames.tb_frame.f_globals.get("__name__") == __name__:
        frames = frames.tb_next  # ours: they say nothing about the call
    return told(error, frames, MOST_INLINE)
