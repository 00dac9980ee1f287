"""Conditions of workflows: read into a tree, never executed.

`step.path`, `pass`, `item`, literals, `== != < <= > >=`, `and or not`, and brackets. There is no error while a
condition is worked out: what does not exist (a step that was skipped or failed, a key that a result lacks) is null.
Null equals only null. `<` and its like hold only between two numbers or two texts. False are false, null, 0, "" and
empty lists and maps; all else is true.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from clearway.model.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

MOST_CHARS, MOST_DEPTH, MOST_PARTS = 10_000, 50, 500
WORDS = frozenset({"and", "or", "not", "true", "false", "null"})
COMPARISONS = ("==", "!=", "<=", ">=", "<", ">")
RULE = 'a condition, such as  a.x >= 3 and not b.done  or  item == "large"'

_TOKEN = re.compile(
    r"\s*(?:(?P<number>-?\d+(?:\.\d+)?)|(?P<text>\"(?:[^\"\\]|\\.)*\"|'[^'\\]*')|"
    r"(?P<name>[^\W\d][\w-]*(?:\.[\w-]+)*)|(?P<sign>==|!=|<=|>=|[<>()]))"
)

Value = Any
"""What JSON can hold."""


class Path(NamedTuple):
    """A name and the keys inside its value."""

    root: str
    keys: tuple[str, ...] = ()


class Literal(NamedTuple):
    """A value that stands in the condition."""

    value: Value


class Compare(NamedTuple):
    """Two values beside each other."""

    sign: str
    left: Node
    right: Node


class Logic(NamedTuple):
    """`and`, `or`, or `not`, whose only part is `left`."""

    word: str
    left: Node
    right: Node | None = None


Node = Path | Literal | Compare | Logic


@lru_cache(maxsize=4096)
def parse(field: str, text: str) -> Node:
    """Return the tree of a condition; InputError where it is none."""
    if len(text) > MOST_CHARS:
        raise InputError(field, text, f"a condition of at most {MOST_CHARS} characters")
    reader = _Reader(field, text)
    node = reader.either(0)
    if reader.kind:
        raise reader.error()
    return node


@lru_cache(maxsize=4096)
def path_of(field: str, text: str) -> Path:
    """Return a name and keys, such as a.x."""
    node = parse(field, text)
    if not isinstance(node, Path):
        raise InputError(field, text, "a step, or a value of its result: a.x")
    return node


def roots(node: Node) -> set[str]:
    """Return the names that a condition speaks of."""
    match node:
        case Path(root=root):
            return {root}
        case Literal():
            return set()
        case Compare(left=left, right=right):
            return roots(left) | roots(right)
        case Logic(left=left, right=other):
            return roots(left) | (roots(other) if other is not None else set())


def truth(value: Value) -> bool:
    """Return whether a value counts as true."""
    return bool(value)


def work_out(node: Node, names: Mapping[str, Callable[[], Value]]) -> Value:
    """Return the value of a condition; `names` gives the value of each name when it is asked for."""
    match node:
        case Literal(value=value):
            return value
        case Path():
            return look_up(node, names)
        case Compare(sign=sign, left=left, right=right):
            return compare(sign, work_out(left, names), work_out(right, names))
        case Logic(word="not", left=left):
            return not truth(work_out(left, names))
        case Logic(word=word, left=left, right=other):
            first = truth(work_out(left, names))
            if other is None or first == (word == "or"):
                return first
            return truth(work_out(other, names))


def look_up(path: Path, names: Mapping[str, Callable[[], Value]]) -> Value:
    """Return the value at a path, null where there is none. A number as a key counts the items of a list from 0."""
    value = names[path.root]() if path.root in names else None
    for key in path.keys:
        if isinstance(value, dict):
            value = value.get(key)
        elif isinstance(value, list) and key.isdecimal() and len(key) <= len(str(len(value))):
            value = value[int(key)] if int(key) < len(value) else None
        else:
            return None
    return value


def compare(sign: str, left: Value, right: Value) -> bool:
    """Return whether two values stand in this relation; true is not 1, as in JSON."""
    numbers = _number(left) and _number(right)
    if sign in ("==", "!="):
        equal = left == right if numbers else _plain(left) == _plain(right)
        return equal == (sign == "==")
    if not numbers and not (isinstance(left, str) and isinstance(right, str)):
        return False
    return bool({"<": left < right, "<=": left <= right, ">": left > right, ">=": left >= right}[sign])


def _number(value: Value) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _plain(value: Value) -> bytes:
    return msgspec.json.encode(value, order="deterministic")


class _Reader:
    """Reads one token after another; `kind` is empty at the end."""

    def __init__(self, field: str, text: str) -> None:
        self._field, self._text, self._at = field, text, 0
        self.kind = self.token = ""
        self._parts = 0
        self._next()

    def error(self) -> InputError:
        return InputError(self._field, self._text, RULE)

    def _next(self) -> None:
        if not self._text[self._at :].strip():
            self.kind, self.token, self._at = "", "", len(self._text)
            return
        match = _TOKEN.match(self._text, self._at)
        if match is None:
            raise self.error()
        self.kind, self.token, self._at = str(match.lastgroup), match[str(match.lastgroup)], match.end()

    def _take(self, *tokens: str) -> str:
        """Pass one of these words or signs, and return it; return nothing where another stands."""
        if self.kind not in ("name", "sign") or self.token not in tokens:
            return ""
        found = self.token
        self._next()
        return found

    def _joins(self, word: str) -> bool:
        """Pass a word that joins two parts. Each makes the tree deeper, and who goes through it must come to an end."""
        if not self._take(word):
            return False
        self._parts += 1
        if self._parts > MOST_PARTS:
            raise InputError(self._field, self._text[:100], f"a condition with at most {MOST_PARTS} of `and` and `or`")
        return True

    def either(self, depth: int) -> Node:
        if depth > MOST_DEPTH:
            raise self.error()
        node = self._both(depth)
        while self._joins("or"):
            node = Logic("or", node, self._both(depth))
        return node

    def _both(self, depth: int) -> Node:
        node = self._negated(depth)
        while self._joins("and"):
            node = Logic("and", node, self._negated(depth))
        return node

    def _negated(self, depth: int) -> Node:
        turns = 0
        while self._take("not"):
            turns += 1
        node = self._comparison(depth)
        if not turns:
            return node
        return Logic("not", node) if turns % 2 else Logic("not", Logic("not", node))

    def _comparison(self, depth: int) -> Node:
        left = self._atom(depth)
        sign = self._take(*COMPARISONS)
        return Compare(sign, left, self._atom(depth)) if sign else left

    def _atom(self, depth: int) -> Node:
        if self._take("("):
            node = self.either(depth + 1)
            if not self._take(")"):
                raise self.error()
            return node
        kind, token = self.kind, self.token
        if kind not in ("number", "text", "name") or token in ("and", "or", "not"):
            raise self.error()
        self._next()
        return self._value(kind, token)

    def _value(self, kind: str, token: str) -> Node:
        if kind == "name":
            if token in WORDS:
                return Literal({"true": True, "false": False, "null": None}[token])
            root, *keys = token.split(".")
            return Path(root, tuple(keys))
        if token[0] == "'":
            return Literal(token[1:-1])
        try:
            return Literal(msgspec.json.decode(token))
        except msgspec.DecodeError:
            raise self.error() from None
