"""Decisions and what is said about them stay what they were, on any machine, record by record."""

from __future__ import annotations

import json

import pytest

from tests.decided import FILE, digests, samples

KEPT: dict[str, str] = json.loads(FILE.read_text())
SAMPLES = samples()


def test_every_sample_is_written_down() -> None:
    assert sorted(KEPT) == sorted(SAMPLES), "python -m tests.decided writes them anew"


@pytest.mark.parametrize("name", sorted(KEPT))
def test_it_is_as_before(name: str) -> None:
    lines = SAMPLES[name]()
    now, before = digests(lines).split(), KEPT[name].split()
    first = next((i for i, pair in enumerate(zip(now, before, strict=False)) if pair[0] != pair[1]), len(before))
    told = "\n".join(lines[max(0, first - 2) : first + 1])
    assert now == before, (
        f"line {first} of {len(before)} is another one:\n{told}\n"
        "Where that is meant, python -m tests.decided writes the samples anew."
    )
