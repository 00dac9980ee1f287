"""Which YAML is taken."""

from __future__ import annotations

import pytest

from clearway.model.errors import InputError
from clearway.sim.yaml_text import MAX_DEPTH, load


def test_plain_data_is_read_and_times_stay_text() -> None:
    assert load("{a: 1, b: [x, 2.5, true, null], t: 2026-01-05T12:00:00Z}", "f") == {
        "a": 1, "b": ["x", 2.5, True, None], "t": "2026-01-05T12:00:00Z",
    }  # fmt: skip
    assert load("", "f") is None


def test_anchors_and_merges_are_written_out() -> None:
    text = "base: &b {cpus: 1, gpus: 2}\njob: {<<: *b, gpus: 4}"
    assert load(text, "f") == {"base": {"cpus": 1, "gpus": 2}, "job": {"cpus": 1, "gpus": 4}}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a: 1\nb: 2\na: 3", ["a", "stands once", "line 3"]),
        ("x: [{name: J, name: K}]", ["name", "stands once"]),
        ("? [1, 2]\n: 3", ["key", "a text or a number"]),
        ("a: [1, 2", ["YAML document"]),
        ("a: !!python/object/apply:os.getcwd []", ["YAML document"]),
        ("a: &x [*x]", ["contains itself"]),
        ("a: " + "[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1), ["levels"]),
        ("a: " + "[" * 100_000, ["YAML document"]),
        ("a: 1\n---\nb: 2", ["YAML document"]),
        ("a: \x07", ["YAML document"]),
        ("a: 2026-13-45T99:99:99Z\nb: !!int zwei", ["YAML document"]),
    ],
)
def test_what_is_no_plain_data_is_refused_with_the_place(text: str, words: list[str]) -> None:
    with pytest.raises(InputError) as refused:
        load(text, "f")
    assert all(word in str(refused.value) for word in words), str(refused.value)


def test_a_small_text_does_not_unfold_into_a_large_one() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 12)]
    with pytest.raises(InputError, match="anchors"):
        load("\n".join(lines), "f")
