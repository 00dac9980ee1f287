"""What a benchmark may be asked for in part is said, and nothing else is taken."""

from __future__ import annotations

import pytest

from benchmarks.registry import load, refusal


@pytest.mark.parametrize(
    "name", ["flows", "replay", "decisions", "queues", "load", "openb", "slowdowns", "forecast", "needs", "ray"]
)
def test_an_unknown_part_is_refused_with_those_that_are_known(name: str) -> None:
    known = load(name).ONLY
    assert refusal(name, known) is None
    assert refusal(name, [known[0], "nosuch"]) == f"{name} has no part nosuch: it has {', '.join(known)}"


def test_parts_are_of_a_benchmark_that_has_them() -> None:
    assert refusal("explain", ["rates"]) == "explain has no parts: leave out --only"
    assert refusal("all", ["rates"]) == "--only names parts of one benchmark: name that in place of all"
    assert refusal("all", ()) is None
