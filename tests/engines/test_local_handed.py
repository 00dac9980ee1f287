"""What a task gave back is read whole, or so that whoever takes it sees that it is too long or too deep."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from clearway.engines.local.handed import path_of, result_of
from clearway.flow.json_text import MOST_BYTES, is_deep
from clearway.model.events import TaskRef
from clearway.model.ids import JobId

if TYPE_CHECKING:
    from pathlib import Path

TASK = TaskRef(JobId(3), 1, 0, 0)


def given(home: Path, content: bytes) -> str:
    path = path_of(home, TASK, "result")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return result_of(home, TASK)


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"", ""),
        (b' {"b": 1, "a": [1e5]}\n', '{"a":[100000.0],"b":1}'),
        (b"no JSON", '"no JSON"'),
        (b"NaN", '"NaN"'),
        (b'"\\ud800"', '"\\"\\\\ud800\\""'),
        (b"\xff", '"\ufffd"'),
        (b"9" * 30, "9" * 30),
        (b"9" * 5000, '"' + "9" * 5000 + '"'),
    ],
)
def test_a_result_is_json_or_else_a_text(tmp_path: Path, content: bytes, text: str) -> None:
    assert given(tmp_path, content) == text


def test_none_is_an_empty_text(tmp_path: Path) -> None:
    assert result_of(tmp_path, TASK) == ""


def test_the_longest_comes_whole_and_a_longer_one_is_seen_to_be(tmp_path: Path) -> None:
    whole = '"' + "é" * (MOST_BYTES - 2) + '"'
    assert given(tmp_path, whole.encode()) == whole
    for longer in (
        b"[1" + b",1" * MOST_BYTES + b"]",
        "é".encode() * MOST_BYTES * 3,
        b"\xf0\x9f\x98\x80" * MOST_BYTES * 2,
    ):
        assert len(given(tmp_path, longer)) > MOST_BYTES


def test_one_that_is_nested_too_deep_to_be_read_is_seen_to_be(tmp_path: Path) -> None:
    assert is_deep(given(tmp_path, b"[" * 100_000 + b"]" * 100_000))
