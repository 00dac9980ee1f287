"""`@task` on a class: its state lives in one process, placed like a job; its methods are called from elsewhere.

@task(gpus=1, max_retries=3)
class Model:
    def __init__(self, name): ...
    def answer(self, text): ...

model = Model.remote("small")
model.answer.remote("hello").get()
model.end()
"""

from __future__ import annotations

import functools
import hashlib
import secrets
import sys
from typing import TYPE_CHECKING, Any, NoReturn

from clearway.sdk.tasks.canvas import Sketch, number

if TYPE_CHECKING:
    from collections.abc import Callable

    from clearway.calls.wire import Recipe, Spec
    from clearway.sdk.tasks.handle import Handle
    from clearway.sdk.tasks.session import Session

DETACHED = ":detached"


class ActorClass:
    """A class with options, of which actors are made."""

    def __init__(self, made: type, words: dict[str, object]) -> None:
        """Hold a class and its options."""
        self.made, self.words = made, words
        functools.update_wrapper(self, made, updated=())

    def __call__(self, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
        """Return a plain object of the class, in this process."""
        return self.made(*args, **kwargs)

    def options(self, **words: object) -> ActorClass:
        """Return the same class with other options; those that are not named stay."""
        return ActorClass(self.made, {**self.words, **words})

    def remote(self, *args: object, **kwargs: object) -> Actor:
        """Start an actor: its process makes the object, as soon as it has a place."""
        from clearway.sdk.tasks.session import session
        from clearway.sdk.tasks.task import packed, said_words

        words = dict(self.words)
        detached = bool(words.pop("detached", False))
        said = said_words(words, actor=True)
        digest, body = packed(_file_of(self.made), (self.made, args, kwargs))
        session().function(digest, body)
        key = hashlib.sha256(secrets.token_bytes(16)).hexdigest()[:16] + (DETACHED if detached else "")
        name = f"{self.made.__module__}.{self.made.__qualname__}"
        actor = Actor(key, name, digest, said)
        if not detached:
            session().owns(key)
        actor.ready = actor.call("", (), {})
        return actor


def _file_of(made: type) -> str:
    module = sys.modules.get(made.__module__)
    return getattr(module, "__file__", None) or ""


class Actor:
    """An actor. Its methods are attributes: `actor.method.remote(..)`. May be given to tasks and other actors."""

    ready: Handle
    """Over when the object is made; what its constructor raised is raised by each call."""

    def __init__(self, key: str, name: str, digest: str, words: str) -> None:
        """Know an actor by its key."""
        self._key, self._name, self._digest, self._words = key, name, digest, words

    def __repr__(self) -> str:
        return f"<Actor {self._name} {self._key}>"

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "ready"}

    def __getattr__(self, name: str) -> Method:
        if name.startswith("_") or name == "ready":
            raise AttributeError(name)
        return Method(self, name)

    def call(self, method: str, args: tuple[object, ...], kwargs: dict[str, object]) -> Handle:
        """Call a method; calls of one program run in the order in which they were made."""
        return _MethodCall(self, method, args, kwargs).remote()

    def recipe(self, method: str) -> Recipe:
        """Return what all calls of a method share."""
        from clearway.calls.wire import Recipe

        name = f"{self._name}.{method}" if method else self._name
        return Recipe(self._digest, name, "method", self._words, self._key)

    def end(self) -> None:
        """End its process; calls that are not over fail with ActorDiedError."""
        from clearway.sdk.tasks.session import session

        session().end_actor(self._key)


class Method:
    """A method of an actor."""

    def __init__(self, actor: Actor, name: str) -> None:
        """Hold an actor and the name of a method."""
        self._actor, self._name = actor, name

    def __repr__(self) -> str:
        return f"<Method {self._name} of {self._actor!r}>"

    def __call__(self, *_args: object, **_kwargs: object) -> NoReturn:
        """Refuse: a method runs where its actor is."""
        raise TypeError(
            f"{self._name} is a method of an actor: call it by .{self._name}.remote(..), which gives a handle"
        )

    def remote(self, *args: object, **kwargs: object) -> Handle:
        """Call it, and return at once."""
        return self._actor.call(self._name, args, kwargs)

    delay: Callable[..., Handle] = remote

    def s(self, *args: object, **kwargs: object) -> Sketch:
        """Return a call that is not made yet, to be put together with others."""
        return _MethodCall(self._actor, self._name, args, kwargs)


class _MethodCall(Sketch):
    def __init__(self, actor: Actor, method: str, args: tuple[object, ...], kwargs: dict[str, object]) -> None:
        self._actor, self._said = actor, (method, args, kwargs)
        self.name = f"{actor!r}.{method}" if method else repr(actor)

    def spec(self, session: Session, recipes: dict[Recipe, int]) -> Spec:
        """Return one call."""
        from clearway.calls.wire import CallSpec
        from clearway.sdk.tasks.task import value_of

        return CallSpec(number(recipes, self._actor.recipe(self._said[0])), value_of(session, self._said))
