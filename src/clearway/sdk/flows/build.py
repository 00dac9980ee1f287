"""`@flow`: a function that builds a workflow out of calls of tasks. Its body runs once, to learn what follows what."""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING, Any, overload

from clearway.model.errors import InputError
from clearway.sdk.flows.at_work import LITERALS
from clearway.sdk.flows.packed import job_words
from clearway.sdk.tasks.building import BUILDING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from clearway.sdk.flows.run import FlowRun
    from clearway.sdk.tasks.task import Task

STEP_WORDS = ("after", "rule", "when", "until", "max_loops", "choose", "undo")
"""Options of a task that say something of its step, beside the words of a job."""


class Condition:
    """Something that is true or false only when the workflow runs: for `when` and `until`."""

    def __init__(self, text: str, steps: tuple[str, ...] = ()) -> None:
        """Hold the condition as a workflow's words have it, and the steps that it speaks of."""
        self.text, self.steps = text, steps

    def __and__(self, other: Condition) -> Condition:
        return Condition(f"({self.text}) and ({other.text})", (*self.steps, *other.steps))

    def __or__(self, other: Condition) -> Condition:
        return Condition(f"({self.text}) or ({other.text})", (*self.steps, *other.steps))

    def __invert__(self) -> Condition:
        return Condition(f"not ({self.text})", self.steps)

    def __bool__(self) -> bool:
        raise TypeError("a condition is known only when the workflow runs: give it to `.options(when=..)`")


class Ref:
    """The result of a step, or a part of it, that is known only when the workflow runs."""

    __hash__ = None  # type: ignore[assignment]  # == makes a condition

    def __init__(self, path: str, step: str = "") -> None:
        """Stand for a path such as `train.loss`; `step` is the step that it comes from."""
        self.path, self.step = path, step

    def __repr__(self) -> str:
        return f"<Ref {self.path}>"

    def __getitem__(self, key: str | int) -> Ref:
        return Ref(f"{self.path}.{key}", self.step)

    def _compared(self, sign: str, other: object) -> Condition:
        import json

        text = other.path if isinstance(other, Ref) else json.dumps(other)
        steps = (self.step, other.step if isinstance(other, Ref) else "")
        return Condition(f"{self.path} {sign} {text}", tuple(filter(None, steps)))

    def __eq__(self, other: object) -> Condition:  # type: ignore[override]
        return self._compared("==", other)

    def __ne__(self, other: object) -> Condition:  # type: ignore[override]
        return self._compared("!=", other)

    def __lt__(self, other: object) -> Condition:
        return self._compared("<", other)

    def __le__(self, other: object) -> Condition:
        return self._compared("<=", other)

    def __gt__(self, other: object) -> Condition:
        return self._compared(">", other)

    def __ge__(self, other: object) -> Condition:
        return self._compared(">=", other)

    def __bool__(self) -> bool:
        raise TypeError(f"{self.path} is known only when the workflow runs: give a condition to `.options(when=..)`")

    def __iter__(self) -> Any:  # noqa: ANN401  never returns
        raise TypeError(f"{self.path} is known only when the workflow runs: go through it with `task.map(..)`")


class Builder:
    """Takes down the steps of one workflow."""

    def __init__(self, name: str) -> None:
        """Begin without steps."""
        self.name = name
        self.steps: list[dict[str, Any]] = []
        self._names: set[str] = set()

    def call(self, task: Task[Any, Any], args: tuple[object, ...], kwargs: dict[str, object]) -> Ref:
        """Take down a call of a task."""
        named = {**{str(i): value for i, value in enumerate(args)}, **kwargs}
        refs = {name: value for name, value in named.items() if isinstance(value, Ref)}
        literals = {name: value for name, value in named.items() if not isinstance(value, Ref)}
        words: dict[str, Any] = {name: {"from": ref.path} for name, ref in refs.items()}
        words[LITERALS] = [literals]
        return self._add(task, {"args": words}, "call", task.function, list(refs.values()))

    def map(self, task: Task[Any, Any], items: Ref | Iterable[object], more: dict[str, object]) -> Ref:
        """Take down a call for each item of a list, which may be known only when the workflow runs."""
        each = items.path if isinstance(items, Ref) else list(items)
        return self._add(task, {"each": each}, "item", (task.function, more), [items] if isinstance(items, Ref) else [])

    def pause(self, question: str, after: tuple[Ref, ...]) -> Ref:
        """Take down that a person is asked."""
        name = self._named("pause")
        before = [ref.step for ref in after if ref.step]
        self.steps.append({"name": name, "pause": question, **({"after": before} if before else {})})
        return Ref(name, name)

    def inner(self, flow: Flow, args: tuple[object, ...], kwargs: dict[str, object]) -> Ref:
        """Take down a workflow inside this one."""
        named = flow.bound(args, kwargs)
        refs = {name: value for name, value in named.items() if isinstance(value, Ref)}
        words, given = flow.words(**{**named, **{name: Ref(f"input.{name}") for name in refs}})
        if not isinstance(given, Ref):
            raise InputError("return", flow.name, "a flow inside another one returns the result of one of its steps")
        name = self._named(flow.name)
        step: dict[str, Any] = {"name": name, "workflow": {k: x for k, x in words.items() if k != "name"}}
        if refs:
            step["args"] = {name: {"from": ref.path} for name, ref in refs.items()}
        self._after(step, list(refs.values()), {})
        self.steps.append(step)
        return Ref(f"{name}.value", name)

    def _add(self, task: Task[Any, Any], how: dict[str, Any], kind: str, thing: object, refs: list[Ref]) -> Ref:
        name = self._named(str(task.words.get("name", task.function.__name__)))
        of_step = {word: task.words[word] for word in STEP_WORDS if word in task.words}
        words = {word: value for word, value in task.words.items() if word not in (*STEP_WORDS, "name")}
        step: dict[str, Any] = {"name": name, **how, **job_words(kind, thing, words)}
        if "undo" in of_step:
            undo: Any = of_step.pop("undo")
            step["undo"] = job_words("item", (undo.function, {}), {})
        self._after(step, refs, of_step)
        self.steps.append(step)
        return Ref(name, name)

    def _after(self, step: dict[str, Any], refs: list[Ref], of_step: dict[str, Any]) -> None:
        before = [ref.step for ref in refs]
        for word, value in of_step.items():
            if word == "after":
                before += [ref.step for ref in ([value] if isinstance(value, Ref) else value)]
            elif isinstance(value, Condition):
                before += value.steps if word == "when" else ()
                step[word] = value.text
            else:
                step[word] = value
        if found := list(dict.fromkeys(filter(None, before))):
            step["after"] = found

    def _named(self, wanted: str) -> str:
        name, number = re.sub(r"\W", "_", wanted), 1
        while name in self._names or name in ("pass", "item", "input"):
            number += 1
            name = f"{re.sub(chr(92) + 'W', '_', wanted)}_{number}"
        self._names.add(name)
        return name


class Flow:
    """A workflow in Python. Calling it runs it and waits; inside another one it is a step of that."""

    def __init__(self, function: Callable[..., Any], name: str, more: dict[str, object]) -> None:
        """Hold the function that builds it, and words of a workflow."""
        self.function, self.name, self.more = function, name, more
        functools.update_wrapper(self, function)

    def __call__(self, *args: object, **kwargs: object) -> Any:  # noqa: ANN401  whatever it gives back
        """Run it, wait, and return what it gives back. FlowError: it did not succeed."""
        builder = BUILDING.get()
        if builder is not None:
            return builder.inner(self, args, kwargs)
        return self.submit(*args, **kwargs).result()

    def submit(self, *args: object, **kwargs: object) -> FlowRun:
        """Enter it, and return at once."""
        from clearway.sdk import connect
        from clearway.sdk.flows.run import FlowRun

        words, given = self.words(*args, **kwargs)
        client = connect()
        return FlowRun(client, client.run_flow(words)["id"], given)

    def words(self, *args: object, **kwargs: object) -> tuple[dict[str, Any], Any]:
        """Return the words of the workflow for these arguments, and what its function returned, with Refs in it."""
        builder = Builder(self.name)
        token = BUILDING.set(builder)
        try:
            given = self.function(*args, **kwargs)
        finally:
            BUILDING.reset(token)
        if not builder.steps:
            raise InputError("steps", self.name, "a flow calls at least one task")
        words = {"name": self.name, "steps": builder.steps, **self.more}
        if isinstance(given, Ref):
            words["result"] = {"value": {"from": given.path}}
        return words, given

    def bound(self, args: tuple[object, ...], kwargs: dict[str, object]) -> dict[str, object]:
        """Return arguments by the names of the function's parameters."""
        import inspect

        bound = inspect.signature(self.function).bind(*args, **kwargs)
        bound.apply_defaults()
        return dict(bound.arguments)


def pause(question: str, *after: Any) -> Any:  # noqa: ANN401  Refs, which stand for values of any kind
    """Inside a flow: ask a person, when what is named is done. Its result is the answer."""
    builder = BUILDING.get()
    if builder is None:
        raise RuntimeError("pause is for the body of a @flow")
    return builder.pause(question, after)


@overload
def flow(function: Callable[..., Any], /) -> Flow: ...
@overload
def flow(*, name: str = "", **words: object) -> Callable[[Callable[..., Any]], Flow]: ...
def flow(function: Callable[..., Any] | None = None, /, *, name: str = "", **words: object) -> Any:
    """Make a function a workflow: `@flow`, or with words of a workflow `@flow(name="nightly", time_limit="4h")`."""
    if function is None:
        return lambda wrapped: Flow(wrapped, name or wrapped.__name__, words)
    return Flow(function, function.__name__, words)
