from __future__ import annotations

import pytest

from clearway.model.errors import InputError
from clearway.model.secret_words import TAKEN, read_secrets
from clearway.model.words import read_job


def test_names_count_once() -> None:
    assert read_job({"name": "a", "secrets": ["B", "A", "B"]}).secrets == ("B", "A")
    assert read_secrets("secrets", "_x1") == ("_x1",)


@pytest.mark.parametrize(
    "name",
    ["", "1A", "A=B", "A B", "A-B", "\u00c4", "A\n", "../A", "a/b", ".", "A" * 256, "CLEARWAY_JOB", *sorted(TAKEN)],
)
def test_what_is_no_name_of_a_variable_of_its_own_is_refused(name: str) -> None:
    with pytest.raises(InputError, match="secrets"):
        read_job({"name": "a", "secrets": [name]})


def test_one_variable_has_one_value() -> None:
    with pytest.raises(InputError, match="secrets: 'A' is refused: a variable that `env` does not set too"):
        read_job({"name": "a", "secrets": ["A"], "env": {"A": "x"}})
