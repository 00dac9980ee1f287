"""The words of a job: one table, read by YAML, command line, HTTP and Python alike.

`read_job(raw)` turns a map of words into a JobSpec or raises InputError. A queue's defaults are words too:
they are laid under the job's own before reading.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from clearway.model import values as v
from clearway.model.array import read_array
from clearway.model.errors import InputError, UnknownWordError
from clearway.model.job import LEVELS, WHOLE, Checkpoint, Demand, JobSpec, Pin, Role, Topology
from clearway.model.retry_words import read_retry_on
from clearway.model.runtime_words import RuntimeEnv, read_runtime_env
from clearway.model.secret_words import check_secrets, read_secrets
from clearway.model.slices import slice_of
from clearway.model.speedup import read_speedup

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping


class Word(NamedTuple):
    """One word: how its value is read, what shape it has on a command line, and what it means."""

    read: Callable[[str, object], Any]
    shape: str  # text | number | flag | names | map | nested: how a command line writes it
    help: str


RIGHT_SIZES = ("suggest", "apply", "off")
_DIGEST_LENGTH = len("sha256:") + 64


class Command(NamedTuple):
    """A command: one line for the shell, or a program and its arguments."""

    shell: bool = False
    parts: tuple[str, ...] = ()


def _run(field: str, value: object) -> Command:
    if isinstance(value, str) and value.strip():
        return Command(shell=True, parts=(v.text(field, value),))  # noqa: S604  a field of ours; nothing is started here
    if not isinstance(value, list | tuple) or not value or not value[0]:
        raise InputError(field, value, "a command line, or a list of a program and its arguments")
    return Command(shell=False, parts=tuple(v.text(field, part) for part in value))


def _env(field: str, value: object) -> tuple[tuple[str, str], ...]:
    try:
        found = v.pairs(field, value)
    except InputError as error:
        raise InputError(error.field.partition("=")[0], "(not shown)", error.rule) from None  # it may be a secret
    for key, _ in found:
        if "=" in key:
            raise InputError(field, f"{key.partition('=')[0]}=..", "a name without =")
    return found


def _code(field: str, value: object) -> str:
    if isinstance(value, str) and value.startswith("sha256:"):
        if len(value) != _DIGEST_LENGTH or not set(value[7:]) <= set("0123456789abcdef"):
            raise InputError(field, value, "sha256: and 64 digits from 0 to f")
        return value
    return v.choice(field, value, ("live", "copied")).replace("live", "")


def _signal(field: str, value: object) -> str:
    return v.choice(field, value, ("SIGTERM", "SIGINT", "SIGHUP", "SIGUSR1", "SIGUSR2", "SIGQUIT"))


def _checkpoint(field: str, value: object) -> Checkpoint:
    given = read_words(field, value, CHECKPOINT_WORDS)
    return Checkpoint(
        every_us=given.get("every", 0),
        signal=given.get("signal", "SIGTERM"),
        grace_us=given.get("grace", 10 * v.SECOND_US),
        on_stop=given.get("on_stop", False),
        write_time_us=given.get("write_time", 0),
    )


def _pin(field: str, value: object) -> Pin:
    if isinstance(value, str):
        return Pin(v.name(field, value))
    given = read_words(field, value, PIN_WORDS)
    if "node" not in given:
        raise InputError(field, value, "a node, or {node: .., devices: [..]}")
    return Pin(given["node"], given.get("devices", ()))


def _slice(field: str, value: object) -> str:
    profile = v.name(field, value)
    slice_of(profile)
    return profile


def _level(field: str, value: object) -> str:
    return v.choice(field, value, LEVELS)


def _topology(field: str, value: object) -> Topology:
    return Topology(**read_words(field, value, TOPOLOGY_WORDS))


def _inputs(field: str, value: object) -> tuple[tuple[str, int], ...]:
    if isinstance(value, str):
        value = [value]
    if not isinstance(value, list | tuple):
        raise InputError(field, value, "a list of names, or of {name: .., size: ..}")
    found: dict[str, int] = {}
    for one in value:
        words = {"name": one} if isinstance(one, str) else one
        given = read_words(field, words, INPUT_WORDS)
        if "name" not in given:
            raise InputError(field, one, "a name, or {name: .., size: ..}")
        if given["name"] in found:
            raise InputError(field, given["name"], "each is named once")
        found[given["name"]] = given.get("size", 0)
    return tuple(sorted(found.items()))


def _numbers(field: str, value: object) -> tuple[int, ...]:
    if not isinstance(value, list | tuple):
        raise InputError(field, value, "a list of device numbers")
    return tuple(sorted({v.count(field, n) for n in value}))


def _instant_or_seconds(field: str, value: object) -> int:
    plain = isinstance(value, int | float) and not isinstance(value, bool)
    return v.duration(field, value) if plain else v.instant(field, value)


def _spot(field: str, value: object) -> str:
    return v.choice(field, value, ("allow", "require", "avoid"))


def _on_deadline(field: str, value: object) -> str:
    return v.choice(field, value, ("report", "stop"))


def _right_size(field: str, value: object) -> str:
    return v.choice(field, value, RIGHT_SIZES)


def _jitter(field: str, value: object) -> str:
    return v.choice(field, value, ("none", "full"))


def _tasks(field: str, value: object) -> int:
    return v.count(field, value, 1)


def _roles(field: str, value: object) -> list[dict[str, Any]]:
    if not isinstance(value, list | tuple) or not value:
        raise InputError(field, value, "a list of kinds of tasks")
    return [read_words(f"{field}[{i}]", role, ROLE_WORDS) for i, role in enumerate(value)]


DEMAND_WORDS: dict[str, Word] = {
    "gpus": Word(v.gpus, "number", "GPUs per task: a whole number, or a fraction below 1 of one device"),
    "gpu_model": Word(v.names, "names", "GPU models it can use, in order of preference"),
    "gpu_memory": Word(v.size, "text", "memory per device; without gpus: a memory share of one device"),
    "slice": Word(_slice, "text", "one fixed slice of a device by its MIG profile, instead of gpus: 1g.10gb"),
    "cpus": Word(v.milli, "number", "CPUs per task"),
    "memory": Word(v.size, "text", "memory per task"),
    "disk": Word(v.size, "text", "disk per task"),
    "bandwidth": Word(v.milli, "number", "network bandwidth per task in Gbit/s"),
    "resources": Word(v.counts, "map", "other countable resources per task"),
    "nodes": Word(v.pairs, "map", "labels that a node must have"),
    "tolerates": Word(v.names, "names", "taints of nodes that it accepts"),
    "spot": Word(_spot, "text", "spot nodes: allow, require or avoid"),
    "inputs": Word(_inputs, "nested", "data, images or models it reads: names, or {name: .., size: ..}"),
}
_SHAPE_WORDS: dict[str, Word] = {
    "tasks": Word(_tasks, "number", "processes; the needs are per task"),
    "min_tasks": Word(v.count, "number", "nothing runs below so many tasks (default: tasks)"),
    "one_per_node": Word(v.flag, "flag", "at most one of its tasks on a node"),
}
ROLE_WORDS: dict[str, Word] = {"name": Word(v.name, "text", "name of the role"), **_SHAPE_WORDS, **DEMAND_WORDS}
CHECKPOINT_WORDS: dict[str, Word] = {
    "every": Word(v.duration, "text", "it saves its work this often"),
    "signal": Word(_signal, "text", "signal that asks it to save and stop"),
    "grace": Word(v.duration, "text", "time between that signal and SIGKILL"),
    "on_stop": Word(v.flag, "flag", "it saves its work when asked to stop"),
    "write_time": Word(v.duration, "text", "how long writing takes"),
}
TOPOLOGY_WORDS: dict[str, Word] = {
    "require": Word(_level, "text", "domain that must hold all its devices: " + ", ".join(LEVELS)),
    "prefer": Word(_level, "text", "domain that should hold them"),
}
INPUT_WORDS: dict[str, Word] = {
    "name": Word(v.name, "text", "name of the data"),
    "size": Word(v.size, "text", "what copying it to a node moves; 0 where it is not said"),
}
PIN_WORDS: dict[str, Word] = {
    "node": Word(v.name, "text", "the node"),
    "devices": Word(_numbers, "names", "its devices"),
}
JOB_WORDS: dict[str, Word] = {
    "name": Word(v.name, "text", "name of the job"),
    "run": Word(_run, "text", "command line, or a list of program and arguments"),
    "code": Word(_code, "text", "live: it runs in workdir; copied: the files of workdir are taken along at submit"),
    "workdir": Word(v.text, "text", "directory in which it runs"),
    "env": Word(_env, "map", "environment variables"),
    "venv": Word(v.name, "text", "virtual environment whose programs come first: a path, from workdir on"),
    "image": Word(v.name, "text", "container image it runs in, on engines that have containers"),
    "runtime_env": Word(read_runtime_env, "nested", "what the engine `ray` makes ready for it: {pip: [..], ..}"),
    "secrets": Word(read_secrets, "names", "secrets that it finds in variables of their names"),
    "queue": Word(v.name, "text", "queue it waits in"),
    "priority": Word(v.priority, "number", "larger runs sooner"),
    **_SHAPE_WORDS,
    **DEMAND_WORDS,
    "array": Word(read_array, "text", "so many like jobs, or their indices: 100, 0-99, 1-9:2, 0-99%10 (10 at once)"),
    "speedup": Word(read_speedup, "nested", "how fast it is with so many tasks: {1: 1, 2: 1.9, 4: 3.5}"),
    "roles": Word(_roles, "nested", "kinds of tasks that start together, instead of tasks"),
    "colocate": Word(v.count, "number", "so many such jobs may share its devices' time with it; 0: none"),
    "topology": Word(_topology, "nested", "{require: .., prefer: ..}: domain that must or should hold its devices"),
    "uses": Word(v.names, "names", "shared limits of which it holds a slot while it runs"),
    "after": Word(v.names, "names", "jobs that must have succeeded first"),
    "time_limit": Word(v.duration, "text", "an attempt is stopped after running so long"),
    "time_estimate": Word(v.duration, "text", "how long it is expected to run; never a limit"),
    "start_deadline": Word(v.duration, "text", "it fails if not started so long after its submit"),
    "deadline": Word(_instant_or_seconds, "text", "when it is needed, with an offset"),
    "on_deadline": Word(_on_deadline, "text", "report or stop when the deadline passes"),
    "preemptible": Word(v.flag, "flag", "whether it may be stopped for another's sake"),
    "checkpoint": Word(_checkpoint, "nested", "how it saves its work"),
    "max_retries": Word(v.count, "number", "new attempts after own failures"),
    "retry_on": Word(
        read_retry_on, "names", "which of its failures are tried again: exit 75, exit 64-78, timed_out, .."
    ),
    "retry_backoff": Word(v.duration, "text", "delay before a retry; doubles each time"),
    "retry_backoff_max": Word(v.duration, "text", "longest delay before a retry"),
    "retry_jitter": Word(_jitter, "text", "none, or full: a random part of the delay"),
    "retry_window": Word(v.duration, "text", "no attempt starts later than this after the first"),
    "outputs": Word(_inputs, "nested", "data that it leaves on its nodes: names, or {name: .., size: ..}"),
    "right_size": Word(_right_size, "text", "what runs of the like took less of: suggest it, apply it, or off"),
    "max_losses": Word(v.count, "number", "node losses and evictions it survives"),
    "max_cost": Word(
        v.money, "number", "it is stopped when it has cost so much: price of its nodes, for its part and time"
    ),
    "idempotency_key": Word(v.name, "text", "submitting twice with one key makes one job"),
    "user": Word(v.name, "text", "who it is for"),
    "tenant": Word(v.name, "text", "the tenant of its user"),
    "labels": Word(v.pairs, "map", "labels of the job"),
}


def read_words(
    place: str, raw: object, words: Mapping[str, Word], extra: frozenset[str] = frozenset()
) -> dict[str, Any]:
    """Read a map of words by a table; keys in `extra` are somebody else's and skipped."""
    if not isinstance(raw, dict):
        raise InputError(place, raw, "a map of words")
    found: dict[str, Any] = {}
    for key, value in raw.items():
        if key in extra:
            continue
        if key not in words:
            raise UnknownWordError.of(key, {*words, *extra}, place)
        if value is not None:
            found[str(key)] = _read(place, words[key], str(key), value)
    return found


def _read(place: str, word: Word, key: str, value: object) -> Any:  # noqa: ANN401  each word has its own type
    try:
        return word.read(key, value)
    except InputError as error:
        raise error.at(f"{place}: {error.place}" if error.place else place) from None


def check_keys(place: str, raw: object, words: Collection[str], extra: frozenset[str] = frozenset()) -> None:
    """Raise UnknownWordError for the first key that nobody knows, whatever the values are."""
    if not isinstance(raw, dict):
        raise InputError(place, raw, "a map of words")
    for key in raw:
        if key not in words and key not in extra:
            raise UnknownWordError.of(key, {*words, *extra}, place)


def read_job(
    raw: Mapping[str, object], defaults: Mapping[str, object] | None = None, extra: frozenset[str] = frozenset()
) -> JobSpec:
    """Read the words of one job. `defaults` are words for what it does not say (its queue's)."""
    if not isinstance(raw, dict):
        raise InputError("job", raw, "a map of words")
    place = named("job", raw)
    words = {**JOB_WORDS, "pin": Word(_pin, "nested", "node that a scenario fixes for attempt 1")}
    given = read_words(place, _with_defaults(raw, defaults or {}), words, extra)
    try:
        return _build(given)
    except InputError as error:
        raise error.at(place) from None


def named(kind: str, raw: object) -> str:
    """Return how a message calls what `raw` describes: its kind and, where it has one, its name."""
    name = raw.get("name") if isinstance(raw, dict) else None
    return f"{kind} {name:.60}" if isinstance(name, str) else kind


def _with_defaults(raw: Mapping[str, object], defaults: Mapping[str, object]) -> dict[str, object]:
    """Lay the defaults under the words; a job that says how many tasks it has takes none of that from them."""
    said = {word for word, value in raw.items() if value is not None}
    left = {word: value for word, value in defaults.items() if word not in said}
    for word, others in _INSTEAD.items():
        if word in said:
            left = {k: value for k, value in left.items() if k not in others}
    return {**raw, **left}


_INSTEAD = {"roles": ("tasks", "min_tasks"), "tasks": ("roles", "min_tasks"), "min_tasks": ("roles",)}


def _build(given: dict[str, Any]) -> JobSpec:
    if "name" not in given:
        raise InputError("name", None, "every job has a name")
    same = {k: given[k] for k in _SAME if k in given}
    timed = {f"{k}_us": given[k] for k in _TIMED if k in given}
    run: Command = given.get("run", Command())
    roles, most = _read_roles(given), given.get("max_cost")
    _check_topology(given.get("topology", Topology()), roles)
    ready: RuntimeEnv = given.get("runtime_env", RuntimeEnv())
    if ready.variables:
        same["env"] = tuple(sorted({**dict(ready.variables), **dict(given.get("env", ()))}.items()))
    check_secrets(given.get("secrets", ()), same.get("env", ()))
    return JobSpec(
        runtime_env=ready.text, roles=roles, run=run.parts, shell=run.shell, max_cost_micros=most, **same, **timed
    )


def _check_topology(topology: Topology, roles: tuple[Role, ...]) -> None:
    """Raise InputError where islands are required of slices: nothing says which slices are close to each other."""
    many = sum(role.tasks for role in roles if role.demand.milli_gpus or role.demand.gpu_memory)
    islands = LEVELS[: LEVELS.index("node")]
    if topology.require in islands and many > 1 and any(role.demand.slice for role in roles):
        rule = "node, rack or zone where slices are asked for: they are in no island"
        raise InputError("topology.require", topology.require, rule)


# fmt: off
_SAME = (
    "name", "queue", "priority", "workdir", "code", "env", "uses", "after", "on_deadline", "preemptible", "checkpoint",
    "max_retries", "retry_on", "retry_jitter", "max_losses", "idempotency_key", "user", "tenant", "labels", "pin",
    "topology", "array", "speedup", "secrets", "venv", "image", "outputs", "right_size",
)
_TIMED = (
    "time_limit", "time_estimate", "start_deadline", "deadline", "retry_backoff", "retry_backoff_max", "retry_window",
)
# fmt: on


def _read_roles(given: dict[str, Any]) -> tuple[Role, ...]:
    if "roles" not in given:
        if given.get("min_tasks") == 0:
            raise InputError("min_tasks", 0, "at least 1; only a role may have none")
        return (_read_role("task", given),)
    for word in ("tasks", "min_tasks"):
        if word in given:
            raise InputError(word, given[word], "either roles or tasks, not both")
    shared = {k: given[k] for k in (*DEMAND_WORDS, "one_per_node", "colocate") if k in given}
    roles = tuple(_read_role(r.get("name", f"role-{i}"), {**shared, **r}) for i, r in enumerate(given["roles"]))
    if len({r.name for r in roles}) < len(roles):
        raise InputError("roles", [r.name for r in roles], "each role has a name of its own")
    return roles


def _read_role(name: str, given: dict[str, Any]) -> Role:
    tasks = given.get("tasks", 1)
    least = given.get("min_tasks", tasks)
    if least > tasks:
        raise InputError("min_tasks", least, f"at most tasks ({tasks})")
    return Role(name, tasks, least, _read_demand(given), given.get("one_per_node", False))


def _read_demand(given: dict[str, Any]) -> Demand:
    milli = given.get("gpus", 0)
    for word in ("gpus", "gpu_memory"):
        if given.get("slice") and given.get(word):
            raise InputError("slice", given["slice"], f"either a slice or {word}: its profile says how much it is")
    same = {
        k: given[k]
        for k in ("slice", "cpus", "memory", "disk", "bandwidth", "resources", "nodes", "tolerates", "spot", "inputs")
        if k in given
    }
    return Demand(
        gpus=milli // WHOLE,
        share=milli % WHOLE,
        gpu_memory=given.get("gpu_memory", 0),
        gpu_models=given.get("gpu_model", ()),
        colocate=_colocate(given.get("colocate", 0), milli),
        **same,
    )


def _colocate(others: int, milli: int) -> int:
    """Return with how many others a task takes turns: where it holds no device, with none."""
    if others and milli % WHOLE:
        raise InputError("colocate", others, "whole GPUs: a share of one device has its own part of it already")
    return others if milli else 0
