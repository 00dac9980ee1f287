"""Files of jobs or queues: one, a list, or a map such as `{jobs: [..]}`; several documents count together."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clearway.config.yaml_file import parse_documents, read_text
from clearway.model.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

STDIN = "-"


def maps_of_files(paths: Iterable[str], key: str) -> list[dict[str, Any]]:
    """Return the words of all things of a kind (`key`: jobs, queues), in order.

    Raises InputError for a file that cannot be read or has none.
    """
    return [words for path in paths for words in _of_file(path, key)]


def documents_of(path: str) -> list[object]:
    """Return the YAML documents of a file as they are; - is stdin."""
    return list(parse_documents(_text(path), path))


def _of_file(path: str, key: str) -> list[dict[str, Any]]:
    found = [words for document in parse_documents(_text(path), path) for words in _of_document(document, path, key)]
    if not found:
        raise InputError(key, None, f"at least one of the {key} that a file is for", path)
    return found


def _text(path: str) -> str:
    if path != STDIN:
        return read_text(Path(path), "FILE")
    try:
        return sys.stdin.read()
    except UnicodeDecodeError:
        raise InputError("FILE", path, "a text in UTF-8") from None


def _of_document(document: object, path: str, key: str) -> Iterator[dict[str, Any]]:
    for number, words in enumerate(_entries(document, path, key)):
        if not isinstance(words, dict):
            raise InputError(f"{key}[{number}]", words, "a map of words", path)
        yield words


def _entries(document: object, path: str, key: str) -> list[object]:
    if not (isinstance(document, dict) and key in document):
        return document if isinstance(document, list) else [document]
    others = sorted(str(other) for other in document if other != key)
    if others:
        raise InputError(others[0], document[others[0]], f"a file of {key} holds `{key}` and nothing beside it", path)
    entries = document[key]
    if not isinstance(entries, list):
        raise InputError(key, entries, f"a list of {key}", path)
    return entries
