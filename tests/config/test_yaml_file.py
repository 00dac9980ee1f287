from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pytest

from clearway.config.yaml_file import parse_documents, parse_yaml, read_text, read_yaml
from clearway.model.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("no", "no"), ("on", "on"), ("yes", "yes"), ("1:30", "1:30"), ("2026-12-01", "2026-12-01"), ("010", 10),
        ("0x10", "0x10"), ("1_000", "1_000"), ("1e3", 1000.0), (".5", 0.5), ("-.inf", -math.inf), ("1e400", "1e400"),
        ("true", True), ("null", None), ("~", None), ("'7'", "7"), ("1.", 1.0), ("=", "="), ("1.2.3", "1.2.3"),
    ],
)  # fmt: skip
def test_a_plain_value_means_what_it_looks_like(text: str, value: object) -> None:
    assert parse_yaml(f"{{a: {text}}}", "x") == {"a": value}


def test_anchors_and_merges_work() -> None:
    assert parse_yaml("base: &b {x: 1, y: 2}\nmine: {<<: *b, y: 3}\n", "x") == {
        "base": {"x": 1, "y": 2},
        "mine": {"x": 1, "y": 3},
    }


def test_a_file_is_named_by_the_word_of_the_caller(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="^policy: .*a file that can be read"):
        read_text(tmp_path, "policy")
    (tmp_path / "latin").write_bytes(b"name: \xb2")
    with pytest.raises(InputError, match="UTF-8"):
        read_yaml(tmp_path / "latin")


def test_documents_are_told_apart() -> None:
    assert parse_documents("a: 1\n---\n---\n- 2\n", "x") == [{"a": 1}, [2]]
    assert parse_yaml("# nothing\n", "x") is None
    with pytest.raises(InputError, match="2 documents"):
        parse_yaml("a: 1\n---\nb: 2\n", "x")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a: 1\na: 2\n", "line 2.*|twice.*line 2"),
        ("{a: {b: 1, b: 2}}", "twice"),
        ("? [a]\n: 1\n", "a key is"),
        ("&a [*a]", "contains itself"),
        ("[" * 200 + "]" * 200, "100 levels"),
        ("!!python/object/apply:os.system [ls]", "well-formed"),
        ("a: " + "9" * 5000, "well-formed"),
        ("a: [", "well-formed"),
        ("a: " + "[" * 100_000, "well-formed"),
        ("a: !!int zwei", "well-formed"),
        ("a: b: c", "line 1, column 5"),
        ("\x00", "well-formed"),
        ("\n".join([f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10) if i else 'x'}]" for i in range(9)]), "written out"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(text: str, says: str) -> None:
    with pytest.raises(InputError, match=says) as told:
        parse_yaml(text, "some.yaml")
    assert "some.yaml" in told.value.place
