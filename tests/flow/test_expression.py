"""Conditions: what they say, and that nothing else is ever read or run."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearway.flow.expression import MOST_PARTS, parse, roots, truth, work_out
from clearway.model.errors import InputError

NAMES: dict[str, Any] = {"a": {"x": 3, "t": "abc", "l": [1, 2], "no": False}, "n": None, "pass": 4, "item": "big"}


def says(text: str) -> Any:
    return work_out(parse("when", text), {name: partial(NAMES.get, name) for name in NAMES})


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a.x", 3),
        ("a.l.1", 2),
        ("a.l.9", None),
        ("a.y", None),
        ("a.x.y.z", None),
        ("n.x", None),
        ("nobody.x", None),
        ("pass >= 4", True),
        ("pass > 4", False),
        ("pass <= 4 and pass < 5", True),
        ("a.x == 3.0", True),
        ("a.x == true", False),
        ("1 == true", False),
        ("a.no == false", True),
        ("n == null", True),
        ("a.y == null", True),
        ("a.y != null", False),
        ("n < 1", False),
        ("n >= 1", False),
        ("not n < 1", True),
        ("a.t < 4", False),
        ("a.t >= 'abb'", True),
        ('item == "big"', True),
        ("false or true and false", False),
        ("(false or true) and not false", True),
        ("not not true", True),
        ("not a.x == 3", False),
        ("-1 < 0", True),
        ('"say \\"hi\\"" == \'say "hi"\'', True),
        ("a.t and a.x", True),
    ],
)
def test_what_a_condition_says(text: str, value: Any) -> None:
    assert says(text) == value
    assert type(says(text)) is type(value)


@pytest.mark.parametrize(
    "text",
    [
        "", " ", "a.", ".a", "a..b", "a b", "a ==", "== 1", "a = 1", "(a", "a)", "and", "a and", "not", "1 < 2 < 3",
        "f()", "a[0]", "__import__('os')", "lambda: 1", "a if b else c", "1 + 1", "'open", '"\\q"', "a; b", "a\n== ,",
        "(" * 60 + "a",
    ],
)  # fmt: skip
def test_what_is_no_condition(text: str) -> None:
    with pytest.raises(InputError):
        parse("when", text)


@given(st.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        says(text)
    except InputError:
        return


ATOMS = st.sampled_from(["true", "false", "a.x == 3", "n", "a.y < 2"])


def _larger(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    pair = st.tuples(inner, st.sampled_from(["and", "or"]), inner)
    return st.one_of(inner.map("not ({})".format), pair.map(lambda p: f"({p[0]}) {p[1]} ({p[2]})"))


@given(st.recursive(ATOMS, _larger, max_leaves=12))
def test_logic_is_that_of_python(text: str) -> None:
    facts = {"true": "True", "false": "False", "a.x == 3": "True", "a.y < 2": "False", "n": "False"}
    python = text
    for word, value in facts.items():
        python = python.replace(f"({word})", f"({value})") if python != word else value
    known = {"(": "(", ")": ")", "and": "and", "or": "or", "not": "not", "True": "True", "False": "False"}
    tokens = python.replace("(", " ( ").replace(")", " ) ").split()
    assert truth(says(text)) == _logic([known[token] for token in tokens])


def _logic(tokens: list[str]) -> bool:
    """Work out a fully bracketed text by replacing its innermost bracket until a value is left."""
    while "(" in tokens:
        first = tokens.index(")")
        last = max(i for i in range(first) if tokens[i] == "(")
        tokens = [*tokens[:last], str(_flat(tokens[last + 1 : first])), *tokens[first + 1 :]]
    return _flat(tokens)


def _flat(tokens: list[str]) -> bool:
    if tokens[0] == "not":
        return not _flat(tokens[1:])
    if len(tokens) == 1:
        return tokens[0] == "True"
    left, word, right = tokens
    return (left == "True" and right == "True") if word == "and" else "True" in (left, right)


def test_a_condition_of_many_parts_is_refused_before_it_is_too_deep_to_go_through() -> None:
    most = " or ".join(["a", *["b and c"] * (MOST_PARTS // 2)])
    assert roots(parse("when", most)) == {"a", "b", "c"}
    assert work_out(parse("when", most), {}) is False
    with pytest.raises(InputError, match="at most 500 of `and` and `or`"):
        parse("when", f"{most} or d")
