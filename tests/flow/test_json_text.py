from __future__ import annotations

import pytest

from clearway.flow.json_text import MOST_BYTES, MOST_DEEP, MOST_HANDED, is_deep, joined, mapped, text_of, value_of
from clearway.model.errors import InputError


def nested(times: int, inside: str = "") -> str:
    return "[" * times + inside + "]" * times


@pytest.mark.parametrize(
    ("text", "deep"),
    [
        (nested(MOST_DEEP), False),
        (nested(MOST_DEEP + 1), True),
        (nested(MOST_DEEP + 1, '{"a":1}'), True),
        ('{"a":' * 200 + "1" + "}" * 200, True),
        ('"' + nested(500) + '"', False),
        ('["\\"' + "[" * 500 + '\\\\",' + nested(50) + "]", False),
        ("[" + ",".join(["[]"] * 500) + "]", False),
    ],
)
def test_a_text_is_deep_by_its_lists_and_maps_not_by_what_its_texts_hold(text: str, *, deep: bool) -> None:
    assert is_deep(text) == deep


def test_what_is_put_together_reads_as_its_parts() -> None:
    assert joined("x", ["1", '"a"']) == '[1,"a"]'
    assert mapped("x", [("b", "1"), ('a"', "[2]")]) == text_of("x", {"b": 1, 'a"': [2]})
    assert value_of(mapped("x", [])) == {}


def test_what_is_too_long_or_too_deep_is_refused() -> None:
    long = "x" * MOST_BYTES
    with pytest.raises(InputError, match="at most 1000000"):
        text_of("x", long)
    assert len(text_of("x", long, MOST_HANDED)) == MOST_BYTES + 2
    with pytest.raises(InputError, match="inside one another"):
        text_of("x", value_of(nested(MOST_DEEP + 1)))
    with pytest.raises(InputError, match="at most 16000000"):
        joined("x", (long for _ in range(17)))
    with pytest.raises(InputError, match="at most 16000000"):
        mapped("x", ((str(i), long) for i in range(17)))
