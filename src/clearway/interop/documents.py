"""The objects in a file of JSON or YAML, one after another: a list, a list inside an object, or one a line.

JSON is taken apart while it is read, so that a list of any length takes no more memory than its longest object. YAML is
read one document at a time; a list within one document is held whole.
"""

from __future__ import annotations

import json
from typing import IO, TYPE_CHECKING, Any

import yaml

from clearway.model.errors import InputError
from clearway.sim.workloads.textfile import opened

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from clearway.sim.workloads.textfile import Head

CHUNK = 1 << 16
LONGEST = 1 << 24  # characters of one object
LISTS = ("items", "jobs", "result")
"""Keys whose list holds the objects that are meant."""
DEEPEST = 200  # levels of brackets: more is no list of jobs, and would end the reader
SPACE = " \t\r\n"


def is_json(head: Head) -> bool:
    """Tell whether a file begins as JSON does."""
    return bool(head.lines) and "\n".join(head.lines).lstrip("\ufeff" + SPACE)[:1] in ("[", "{")


def objects(path: Path, told: Callable[[int], None], *, as_json: bool) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield each object with the line on which it begins (YAML: its number). Raises InputError for what is neither."""
    with opened(path) as text:
        if as_json:
            yield from _Scan(text, told).objects()
        else:
            yield from _yaml(text)


def _yaml(text: IO[str]) -> Iterator[tuple[int, dict[str, Any]]]:
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    number = 0
    try:
        for document in yaml.load_all(text, loader):
            for one in _listed(document):
                number += 1
                yield number, one
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        words = " ".join(str(error).split())[:200]
        raise InputError("file", f"object {number + 1}", f"YAML that can be read ({words})") from None


def _listed(document: Any) -> Iterator[dict[str, Any]]:  # noqa: ANN401 - whatever a file holds
    if isinstance(document, dict):
        inner = next((document[key] for key in LISTS if isinstance(document.get(key), list)), None)
        yield from (one for one in ([document] if inner is None else inner) if isinstance(one, dict))
    elif isinstance(document, list):
        yield from (one for one in document if isinstance(one, dict))


class _Scan:
    """Takes a text of JSON apart from the outside inwards."""

    def __init__(self, text: IO[str], told: Callable[[int], None]) -> None:
        self._text, self._told = text, told
        self._buffer, self._at, self._seen, self._line = "", 0, 0, 1
        self._decoder = json.JSONDecoder()

    def objects(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield the objects at the top, in a list at the top, or in a list inside an object at the top."""
        while (sign := self._peek()) != "":
            if sign == "[":
                yield from self._elements()
            elif sign == "{":
                yield from self._inside()
            else:
                raise self._wrong("a list or an object")

    def _inside(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield the elements of the list in an object at the top; without one its objects, or itself."""
        line, words, listed = self._line, dict[str, Any](), False
        self._take("{")
        while (sign := self._peek()) != "}":
            if sign == ",":
                self._take(",")
                continue
            key = self._value()
            if not isinstance(key, str):
                raise self._wrong("a key in quotes")
            self._take(":")
            if key in LISTS and self._peek() == "[":
                listed = True
                yield from self._elements()
            else:
                words[key] = self._value()
        self._take("}")
        if listed:
            return
        inner = [one for one in words.values() if isinstance(one, dict)]
        if words and len(inner) == len(words):
            yield from ((line, one) for one in inner)
        else:
            yield line, words

    def _elements(self) -> Iterator[tuple[int, dict[str, Any]]]:
        self._take("[")
        while (sign := self._peek()) != "]":
            if sign == ",":
                self._take(",")
                continue
            line = self._line
            one = self._value()
            if isinstance(one, dict):
                yield line, one
        self._take("]")

    def _peek(self) -> str:
        """Return the next sign that is no space, nothing at the end."""
        while True:
            while self._at < len(self._buffer):
                sign = self._buffer[self._at]
                if sign not in SPACE and sign != "\ufeff":
                    return sign
                self._line += sign == "\n"
                self._at += 1
            if not self._more():
                return ""

    def _take(self, sign: str) -> None:
        if self._peek() != sign:
            raise self._wrong(f"{sign!r}")
        self._at += 1

    def _value(self) -> Any:  # noqa: ANN401 - whatever a file holds
        """Return the value that begins here; more is read until it is whole."""
        self._peek()
        while True:
            try:
                value, end = self._decoder.raw_decode(self._buffer, self._at)
            except RecursionError:
                raise self._wrong("objects that are not so deep") from None
            except ValueError:
                end = -1
            if end >= 0 and (end < len(self._buffer) or not self._more()):
                break  # a number at the end of the buffer may go on
            if end < 0 and (len(self._buffer) - self._at > LONGEST or not self._more()):
                raise self._wrong("JSON that can be read") from None
        self._line += self._buffer.count("\n", self._at, end)
        self._at = end
        return value

    def _more(self) -> bool:
        self._buffer, self._at = self._buffer[self._at :], 0
        got = self._text.read(max(CHUNK, len(self._buffer)))
        self._buffer += got
        self._seen += len(got)
        self._told(self._seen)
        return bool(got)

    def _wrong(self, rule: str) -> InputError:
        return InputError("file", self._buffer[self._at : self._at + 40], rule, f"line {self._line}")
