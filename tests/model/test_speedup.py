"""How fast a job is with so many tasks."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearway.model.errors import InputError
from clearway.model.speedup import FULL, read_speedup, speed, worth
from clearway.model.words import read_job

TABLE = ((1, FULL), (2, 1_900_000), (4, 3_500_000))


def test_a_table_is_read_from_yaml_and_json() -> None:
    assert read_speedup("speedup", {4: 3.5, 1: 1, 2: 1.9}) == TABLE
    assert read_job({"name": "a", "speedup": {"1": 1, "2": 1.9, "4": 3.5}}).speedup == TABLE


@pytest.mark.parametrize(
    "value",
    [{}, [], 2, "2", {0: 1}, {1: 0}, {1: -1}, {1: "2"}, {"a": 1}, {1.5: 1}, {1: True}, {1: 10**7}, {1: 1, "1": 2}],
)
def test_what_is_no_table_is_refused(value: object) -> None:
    with pytest.raises(InputError, match="speedup"):
        read_speedup("speedup", value)


def test_between_entries_it_is_on_the_line_that_joins_them() -> None:
    assert [speed(TABLE, tasks) for tasks in (1, 2, 3, 4, 9)] == [FULL, 1_900_000, 2_700_000, 3_500_000, 3_500_000]
    assert speed(((2, 1_900_000),), 1) == 950_000
    assert speed((), 7) == 7 * FULL


def test_tasks_that_gain_nothing_are_not_worth_having() -> None:
    assert worth(TABLE, 4) == 4
    assert worth(TABLE, 16) == 4
    assert worth(((1, FULL), (2, 2 * FULL), (4, FULL)), 4) == 2
    assert worth((), 16) == 16


@given(st.dictionaries(st.integers(1, 40), st.integers(1, 40), min_size=1), st.integers(1, 40))
def test_no_fewer_and_no_more_tasks_are_faster(table: dict[int, int], tasks: int) -> None:
    read = read_speedup("speedup", table)
    best = worth(read, tasks)
    assert 1 <= best <= tasks
    assert all(speed(read, size) <= speed(read, best) for size in range(1, tasks + 1))
    assert all(speed(read, size) < speed(read, best) for size in range(1, best))
