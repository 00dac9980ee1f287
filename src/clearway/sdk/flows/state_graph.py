"""Graphs with loops and a state: nodes are functions from the state to a change of it, edges say what comes next.

    graph = StateGraph(State)                    # a TypedDict; Annotated[list, operator.add] names a reducer
    graph.add_node("think", think)
    graph.add_node("act", act, gpus=1)           # words of a job
    graph.add_edge(START, "think")
    graph.add_conditional_edges("think", route)  # returns a name, END, Send(..), or a list of these
    graph.add_edge("act", "think")
    run = graph.compile("agent", max_loops=25).submit({"question": "?"})

Each round is a pass of a loop: one job plans (takes in what the nodes of the round before gave back, and finds those
that are next), then each of these is a job of its own, side by side. What is done is done, also over kill -9.
"""

from __future__ import annotations

import typing
from typing import TYPE_CHECKING, Any, NamedTuple

from clearway.model.errors import InputError
from clearway.sdk.flows.drawn import drawn
from clearway.sdk.flows.habits import WAYS, missing, refused
from clearway.sdk.flows.packed import job_words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from clearway.sdk.flows.graph_run import GraphRun

START, END = "__start__", "__end__"
LOOP, PLAN, ASK, NODE = "loop", "plan", "ask", "node_"
MAX_LOOPS = 25
KEPT = ("state", "tasks", "asked", "answered", "held", "rounds", "done")
"""What a round hands to the next one, beside what its nodes gave back."""


class Send(NamedTuple):
    """A node to be visited next with an argument of its own in place of the state."""

    node: str
    arg: Any


class _Asked(Exception):  # noqa: N818  it is no error: it carries a question out of a node
    """A node asks a person."""

    def __init__(self, question: object) -> None:
        super().__init__(question)
        self.question = question


_answers: list[Any] = []


def interrupt(question: object) -> Any:  # noqa: ANN401  whatever the person answers
    """Inside a node: ask a person, and return the answer. The node is left, holds nothing, and begins anew with it.

    Where a node asks several times it gets the answers in that order.
    """
    if _answers:
        return _answers.pop(0)
    raise _Asked(question)


class Command(NamedTuple):
    """What a node may return instead of a change of the state: a change, and which nodes are visited next as well."""

    update: dict[str, Any] | None = None
    goto: str | Send | Sequence[str | Send] = ()


class StateGraph:
    """Nodes and edges, put together step by step."""

    def __init__(self, schema: type, **others: object) -> None:
        """Read the keys of the state and their reducers from a TypedDict. InputError: it is none."""
        for word in others:
            raise refused(word, "StateGraph")
        if not typing.is_typeddict(schema):
            raise InputError("schema", schema, "a TypedDict: nodes get the state as a map")
        hints = typing.get_type_hints(schema, include_extras=True)
        self.reducers = {key: _reducer(hint) for key, hint in hints.items()}
        self.nodes: dict[str, tuple[Callable[[Any], Any], dict[str, object]]] = {}
        self.edges: dict[str, list[str]] = {}
        self.branches: dict[str, list[tuple[Callable[[Any], Any], dict[Any, str] | None]]] = {}

    if not TYPE_CHECKING:  # who checks types knows better what is there

        def __getattr__(self, name: str) -> Any:  # noqa: ANN401  never returns
            """Say how it is done here where another library has it."""
            raise missing(self, name)

    def add_node(
        self, node: str | Callable[[Any], Any], action: Callable[[Any], Any] | None = None, **words: object
    ) -> StateGraph:
        """Add a node: a name and a function, or a function that has a name.

        `words` are of its job: `gpus`, `max_retries`, `time_limit`, .. InputError: a word that jobs do not have, a name
        that is taken, or a function that takes more than the state.
        """
        function = action if isinstance(node, str) else node
        name = node if isinstance(node, str) else str(getattr(node, "__name__", "?"))
        if not name.isidentifier() or name in self.nodes:
            rule = "a name of letters, digits and _ that no other node has"
            raise InputError("node", name, f"{rule}; say it before the function: add_node('think', function)")
        if function is None:
            raise InputError("node", name, "a function after its name")
        plain = getattr(function, "function", function)
        _check_takes_the_state(name, plain)
        _check_words(name, words)
        self.nodes[name] = (plain, words)
        return self

    def add_edge(self, start: str, end: str) -> StateGraph:
        """Have `end` follow `start`."""
        both: tuple[Any, ...] = (start, end)
        for one in both:
            if not isinstance(one, str):
                rule = "one node: add an edge from each; those of one round are waited for together"
                raise InputError("edge", one, rule)
        self.edges.setdefault(start, []).append(end)
        return self

    def add_sequence(self, nodes: Sequence[Callable[[Any], Any] | tuple[str, Callable[[Any], Any]]]) -> StateGraph:
        """Add nodes, each behind the one before."""
        before = None
        for node in nodes:
            self.add_node(*(node if isinstance(node, tuple) else (node,)))
            name = next(reversed(self.nodes))
            if before is not None:
                self.add_edge(before, name)
            before = name
        return self

    def set_entry_point(self, node: str) -> StateGraph:
        """Have a node be the first: an edge from START."""
        return self.add_edge(START, node)

    def set_finish_point(self, node: str) -> StateGraph:
        """Have nothing follow a node: an edge to END."""
        return self.add_edge(node, END)

    def set_conditional_entry_point(
        self, path: Callable[[Any], Any], path_map: dict[Any, str] | list[str] | None = None
    ) -> StateGraph:
        """Have a function say from the state what comes first."""
        return self.add_conditional_edges(START, path, path_map)

    def add_conditional_edges(
        self, source: str, path: Callable[[Any], Any], path_map: dict[Any, str] | list[str] | None = None
    ) -> StateGraph:
        """Have `path` say from the state what follows; `path_map` maps what it says to nodes, or lists these."""
        known = path_map if isinstance(path_map, dict) or path_map is None else {name: name for name in path_map}
        self.branches.setdefault(source, []).append((path, known))
        return self

    def compile(self, name: str = "graph", max_loops: int = MAX_LOOPS, **others: object) -> Compiled:
        """Return the graph ready to run. InputError: an edge leads nowhere, or nothing follows START."""
        if not isinstance(name, str):
            raise refused("checkpointer", "compile")
        for word in others:
            raise refused(word, "compile")
        known = {START, END, *self.nodes}
        for start, ends in self.edges.items():
            for one in (start, *ends):
                if one not in known:
                    raise InputError("edge", one, "a node of the graph, START or END")
        for start, branches in self.branches.items():
            for one in (start, *(end for _, names in branches for end in (names or {}).values())):
                if one not in known:
                    raise InputError("edge", one, "a node of the graph, START or END")
        if not self.edges.get(START) and not self.branches.get(START):
            raise InputError("edge", START, "an edge from START")
        return Compiled(self, name, max_loops)

    # --- in the jobs ---------------------------------------------------------------------------

    def plan(self, given: dict[str, Any]) -> dict[str, Any]:
        """Take in a round, and say what comes next: the new state, the nodes to visit, or what a person is asked."""
        if "begin" in given:
            return self._next(self.reduced({}, given["begin"][0]), [START], 1)
        found = self._after(_of_today(given))
        return found if "held" in given else {**found, "reached": found["held"]}

    def _after(self, given: dict[str, Any]) -> dict[str, Any]:
        state, held, rounds = given["state"], given["held"], given["rounds"]
        if given["asked"]:
            first, *rest = given["asked"]
            answered = [*given["answered"], {**first, "answers": [*first["answers"], given["answer"]]}]
            if rest:
                return self._asks(state, rest, answered, held, rounds)
            return self._round(state, answered, held, rounds)
        asked: list[dict[str, Any]] = []
        for node, tasks in given["tasks"].items():
            for task, result in zip(tasks, given[f"results.{node}"] or [None] * len(tasks), strict=True):
                known = {word: task[word] for word in ("node", "place", "arg", "answers") if word in task}
                gave = result or {"update": None}  # it was left out, or had nothing to do
                (asked if "asks" in gave else held).append({**known, **gave})
        if asked:
            return self._asks(state, sorted(asked, key=_place), [], held, rounds)
        held = sorted(held, key=_place)
        for one in held:
            state = self.reduced(state, one["update"])
        goto = [end for one in held for end in one.get("goto", ())]
        return self._next(state, list(dict.fromkeys(one["node"] for one in held)), rounds + 1, goto)

    def _asks(
        self, state: dict[str, Any], asked: list[Any], answered: list[Any], held: list[Any], rounds: int
    ) -> dict[str, Any]:
        """Return a round in which nothing runs and a person is asked the first of several questions."""
        more = {"asked": asked, "question": asked[0]["asks"], "answered": answered, "done": False}
        return {**self._round(state, [], held, rounds), **more}

    def reduced(self, state: dict[str, Any], update: object) -> dict[str, Any]:
        """Return the state with a change taken in, by the reducers of its keys."""
        found = dict(state)
        given = update if isinstance(update, dict) else {}
        self._check_keys(given)
        for key, value in given.items():
            reducer = self.reducers[key]
            found[key] = value if reducer is None or key not in found else reducer(found[key], value)
        return found

    def _check_keys(self, change: Iterable[str]) -> None:
        for key in change:
            if key not in self.reducers:
                raise InputError("state", key, "one of the keys of the state: " + ", ".join(self.reducers))

    def _next(
        self, state: dict[str, Any], reached: list[str], rounds: int, goto: Sequence[dict[str, Any]] = ()
    ) -> dict[str, Any]:
        """Return the round that edges from the nodes that were `reached` lead to, and what these said themselves."""
        found: dict[str, dict[str, Any]] = {}
        for node in reached:
            for end in self.edges.get(node, []):
                found.setdefault(f"={end}", {"node": end, "answers": []})
            for number, (route, names) in enumerate(self.branches.get(node, [])):
                for i, one in enumerate(_listed(route(state))):
                    if isinstance(one, Send):
                        found[f"{node}>{number}>{i}"] = {"node": one.node, "arg": one.arg, "answers": []}
                    else:
                        end = one if names is None else _mapped(node, one, names)
                        found.setdefault(f"={end}", {"node": end, "answers": []})
        for i, said in enumerate(goto):
            found.setdefault(f"goto>{i}" if "arg" in said else f"={said['node']}", {**said, "answers": []})
        tasks = [task for task in found.values() if task["node"] != END]
        for task in tasks:
            if task["node"] not in self.nodes:
                raise InputError("node", task["node"], "END, or a node of the graph: " + ", ".join(self.nodes))
        order = {node: number for number, node in enumerate(self.nodes)}
        tasks.sort(key=lambda task: order[task["node"]])
        return self._round(state, [{**task, "place": place} for place, task in enumerate(tasks)], [], rounds)

    def _round(
        self, state: dict[str, Any], tasks: list[dict[str, Any]], held: list[Any], rounds: int
    ) -> dict[str, Any]:
        """Return a round. `held`: what other nodes of it gave back before a person was asked, which is no round."""
        by_node: dict[str, list[dict[str, Any]]] = {node: [] for node in self.nodes}
        for task in tasks:
            by_node[task["node"]].append({**task, "state": state})
        nobody: dict[str, Any] = {"asked": None, "question": None, "answered": []}
        return {"state": state, "tasks": by_node, "held": held, "rounds": rounds, "done": not tasks, **nobody}

    def visit(self, name: str, task: dict[str, Any]) -> dict[str, Any]:
        """Visit a node, in its own job."""
        _answers[:] = task["answers"]
        try:
            update: Any = self.nodes[name][0](task.get("arg", task["state"]))
        except _Asked as asked:
            return {"asks": asked.question}
        given = update if isinstance(update, Command) else Command(update)
        change: Any = given.update
        if not isinstance(change, dict | None):
            rule = "a map with what changes of the state, None, or a Command"
            raise InputError("return", change, rule, f"node {name}")
        self._check_keys(change or ())
        goto = [{"node": one.node, "arg": one.arg} if isinstance(one, Send) else {"node": one} for one in _ends(given)]
        return {"update": given.update, **({"goto": goto} if goto else {})}


class Compiled:
    """A graph that can be run."""

    def __init__(self, graph: StateGraph, name: str, max_loops: int) -> None:
        """Hold a graph."""
        self.graph, self.name, self.max_loops = graph, name, max_loops

    def words(self, state: dict[str, Any]) -> dict[str, Any]:
        """Return the words of the workflow that runs it from a state. InputError: the state has a key too many."""
        if not isinstance(state, dict):
            raise InputError("state", state, f"a map with keys of the state; to answer a question: {WAYS['thread_id']}")
        self.graph.reduced({}, state)
        nodes = [
            {
                "name": NODE + name,
                "each": f"{PLAN}.tasks.{name}",
                "after": [PLAN],
                **job_words("node", (self.graph, name), words),
            }
            for name, (_, words) in self.graph.nodes.items()
        ]
        plan = {"name": PLAN, **job_words("plan", self.graph, {})}
        question = {
            "name": ASK, "after": [PLAN], "when": f"{PLAN}.asked", "pause": "a node of the graph asks",
            "args": {"question": {"from": f"{PLAN}.question"}},
        }  # fmt: skip
        kept = {key: {"from": f"{PLAN}.{key}"} for key in KEPT}
        results = {f"results.{name}": {"from": NODE + name} for name in self.graph.nodes}
        inner = {
            "steps": [plan, question, *nodes],
            "result": {**kept, **results, "answer": {"from": ASK}},
        }
        loop = {
            "name": LOOP, "args": {"begin": [state]}, "until": f"{LOOP}.done",
            "max_loops": self.max_loops, "passes": {"from": f"{LOOP}.rounds"}, "workflow": inner,
        }  # fmt: skip
        return {"name": self.name, "steps": [loop]}

    def submit(self, state: dict[str, Any]) -> GraphRun:
        """Run it from a state, and return at once."""
        from clearway.sdk import connect
        from clearway.sdk.flows.build import Ref
        from clearway.sdk.flows.graph_run import GraphRun

        words = self.words(state)  # first: what is wrong starts no controller
        client = connect()
        return GraphRun(client, client.run_flow(words)["id"], Ref(f"{LOOP}.state"))

    if not TYPE_CHECKING:  # who checks types knows better what is there

        def __getattr__(self, name: str) -> Any:  # noqa: ANN401  never returns
            """Say how it is done here where another library has it."""
            raise missing(self, name)

    def invoke(self, state: dict[str, Any], config: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Run it, wait, and return the state at its end. LoopLimitError: `max_loops` rounds, and it was not done.

        Of `config` there is `recursion_limit`: other `max_loops` for this run. Where a node asks a person it says so on
        stderr, and goes on when somebody has answered.
        """
        found: dict[str, Any] = self._with(config).submit(state).result()
        return found

    def stream(
        self, state: dict[str, Any], config: Mapping[str, Any] | None = None, stream_mode: str = "updates"
    ) -> Iterator[Any]:
        """Run it, and yield round by round: with `updates` what each node gave back, with `values` the whole state."""
        if stream_mode not in ("updates", "values"):
            raise InputError("stream_mode", stream_mode, "updates or values")
        return self._with(config).submit(state).rounds(stream_mode)

    def _with(self, config: Mapping[str, Any] | None) -> Compiled:
        words = dict(config or {})
        limit = words.pop("recursion_limit", self.max_loops)
        for word in words:
            raise refused(word, "config")
        return Compiled(self.graph, self.name, limit)

    def mermaid(self) -> str:
        """Return nodes and edges as a Mermaid flowchart: dotted edges are chosen when it runs."""
        return "\n".join(drawn(self.graph.nodes, self.graph.edges, self.graph.branches))


def _reducer(hint: object) -> Callable[[Any, Any], Any] | None:
    more = getattr(hint, "__metadata__", ())
    return next((one for one in more if callable(one)), None)


def _of_today(given: dict[str, Any]) -> dict[str, Any]:
    """Return a round as it is written today: one of a run that began under an older version lacks words."""
    if "held" in given:
        return given if "rounds" in given else {**given, "rounds": 0}
    done = given.get("reached") or []
    held = [one if isinstance(one, dict) else {"node": one, "place": -1, "update": None} for one in done]
    asked = [{"asks": one.get("question"), **one} for one in given["asked"] or []]
    return {"rounds": 0, **given, "held": held, "asked": asked}


def _place(task: dict[str, Any]) -> int:
    place: int = task.get("place", 0)
    return place


def _mapped(node: str, said: Any, names: dict[Any, str]) -> str:  # noqa: ANN401  whatever a function returned
    if said not in names:
        raise InputError("path", said, "one of path_map: " + ", ".join(map(str, names)), f"edges from {node}")
    return names[said]


def _ends(command: Command) -> list[str | Send]:
    goto = command.goto
    return [goto] if isinstance(goto, str | Send) else list(goto)


def _check_words(name: str, words: dict[str, object]) -> None:
    from clearway.model.words import JOB_WORDS, check_keys  # not in the jobs of nodes

    for word in words:
        if word in WAYS:
            raise refused(word, f"node {name}")
    check_keys(f"node {name}", words, JOB_WORDS)


def _check_takes_the_state(name: str, function: Callable[..., Any]) -> None:
    """Raise InputError where a node could not be called with the state alone."""
    import inspect

    try:
        inspect.signature(function).bind({})
    except TypeError:
        rule = "a function of the state alone; LangGraph's config, runtime and store are not there"
        raise InputError("node", name, rule) from None
    except ValueError:  # it has no signature that can be read
        return


def _listed(found: object) -> list[Any]:
    if isinstance(found, Send) or not isinstance(found, list | set | tuple):
        return [found]
    return list(found)
