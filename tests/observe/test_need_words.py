"""Needs in words: what is asked for, what runs took, what would do."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from clearway.model.needs import Need
from clearway.observe.need_words import amount, need_row, need_sentence

GIB = 2**30
BASIS = "runs of this name and size by this user"
NEED = Need("task", "memory", 24 * GIB, 7 * GIB + GIB // 16, 6 * GIB, 37, BASIS, own=True)


@pytest.mark.parametrize(
    ("need", "text"),
    [
        (NEED, f"memory: 24 GiB asked; 95 in 100 of the last 37 {BASIS} took at most 6 GiB; 7.1 GiB would do"),
        (
            replace(NEED, runs=4, applied=True),
            f"memory: 7.1 GiB (24 GiB asked); the last 4 {BASIS} took at most 6 GiB",
        ),
        (
            replace(NEED, role="lead", word="cpus", asked=8000, enough=1500, most=1250, runs=3),
            f"cpus in role lead: 8 asked; the last 3 {BASIS} took at most 1.25; 1.5 would do",
        ),
        (
            replace(NEED, word="gpus", asked=4, enough=2, most=2, runs=9),
            f"gpus: 4 asked; the last 9 {BASIS} put to work at most 2",
        ),
        (
            replace(NEED, asked=8 * GIB, enough=12 * GIB, ooms=3),
            f"memory: 8 GiB asked; {BASIS} ran out of memory 3 times with so much; 12 GiB suggested",
        ),
        (
            replace(NEED, word="gpu_memory", asked=GIB, enough=3 * GIB, most=2 * GIB, runs=5),
            f"gpu_memory: 1 GiB asked; the last 5 {BASIS} took at most 2 GiB; 3 GiB suggested",
        ),
    ],
)
def test_sentences(need: Need, text: str) -> None:
    assert need_sentence(need) == text
    assert need_row(need)["text"] == text


def test_rows_are_in_the_units_of_the_words() -> None:
    row = need_row(replace(NEED, word="cpus", asked=8000, enough=1500, most=1250))
    assert (row["asked"], row["enough"], row["most"], row["out_of_memory"]) == (8, 1.5, 1.25, 0)


def test_sizes_are_told_to_a_tenth_never_too_small() -> None:
    sizes = [amount("memory", n) for n in (512, 1024, 100 * 2**20 + 1, 2**40)]
    assert sizes == ["512 bytes", "1 KiB", "100.1 MiB", "1 TiB"]
