"""What makes jobs alike."""

from __future__ import annotations

import pytest

from clearway.forecast.kinds import KINDS, stem
from clearway.ports.forecaster import Known


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("train-17", "train-#"),
        ("train-18[3]", "train-#[#]"),
        ("eval_0f3a9c", "eval_#"),
        ("python train.py --lr 0.01 --out run7", "python train.py --lr #.# --out run#"),
        ("bert", "bert"),
    ],
)
def test_numbers_and_hashes_are_left_out_of_names(text: str, left: str) -> None:
    assert stem(text) == left


def test_a_job_is_in_no_group_for_which_it_does_not_say_enough() -> None:
    nameless = Known("", "q", "", "", 0, 1, None, None, 0)
    assert [kind.words for kind in KINDS if kind.key(nameless) is not None] == [
        "all runs", "runs of this size", "runs of this queue", "runs of this size in this queue",
    ]  # fmt: skip


def test_wider_kinds_come_before_narrower_ones() -> None:
    assert all(kind.parent < place for place, kind in enumerate(KINDS))
