"""What the messages say."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearway.model import errors
from clearway.model.errors import ClearwayError, InputError, NotYetError, UnknownWordError, shown

KNOWN = ["gpus", "gpu_memory", "priority", "tasks"]


def test_the_drawn_tree_is_the_tree() -> None:
    kinds = {name for name, kind in vars(errors).items() if isinstance(kind, type) and issubclass(kind, Exception)}
    drawn = {word for word in (errors.__doc__ or "").split() if word.endswith("Error")}
    assert kinds == drawn


@pytest.mark.parametrize("name", sorted(n for n in vars(errors) if n.endswith("Error")))
def test_every_error_is_a_clearway_error(name: str) -> None:
    assert issubclass(vars(errors)[name], ClearwayError)


def test_a_refusal_names_field_value_rule_and_place() -> None:
    error = InputError("memory", "128m", "a size is ..", "job train")
    assert (error.field, error.value, error.rule, error.place) == ("memory", "'128m'", "a size is ..", "job train")
    assert str(error) == "memory: '128m' is refused: a size is .. (job train)"


def test_values_are_written_as_files_write_them() -> None:
    error = InputError("name", None, "every job has a name", "jobs")
    assert (str(error), error.value) == ("name: null is refused: every job has a name (jobs)", "null")
    assert str(InputError("cpus", True, "an amount")) == "cpus: true is refused: an amount"
    assert str(InputError("name", "null", "rule")) == "name: 'null' is refused: rule"


def test_the_place_can_be_added_later_and_the_value_is_not_quoted_twice() -> None:
    error = InputError("memory", "128m", "rule").at("job train")
    assert str(error) == "memory: '128m' is refused: rule (job train)"
    assert type(UnknownWordError.of("gpu", KNOWN, "").at("job x")) is UnknownWordError


def test_an_unknown_word_names_the_key_the_place_and_the_nearest_word() -> None:
    error = UnknownWordError.of("gpu_memmory", KNOWN, "job train")
    assert str(error) == "gpu_memmory: this key is refused: no such word; did you mean 'gpu_memory'? (job train)"


def test_where_no_word_is_near_none_is_named() -> None:
    assert "did you mean" not in str(UnknownWordError.of("zzzz", KNOWN, "job train"))


@given(st.text() | st.integers() | st.binary() | st.lists(st.text()) | st.just(10**5000) | st.just([10**5000]))
def test_a_message_stays_short_whatever_the_value(value: object) -> None:
    assert len(shown(value)) <= errors.SHOWN_VALUE_CHARS
    assert len(str(UnknownWordError.of(value, KNOWN, "here"))) < 3 * errors.SHOWN_VALUE_CHARS


def test_long_values_are_cut() -> None:
    assert shown("x" * 1000) == "'" + "x" * 76 + "..."


@pytest.mark.parametrize(
    "error",
    [
        InputError("gpus", -1, "0 or more", "job a"),
        UnknownWordError.of("gpu", ["gpus"], "job"),
        NotYetError.of("half_life", "1d", "policy"),
    ],
)
def test_a_refusal_is_the_same_in_another_process(error: InputError) -> None:
    again = pickle.loads(pickle.dumps(error))  # noqa: S301
    assert type(again) is type(error)
    assert (str(again), again.field, again.value, again.rule, again.place) == (
        str(error), error.field, error.value, error.rule, error.place,
    )  # fmt: skip
