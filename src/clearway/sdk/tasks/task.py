"""`@task`: a function whose calls may run elsewhere.

from clearway import task

@task(gpus=0.5, max_retries=2)
def embed(text):
    ...

embed("here")                # a plain call, in this process
embed.remote("there").get()  # on a worker that has half a GPU
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import sys
import threading
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar, overload

from clearway.model.errors import InputError
from clearway.sdk.flows.habits import missing
from clearway.sdk.tasks.actor import ActorClass
from clearway.sdk.tasks.building import BUILDING
from clearway.sdk.tasks.canvas import Signature, Spread, chunks, starmap
from clearway.sdk.tasks.reach import POOL

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from clearway.calls.wire import Recipe, Value
    from clearway.sdk.tasks.handle import Handle
    from clearway.sdk.tasks.session import Session

P = ParamSpec("P")
R = TypeVar("R")
WORKER = "clearway.sdk.worker"
MOST_INLINE = 256 * 1024
"""Larger values are kept in files."""


class Task(Generic[P, R]):
    """A function with options. They are words of a job: what a call needs, and how it is tried again."""

    def __init__(self, function: Callable[P, R], words: dict[str, object]) -> None:
        """Hold a function and its options."""
        self.function, self.words = function, words
        self._packed: tuple[str, bytes] | None = None
        self._recipes: dict[tuple[str, str], Recipe] = {}
        self._lock = threading.Lock()
        functools.update_wrapper(self, function)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the function here, as if it were no task; in the body of a `@flow` it is a step of that."""
        builder = BUILDING.get()
        if builder is not None:
            step: R = builder.call(self, args, kwargs)
            return step
        return self.function(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<Task {self.name}>"

    def __getstate__(self) -> dict[str, Any]:
        kept = {k: v for k, v in vars(self).items() if k not in {"_lock", "_packed", "_recipes"}}
        return {**kept, "_packed": None, "_recipes": {}}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        """What it is called in lists and messages."""
        return f"{self.function.__module__}.{self.function.__qualname__}"

    def options(self, **words: object) -> Task[P, R]:
        """Return the same task with other options; those that are not named stay."""
        other = Task(self.function, {**self.words, **words})
        other._packed = self._packed
        return other

    def remote(self, *args: P.args, **kwargs: P.kwargs) -> Handle:
        """Make a call that runs on a worker, and return at once."""
        return Signature(self, args, kwargs).remote()

    delay = remote

    def submit(self, *args: P.args, **kwargs: P.kwargs) -> Any:  # noqa: ANN401  a Handle, or inside a flow a Ref
        """Make a call as it is made here: in the body of a `@flow` a step, anywhere else `remote`."""
        return self(*args, **kwargs) if BUILDING.get() is not None else self.remote(*args, **kwargs)

    if not TYPE_CHECKING:  # who checks types knows better what is there

        def __getattr__(self, name: str) -> Any:  # noqa: ANN401  never returns
            """Say how it is done here where another library has it."""
            raise missing(self, name)

    def map(self, items: Iterable[object], *others: object, **more: object) -> Any:  # noqa: ANN401  a Handle or a Ref
        """Make a call for each item. The result is the list of results, in order.

        `more` are further arguments, the same for all. In the body of a `@flow` it is a step for each item, also of a
        list that is known only when that runs. InputError: `others`, lists to be gone through beside this one.
        """
        if others:
            raise InputError("map", others[0], "one list; of several make one of their items together", self.name)
        builder = BUILDING.get()
        if builder is not None:
            return builder.map(self, items, more)
        one = self._with(more) if more else self
        return Spread(one, items, "each").remote()

    def _with(self, more: dict[str, object]) -> Task[Any, Any]:
        function: Callable[..., R] = self.function
        bound = functools.update_wrapper(functools.partial(function, **more), function)
        return Task[Any, Any](bound, self.words)

    def starmap(self, items: Iterable[Sequence[object]]) -> Handle:
        """Make a call for each item, which is a list of arguments."""
        return starmap(self, items).remote()

    def chunks(self, items: Iterable[object], size: int) -> Handle:
        """Make calls that do `size` items each; the result is a list of their lists."""
        return chunks(self, items, size).remote()

    def s(self, *args: object, **kwargs: object) -> Signature:
        """Return a call that is not made yet, to be put together with others."""
        return Signature(self, args, kwargs)

    def value(self, session: Session, value: object) -> Value:
        """Return a value as bytes, or what stands for it."""
        return value_of(session, value)

    def recipe(self, session: Session, how: str) -> Recipe:
        """Return what all its calls share, and have the session know the function."""
        from clearway.calls.wire import Recipe

        digest, body = self._pack()
        session.function(digest, body)
        key = how, os.getcwd()  # noqa: PTH109  a text, not a path
        found = self._recipes.get(key)
        if found is None:
            found = self._recipes[key] = Recipe(digest, self.name, how, said_words(self.words))
        return found

    def _pack(self) -> tuple[str, bytes]:
        with self._lock:
            if self._packed is None:
                code = getattr(self.function, "__code__", None)
                self._packed = packed(code.co_filename if code else "", self.function)
            return self._packed


def packed(file: str, made: object) -> tuple[str, bytes]:
    """Return digest and bytes of a function, with the name of its file, which does not go with it otherwise."""
    from clearway.sdk.tasks.values import dumps

    body = dumps((file, made))
    return hashlib.sha256(body).hexdigest(), body


def value_of(session: Session, value: object) -> Value:
    """Return a value as bytes, or what stands for it."""
    from clearway.sdk.tasks.values import dumps

    content = dumps(value)
    return content if len(content) <= MOST_INLINE else session.keep(content)


def said_words(words: dict[str, object], *, actor: bool = False) -> str:
    """Return options as they are sent. InputError: one of them is refused, whichever controller is asked."""
    from clearway.calls.words import plain_words, read_rules

    for word, value in words.items():
        try:
            json.dumps(value)
        except (TypeError, ValueError) as error:
            raise InputError(word, value, f"texts, numbers, lists and maps ({error})", "task") from error
    said = json.dumps(worker_words(words))
    read_rules({"user": "me", **plain_words(said)}, {}, actor=actor)
    return said


def worker_words(words: dict[str, object]) -> dict[str, object]:
    """Return options with how their worker is started: by this Python, from here, with what can be imported here."""
    env = {"PYTHONPATH": os.environ.get("PYTHONPATH", "") if POOL in os.environ else _python_path()}
    given = words.get("env")
    return {
        "run": [sys.executable, "-m", WORKER],
        "workdir": os.getcwd(),  # noqa: PTH109  a text, not a path
        **words,
        "env": {**env, **(given if isinstance(given, dict) else {})},
    }


def _python_path() -> str:
    """Return what can be imported here. A worker says instead what it was told itself: its calls are for such as it."""
    return os.pathsep.join(os.path.abspath(path) for path in sys.path if not _installed(path))  # noqa: PTH100  texts


def _installed(path: str) -> bool:
    return path.startswith((sys.prefix, sys.base_prefix)) or path.endswith(".zip")


# A class can be called too, so that signatures of functions overlap with those of classes: the first one counts.
class _Decorator:
    def __init__(self, words: dict[str, object]) -> None:
        self._words = words

    @overload
    def __call__(self, made: type) -> ActorClass: ...  # type: ignore[overload-overlap]
    @overload
    def __call__(self, made: Callable[P, R]) -> Task[P, R]: ...
    def __call__(self, made: Any) -> Any:
        return ActorClass(made, self._words) if isinstance(made, type) else Task(made, self._words)


@overload
def task(made: type, /) -> ActorClass: ...  # type: ignore[overload-overlap]
@overload
def task(made: Callable[P, R], /) -> Task[P, R]: ...
@overload
def task(**words: object) -> _Decorator: ...
def task(made: Any = None, /, **words: object) -> Any:
    """Make a function a task, or a class one of which actors are made; with or without options: `@task(gpus=1)`."""
    return _Decorator(words) if made is None else _Decorator(words)(made)
