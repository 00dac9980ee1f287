"""How `retry_on` is read."""

from __future__ import annotations

import pytest

from clearway.model.errors import InputError
from clearway.model.words import read_job


def retry_on(value: object) -> tuple[str, ...]:
    return read_job({"name": "a", "retry_on": value}).retry_on


def test_causes_are_kept_as_written_each_once() -> None:
    assert retry_on(["exit 75", "timed_out", "exit 75"]) == ("exit 75", "timed_out")
    assert retry_on("exit 64-78") == ("exit 64-78",)
    assert retry_on(None) == ()


@pytest.mark.parametrize(
    "value",
    [
        [], "", 75, [75], True, {"exit": 75}, "exit", "exit 0", "exit 256", "exit 9-8", "exit 1-", "exit -1", "exit  1",
        "exit 75 ", "EXIT 75", "never", ["exit 75", None], ["cancelled"],
    ],
)  # fmt: skip
def test_what_is_no_cause_is_refused_with_the_rule(value: object) -> None:
    with pytest.raises(InputError, match="retry_on: .* is refused: .*exit N or exit N-M"):
        retry_on(value)


def test_a_misspelt_cause_is_met_with_the_nearest() -> None:
    with pytest.raises(InputError, match="did you mean 'timed_out'"):
        retry_on(["timeout"])
