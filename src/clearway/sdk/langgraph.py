"""LangGraph graphs whose nodes run as Clearway tasks. LangGraph keeps its own loop, state, reducers and checkpoints.

    from langgraph.graph import StateGraph
    from clearway.sdk.langgraph import on_clearway

    builder = StateGraph(State)
    ...
    app = on_clearway(builder, gpus=0.5, words={"embed": {"gpus": 1}}).compile(checkpointer=..)

A node is called on a worker with the state and gives back its change, a `Command` or what else it returns. What needs
LangGraph's own process stays there: a node that is no plain function (a compiled graph inside), and edges. `interrupt`
inside a node, and nodes that ask for `config`, `runtime`, `store` or `writer`, do not go to a worker: name them `here`.
"""

from __future__ import annotations

import copy
import inspect
from typing import TYPE_CHECKING, Any

from clearway.model.errors import InputError
from clearway.sdk.tasks.task import Task

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from langgraph.graph import StateGraph

LOCAL = frozenset({"config", "runtime", "store", "writer", "previous"})
"""What LangGraph hands a node by the name of a parameter: it cannot go to another process."""
CALLED = frozenset({"interrupt", "get_config", "get_store", "get_stream_writer", "get_runtime"})
"""What a node may call that asks LangGraph's own process."""


def on_clearway(
    builder: StateGraph[Any, Any, Any, Any],
    *,
    here: Collection[str] = (),
    words: Mapping[str, Mapping[str, object]] | None = None,
    **for_all: object,
) -> StateGraph[Any, Any, Any, Any]:
    """Return a graph like `builder` whose nodes run as tasks with these words of a job; `words` has others by node.

    Nodes named in `here`, and those that are no plain functions, run where the graph runs. InputError: a name that is
    no node, or a node that needs what cannot go to another process.
    """
    if not hasattr(builder, "compile"):
        raise InputError(
            "builder", builder, "a StateGraph of LangGraph before `compile`: on_clearway(builder).compile(..)"
        )
    given = words or {}
    for name in (*here, *given):
        if name not in builder.nodes:
            raise InputError("node", name, "a node of the graph: " + ", ".join(builder.nodes))
    found = copy.copy(builder)
    found.nodes = dict(builder.nodes)
    for name, node in builder.nodes.items():
        function = getattr(node.runnable, "func", None)
        if name in here or function is None:
            continue
        if wants := (LOCAL & set(inspect.signature(function).parameters)) | _calls(function):
            raise InputError("node", name, f"a node without {', '.join(sorted(wants))}, or one named in `here`")
        found.nodes[name] = _elsewhere(node, function, {"name": name, **for_all, **given.get(name, {})})
    return found


def _calls(function: Callable[..., Any]) -> set[str]:
    """Return what a function calls of LangGraph that works in its own process alone, as far as its code shows."""
    names = getattr(getattr(function, "__code__", None), "co_names", ())
    known = getattr(function, "__globals__", {})
    called = [known[name] for name in names if name in known]
    return {one.__name__ for one in called if getattr(one, "__name__", "") in CALLED and "langgraph" in one.__module__}


def _elsewhere(node: Any, function: Callable[..., Any], words: dict[str, object]) -> Any:  # noqa: ANN401  LangGraph's own
    task: Task[Any, Any] = Task(function, {word: value for word, value in words.items() if word != "name"})

    def call(state: Any) -> Any:  # noqa: ANN401  the state
        return task.remote(state).get()

    async def acall(state: Any) -> Any:  # noqa: ANN401
        return await task.remote(state)

    runnable = type(node.runnable)(call, acall, name=words["name"], trace=False)
    other = copy.copy(node)
    try:
        other.runnable = runnable
    except AttributeError:  # a frozen dataclass
        object.__setattr__(other, "runnable", runnable)
    return other
