"""What clients, workers and the controller say to each other about calls, as MessagePack.

Arguments and results are values: bytes that only clients and workers understand. One that is kept in a file is the
letter f and the file's name, one that is made of items the letter i and their number; no pickle begins so.
"""

from __future__ import annotations

import re
from typing import Annotated, Any

import msgspec

from clearway.model.errors import InputError

Value = bytes
MOST_DEEP = 100
"""So many levels of parts in parts."""
MOST = 2**63 - 1
"""The largest number that a database keeps."""
Number = Annotated[int, msgspec.Meta(ge=0, le=MOST)]
Wait = Annotated[int, msgspec.Meta(ge=0, le=3_600_000)]


class Recipe(msgspec.Struct, frozen=True, omit_defaults=True):
    """What calls of one function with the same options share.

    `function` is the digest of its bytes; `how` says what a worker makes of a call's value: `call` (arguments), `each`
    (the one argument), `star` (a list of arguments), `chunk` (a list of single arguments), `yields` (arguments of a
    generator), `method` (of an actor). `words` is the JSON text of its options.
    """

    function: str
    name: str
    how: str = "call"
    words: str = "{}"
    actor: str = ""
    """Where it belongs to an actor: the key that tells this actor from all others."""


class CallSpec(msgspec.Struct, frozen=True, array_like=True, tag="c"):
    """One call: the number of its recipe, and its value."""

    recipe: int
    value: Value


class ChainSpec(msgspec.Struct, frozen=True, array_like=True, tag="s"):
    """Parts one after the other; each is given the result of the one before it."""

    steps: list[Spec]


class GroupSpec(msgspec.Struct, frozen=True, array_like=True, tag="g"):
    """Parts side by side."""

    members: list[Spec]


class MapSpec(msgspec.Struct, frozen=True, array_like=True, tag="m"):
    """Calls of one recipe side by side, a value for each.

    `sent`: instead of `items`, the key under which `total` values were sent before, in parts.
    """

    recipe: int
    items: list[Value]
    sent: str = ""
    total: Annotated[int, msgspec.Meta(ge=0, le=MOST)] = 0


Spec = CallSpec | ChainSpec | GroupSpec | MapSpec


class Enter(msgspec.Struct, frozen=True, omit_defaults=True):
    """Enter calls, all or none. `key`: sent twice it enters them once. `recipes` is what numbers in `roots` mean."""

    key: str
    recipes: list[Recipe]
    roots: list[Spec]
    functions: dict[str, bytes] = {}


class Part(msgspec.Struct, frozen=True):
    """Values of a map, sent before it: one request would be too large for all. `number` counts the parts from 0 on.

    Sent twice they are there once.
    """

    key: str
    number: Number
    items: list[Value]


class Entered(msgspec.Struct, frozen=True):
    """The number of the first root; the others follow it."""

    first: int


class Problem(msgspec.Struct, frozen=True, omit_defaults=True):
    """How a call failed: the names of the exception's type and of those that it is made of, its text and traceback."""

    types: list[str]
    message: str
    traceback: str = ""


class Given(msgspec.Struct, frozen=True, array_like=True):
    """A call in the hand of a worker. `input`: the value that goes before its own, `input_of`: the node it is of."""

    call: int
    attempt: int
    recipe: int
    value: Value
    input: Value | None = None
    input_of: int = 0


class Turn(msgspec.Struct, frozen=True, omit_defaults=True):
    """A worker asks for up to `room` calls, and waits for them.

    `serial` grows with each message of a worker: of what it says of its room the newest holds, whichever comes last.
    `holds`: all it has, after a connection was lost.
    """

    pool: Number
    job: Number
    attempt: Number
    room: Number
    serial: Number = 0
    wait_ms: Wait = 0
    holds: list[tuple[Number, Number]] | None = None


class Told(msgspec.Struct, frozen=True, omit_defaults=True):
    """A recipe as a worker gets it: `limit_us` is how long a call may take."""

    function: str
    name: str
    how: str
    limit_us: int | None = None


class Hand(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a worker is given: calls, recipes and functions it has not seen, calls to stop, whether to leave.

    `again`: what was said before may be lost; it is to say next what it holds.
    """

    calls: list[Given] = []
    recipes: dict[int, Told] = {}
    functions: dict[str, bytes] = {}
    stop: list[int] = []
    leave: bool = False
    again: bool = False


class Done(msgspec.Struct, frozen=True, array_like=True):
    """How an attempt of a call ended. `log`: from where to where it wrote to stdout, and to stderr."""

    call: Number
    attempt: Number
    value: Value
    problem: Problem | None = None
    took_us: Number = 0
    log: tuple[Number, Number, Number, Number] = (0, 0, 0, 0)


class Items(msgspec.Struct, frozen=True, array_like=True):
    """What a call of a generator has yielded so far: its values from position `first` on."""

    call: Number
    attempt: Number
    first: Number
    values: list[Value]


class Report(msgspec.Struct, frozen=True, omit_defaults=True):
    """A worker says what is done, what it gives back unbegun, and how many calls more it has room for.

    `lost`: calls whose process has ended with them, though the worker has not. `items` come before `done`.
    """

    pool: Number
    job: Number
    attempt: Number
    room: Number = 0
    serial: Number = 0
    done: list[Done] = []
    back: list[tuple[Number, Number]] = []
    lost: list[tuple[Number, Number]] = []
    items: list[Items] = []


class Poll(msgspec.Struct, frozen=True, omit_defaults=True):
    """Ask which of these ranges of calls are over.

    Answered once `least` of them are, or `linger_ms` after the first, at the latest after `wait_ms`.
    """

    ranges: list[tuple[Number, Number]]
    wait_ms: Wait = 0
    least: Number = 1
    linger_ms: Wait = 0


class Over(msgspec.Struct, frozen=True, array_like=True):
    """A node that is over: `state` succeeded, failed or cancelled; `parts` where its result is that of others."""

    call: int
    state: str
    value: Value = b""
    problem: Problem | None = None
    parts: bool = False


class Polled(msgspec.Struct, frozen=True):
    """The nodes that are over."""

    over: list[Over]


class Member(msgspec.Struct, frozen=True, array_like=True):
    """A member of a group, as a reader sees it."""

    position: int
    over: Over


class Members(msgspec.Struct, frozen=True, omit_defaults=True):
    """Some members of a node from a position on, in order. `of`: the node that has them, `total` how many it has.

    `single`: the result is that of `over` alone.
    """

    of: int
    total: int = 0
    members: list[Member] = []
    single: Over | None = None


class Yielded(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a call has yielded from a position on. `over`: nothing comes after that; `whole`: it is no single call."""

    values: list[Value] = []
    over: bool = False
    whole: bool = False


def calls_of(spec: Spec) -> int:
    """Return how many calls a spec stands for."""
    match spec:
        case CallSpec():
            return 1
        case MapSpec(_, items, sent, total):
            return total if sent else len(items)
        case ChainSpec(parts) | GroupSpec(parts):
            return sum(map(calls_of, parts))


def check(spec: Spec, recipes: int, deep: int = MOST_DEEP) -> None:
    """Raise InputError for a spec that cannot be entered, whichever part of it is at fault."""
    if not deep:
        raise InputError("calls", "parts in parts", f"at most {MOST_DEEP} levels of them")
    match spec:
        case CallSpec(recipe) | MapSpec(recipe):
            if not 0 <= recipe < recipes:
                raise InputError("recipe", recipe, f"a number from 0 to {recipes - 1}")
        case ChainSpec(parts) | GroupSpec(parts):
            if not parts and isinstance(spec, ChainSpec):
                raise InputError("chain", parts, "at least one part")
            for part in parts:
                check(part, recipes, deep - 1)


def maps_sent(spec: Spec) -> list[MapSpec]:
    """Return the maps of a spec whose values were sent before."""
    match spec:
        case CallSpec():
            return []
        case MapSpec():
            return [spec] if spec.sent else []
        case ChainSpec(parts) | GroupSpec(parts):
            return [found for part in parts for found in maps_sent(part)]


def numbered(spec: Spec, numbers: list[int]) -> Spec:
    """Return a spec with the controller's numbers of recipes in place of a client's."""
    match spec:
        case CallSpec(recipe, value):
            return CallSpec(numbers[recipe], value)
        case MapSpec(recipe, items, sent, total):
            return MapSpec(numbers[recipe], items, sent, total)
        case ChainSpec(steps):
            return ChainSpec([numbered(step, numbers) for step in steps])
        case GroupSpec(members):
            return GroupSpec([numbered(member, numbers) for member in members])


FILE = b"f"
FILE_BYTES = len(FILE) + 32
FILE_NAME = re.compile(rb"[0-9a-f]{32}")


def file_of(value: Value) -> str | None:
    """Return the name of the file that a value is kept in, None where it is itself."""
    return value[1:].decode() if value[:1] == FILE and FILE_NAME.fullmatch(value, 1) else None


ITEMS = re.compile(rb"i([0-9]{1,18})")


def yielded(count: int) -> Value:
    """Return the value that says: the result is the list of so many items, which were sent before."""
    return b"i%d" % count


def yielded_of(value: Value | None) -> int | None:
    """Return of how many items a result is made that were sent before; None where it is itself."""
    found = ITEMS.fullmatch(value) if value and len(value) < FILE_BYTES else None
    return None if found is None else int(found[1])


_ENCODER = msgspec.msgpack.Encoder()


def encode(message: Any) -> bytes:  # noqa: ANN401  any of the messages above
    """Return a message as bytes."""
    return _ENCODER.encode(message)
