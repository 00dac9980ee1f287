"""`@flow`: a function that builds a workflow out of calls of tasks. Its body runs once, to learn what follows what."""

from __future__ import annotations

import functools
import inspect
import re
from typing import TYPE_CHECKING, Any, overload

from clearway.model.errors import InputError
from clearway.model.words import JOB_WORDS, check_keys
from clearway.sdk.flows.at_work import HELD, LITERALS
from clearway.sdk.flows.habits import missing
from clearway.sdk.flows.packed import job_words
from clearway.sdk.tasks.building import BUILDING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from clearway.sdk.flows.run import FlowRun
    from clearway.sdk.tasks.task import Task

STEP_WORDS = ("after", "rule", "when", "until", "max_loops", "passes", "choose", "undo")
"""Options of a task that say something of its step, beside the words of a job."""
FLOW_WORDS = ("time_limit", "on_error")
"""Options of a flow."""
LATER = "known only when the workflow runs"


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
        raise TypeError(f"a condition is {LATER}: instead of `if` give it to `.options(when=..)`, with & | ~")


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

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401  never returns
        if name.startswith("_"):
            raise AttributeError(name)
        way = "pass it on as it is" if name in ("result", "wait", "get") else f"a part of it is ref[{name!r}]"
        raise AttributeError(f"{self.path}.{name}: the result is {LATER}: {way}", name=name, obj=self)

    def __format__(self, spec: str) -> str:
        raise TypeError(f"{self.path} is {LATER}: make the text in a task")

    def __reduce__(self) -> Any:  # noqa: ANN401  never returns
        raise TypeError(f"{self.path} is {LATER}: only an argument of a call of a task may be one, or hold one")

    def _computed(self, *_: object) -> Any:  # noqa: ANN401  never returns
        raise TypeError(f"{self.path} is {LATER}: compute with it in a task")

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _computed
    __neg__ = __len__ = __int__ = __float__ = __contains__ = _computed

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
        raise TypeError(f"{self.path} is {LATER}: give a condition to `.options(when=..)`")

    def __iter__(self) -> Any:  # noqa: ANN401  never returns
        raise TypeError(f"{self.path} is {LATER}: go through it with `task.map(..)`, or take its parts, ref[0]")


class Builder:
    """Takes down the steps of one workflow."""

    def __init__(self, name: str) -> None:
        """Begin without steps."""
        self.name = name
        self.steps: list[dict[str, Any]] = []
        self._names: set[str] = set()

    def call(self, task: Task[Any, Any], args: tuple[object, ...], kwargs: dict[str, object]) -> Ref:
        """Take down a call of a task. TypeError: it cannot be called so. InputError: an argument is no JSON."""
        inspect.signature(task.function).bind(*args, **kwargs)
        words: dict[str, Any] = {}
        literals: dict[str, Any] = {}
        refs: list[Ref] = []
        for name, value in {**{str(i): one for i, one in enumerate(args)}, **kwargs}.items():
            if isinstance(value, Ref) and name != LITERALS:
                words[name] = {"from": value.path}
                refs.append(value)
            else:
                literals[name] = self._literal(f"argument {name} of {task.function.__name__}", value, refs)
        words |= {f"{HELD}{ref.path}": {"from": ref.path} for ref in refs}
        words[LITERALS] = [literals]
        return self._add(task, {"args": words}, "call", task.function, refs)

    def _literal(self, place: str, value: object, refs: list[Ref]) -> Any:  # noqa: ANN401  JSON
        """Return a value as JSON, where each Ref inside it is a mark, and add these to `refs`."""
        if isinstance(value, Ref):
            refs.append(value)
            return {HELD: value.path}
        if isinstance(value, dict) and all(isinstance(key, str) for key in value):
            return {key: self._literal(place, one, refs) for key, one in value.items()}
        if isinstance(value, list | tuple):
            return [self._literal(place, one, refs) for one in value]
        if value is None or isinstance(value, str | int | float):
            return value
        raise InputError(place, value, "texts, numbers, lists and maps; anything else a task makes or reads itself")

    def map(self, task: Task[Any, Any], items: Ref | Iterable[object], more: dict[str, object]) -> Ref:
        """Take down a call for each item of a list, which may be known only when the workflow runs."""
        for name, value in more.items():
            if isinstance(value, Ref):
                rule = f"a value that is there now; {value.path} is {LATER}: put it into the items, by a task"
                raise InputError(name, f"the result of {value.step}", rule, f"{task.function.__name__}.map")
        inside: list[Ref] = []
        each = items.path if isinstance(items, Ref) else self._literal("items", list(items), inside)
        if inside:
            rule = (
                f"items that are there now, or one result that is a list; {inside[0].path} is {LATER}: call it for each"
            )
            raise InputError("items", f"the result of {inside[0].step}", rule, f"{task.function.__name__}.map")
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
        check_keys(f"step {name}", task.words, {*JOB_WORDS, *STEP_WORDS})
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
        if inspect.iscoroutinefunction(function) or not inspect.isroutine(function):
            raise InputError(
                "flow", name, "a plain function, no task: it only says what follows what (its tasks may be async)"
            )
        check_keys(f"flow {name}", more, FLOW_WORDS)
        self.function, self.name, self.more = function, name, more
        functools.update_wrapper(self, function)

    if not TYPE_CHECKING:  # who checks types knows better what is there

        def __getattr__(self, name: str) -> Any:  # noqa: ANN401  never returns
            """Say how it is done here where another library has it."""
            raise missing(self, name)

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

    def schedule(self, cron: str, *args: object, name: str = "", **words: object) -> dict[str, Any]:
        """Have it run again and again with these arguments, and return the schedule with its next tick.

        `words` are of a schedule: `timezone`, `overlap`, `catchup`, .. A schedule of this name is changed.
        """
        from clearway.sdk import connect

        workflow, _ = self.words(*args)
        return connect().set_schedule({"name": name or self.name, "cron": cron, "workflow": workflow, **words})

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
