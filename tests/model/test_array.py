"""How the indices of an array are read and found."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearway.model.array import Array, read_array
from clearway.model.errors import InputError
from clearway.model.job import JobSpec, member


@pytest.mark.parametrize(
    ("value", "indices", "at_once"),
    [
        (3, [0, 1, 2], 0),
        ("3", [0, 1, 2], 0),
        ("1-3", [1, 2, 3], 0),
        ("7-7", [7], 0),
        ("1-9:3", [1, 4, 7], 0),
        ("0-1,5,7-8%2", [0, 1, 5, 7, 8], 2),
        ("5,1", [5, 1], 0),
    ],
)
def test_indices_are_read(value: object, indices: list[int], at_once: int) -> None:
    array = read_array("array", value)
    assert [array.index(i) for i in range(array.size)] == indices
    assert array.at_once == at_once
    assert read_array("array", array.text()) == array


@pytest.mark.parametrize(
    "value",
    [
        0, -1, 1.0, True, None, [1, 2], {"tasks": 3}, 10**6 + 1, "0", "", "a", "3-1", "1-2:0", "1-", "-3", "1,,2",
        "1-3%", "1-3%0", "1-3%x", "%2", "1-3,2", "0-9999999", " 1-3", "1-3%1%2", "1-3%99999999999", "0" * 5000,
    ],
)  # fmt: skip
def test_what_is_no_array_is_refused(value: object) -> None:
    with pytest.raises(InputError, match="array: .* is refused"):
        read_array("array", value)


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 20), st.integers(1, 5)), min_size=1, max_size=4))
def test_each_index_has_its_position(pieces: list[tuple[int, int, int]]) -> None:
    array = Array(tuple((first, first + more - more % step, step) for first, more, step in pieces))
    indices = [array.index(i) for i in range(array.size)]
    assert all(array.position(index) == indices.index(index) for index in indices)
    assert all(array.position(index) is None for index in set(range(80)) - set(indices))
    with pytest.raises(IndexError):
        array.index(array.size)


def test_a_job_of_an_array_leaves_to_it_what_counts_for_the_whole() -> None:
    spec = JobSpec(
        "a", array=Array(((4, 6, 2),)), after=("x",), idempotency_key="k", start_deadline_us=5, deadline_us=9,
        on_deadline="stop", max_retries=2,
    )  # fmt: skip
    one = member(spec, 1)
    assert (one.name, one.index, one.array, one.max_retries, one.deadline_us) == ("a[6]", 6, None, 2, 9)
    assert (one.after, one.idempotency_key, one.start_deadline_us, one.on_deadline) == ((), "", None, "report")
    with pytest.raises(ValueError, match="no array"):
        member(one, 0)
