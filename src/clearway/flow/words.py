"""The words of a workflow: read, checked, and its nested forms (chain, group, chord) laid out as steps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from clearway.flow.expression import parse, path_of, roots
from clearway.flow.graph import sorted_steps, stands_before
from clearway.flow.json_text import text_of
from clearway.flow.rules import RULES
from clearway.flow.track import INPUT
from clearway.model import values as v
from clearway.model.errors import InputError, UnknownWordError
from clearway.model.flow import MAX_LOOPS, SKIPS_ITSELF, UNDO, Arg, FlowSpec, StepSpec
from clearway.model.words import JOB_WORDS, Word, read_job, read_words

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from clearway.model.job import JobSpec

RESERVED = frozenset(".#@[]*")
NAME_RULE = "the name of a step is free of . # @ [ ] *, and is not pass or item"
PAUSE_WORDS = ("after", "rule", "when", "choose", "args", "pause")
INNER_WORDS = (*PAUSE_WORDS[:-1], "each", "until", "max_loops", "passes", "undo", "workflow")
FORMS = ("chain", "group", "chord")
MOST_STEPS = 100_000
MOST_NESTED = 50
MOST_INNER = 10


def _rule(field: str, value: object) -> str:
    return v.choice(field, value, tuple(RULES))


def _condition(field: str, value: object) -> str:
    text = ("true" if value else "false") if isinstance(value, bool) else v.text(field, value)
    parse(field, text)
    return text


def _each(field: str, value: object) -> tuple[str, str]:
    if isinstance(value, list | tuple):
        return text_of(field, list(value)), ""
    if not isinstance(value, str):
        raise InputError(field, value, "a list of items, or a step whose result is a list")
    path_of(field, value)
    return "", value


def _loops(field: str, value: object) -> int:
    return v.count(field, value, 1)


def _passes(field: str, value: object) -> str:
    if not isinstance(value, dict):
        raise InputError(field, value, "{from: step.path}, a number in the result of the step itself")
    return _from(field, value)


def _choose(field: str, value: object) -> tuple[tuple[str, ...] | None, str]:
    if isinstance(value, dict):
        return None, _from(field, value)
    return v.names(field, value), ""


def _from(field: str, value: Mapping[object, object]) -> str:
    if list(value) != ["from"]:
        raise InputError(field, value, "{from: step} or {from: step.path}")
    text = v.text(field, value["from"])
    path_of(field, text)
    return text


def _args(field: str, value: object) -> tuple[Arg, ...]:
    if not isinstance(value, dict):
        raise InputError(field, value, "a map of names to values, or to {from: step.path}")
    found = []
    for name, given in value.items():
        if isinstance(given, dict) and "from" in given:
            found.append(Arg(v.name(field, name), path=_from(f"{field}.{name}", given)))
        else:
            found.append(Arg(v.name(field, name), value=text_of(f"{field}.{name}", given)))
    return tuple(found)


STEP_WORDS: dict[str, Word] = {
    "after": Word(v.names, "names", "steps before it"),
    "rule": Word(_rule, "text", "when it runs, once all before it are over: " + ", ".join(RULES)),
    "when": Word(_condition, "text", "a condition; where it is false, the step is skipped"),
    "each": Word(_each, "nested", "a list, or a step whose result is one: it runs once for each item"),
    "until": Word(_condition, "text", "a condition; the step runs again and again until it is true after a pass"),
    "max_loops": Word(_loops, "number", "passes that it may make"),
    "passes": Word(_passes, "nested", "{from: step.path}: the number that counts against max_loops, not the passes"),
    "choose": Word(_choose, "nested", "direct followers that it picks; the others are skipped. Or {from: step.path}"),
    "undo": Word(lambda _, value: value, "nested", "a job that takes back what it did, where a later step has failed"),
    "workflow": Word(lambda _, value: value, "nested", "instead of a job: a workflow of its own, by its words"),
    "pause": Word(v.text, "text", "what a person is asked: it runs nothing, and the answer is its result"),
    "args": Word(_args, "nested", "its input, by name: values, or {from: step.path}"),
}
"""What a step may say beside the words of a job."""

FLOW_WORDS: dict[str, Word] = {
    "name": Word(v.name, "text", "name of the workflow"),
    "time_limit": Word(v.duration, "text", "a run that takes longer fails"),
    "steps": Word(lambda _, value: value, "nested", "its steps"),
    "chain": Word(lambda _, value: value, "nested", "steps, each after the one before"),
    "group": Word(lambda _, value: value, "nested", "steps side by side"),
    "chord": Word(lambda _, value: value, "nested", "{group: [..], callback: step}: the callback gets the results"),
    "result": Word(_args, "nested", "what it gives back, by name: values, or {from: step.path}"),
    "on_error": Word(lambda _, value: value, "nested", "a step that runs once when the run has failed"),
}


def read_flow(
    raw: object,
    defaults: Callable[[str], Mapping[str, object]] | None = None,
    extra: frozenset[str] = frozenset(),
    more: frozenset[str] = frozenset(),
) -> FlowSpec:
    """Read a workflow. `defaults` are the job words of a queue; `extra` words of steps and `more` of it are others'."""
    return _read(raw, defaults or (lambda _: {}), extra, more, 0)


def _read(
    raw: object,
    defaults: Callable[[str], Mapping[str, object]],
    extra: frozenset[str],
    more: frozenset[str],
    depth: int,
) -> FlowSpec:
    given = read_words("workflow", raw, FLOW_WORDS, more)
    if "name" not in given:
        raise InputError("name", None, "every workflow has a name", "workflow")
    forms = [form for form in ("steps", *FORMS) if form in given]
    place = f"workflow {given['name']:.60}"
    if len(forms) != 1:
        raise InputError("steps", ", ".join(forms), f"one of steps, {', '.join(FORMS)}", place)
    try:
        return _Layout(given, defaults, extra, depth).flow(forms[0])
    except UnknownWordError:
        raise
    except InputError as error:
        raise error.at(f"{place}: {error.place}" if error.place else place) from None


class _Layout:
    """Lays nested forms out as steps."""

    def __init__(
        self, given: dict[str, Any], defaults: Callable[[str], Mapping[str, object]], extra: frozenset[str], depth: int
    ) -> None:
        self._given, self._defaults, self._extra, self._depth = given, defaults, extra, depth
        self._steps: list[StepSpec] = []
        self._unnamed = 0

    def flow(self, form: str) -> FlowSpec:
        if form == "steps":
            for raw in _list("steps", self._given["steps"]):
                self._member(raw, (), 0)
        else:
            self._form({form: self._given[form]}, (), 0)
        error = self._given.get("on_error")
        on_error = None if error is None else self._step(error, (), only_job=True)
        found = FlowSpec(
            self._given["name"], tuple(self._steps), self._given.get("time_limit"), on_error,
            result=self._given.get("result", ()),
        )  # fmt: skip
        return msgspec.structs.replace(found, steps=check(found))

    def _member(self, raw: object, before: tuple[str, ...], depth: int) -> str:
        """Lay out a step or a form that comes after these steps; return the step that ends it."""
        if not isinstance(raw, dict):
            raise InputError("steps", raw, "a list of maps of words")
        if any(form in raw for form in FORMS):
            return self._form(raw, before, depth + 1)
        step = self._step(raw, before)
        self._add(step)
        return step.name

    def _add(self, step: StepSpec) -> None:
        if len(self._steps) >= MOST_STEPS:
            raise InputError("steps", "too many", f"at most {MOST_STEPS} steps")
        self._steps.append(step)

    def _form(self, raw: dict[str, Any], before: tuple[str, ...], depth: int) -> str:
        if depth > MOST_NESTED:
            raise InputError("steps", "too deep", f"forms inside one another at most {MOST_NESTED} times")
        for key in raw:
            if key not in ("name", "after", *FORMS):
                raise UnknownWordError.of(key, ("name", "after", *FORMS), "a form inside a workflow")
        before = tuple(dict.fromkeys((*before, *v.names("after", raw.get("after") or []))))
        name = _step_name(raw["name"]) if raw.get("name") is not None else ""
        kind = [form for form in FORMS if form in raw]
        if len(kind) != 1:
            raise InputError("steps", ", ".join(kind), "one form at a time")
        lay = {"chain": self._chain, "group": self._group, "chord": self._chord}[kind[0]]
        return lay(raw[kind[0]], before, depth, name)

    def _chain(self, raw: object, before: tuple[str, ...], depth: int, name: str) -> str:
        members, at = _list("chain", raw), before
        for member in members:
            at = (self._member(member, at, depth),)
        if not members:
            return self._gather(name, before, ())
        return self._called(name, at[0])

    def _group(self, raw: object, before: tuple[str, ...], depth: int, name: str) -> str:
        ends = tuple(self._member(member, before, depth) for member in _list("group", raw))
        return self._gather(name, ends or before, ends)

    def _chord(self, raw: object, before: tuple[str, ...], depth: int, name: str) -> str:
        if not isinstance(raw, dict) or set(raw) != {"group", "callback"}:
            raise InputError("chord", raw, "{group: [..], callback: a step}")
        group = self._group(raw["group"], before, depth, "")
        return self._called(name, self._member(raw["callback"], (group,), depth))

    def _gather(self, name: str, after: tuple[str, ...], ends: tuple[str, ...]) -> str:
        """Add what collects results as a list; return its name."""
        self._unnamed += not name
        self._add(StepSpec(name or f"({self._unnamed})", None, after, gather=ends, shown=bool(name)))
        return self._steps[-1].name

    def _called(self, name: str, end: str) -> str:
        """Give a form a name of its own; its result is that of the step that ends it."""
        if name:
            self._add(StepSpec(name, None, (end,), gather=(end,), alias=True))
        return name or end

    def _step(self, raw: object, before: tuple[str, ...], *, only_job: bool = False) -> StepSpec:
        if not isinstance(raw, dict):
            raise InputError("step", raw, "a map of words")
        words = {} if only_job else STEP_WORDS
        own = {key: value for key, value in raw.items() if key in words}
        if raw.get("name") is None:
            raise InputError("name", None, "every step has a name")
        name = _step_name(raw["name"])
        given = read_words(f"step {name:.60}", own, words)
        job_words = {key: value for key, value in raw.items() if key not in words}
        if "pause" in given:
            _check_pause(name, own, job_words)
        inner = self._inner(name, given["workflow"], own, job_words) if "workflow" in given else None
        job = None if "pause" in given or inner is not None else self._job(job_words, name)
        each, each_of = given.get("each", ("", ""))
        choose, chooses = given.get("choose", (None, ""))
        over = [path_of("each", each_of).root] if each_of else []
        after = (*before, *given.get("after", ()), *(name for name in over if name != INPUT))
        return StepSpec(
            name, job, tuple(dict.fromkeys(after)), given.get("rule", "all_succeeded"), given.get("when", ""), each,
            each_of, given.get("until", ""), given.get("max_loops", MAX_LOOPS), choose, chooses, given.get("args", ()),
            pause=given.get("pause", ""), undo=self._undo(name, given["undo"]) if "undo" in given else None, flow=inner,
            passes=given.get("passes", ""),
        )  # fmt: skip

    def _undo(self, name: str, raw: object) -> JobSpec:
        if not isinstance(raw, dict):
            raise InputError("undo", raw, "the words of a job", f"step {name:.60}")
        return self._job({"name": name + UNDO, **raw}, name + UNDO)

    def _inner(self, name: str, raw: object, own: Mapping[str, object], job_words: Mapping[str, object]) -> FlowSpec:
        """Read a workflow inside a workflow; its step says nothing else about what runs."""
        _only(name, own, job_words, INNER_WORDS, "a step with `workflow` has no job of its own")
        if self._depth >= MOST_INNER:
            raise InputError("workflow", "too deep", f"workflows inside one another at most {MOST_INNER} times")
        if not isinstance(raw, dict):
            raise InputError("workflow", raw, "the words of a workflow", f"step {name:.60}")
        return _read({"name": name, **raw}, self._defaults, self._extra, frozenset(), self._depth + 1)

    def _job(self, words: dict[str, Any], name: str) -> JobSpec:
        for key in words:
            if key not in JOB_WORDS and key not in self._extra and key != "pin":
                raise UnknownWordError.of(key, {*JOB_WORDS, *STEP_WORDS}, f"step {name:.60}")
        queue = words.get("queue", "default")
        if words.get("array") is not None:
            raise InputError("array", words["array"], "no array: a step has `each`", f"step {name:.60}")
        job = read_job(words, self._defaults(queue if isinstance(queue, str) else ""), self._extra)
        return msgspec.structs.replace(job, skip_code=SKIPS_ITSELF)


def _check_pause(name: str, own: Mapping[str, object], job_words: Mapping[str, object]) -> None:
    """Refuse what a step cannot say that runs nothing."""
    _only(name, own, job_words, PAUSE_WORDS, "a step with `pause` runs nothing")
    if not own["pause"]:
        raise InputError("pause", own["pause"], "what a person is asked", f"step {name:.60}")


def _only(
    name: str, own: Mapping[str, object], job_words: Mapping[str, object], may: tuple[str, ...], why: str
) -> None:
    for key in (*job_words, *own):
        if key not in ("name", *may):
            rule = f"{why}; it may say {', '.join(may)}"
            raise InputError(key, {**own, **job_words}[key], rule, f"step {name:.60}")


def _step_name(raw: object) -> str:
    name = v.name("name", raw)
    if RESERVED & set(name) or name in ("pass", "item"):
        raise InputError("name", name, NAME_RULE)
    return name


def _list(field: str, raw: object) -> list[Any]:
    if not isinstance(raw, list):
        raise InputError(field, raw, "a list")
    return raw


# --- checks --------------------------------------------------------------------------------------


def check(flow: FlowSpec) -> tuple[StepSpec, ...]:
    """Return the steps of a workflow so that none stands before what it waits for; refuse what is wrong."""
    named: dict[str, StepSpec] = {}
    for step in [*flow.steps, *([flow.on_error] if flow.on_error else [])]:
        if step.name in named:
            raise InputError("name", step.name, "a name stands once in a workflow")
        named[step.name] = step
    if flow.on_error is not None:
        del named[flow.on_error.name]
    followers: dict[str, set[str]] = {name: set() for name in named}
    for step in flow.steps:
        for before in step.after:
            if before not in named or before == step.name:
                raise InputError("after", before, "another step of this workflow", f"step {step.name:.60}")
            followers[before].add(step.name)
    ready, stuck = sorted_steps(flow.steps)
    if stuck:
        names = ", ".join(step.name for step in stuck[:20])
        raise InputError("after", names, "no circle: these steps wait for one another; a loop is written with `until`")
    _check_outputs(flow)
    for arg in flow.result:
        if arg.path and (root := path_of("result", arg.path).root) not in {*named, INPUT}:
            raise InputError("result", root, "a step of this workflow")
    for step in flow.steps:
        _check_names(step, named)
        wrong = next((name for name in step.choose or () if name not in followers[step.name]), None)
        if wrong is not None:
            raise InputError("choose", wrong, "a step that comes directly after it", f"step {step.name:.60}")
    return tuple(ready)


def _check_outputs(flow: FlowSpec) -> None:
    """Refuse data that two steps leave: nothing would say whose is meant."""
    makers: dict[str, str] = {}
    for step in flow.steps:
        for name, _ in step.job.outputs if step.job is not None else ():
            if name in makers:
                rule = f"a name of its own: step {makers[name]:.60} leaves that"
                raise InputError("outputs", name, rule, f"step {step.name:.60}")
            makers[name] = step.name


def _check_names(step: StepSpec, named: Mapping[str, StepSpec]) -> None:
    """Refuse a condition or argument that speaks of what is not there, or need not be over by then."""
    spoken = {
        "when": step.when and roots(parse("when", step.when)),
        "until": step.until and roots(parse("until", step.until)),
    }
    spoken["args"] = {path_of("args", arg.path).root for arg in step.args if arg.path}
    spoken["passes"] = {path_of("passes", step.passes).root} if step.passes else set()
    spoken["choose"] = {path_of("choose", step.chooses).root} if step.chooses else set()
    own = {"when": {"item"} if step.maps else set(), "until": {"pass", "item", step.name}, "choose": {step.name}}
    own["passes"] = own["choose"]
    for field, names in spoken.items():
        for name in sorted(set(names or ()) - own.get(field, set())):
            if name == INPUT and INPUT not in named:
                continue
            if name not in named or not stands_before(named, name, step.name):
                raise InputError(field, name, "a step that comes before this one", f"step {step.name:.60}")
