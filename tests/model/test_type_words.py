"""Types of machines: their words, and what is refused."""

from __future__ import annotations

import pytest

from clearway.model.errors import InputError, UnknownWordError
from clearway.model.fleet import MachineType, NodeSpec
from clearway.model.type_words import read_type

MINUTE_US = 60_000_000


def test_a_type_has_the_words_of_a_node_and_its_own() -> None:
    words = {"name": "T", "gpus": 2, "price": 2.5, "spot": True, "boot": ["never", 50, 70], "min": 1, "max": 4}
    read = read_type({**words, "idle_timeout": "2m", "boot_timeout": "4m"})
    node = NodeSpec("T", gpus=2, price_micros=2_500_000, spot=True)
    assert read.kind == MachineType(node, 50_000_000, 1, 4, 2 * MINUTE_US, 4 * MINUTE_US)
    assert read.boots == (None, 50_000_000, 70_000_000)


def test_what_is_not_said_has_its_default() -> None:
    read = read_type({"name": "T"})
    assert read.kind == MachineType(NodeSpec("T"), 0, 0, 1000, 10 * MINUTE_US, 15 * MINUTE_US)
    assert read.boots == (0,)


@pytest.mark.parametrize(
    ("words", "field"),
    [
        ({"gpus": 1}, "name"),
        ({"name": "T", "min": 3, "max": 2}, "min"),
        ({"name": "T", "max": -1}, "max"),
        ({"name": "T", "boot": []}, "boot"),
        ({"name": "T", "boot": [10, "soon"]}, "boot"),
        ({"name": "T", "boot": True}, "boot"),
        ({"name": "T", "boot_timeout": 0}, "boot_timeout"),
        ({"name": "T", "boot": 60, "boot_timeout": 60}, "boot_timeout"),
        ({"name": "T", "idle_timeout": float("nan")}, "idle_timeout"),
        ({"name": "T", "gpus": 2, "links": [[0, 5]]}, "links"),
    ],
)
def test_a_bad_value_is_refused_by_its_word(words: dict[str, object], field: str) -> None:
    with pytest.raises(InputError) as refused:
        read_type(words)
    assert refused.value.field == field


def test_an_unknown_word_is_refused_with_the_nearest() -> None:
    with pytest.raises(UnknownWordError, match="idle_timeout"):
        read_type({"name": "T", "idle_timeuot": 3})
    with pytest.raises(UnknownWordError):
        read_type({"name": "T", "count": 3})


def test_a_type_that_takes_long_is_given_twice_as_long() -> None:
    assert read_type({"name": "T", "boot": "20m"}).kind.boot_timeout_us == 40 * 60 * 1_000_000
    assert read_type({"name": "T", "boot": "1m"}).kind.boot_timeout_us == 15 * 60 * 1_000_000
