"""Calls put together before they are made: one after the other, side by side, and both inside one another.

from clearway import chain, chord, group

chain(load.s("a"), clean.s(), train.s(lr=0.1)).remote()     # or load.s("a") | clean.s() | train.s(lr=0.1)
group(score.s(part) for part in parts).remote().get()       # the list of results, in order
chord([score.s(part) for part in parts], best.s()).remote()  # best gets that list
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeAlias

from clearway.model.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from clearway.calls.wire import Recipe, Spec, Value
    from clearway.sdk.tasks.handle import Handle
    from clearway.sdk.tasks.session import Session
    from clearway.sdk.tasks.task import Task

    Part: TypeAlias = "Sketch | Task[..., Any]"


class Sketch(ABC):
    """Calls that are not made yet. `a | b`: b is given the result of a."""

    name = "sketch"

    def __or__(self, other: Part) -> Chain:
        return chain(self, other)

    def __ror__(self, other: Part) -> Chain:
        return chain(other, self)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}>"

    def remote(self) -> Handle:
        """Make the calls, and return the handle of the whole at once."""
        from clearway.sdk.tasks.handle import Handle
        from clearway.sdk.tasks.session import session

        here = session()
        handle, recipes = Handle(here, self.name), dict[Any, int]()
        spec = self.spec(here, recipes)
        here.enter(spec, list(recipes), handle)
        return handle

    delay = remote

    @abstractmethod
    def spec(self, session: Session, recipes: dict[Recipe, int]) -> Spec:
        """Return what is sent. `recipes` numbers those that it uses."""


class Signature(Sketch):
    """One call of a task that is not made yet: what goes before its own arguments comes from the part before it."""

    def __init__(self, task: Task[..., Any], args: tuple[object, ...], kwargs: dict[str, object]) -> None:
        """Hold a task and its arguments."""
        self.task, self.args, self.kwargs = task, args, kwargs
        self.name = task.name

    def options(self, **words: object) -> Signature:
        """Return the same call with other options."""
        return Signature(self.task.options(**words), self.args, self.kwargs)

    def spec(self, session: Session, recipes: dict[Recipe, int]) -> Spec:
        """Return one call."""
        from clearway.calls.wire import CallSpec

        return CallSpec(number(recipes, self.task.recipe(session, "call")), self.value(session))

    def value(self, session: Session) -> Value:
        """Return its arguments as bytes."""
        return self.task.value(session, (self.args, self.kwargs))


class Chain(Sketch):
    """Parts one after the other."""

    name = "chain"

    def __init__(self, steps: Sequence[Sketch]) -> None:
        """Hold the parts."""
        self.steps = steps

    def spec(self, session: Session, recipes: dict[Recipe, int]) -> Spec:
        """Return them in order."""
        from clearway.calls.wire import ChainSpec

        if not self.steps:
            raise InputError("chain", [], "at least one part")
        return ChainSpec([step.spec(session, recipes) for step in self.steps])


class Group(Sketch):
    """Parts side by side."""

    name = "group"

    def __init__(self, members: Sequence[Sketch]) -> None:
        """Hold the parts."""
        self.members = members

    def spec(self, session: Session, recipes: dict[Recipe, int]) -> Spec:
        """Return them; where all are calls of one task, as one map, of which calls are made as workers come to it."""
        from clearway.calls.wire import GroupSpec, MapSpec

        tasks = {id(member.task) if isinstance(member, Signature) else None for member in self.members}
        if len(tasks) == 1 and None not in tasks:
            alike = [member for member in self.members if isinstance(member, Signature)]
            recipe = number(recipes, alike[0].task.recipe(session, "call"))
            return MapSpec(recipe, [member.value(session) for member in alike])
        return GroupSpec([member.spec(session, recipes) for member in self.members])


class Spread(Sketch):
    """A call of one task for each item."""

    def __init__(self, task: Task[..., Any], items: Iterable[object], how: str) -> None:
        """Hold a task, and what it is called with: `how` a worker makes arguments of an item."""
        self.task, self.items, self.how = task, items, how
        self.name = task.name

    def spec(self, session: Session, recipes: dict[Recipe, int]) -> Spec:
        """Return the items."""
        from clearway.calls.wire import MapSpec

        recipe = number(recipes, self.task.recipe(session, self.how))
        return MapSpec(recipe, [self.task.value(session, item) for item in self.items])


def number(recipes: dict[Recipe, int], recipe: Recipe) -> int:
    """Return the number of a recipe among those that are sent."""
    return recipes.setdefault(recipe, len(recipes))


def chain(*steps: Part) -> Chain:
    """Return parts to run one after the other: each is given the result of the one before it."""
    found: list[Sketch] = []
    for step in map(sketch_of, steps):
        found += step.steps if isinstance(step, Chain) else [step]
    return Chain(found)


def group(*members: Part | Iterable[Part]) -> Group:
    """Return parts to run side by side, given one by one or as one list. The result is the list of theirs."""
    from clearway.sdk.tasks.handle import Handle
    from clearway.sdk.tasks.task import Task

    if len(members) == 1 and not isinstance(members[0], Sketch | Task | Handle) and isinstance(members[0], Iterable):
        return Group([sketch_of(member) for member in members[0]])
    return Group([sketch_of(member) for member in members])


def chord(members: Iterable[Part] | Group, callback: Part) -> Chain:
    """Return a group and what runs after it, which is given the list of its results."""
    return chain(members if isinstance(members, Group) else group(members), callback)


def sketch_of(part: object) -> Sketch:
    """Return a part; a task stands for a call of it without arguments of its own. TypeError: it is no part."""
    from clearway.sdk.tasks.handle import Handle
    from clearway.sdk.tasks.task import Task

    if isinstance(part, Sketch):
        return part
    if isinstance(part, Task):
        return part.s()
    if isinstance(part, Handle):
        raise TypeError(f"{part!r} is a call that was made already: parts are calls that are not made yet, f.s(..)")
    raise TypeError(f"{part!r} is no part of a chain or group: write f.s(..), the call of a task that is not made yet")


def starmap(task: Task[..., Any], items: Iterable[Sequence[object]]) -> Spread:
    """Return a call for each item, which is a list of arguments."""
    return Spread(task, (list(item) for item in items), "star")


def chunks(task: Task[..., Any], items: Iterable[object], size: int) -> Spread:
    """Return calls that do `size` items each, one after the other; the result is a list of their lists."""
    if size < 1:
        raise ValueError(f"size {size}: at least 1")
    return Spread(task, _pieces(iter(items), size), "chunk")


def _pieces(items: Iterator[object], size: int) -> Iterator[list[object]]:
    while piece := list(islice(items, size)):
        yield piece
