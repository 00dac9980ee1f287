"""What users of other libraries write from habit, and how it is done here: for messages alone."""

from __future__ import annotations

from clearway.model.errors import UnknownWordError

_RUN = "run = graph.submit(state) gives a run"
KEPT = f"each run is kept by the controller, over crashes too: {_RUN}"
WAYS = {
    "checkpointer": KEPT,
    "store": "what nodes keep for each other goes through the state, or a file",
    "cache": "what has succeeded does not run again; there is no other cache",
    "interrupt_before": "have the node begin with interrupt(question)",
    "interrupt_after": "have the next node begin with interrupt(question)",
    "configurable": f"there are no threads: {KEPT}, with .waiting(), .resume(value) and .values()",
    "thread_id": f"there are no threads: {KEPT}, with .waiting(), .resume(value) and .values()",
    "input_schema": "the state has one schema",
    "output_schema": "the state has one schema",
    "context_schema": "what all nodes need goes into the state",
    "get_state": f"{_RUN}: run.values() is its state, run.waiting() what it asks",
    "get_state_history": f"{_RUN}; graph.stream(state, stream_mode='values') yields the state of each round",
    "update_state": f"{_RUN}: what a person adds is the answer to interrupt(question), run.resume(value)",
    "ainvoke": f"{_RUN}; await asyncio.to_thread(run.result)",
    "astream": "graph.stream(state), in a thread of its own",
    "batch": "runs = [graph.submit(state) for state in states]; [run.result() for run in runs]",
    "get_graph": "graph.mermaid() draws nodes and edges",
    "with_config": "compile(name, max_loops=25)",
    "retry_policy": "max_retries, retry_backoff, .. in add_node: words of a job",
    "with_options": "task.options(..)",
    "serve": "flow.schedule('0 3 * * *', timezone='Europe/Berlin')",
    "deploy": "flow.schedule('0 3 * * *', timezone='Europe/Berlin'), or flow.submit(..) at once",
    "apply_async": "task.remote(..)",
    "expand": "task.map(items)",
    "partial": "task.map(items, more=..): further arguments are the same for all",
    "MemorySaver": KEPT,
    "InMemorySaver": KEPT,
    "MessagesState": "a TypedDict with messages: Annotated[list, operator.add]",
    "add_messages": "Annotated[list, operator.add]",
}
"""By the name that somebody may write: what to write here."""


def refused(word: str, place: str) -> UnknownWordError:
    """Return the error for a word of another library."""
    if word in WAYS:
        return UnknownWordError.instead(word, WAYS[word], place)
    return UnknownWordError.of(word, (), place)


def missing(owner: object, name: str) -> AttributeError:
    """Return the error for an attribute that is not there, with the way here where another library has it."""
    way = f": {WAYS[name]}" if name in WAYS else ""
    return AttributeError(f"{type(owner).__name__!r} object has no attribute {name!r}{way}", name=name, obj=owner)
